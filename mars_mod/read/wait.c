// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wait: until the folio at the copy cursor has its data.
 */
#include <linux/sched/signal.h>

#include "../trace.h"
#include "read.h"

/**
 * mars_wait() - wait for a folio's I/O, whoever started it
 * @req: the read
 * @folio: not up to date; the caller has a reference
 *
 * A folio under I/O is locked until the I/O has ended. It is waited for, never
 * read a second time; only when it is still not up to date afterwards does it
 * go to the native path, which rechecks it under its lock and reads it again
 * or reports the error.
 *
 * Context: Sleeps, killable. No lock held.
 * Return: 0 when it is up to date, MARS_REISSUE, or -EINTR on a fatal signal.
 */
int mars_wait(struct mars_request *req, struct folio *folio)
{
	u64 start = ktime_get_ns(), ns;
	int err;

	err = folio_wait_bit_killable(folio, PG_locked);
	req->waited = folio_next_index(folio);
	ns = mars_stage_end(req, MARS_STAT_idle_ns, start);
	req->wait_ns += ns;
	trace_mars_wait(req->id, folio->index, folio_nr_pages(folio), ns);
	if (err)
		return -EINTR;
	return folio_test_uptodate(folio) ? 0 : MARS_REISSUE;
}

/* So long a read that failed waits for what else it has under way. */
#define DROP_MOST (HZ / 10)

/* Waits for its I/O, but not beyond @until, in jiffies. True if that failed. */
static bool ends_failed(struct folio *folio, unsigned long until)
{
	while (folio_test_locked(folio)) {
		if (fatal_signal_pending(current) || time_after_eq(jiffies, until))
			return false;
		schedule_timeout_killable(1);
	}
	return !folio_test_uptodate(folio);
}

/**
 * mars_drop_failed() - after an error, leave no large folio behind that failed
 * @req: the read, about to return
 *
 * Others of this read's folios may fail too, and would stay in the page cache as large
 * as they are: a later native read of good bytes in one of them would get EIO for a
 * sector megabytes away. (Those of the lookahead are no larger than native ones.) What
 * a device that retries for seconds has not answered by then stays: the error is due.
 *
 * Context: Sleeps, killable. No lock held.
 */
void mars_drop_failed(struct mars_request *req)
{
	pgoff_t index = req->iocb->ki_pos >> PAGE_SHIFT, first;
	unsigned long until = jiffies + DROP_MOST;
	struct folio *folio;
	bool bad;

	while (!fatal_signal_pending(current) && (folio = mars_next_folio(req, &index))) {
		first = folio->index;
		bad = mars_is_large(req, folio) && !folio_test_uptodate(folio) &&
		      ends_failed(folio, until);
		folio_put(folio);
		if (bad)
			invalidate_mapping_pages(req->mapping, first, index - 1);
	}
}
