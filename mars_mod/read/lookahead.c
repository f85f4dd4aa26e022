// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lookahead: a read that continues where the file's last one ended leaves what
 * follows it under way when it returns.
 *
 * The submission cursor goes on beyond the read's range, up to @far, in the same
 * batches; read.c says when. Nothing of it belongs to the read: it is in no run, is
 * not copied, not waited for, and no reference is kept. The next read finds pages
 * that are resident, as if somebody else had brought them in.
 *
 * What has been brought in is remembered where the kernel's own read-ahead
 * remembers it, in the open file, and in its form. So a native read goes on from
 * there (a small one, or after the mount was switched off), and this goes on from
 * where a native one ended. The kernel's form (mm/readahead.c): a stream is a row
 * of windows of at most ra_pages; the first folio of each has PG_readahead, and who
 * comes to it brings in the next window; f_ra holds the last one,
 *
 *   start            start + size - async_size          start + size
 *     |                    | folio with the mark             |  not brought in
 *
 * A native reader that comes to the mark of an earlier window finds everything
 * resident for ra_pages, and does nothing. One that comes to the last goes on
 * with a window of its own size, at least @size: therefore that is never above
 * ra_pages, however far the lookahead went. Marks that a continuing read passes it
 * takes away, since it does what they ask for; any other leaves them.
 *
 * Folios are no larger than a native window either. When the I/O of one fails, it
 * is a later read that finds it, and if that is a native one it gets an error for
 * all of the folio.
 *
 * Nothing locks f_ra: threads that share an open file disturb each other's ramp
 * as they do natively, and no more than that, since what is resident is looked up.
 */
#include <linux/log2.h>

#include "../trace.h"
#include "read.h"

static bool is_resident(struct mars_request *req, pgoff_t index)
{
	struct folio *folio = mars_get_folio(req, index);

	if (folio)
		folio_put(folio);
	return folio;
}

/*
 * Bytes that were brought in for this read before it came. When a part of that
 * is gone again it was too much, and when f_ra is about another place it is not
 * for this read: then the ramp begins anew.
 */
static u64 under_way(struct mars_request *req)
{
	const struct file_ra_state *ra = &req->iocb->ki_filp->f_ra;
	pgoff_t first = DIV_ROUND_UP(req->iocb->ki_pos, PAGE_SIZE);
	pgoff_t end = READ_ONCE(ra->start) + READ_ONCE(ra->size);

	if (end <= first || !is_resident(req, first) || !is_resident(req, end - 1))
		return 0;
	return (u64)(end - first) << PAGE_SHIFT;
}

/* FADV_SEQUENTIAL doubles the file's read-ahead, and leaves no other trace. */
static bool is_sequential(const struct mars_request *req, unsigned int ra_pages)
{
	return ra_pages && ra_pages == 2 * req->ra.ra_pages;
}

/**
 * mars_lookahead_plan() - does this read look ahead, and how far would it like to?
 * @req: the read; @continues and @ahead are filled in
 * @length: bytes of it
 * @behind: bytes of the file behind its end
 *
 * Context: May sleep.
 */
void mars_lookahead_plan(struct mars_request *req, u64 length, u64 behind)
{
	const struct file *file = req->iocb->ki_filp;
	unsigned int ra_pages = READ_ONCE(file->f_ra.ra_pages);
	u64 want;

	req->continues = req->config.lookahead_bytes && !mars_filled_on_demand(file) &&
			 mars_continues(req->iocb->ki_pos, file->f_ra.prev_pos,
					file->f_mode & FMODE_RANDOM,
					is_sequential(req, ra_pages));
	req->ahead = 0;
	if (!req->continues)
		return;
	mars_stat_add(req->mount->stats, MARS_STAT_reads_continued, 1);
	want = mars_lookahead_want(req->config.lookahead_bytes, req->config.window_bytes,
				   length, under_way(req));
	req->ahead = min(want, behind);
	/* An error on this file may have set it to 0 since the hook looked. */
	req->ra_pages = max(ra_pages, 1U);
	req->ahead_order = clamp_t(unsigned int, ilog2(req->ra_pages), req->min_order,
				   req->max_order);
}

/**
 * mars_lookahead_range() - where the lookahead ends, given the read's range
 * @req: the read; @far is filled in
 *
 * Context: Any.
 */
void mars_lookahead_range(struct mars_request *req)
{
	loff_t isize = i_size_read(req->inode);

	isize = min_t(loff_t, isize, req->inode->i_sb->s_maxbytes);
	req->far = req->limit;
	if (req->ahead)
		req->far = mars_lookahead_edge(req->limit,
					       (req->end + req->ahead) >> PAGE_SHIFT,
					       DIV_ROUND_UP((u64)isize, PAGE_SIZE),
					       req->min_order, req->ahead_order);
}

/**
 * mars_lookahead_stop() - this read looks no further ahead
 * @req: the read
 *
 * Context: Any.
 */
void mars_lookahead_stop(struct mars_request *req)
{
	req->ahead = 0;
	req->far = req->limit;
}

/**
 * mars_lookahead_mark() - mark a folio if a window of read-ahead would begin with it
 * @req: the read
 * @folio: one of the lookahead's, in the page cache, locked, not submitted yet; so it
 *	   is clean and nobody reclaims it: the flag is also PG_reclaim
 *
 * Context: Any.
 */
void mars_lookahead_mark(struct mars_request *req, struct folio *folio)
{
	if (req->mark && folio->index < req->mark + req->ra_pages)
		return;
	folio_set_readahead(folio);
	req->mark = folio->index;
}

/**
 * mars_lookahead_note() - pages beyond the read's end were submitted
 * @req: the read
 * @nr: so many, at the submission cursor
 *
 * Context: Any.
 */
void mars_lookahead_note(struct mars_request *req, unsigned long nr)
{
	req->ahead_end = req->next + nr;
	mars_stat_add(req->mount->stats, MARS_STAT_bytes_ahead, (u64)nr << PAGE_SHIFT);
}

/**
 * mars_lookahead_leave() - remember what was brought in for those who come next
 * @req: the read, about to return
 *
 * Context: Any.
 */
void mars_lookahead_leave(struct mars_request *req)
{
	struct file_ra_state *ra = &req->iocb->ki_filp->f_ra;

	if (!req->continues)
		return;
	if (req->mark) {
		/* With the last mark the last window begins. */
		ra->start = req->mark;
		ra->size = min_t(pgoff_t, req->ahead_end - req->mark, req->ra_pages);
		ra->async_size = ra->size;
	}
	trace_mars_lookahead(req->id, req->limit, req->far, req->mark, req->ahead_end);
}
