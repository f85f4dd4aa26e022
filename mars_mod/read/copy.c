// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copy: up-to-date folios at the copy cursor go to the user's buffer, in file
 * order, so that what was copied is always the contiguous prefix.
 */
#include <linux/highmem.h>
#include <linux/sched.h>
#include <linux/swap.h>

#include "../trace.h"
#include "read.h"

/* Between two chances to reschedule. */
#define COPY_STEP (256UL << 10)

/*
 * A whole span at once: copy_folio_to_iter() walks 4 KiB at a time, which the
 * kernels without highmem, the only ones MARS is built for, need not.
 */
static size_t copy_span(struct folio *folio, size_t offset, size_t bytes, struct iov_iter *iter)
{
	size_t copied = 0;

	while (copied < bytes) {
		size_t step = min(bytes - copied, COPY_STEP);
		size_t done = copy_to_iter(folio_address(folio) + offset + copied, step, iter);

		copied += done;
		if (done < step)
			break;
		cond_resched();
	}
	return copied;
}

/* Which counter the bytes of a folio at the copy cursor belong to. */
static enum mars_stat origin(struct mars_request *req, pgoff_t index)
{
	if (mars_runs_contain(&req->runs, index))
		return MARS_STAT_bytes_missed;
	return index < req->waited ? MARS_STAT_bytes_waited : MARS_STAT_bytes_hit;
}

/*
 * One folio. i_size is read after the uptodate check (see filemap_read(): a
 * page that was zero-filled beyond the old end must not be returned, one that
 * the new end covers must).
 */
static int copy_folio(struct mars_request *req, struct folio *folio)
{
	struct kiocb *iocb = req->iocb;
	size_t offset, bytes, copied;
	enum mars_stat stat;
	loff_t isize, end;

	isize = i_size_read(req->inode);
	if (iocb->ki_pos >= isize)
		return MARS_STOP;
	/* Pairs with the barrier between data and i_size in the write path. */
	smp_rmb();
	end = min_t(loff_t, isize, iocb->ki_pos + iov_iter_count(req->iter));
	offset = offset_in_folio(folio, iocb->ki_pos);
	bytes = min_t(loff_t, end - iocb->ki_pos, folio_size(folio) - offset);
	stat = origin(req, iocb->ki_pos >> PAGE_SHIFT);

	/* As filemap_read(): once a folio, also over several reads of it. */
	if (!req->last_pos || !folio_contains(folio, (req->last_pos - 1) >> PAGE_SHIFT))
		folio_mark_accessed(folio);
	if (mapping_writably_mapped(req->mapping))
		flush_dcache_folio(folio);

	copied = copy_span(folio, offset, bytes, req->iter);
	iocb->ki_pos += copied;
	req->last_pos = iocb->ki_pos;
	req->copied += copied;
	mars_stat_add(req->mount->stats, stat, copied);
	mars_runs_retire(&req->runs, iocb->ki_pos >> PAGE_SHIFT);
	return copied < bytes ? -EFAULT : 0;
}

/**
 * mars_copy() - copy the collected folios up to the first that is not ready
 * @req: the read, with @ready filled by mars_collect()
 *
 * Only a folio that passed folio_test_uptodate(), which orders its data, is
 * copied from. User memory is faulted in as it is met, as natively.
 *
 * Context: May sleep and fault. No lock held, no unsubmitted folio.
 * Return: 0, MARS_STOP at the end of the file, -EFAULT.
 */
int mars_copy(struct mars_request *req)
{
	loff_t pos = req->iocb->ki_pos;
	u64 start = ktime_get_ns();
	unsigned int i;
	int err = 0;

	for (i = 0; i < folio_batch_count(&req->ready) && !err; i++) {
		struct folio *folio = req->ready.folios[i];

		if (!folio_test_uptodate(folio) || !iov_iter_count(req->iter))
			break;
		if (WARN_ON_ONCE(!folio_contains(folio, req->iocb->ki_pos >> PAGE_SHIFT)))
			break;
		err = copy_folio(req, folio);
	}
	trace_mars_copy(req->id, pos, req->iocb->ki_pos - pos,
			mars_stage_end(req, MARS_STAT_copy_ns, start));
	return err;
}
