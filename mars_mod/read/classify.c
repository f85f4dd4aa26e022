// SPDX-License-Identifier: GPL-2.0-only
/*
 * Classify: what of the range is resident, what is missing.
 *
 * The paper (section 3.1) sorts a range into A (resident and up to date), B
 * (missing, shadow entries included) and C (resident, not up to date). Ahead
 * of the copy cursor only "resident or missing" matters, and one lockless walk
 * over the tree's slots answers it without touching a folio: no reference is
 * taken, so nothing can be split or freed under it. The answer is a hint. A
 * folio that came meanwhile makes insertion end with -EEXIST, one that went is
 * found missing at the copy cursor. A and C are told apart there, on folios
 * with a reference, by the uptodate check that copying needs anyway.
 */
#include <linux/xarray.h>

#include "../trace.h"
#include "read.h"

/* Is there a folio, and for how many indices from xas->xa_index does that hold? */
static bool slot_is_resident(struct xa_state *xas, unsigned long *span)
{
	void *entry;
	unsigned int shift;

	do {
		entry = xas_load(xas);
	} while (xas_retry(xas, entry));
	if (!xas_valid(xas)) {
		*span = ULONG_MAX;	/* beyond the tree */
		return false;
	}
	shift = xas->xa_node ? xas->xa_node->shift : 0;
	*span = (1UL << shift) - (xas->xa_index & ((1UL << shift) - 1));
	/* A sibling led to its first slot; the walk goes on from its own. */
	if (xas->xa_node && !shift)
		xas->xa_offset = xas->xa_index & XA_CHUNK_MASK;
	return entry && !xa_is_value(entry);
}

/* Can xas_next() take the next slot of a leaf, without a descent from the root? */
static bool in_leaf(const struct xa_state *xas)
{
	return xas_valid(xas) && xas->xa_node && !xas->xa_node->shift &&
	       xas->xa_offset < XA_CHUNK_MASK;
}

/* Longest run of one kind from xas->xa_index to @last; at least one page. */
static unsigned long walk_run(struct xa_state *xas, pgoff_t last, bool *missing)
{
	pgoff_t first = xas->xa_index;
	pgoff_t index = first;
	unsigned long span;
	bool resident;

	*missing = !slot_is_resident(xas, &span);
	while (span <= last - index) {
		void *entry = XA_RETRY_ENTRY;

		index += span;
		span = 1;
		if (in_leaf(xas))
			entry = xas_next(xas);
		if (xa_is_sibling(entry))
			continue;	/* the same folio, or the same shadow */
		if (xa_is_retry(entry)) {
			xas_set(xas, index);
			resident = slot_is_resident(xas, &span);
		} else {
			resident = entry && !xa_is_value(entry);
		}
		if (resident == *missing)
			return index - first;
	}
	return last - first + 1;
}

/**
 * mars_classify() - length and kind of the run at the submission cursor
 * @req: the read
 * @max: pages to look at, at least 1
 * @missing: set to true for set B, to false for a resident run
 *
 * Context: Takes and drops the RCU read lock.
 * Return: Pages in the run, from 1 to @max.
 */
unsigned long mars_classify(struct mars_request *req, unsigned long max, bool *missing)
{
	XA_STATE(xas, &req->mapping->i_pages, req->next);
	u64 start = ktime_get_ns();
	unsigned long nr;

	rcu_read_lock();
	nr = walk_run(&xas, req->next + max - 1, missing);
	rcu_read_unlock();
	trace_mars_classify(req->id, req->next, nr, *missing,
			    mars_stage_end(req, MARS_STAT_classify_ns, start));
	return nr;
}

/**
 * mars_collect() - take references on the folios at the copy cursor
 * @req: the read; its @ready batch is filled, to be dropped with mars_put_ready()
 *
 * Only folios of the read's range below the submission cursor, contiguous from the
 * page at ->ki_pos and about a batch of them. filemap_get_folios() rechecks the slot after it
 * has the reference, and a reference keeps a folio from being split; that each
 * one really continues where the one before ends is checked here, since copying
 * from the wrong folio is the one mistake nobody would notice.
 * (filemap_get_folios_contig() would do it all, but on some 6.6 kernels it
 * returns a large folio several times over, and on some 6.1 ones it takes a
 * sibling entry for a folio.)
 *
 * Context: May not hold folio locks.
 * Return: Folios collected; 0 when the page at the cursor is not resident.
 */
unsigned int mars_collect(struct mars_request *req)
{
	pgoff_t index = req->iocb->ki_pos >> PAGE_SHIFT;
	pgoff_t start = index;
	pgoff_t last;
	unsigned int nr;

	folio_batch_init(&req->ready);
	if (index >= mars_own_end(req))
		return 0;
	/* The walk passes over holes, so it is given no more than is wanted. */
	last = min_t(pgoff_t, mars_own_end(req) - 1, index + (req->batch >> PAGE_SHIFT));
	filemap_get_folios(req->mapping, &start, last, &req->ready);
	for (nr = 0; nr < folio_batch_count(&req->ready); nr++) {
		if (!folio_contains(req->ready.folios[nr], index))
			break;
		index = folio_next_index(req->ready.folios[nr]);
	}
	mars_put_ready(req, nr);
	return nr;
}

/**
 * mars_put_ready() - drop references that mars_collect() took
 * @req: the read
 * @keep: how many to keep, from the first
 *
 * folio_batch_release() would drain this CPU's LRU batches each time.
 *
 * Context: May not hold folio locks.
 */
void mars_put_ready(struct mars_request *req, unsigned int keep)
{
	while (folio_batch_count(&req->ready) > keep)
		folio_put(req->ready.folios[--req->ready.nr]);
}

/**
 * mars_get_folio() - a folio anywhere in the window, with a reference
 * @req: the read
 * @index: page index
 *
 * Context: May not hold folio locks.
 * Return: The folio that holds the page, or NULL.
 */
struct folio *mars_get_folio(struct mars_request *req, pgoff_t index)
{
	struct folio_batch one;
	pgoff_t start = index;

	folio_batch_init(&one);
	if (!filemap_get_folios(req->mapping, &start, index, &one))
		return NULL;
	if (folio_contains(one.folios[0], index))
		return one.folios[0];
	folio_put(one.folios[0]);
	return NULL;
}

/**
 * mars_next_folio() - the next resident folio of what the read has under way
 * @req: the read
 * @index: page index to look from; moved behind the folio
 *
 * Context: May sleep. May not hold folio locks.
 * Return: The folio, with a reference, or NULL when there is none any more.
 */
struct folio *mars_next_folio(struct mars_request *req, pgoff_t *index)
{
	struct folio *folio = NULL;

	while (!folio && *index < mars_own_end(req)) {
		cond_resched();
		folio = mars_get_folio(req, *index);
		*index = folio ? folio_next_index(folio) : *index + 1;
	}
	return folio;
}
