// SPDX-License-Identifier: GPL-2.0-only
/*
 * Submit: hand the inserted chunk to the file system's ->readahead.
 */
/* psi.h does not include what it needs on every kernel. */
#include <linux/workqueue.h>
#include <linux/psi.h>

#include "../trace.h"
#include "read.h"

/* What ->readahead left: locked, and nobody else will unlock it. Returns the pages. */
static unsigned long unlock_leftovers(struct readahead_control *ractl)
{
	struct folio *folio;
	unsigned long nr = 0;

	while ((folio = readahead_folio(ractl))) {
		nr += folio_nr_pages(folio);
		/*
		 * readahead_folio() dropped the reference, the page cache still
		 * has its own as long as the folio is locked. Native removes
		 * such folios; filemap_remove_folio() is not for modules, and a
		 * folio that is not up to date is legal: whoever needs it reads
		 * it again under its lock.
		 */
		folio_unlock(folio);
	}
	return nr;
}

/**
 * mars_start_io() - start the I/O of a run
 * @req: the read
 * @ra: read-ahead state that ->readahead sees
 * @index: first page of the run
 * @nr: its pages
 * @workingset: a folio of it was evicted not long ago
 *
 * The contract of read_pages() (mm/readahead.c), reproduced: the folios are
 * contiguous, locked, in the page cache, each with the reference that
 * ->readahead drops; leftovers are unlocked; memory stall is accounted when a
 * folio was evicted not long ago or readahead_expand() met such a one. The
 * caller holds the plug.
 *
 * Context: The reader, or a submitter in its name. May sleep (tags, file system
 * locks). invalidate_lock held shared, NOFS scope.
 * Return: Pages that ->readahead did not start the I/O of.
 */
unsigned long mars_start_io(struct mars_request *req, struct file_ra_state *ra, pgoff_t index,
			    unsigned long nr, bool workingset)
{
	DEFINE_READAHEAD(ractl, req->iocb->ki_filp, ra, req->mapping, index);
	unsigned long left;

	lockdep_assert_held(&req->mapping->invalidate_lock);
	ractl._nr_pages = nr;
	ractl._workingset = workingset;
	if (ractl._workingset)
		psi_memstall_enter(&ractl._pflags);
	req->mapping->a_ops->readahead(&ractl);
	left = unlock_leftovers(&ractl);
	if (ractl._workingset)
		psi_memstall_leave(&ractl._pflags);
	mars_stat_add(req->mount->stats, MARS_STAT_bytes_refused, (u64)left << PAGE_SHIFT);
	return left;
}

/**
 * mars_submit() - start the I/O of the chunk
 * @req: the read; the chunk is the file system's afterwards and @folio is empty
 *
 * Context: May sleep. invalidate_lock held shared, NOFS scope.
 */
void mars_submit(struct mars_request *req)
{
	unsigned long nr = req->nr_pages;
	u64 start = ktime_get_ns(), ns;

	mars_start_io(req, &req->ra, req->next, nr, req->workingset);
	req->nr_folios = 0;
	req->nr_pages = 0;
	mars_stat_add(req->mount->stats, MARS_STAT_bytes_submitted, (u64)nr << PAGE_SHIFT);
	ns = mars_stage_end(req, MARS_STAT_submit_ns, start);
	req->wait_ns += ns;
	trace_mars_submit(req->id, req->next, nr, ns);
}
