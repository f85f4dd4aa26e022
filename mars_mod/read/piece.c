// SPDX-License-Identifier: GPL-2.0-only
/*
 * The copy of one item of a share, by a worker or by the read: see parallel.c.
 */
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/swap.h>
#include <linux/uaccess.h>

#include "parallel.h"

/* Between two looks whether somebody wants the CPU: of a worker, of the reader. */
#define WORKER_STEP ((size_t)SZ_64K)
#define READER_STEP ((size_t)SZ_256K)

/*
 * Bytes of one folio, from the cursor on. As filemap_read(), once a folio: mark
 * it accessed, and flush aliases of a mapping that somebody writes to.
 */
static bool copy_folio_part(struct mars_share *share, struct mars_item *item,
			    struct folio *folio, bool mark, bool worker)
{
	struct mars_piece *piece = mars_piece(share, item);
	u64 end = min_t(u64, item->end, folio_pos(folio) + folio_size(folio));
	size_t most = worker ? WORKER_STEP : READER_STEP;

	if (mapping_writably_mapped(share->req->mapping))
		flush_dcache_folio(folio);
	while (item->cursor < end) {
		size_t step = min_t(u64, end - item->cursor, most);
		void *from = folio_address(folio) + offset_in_folio(folio, item->cursor);
		size_t done = copy_to_iter(from, step, &piece->iter);

		item->cursor += done;
		if (mark && done)
			folio_mark_accessed(folio);
		mark = false;
		if (done < step)
			return false;
		if (!worker)
			cond_resched();
		else if (mars_workers_want_cpu())
			return item->cursor == item->end;
	}
	return true;
}

/* From the cursor as far as it goes. */
static void copy_item(struct mars_share *share, struct mars_item *item, bool worker)
{
	struct mars_piece *piece = mars_piece(share, item);
	unsigned int i;

	for (i = 0; i < piece->nr && item->cursor < item->end; i++) {
		struct folio *folio = piece->folio[i];
		u64 begin = max_t(u64, item->start, folio_pos(folio));

		if (item->cursor >= folio_pos(folio) + folio_size(folio))
			continue;
		if (!copy_folio_part(share, item, folio,
				     item->cursor == begin && (i || piece->mark_first), worker))
			return;
	}
}

/**
 * mars_worker_execute() - a worker copies an item: adopt the mm, copy, leave it
 * @job: of a struct mars_share
 * @item: the item
 *
 * Context: A worker's section, preemption off.
 */
void mars_worker_execute(struct mars_job *job, struct mars_item *item)
{
	struct mars_share *share = container_of(job, struct mars_share, job);

	if (!mmget_not_zero(share->mm))
		return;
	kthread_use_mm(share->mm);
	pagefault_disable();
	copy_item(share, item, true);
	pagefault_enable();
	kthread_unuse_mm(share->mm);
	mmput_async(share->mm);
	mars_piece(share, item)->by_worker = item->cursor - item->start;
	if (item->cursor == item->start)
		WRITE_ONCE(share->unfit, true);
}

/**
 * mars_reader_execute() - the read copies an item, or what a worker left of it
 * @job: of a struct mars_share
 * @item: the item
 *
 * Context: The reader; may sleep and fault. No lock held.
 * Return: 0, or -EFAULT when the item was not copied whole.
 */
int mars_reader_execute(struct mars_job *job, struct mars_item *item)
{
	copy_item(container_of(job, struct mars_share, job), item, false);
	return item->cursor < item->end ? -EFAULT : 0;
}
