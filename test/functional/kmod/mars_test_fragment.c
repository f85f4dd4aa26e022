// SPDX-License-Identifier: GPL-2.0-only
/*
 * Leaves free memory in pieces of four pages at most, for as long as it is loaded: of
 * every block of eight pages that is free it keeps one, which nobody can move.
 */
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>

#define ORDER 3

static LIST_HEAD(kept);

static unsigned long take_blocks(void)
{
	const gfp_t gfp = GFP_NOWAIT | __GFP_HIGHMEM | __GFP_NOWARN | __GFP_NORETRY;
	struct page *page, *next;
	unsigned long nr = 0;
	LIST_HEAD(taken);

	while ((page = alloc_pages(gfp & ~__GFP_KSWAPD_RECLAIM, ORDER))) {
		split_page(page, ORDER);
		list_add(&page->lru, &taken);
		nr++;
		cond_resched();
	}
	/* Only now: what is freed at once would come back as the next block's neighbour. */
	list_for_each_entry_safe(page, next, &taken, lru) {
		for (int i = 1; i < 1 << ORDER; i++)
			__free_page(page + i);
		cond_resched();
	}
	list_splice(&taken, &kept);
	return nr;
}

static void fragment_exit(void)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, &kept, lru) {
		list_del(&page->lru);
		__free_page(page);
		cond_resched();
	}
}

/* The blocks below the watermarks can be had when the others have been broken up. */
static int __init fragment_init(void)
{
	unsigned long nr, total = 0;
	int turns = 0;

	do {
		nr = take_blocks();
		total += nr;
	} while (nr && ++turns < 100);
	if (!total)
		return -ENOMEM;
	pr_info("%lu pages kept, after %d turns\n", total, turns);
	return 0;
}

module_init(fragment_init);
module_exit(fragment_exit);
MODULE_DESCRIPTION("Test: memory without large blocks");
MODULE_LICENSE("GPL");
