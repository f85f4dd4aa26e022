// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mask: what a read does while it waits for the device.
 */
#include <linux/sched/signal.h>

#include "../trace.h"
#include "read.h"

/*
 * Segments of a readv() may overlap, and what is copied last stays. So out of
 * order only when all that is left goes to one segment.
 */
static bool may_reorder(const struct mars_request *req)
{
	size_t len;

	if (req->config.early_copy != MARS_EARLY_COPY_any)
		return false;
	mars_iter_segment(req->iter, &len);
	return len == iov_iter_count(req->iter);
}

/*
 * One step of early_copy=any: the next ready folio beyond the head. A folio that
 * is not ready is mostly followed by more of the same batch, so the next look is
 * a batch further on, and a round over the window costs no more than that many.
 */
static bool early_step(struct mars_request *req, loff_t head_end)
{
	loff_t edge = min_t(loff_t, req->end, (loff_t)req->next << PAGE_SHIFT);
	loff_t pos = max(req->early, head_end);
	size_t copied = 0;

	while (pos < edge && !copied && !mars_ledger_full(&req->ledger)) {
		struct folio *folio;

		req->early = mars_ledger_covered(&req->ledger, pos);
		if (req->early > pos) {
			pos = req->early;
			continue;
		}
		folio = mars_get_folio(req, pos >> PAGE_SHIFT);
		if (folio && folio_test_uptodate(folio)) {
			copied = mars_copy_early(req, folio, pos);
			if (!copied && mars_fault_in(req, pos))
				copied = mars_copy_early(req, folio, pos);
		}
		if (folio)
			folio_put(folio);
		pos += copied ?: req->batch;
		req->early = pos;
		cond_resched();
	}
	return copied;
}

/* Something useful while the head is under I/O; false when nothing is left. */
static bool mask_step(struct mars_request *req, struct folio *head)
{
	loff_t pos = max(req->faulted, req->iocb->ki_pos);
	size_t len;

	if (may_reorder(req) && early_step(req, folio_pos(head) + folio_size(head)))
		return true;
	len = mars_fault_in(req, pos);
	req->faulted = pos + len;
	return len;
}

/**
 * mars_await() - wait for a folio, and make use of the time
 * @req: the read
 * @head: the folio, with a reference of the caller's
 *
 * Everything that may be done is done before it sleeps (paper, section 3.2).
 *
 * Context: Sleeps, killable. No lock held.
 * Return: As mars_wait().
 */
int mars_await(struct mars_request *req, struct folio *head)
{
	u64 start = ktime_get_ns();
	int err = 0;

	req->early = 0;
	/* What was in the way, say a busy mmap_lock, may have gone. */
	req->fault_stop = false;
	while (!folio_test_uptodate(head) && folio_test_locked(head) &&
	       !fatal_signal_pending(current) && mask_step(req, head))
		cond_resched();
	if (!folio_test_uptodate(head)) {
		mars_share_release(req);
		err = mars_wait(req, head);
	}
	mars_stage_end(req, MARS_STAT_wait_ns, start);
	return err;
}

/**
 * mars_settle() - early_copy=off: wait for everything of the read that is under way
 * @req: the read
 *
 * Context: Sleeps, killable. No lock held.
 * Return: 0, or -EINTR on a fatal signal. Failed I/O is met again at the copy.
 */
int mars_settle(struct mars_request *req)
{
	pgoff_t index = req->iocb->ki_pos >> PAGE_SHIFT;
	struct folio *folio;
	int err = 0;

	while (err != -EINTR && (folio = mars_next_folio(req, &index))) {
		if (!folio_test_uptodate(folio))
			err = mars_await(req, folio);
		folio_put(folio);
	}
	req->settled = mars_own_end(req);
	return err == -EINTR ? err : 0;
}
