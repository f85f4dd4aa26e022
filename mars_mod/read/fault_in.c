// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault-in: pages of the user's buffer are made present while I/O is under way,
 * so that the copy does not stop for them later (paper, section 3.2).
 *
 * fault_in_writeable() will not do: it writes zeros, and a read that ends early
 * would have changed bytes beyond what it returns. get_user_pages_fast() only
 * makes pages present and writable, walks present ones without a lock, gives
 * huge pages where a touch would, and stops at whatever it does not like. What
 * it says decides nothing: the copy finds out for itself.
 */
#include <linux/mm.h>
#include <linux/userfaultfd_k.h>

#include "../trace.h"
#include "read.h"

/*
 * A touch of such a shared mapping is a write of a file: its mtime and its blocks
 * would tell. (tmpfs has no page_mkwrite; there the fault itself sets the time.)
 */
static bool notices_writes(const struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_SHARED) || !vma->vm_file)
		return false;
	return (vma->vm_ops && (vma->vm_ops->page_mkwrite || vma->vm_ops->pfn_mkwrite)) ||
	       file_inode(vma->vm_file)->i_nlink;
}

/*
 * Would a touch here be answered by the kernel alone, and leave no trace if the
 * read ends before it gets there? A userfaultfd handler must not see a page asked
 * for that the read may never come to, and device memory is not for
 * get_user_pages(). @len is cut at the end of the area.
 */
static bool plain_area(unsigned long addr, size_t *len)
{
	struct vm_area_struct *vma;
	bool plain = false;

	if (!mmap_read_trylock(current->mm))
		return false;
	vma = find_vma(current->mm, addr);
	if (vma && vma->vm_start <= addr && (vma->vm_flags & VM_WRITE) &&
	    !(vma->vm_flags & (VM_IO | VM_PFNMAP)) && !userfaultfd_armed(vma) &&
	    !notices_writes(vma)) {
		*len = min_t(size_t, *len, vma->vm_end - addr);
		plain = true;
	}
	mmap_read_unlock(current->mm);
	return plain;
}

/**
 * mars_make_present() - make a piece of the reader's memory present and writable
 * @req: the read
 * @addr: where
 * @len: bytes wanted
 *
 * By the reader's own rights, protection keys included, and without writing.
 *
 * Context: May sleep. No lock held, no unsubmitted folio.
 * Return: Bytes from @addr on that are present now; 0 for what is no plain memory.
 */
size_t mars_make_present(struct mars_request *req, unsigned long addr, size_t len)
{
	unsigned long start = addr & PAGE_MASK;
	int got, i, nr;

	if (!len || !plain_area(addr, &len))
		return 0;
	nr = min_t(size_t, DIV_ROUND_UP(addr + len - start, PAGE_SIZE), MARS_FAULT_PAGES);
	got = get_user_pages_fast(start, nr, FOLL_WRITE, req->fault_page);
	for (i = 0; i < got; i++)
		put_page(req->fault_page[i]);
	if (got <= 0)
		return 0;
	return min_t(size_t, len, start + (unsigned long)got * PAGE_SIZE - addr);
}

/**
 * mars_fault_in() - make a piece of the buffer present
 * @req: the read
 * @pos: file position whose byte goes where the piece begins
 *
 * Never beyond what is under way.
 *
 * Context: May sleep. No lock held, no unsubmitted folio.
 * Return: Bytes from @pos on that are present now; 0 when there is nothing to
 * do, or something that is better left to the copy.
 */
size_t mars_fault_in(struct mars_request *req, loff_t pos)
{
	loff_t end = min_t(loff_t, req->end, (loff_t)req->next << PAGE_SHIFT);
	struct iov_iter ahead = *req->iter;
	u64 start = ktime_get_ns();
	unsigned long addr;
	size_t len;

	if (!req->config.fault_in || req->fault_stop || pos >= end)
		return 0;
	iov_iter_advance(&ahead, pos - req->iocb->ki_pos);
	addr = mars_iter_segment(&ahead, &len);
	len = min_t(size_t, len, end - pos);
	len = mars_make_present(req, addr, len);
	req->fault_stop = !len;
	mars_stat_add(req->mount->stats, MARS_STAT_bytes_faulted_in, len);
	trace_mars_fault_in(req->id, pos, len,
			    mars_stage_end(req, MARS_STAT_fault_in_ns, start));
	return len;
}
