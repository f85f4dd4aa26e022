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
	return entry && !xa_is_value(entry);
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
		index += span;
		if (xas->xa_node && !xas->xa_node->shift && xas_valid(xas) &&
		    xas->xa_offset < XA_CHUNK_MASK) {
			/* The next slot of a leaf: no need to start at the root. */
			void *entry = xas_next(xas);

			if (!xa_is_retry(entry)) {
				span = 1;
				resident = entry && !xa_is_value(entry);
				goto compare;
			}
		}
		xas_set(xas, index);
		resident = slot_is_resident(xas, &span);
compare:
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
 * @req: the read; its @ready batch is filled, and must be released
 *
 * Only folios below the submission cursor, contiguous from the page at
 * ->ki_pos. filemap_get_folios_contig() rechecks the slot after it has the
 * reference, and a reference keeps a folio from being split; that the first
 * one really covers the cursor is checked once more here, since copying from
 * the wrong folio is the one mistake nobody would notice.
 *
 * Context: May not hold folio locks.
 * Return: Folios collected; 0 when the page at the cursor is not resident.
 */
unsigned int mars_collect(struct mars_request *req)
{
	pgoff_t index = req->iocb->ki_pos >> PAGE_SHIFT;
	pgoff_t start = index;

	folio_batch_init(&req->ready);
	if (index >= req->next ||
	    !filemap_get_folios_contig(req->mapping, &start, req->next - 1, &req->ready))
		return 0;
	if (!folio_contains(req->ready.folios[0], index)) {
		folio_batch_release(&req->ready);
		return 0;
	}
	return folio_batch_count(&req->ready);
}
