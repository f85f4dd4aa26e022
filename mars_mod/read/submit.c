// SPDX-License-Identifier: GPL-2.0-only
/*
 * Submit: hand the inserted chunk to the file system's ->readahead.
 */
/* psi.h does not include what it needs on every kernel. */
#include <linux/workqueue.h>
#include <linux/psi.h>

#include "../trace.h"
#include "read.h"

/* What ->readahead left: locked, and nobody else will unlock it. */
static void unlock_leftovers(struct readahead_control *ractl)
{
	struct folio *folio;

	while ((folio = readahead_folio(ractl))) {
		/*
		 * readahead_folio() dropped the reference, the page cache still
		 * has its own as long as the folio is locked. Native removes
		 * such folios; filemap_remove_folio() is not for modules, and a
		 * folio that is not up to date is legal: whoever needs it reads
		 * it again under its lock.
		 */
		folio_unlock(folio);
	}
}

/**
 * mars_submit() - start the I/O of the chunk
 * @req: the read; the chunk is the file system's afterwards and @folio is empty
 *
 * The contract of read_pages() (mm/readahead.c), reproduced: the folios are
 * contiguous, locked, in the page cache, each with the reference that
 * ->readahead drops; leftovers are unlocked; memory stall is accounted when a
 * folio was evicted not long ago or readahead_expand() met such a one. The
 * caller holds the plug.
 *
 * Context: May sleep (tags, file system locks). invalidate_lock held shared,
 * NOFS scope.
 */
void mars_submit(struct mars_request *req)
{
	DEFINE_READAHEAD(ractl, req->iocb->ki_filp, &req->ra, req->mapping, req->next);
	unsigned long nr = req->nr_pages;
	u64 start = ktime_get_ns();

	lockdep_assert_held(&req->mapping->invalidate_lock);
	ractl._nr_pages = nr;
	ractl._workingset = req->workingset;
	if (ractl._workingset)
		psi_memstall_enter(&ractl._pflags);
	req->mapping->a_ops->readahead(&ractl);
	unlock_leftovers(&ractl);
	if (ractl._workingset)
		psi_memstall_leave(&ractl._pflags);
	req->nr_folios = 0;
	req->nr_pages = 0;
	mars_stat_add(req->mount->stats, MARS_STAT_bytes_submitted, (u64)nr << PAGE_SHIFT);
	trace_mars_submit(req->id, req->next, nr,
			  mars_stage_end(req, MARS_STAT_submit_ns, start));
}
