// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copy: up-to-date folios at the copy cursor go to the user's buffer, in file
 * order, so that what was copied is always the contiguous prefix.
 */
#include <linux/highmem.h>
#include <linux/sched.h>
#include <linux/swap.h>
#include <linux/uaccess.h>

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

/**
 * mars_origin() - which counter the bytes of a page at the copy cursor belong to
 * @req: the read
 * @index: page index
 *
 * Context: Any.
 * Return: The counter.
 */
enum mars_stat mars_origin(struct mars_request *req, pgoff_t index)
{
	if (mars_runs_contain(&req->runs, index))
		return MARS_STAT_bytes_missed;
	return index < req->waited ? MARS_STAT_bytes_waited : MARS_STAT_bytes_hit;
}

/*
 * End of what may be copied now. i_size is read after the uptodate check (see
 * filemap_read(): a page that was zero-filled beyond the old end must not be
 * returned, one that the new end covers must).
 */
static loff_t valid_end(struct mars_request *req)
{
	loff_t isize = i_size_read(req->inode);

	/* Pairs with the barrier between data and i_size in the write path. */
	smp_rmb();
	return min_t(loff_t, isize, req->iocb->ki_pos + iov_iter_count(req->iter));
}

/* The next piece of a folio: passed over when it was copied early, else copied. */
static int copy_piece(struct mars_request *req, struct folio *folio, loff_t end)
{
	struct kiocb *iocb = req->iocb;
	loff_t pos = iocb->ki_pos;
	loff_t covered = mars_ledger_covered(&req->ledger, pos);
	size_t bytes, copied;

	if (covered > pos) {
		bytes = min(covered, end) - pos;
		copied = bytes;
		iov_iter_advance(req->iter, bytes);
	} else {
		bytes = min_t(u64, end, mars_ledger_next(&req->ledger, pos)) - pos;
		copied = copy_span(folio, offset_in_folio(folio, pos), bytes, req->iter);
	}
	iocb->ki_pos += copied;
	return copied < bytes ? -EFAULT : 0;
}

static int copy_folio(struct mars_request *req, struct folio *folio)
{
	struct kiocb *iocb = req->iocb;
	loff_t pos = iocb->ki_pos;
	enum mars_stat stat;
	loff_t end = valid_end(req);
	int err = 0;

	if (pos >= end)
		return MARS_STOP;
	end = min_t(loff_t, end, folio_pos(folio) + folio_size(folio));
	stat = mars_origin(req, pos >> PAGE_SHIFT);

	/* As filemap_read(): once a folio, also over several reads of it. */
	if (!req->last_pos || !folio_contains(folio, (req->last_pos - 1) >> PAGE_SHIFT))
		folio_mark_accessed(folio);
	if (mapping_writably_mapped(req->mapping))
		flush_dcache_folio(folio);
	mars_pass_mark(req, folio);

	while (!err && iocb->ki_pos < end)
		err = copy_piece(req, folio, end);
	req->last_pos = iocb->ki_pos;
	req->copied += iocb->ki_pos - pos;
	mars_stat_add(req->mount->stats, stat, iocb->ki_pos - pos);
	mars_runs_retire(&req->runs, iocb->ki_pos >> PAGE_SHIFT);
	mars_ledger_retire(&req->ledger, iocb->ki_pos);
	return err;
}

/**
 * mars_outstanding() - is I/O of this read under way?
 * @req: the read
 *
 * Asked of the last page that was submitted.
 *
 * Context: May not hold folio locks.
 * Return: True if so.
 */
bool mars_outstanding(struct mars_request *req)
{
	struct folio *folio;
	bool under_way;
	u64 index;

	if (!mars_runs_last(&req->runs, &index))
		return false;
	folio = mars_get_folio(req, index);
	if (!folio)
		return false;
	under_way = !folio_test_uptodate(folio) && folio_test_locked(folio);
	folio_put(folio);
	return under_way;
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
		/* The file has become shorter in the middle of the one before. */
		if (!folio_contains(folio, req->iocb->ki_pos >> PAGE_SHIFT))
			break;
		err = copy_folio(req, folio);
	}
	trace_mars_copy(req->id, pos, req->iocb->ki_pos - pos,
			mars_stage_end(req, MARS_STAT_copy_ns, start));
	if (req->iocb->ki_pos > pos && mars_outstanding(req))
		mars_stat_add(req->mount->stats, MARS_STAT_bytes_masked, req->iocb->ki_pos - pos);
	return err;
}

/**
 * mars_copy_early() - copy a folio before its turn (early_copy=any)
 * @req: the read
 * @folio: up to date, with a reference of the caller's
 * @pos: file position in it, above the copy cursor, not copied yet
 *
 * Through an iterator of its own: the read's does not move, the ledger notes
 * what was done. With faults disabled, since a fault here could sleep long past
 * the moment the copy cursor could go on.
 *
 * Context: May sleep. No lock held, I/O of lower bytes outstanding.
 * Return: Bytes copied and noted.
 */
size_t mars_copy_early(struct mars_request *req, struct folio *folio, loff_t pos)
{
	struct iov_iter ahead = *req->iter;
	u64 start = ktime_get_ns();
	size_t copied;
	loff_t end;

	end = min_t(loff_t, valid_end(req), folio_pos(folio) + folio_size(folio));
	end = min_t(u64, end, mars_ledger_next(&req->ledger, pos));
	if (pos >= end || READ_ONCE(folio->mapping) != req->mapping)
		return 0;
	if (mapping_writably_mapped(req->mapping))
		flush_dcache_folio(folio);
	iov_iter_advance(&ahead, pos - req->iocb->ki_pos);
	pagefault_disable();
	copied = copy_span(folio, offset_in_folio(folio, pos), end - pos, &ahead);
	pagefault_enable();
	if (copied && !mars_ledger_record(&req->ledger, pos, pos + copied))
		copied = 0;
	mars_stat_add(req->mount->stats, MARS_STAT_bytes_out_of_order, copied);
	mars_stat_add(req->mount->stats, MARS_STAT_bytes_masked, copied);
	trace_mars_early_copy(req->id, pos, copied,
			      mars_stage_end(req, MARS_STAT_copy_ns, start));
	return copied;
}
