// SPDX-License-Identifier: GPL-2.0-only
/*
 * Insert: the allocated folios enter the page cache, locked, in index order.
 */
#include "../trace.h"
#include "read.h"

static void drop_from(struct mars_request *req, unsigned int first)
{
	unsigned int i;

	for (i = first; i < req->nr_folios; i++) {
		req->nr_pages -= folio_nr_pages(req->folio[i]);
		folio_put(req->folio[i]);
	}
	req->nr_folios = first;
}

/*
 * No folio reaches past the page of EOF, minimum order aside. Under
 * invalidate_lock no truncation is half-way.
 */
static bool beyond_eof(const struct mars_request *req, struct folio *folio, pgoff_t index)
{
	pgoff_t eof = DIV_ROUND_UP(i_size_read(req->inode), PAGE_SIZE);

	if (folio_order(folio) > req->min_order)
		index += folio_nr_pages(folio) - 1;
	return index >= eof;
}

/**
 * mars_insert() - put the chunk into the page cache
 * @req: the read; afterwards @folio holds what went in, contiguous from the
 *	 submission cursor, each locked
 *
 * Losing a race is normal: the chunk ends there. Charging, shadow entries and
 * the LRU are filemap_add_folio()'s business.
 *
 * Context: May sleep (memory cgroup). invalidate_lock held shared, NOFS scope;
 * no user memory is touched until the chunk was submitted.
 * Return: 0 when all went in; -EEXIST when somebody else's folio stands in the
 * way; -ENOMEM; -ENODATA when the file became shorter; -EBUSY above memory.high.
 */
int mars_insert(struct mars_request *req)
{
	u64 start = ktime_get_ns();
	pgoff_t index = req->next;
	unsigned int i;
	int err = 0;

	lockdep_assert_held(&req->mapping->invalidate_lock);
	req->workingset = false;
	for (i = 0; i < req->nr_folios; i++) {
		struct folio *folio = req->folio[i];

		if (beyond_eof(req, folio, index))
			err = -ENODATA;
		else if (i && mars_charge_may_sleep())
			err = -EBUSY;
		else
			err = filemap_add_folio(req->mapping, folio, index, req->gfp);
		if (err)
			break;
		if (mars_is_ahead(req))
			mars_lookahead_mark(req, folio);
		req->workingset |= folio_test_workingset(folio);
		index += folio_nr_pages(folio);
	}
	drop_from(req, i);
	trace_mars_insert(req->id, req->next, req->nr_pages, err,
			  mars_stage_end(req, MARS_STAT_insert_ns, start));
	return err;
}
