// SPDX-License-Identifier: GPL-2.0-only
/*
 * Budget: how much memory a read may have in flight. All reads together stay
 * within one share of the machine's memory; a single one also within what its
 * memory cgroup and the free lists can spare.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>

#include "../trace.h"
#include "read.h"

static atomic64_t in_flight;
static u64 memory_limit;

/* A change of the limit meets the reads to come; those under way keep theirs. */
static u64 share_left(u64 taken)
{
	u64 limit = READ_ONCE(memory_limit);

	return limit > taken ? limit - taken : 0;
}

/*
 * Of memory.max and memory.high the lesser, over all ancestors. The pages are
 * charged to the mm's cgroup, see filemap_add_folio().
 */
static u64 group_limit(void)
{
	u64 limit = ~0ULL;
#ifdef CONFIG_MEMCG
	struct mem_cgroup *own, *memcg;
	unsigned long pages;

	if (mem_cgroup_disabled())
		return limit;
	own = get_mem_cgroup_from_mm(current->mm);
	for (memcg = own; memcg; memcg = parent_mem_cgroup(memcg)) {
		pages = min(READ_ONCE(memcg->memory.max), READ_ONCE(memcg->memory.high));
		if (pages < PAGE_COUNTER_MAX)
			limit = min(limit, (u64)pages << PAGE_SHIFT);
	}
	mem_cgroup_put(own);
#endif
	return limit;
}

/**
 * mars_budget_take() - take a read's share of memory
 * @own: bytes of the read
 * @most: bytes that it may have in flight
 * @ahead: bytes that it would like to look ahead; changed to what it may
 *
 * Context: Any that has current->mm. May sleep.
 * Return: The bytes that may be in flight, to be handed to mars_budget_give()
 * at the end; 0 when the reads under way have all that MARS may use.
 */
u64 mars_budget_take(u64 own, u64 most, u64 *ahead)
{
	s64 available = si_mem_available();
	u64 group = group_limit();
	s64 taken = atomic64_read(&in_flight);
	u64 window, left, more, wanted;

	do {
		left = share_left(taken);
		more = min(*ahead, mars_lookahead_share(mars_memory_limit(), left));
		wanted = min(most, own + more);
		window = mars_plan_window(wanted, left, group,
					  (u64)max(available, 0LL) << PAGE_SHIFT);
	} while (window && !atomic64_try_cmpxchg_relaxed(&in_flight, &taken, taken + window));
	*ahead = mars_lookahead_fit(more, wanted, window);
	return window;
}

/**
 * mars_budget_give() - give a share back
 * @window: what mars_budget_take() returned
 *
 * Context: Any.
 */
void mars_budget_give(u64 window)
{
	atomic64_sub(window, &in_flight);
}

/**
 * mars_budget_used() - bytes that the reads under way may have in flight
 *
 * Context: Any.
 * Return: Bytes.
 */
u64 mars_budget_used(void)
{
	return atomic64_read(&in_flight);
}

/**
 * mars_memory_limit() - the share of memory for all reads together
 *
 * Context: Any.
 * Return: Bytes.
 */
u64 mars_memory_limit(void)
{
	return READ_ONCE(memory_limit);
}

/**
 * mars_set_memory_limit() - change the share
 * @bytes: from %MARS_WINDOW_LEAST to the machine's memory
 *
 * Context: Any.
 * Return: 0, or -EINVAL.
 */
int mars_set_memory_limit(u64 bytes)
{
	if (bytes < MARS_WINDOW_LEAST || bytes > (u64)totalram_pages() << PAGE_SHIFT)
		return -EINVAL;
	WRITE_ONCE(memory_limit, bytes);
	return 0;
}

/**
 * mars_budget_init() - an eighth of the memory there is
 *
 * Context: Module init.
 */
void mars_budget_init(void)
{
	memory_limit = max_t(u64, (u64)totalram_pages() << PAGE_SHIFT >> 3, MARS_WINDOW_LEAST);
}
