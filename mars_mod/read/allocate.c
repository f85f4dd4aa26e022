// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allocate: folios for the missing run at the submission cursor.
 */
#include "../trace.h"
#include "read.h"

/*
 * A large folio is worth a look at the free lists, not a reclaim or compaction:
 * four small ones do nearly as well. NOMEMALLOC, because an allocation that may
 * not reclaim passes for an atomic one and would open the reserves of those.
 * Single pages are had as read-ahead has them.
 */
static gfp_t order_gfp(const struct mars_request *req, unsigned int order)
{
	if (order <= req->min_order)
		return req->gfp;
	return (req->gfp & ~__GFP_DIRECT_RECLAIM) | __GFP_NOMEMALLOC;
}

static struct folio *allocate_one(struct mars_request *req, pgoff_t index, unsigned long nr)
{
	unsigned int most = mars_is_ahead(req) ? min(req->order, req->ahead_order) : req->order;
	unsigned int order = mars_plan_order(index, nr, req->min_order, most);
	struct folio *folio;

	for (;;) {
		folio = mars_filemap_alloc_folio(order_gfp(req, order), order);
		if (folio || order <= req->min_order)
			return folio;
		order = mars_plan_step_down(order, req->min_order);
		/* Remembered, so that one read does not fail again and again. */
		req->order = order;
	}
}

/**
 * mars_allocate() - allocate folios for the pages from the submission cursor on
 * @req: the read; @folio, @nr_folios and @nr_pages are filled in
 * @nr: missing pages, at least 1
 *
 * As large as the mapping, the alignment and free memory allow. Fewer than
 * @nr pages, or none, when memory is short or the chunk is full.
 *
 * Context: May sleep and reclaim; no folio of this read is locked.
 */
void mars_allocate(struct mars_request *req, unsigned long nr)
{
	/* Then insert takes one folio at a time. */
	unsigned int most = mars_charge_may_sleep() ? 1 : MARS_CHUNK_FOLIOS;
	u64 start = ktime_get_ns();
	struct folio *folio;

	req->nr_folios = 0;
	req->nr_pages = 0;
	while (req->nr_pages < nr && req->nr_folios < most) {
		folio = allocate_one(req, req->next + req->nr_pages, nr - req->nr_pages);
		if (!folio)
			break;
		req->folio[req->nr_folios++] = folio;
		req->nr_pages += folio_nr_pages(folio);
	}
	trace_mars_allocate(req->id, req->next, req->nr_pages, req->nr_folios,
			    mars_stage_end(req, MARS_STAT_allocate_ns, start));
}
