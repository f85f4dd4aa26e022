// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pieces of a read that go to the native path: what the stages do not handle. It
 * returns what it always returns, and so does the read.
 */
#include "../hook.h"
#include "read.h"

/**
 * mars_native_piece() - let the native path read a piece, at the copy cursor
 * @req: the read
 * @bytes: how much, at most
 * @reason: why, for the counters
 *
 * Context: May sleep and fault. No lock held, no unsubmitted folio.
 * Return: 0; MARS_STOP when it was short; what filemap_read() returns, when negative.
 */
int mars_native_piece(struct mars_request *req, size_t bytes, enum mars_reason reason)
{
	size_t count = iov_iter_count(req->iter);
	pgoff_t index;
	ssize_t ret;

	mars_share_release(req);
	req->probing = false;
	bytes = min(bytes, count);
	iov_iter_truncate(req->iter, bytes);
	ret = mars_native_read(req->iocb, req->iter, 0);
	iov_iter_reexpand(req->iter, iov_iter_count(req->iter) + count - bytes);
	mars_stat_native(req->mount->stats, reason);
	if (ret < 0)
		return ret;
	req->copied += ret;
	req->last_pos = req->iocb->ki_pos;
	mars_stat_add(req->mount->stats, MARS_STAT_bytes_native, ret);
	index = req->iocb->ki_pos >> PAGE_SHIFT;
	mars_ledger_retire(&req->ledger, req->iocb->ki_pos);
	mars_runs_retire(&req->runs, index);
	req->next = max(req->next, round_down(index, 1UL << req->min_order));
	req->starved = false;
	/* Short: at the end, or at a fault or error that it does not tell yet. */
	return ret < bytes ? MARS_STOP : 0;
}

/**
 * mars_reissue() - the folio at the copy cursor has to be read again
 * @req: the read; its references are dropped
 * @folio: whose I/O failed
 *
 * A large one is dropped first, if nobody else needs it: the native path then reads
 * with folios of its own size, and an error costs the bytes that it costs natively,
 * not those of a folio of ours.
 *
 * Context: May sleep and fault. No lock held, no unsubmitted folio.
 * Return: As mars_native_piece().
 */
int mars_reissue(struct mars_request *req, struct folio *folio)
{
	size_t left = folio_size(folio) - offset_in_folio(folio, req->iocb->ki_pos);
	pgoff_t first = folio->index, last = folio_next_index(folio) - 1;
	bool large = mars_is_large(req, folio);
	int err;

	mars_put_ready(req, 0);
	if (large)
		invalidate_mapping_pages(req->mapping, first, last);
	err = mars_native_piece(req, left, MARS_NATIVE_reissue);
	if (err)
		req->failed = true;
	return err;
}
