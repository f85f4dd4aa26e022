// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plan: how large the next folio and the next batch are.
 */
#include <mars/core.h>

/* The device starts on this much before anything larger is put together. */
#define FIRST_BATCH_BYTES (256ULL << 10)

/**
 * mars_plan_order() - order of the folio that starts at an index
 * @index: page index of its first page
 * @nr: pages missing from @index on, at least 1
 * @min_order: least order of the mapping
 * @max_order: greatest order allowed now, at least @min_order
 *
 * As page_cache_ra_order() does it: naturally aligned, never past the end of
 * the missing run, except that @min_order is kept whatever @nr says. Order 1
 * is left out: before 6.9 a large folio needed a third page for its deferred
 * split list.
 *
 * Context: Any.
 * Return: The order.
 */
unsigned int mars_plan_order(u64 index, u64 nr, unsigned int min_order, unsigned int max_order)
{
	unsigned int order = max_order;

	while (order > min_order && ((index & ((1ULL << order) - 1)) || (1ULL << order) > nr))
		order--;
	return order == 1 && min_order == 0 ? 0 : order;
}

/**
 * mars_plan_step_down() - the order to try after an allocation failed
 * @order: order that could not be had, greater than @min_order
 * @min_order: least order of the mapping
 *
 * Two steps at a time: a zone that has no block of one order rarely has one of
 * the next, and every failing attempt walks the zone list.
 *
 * Context: Any.
 * Return: A smaller order, not below @min_order, and not 1 unless it must be.
 */
unsigned int mars_plan_step_down(unsigned int order, unsigned int min_order)
{
	unsigned int next = order > min_order + 2 ? order - 2 : min_order;

	return next == 1 && min_order == 0 ? 0 : next;
}

/**
 * mars_plan_batch() - bytes of the next batch
 * @previous: bytes of the batch before it, 0 for the first of a read
 * @batch_bytes: the mount's knob
 *
 * The first is small, so that the device starts at once; each later one doubles
 * until @batch_bytes is reached.
 *
 * Context: Any.
 * Return: Bytes, at most @batch_bytes.
 */
u64 mars_plan_batch(u64 previous, u64 batch_bytes)
{
	if (!previous)
		return min(FIRST_BATCH_BYTES, batch_bytes);
	return previous >= batch_bytes / 2 ? batch_bytes : previous * 2;
}

/**
 * mars_plan_batch_end() - where a batch ends
 * @next: page index where it begins
 * @pages: pages it is to have, at least 1
 *
 * On a multiple of its own size (of a power of two in it): no folio reaches from
 * one batch into the next, and a start that suits no large folio would otherwise
 * be handed on from batch to batch.
 *
 * Context: Any.
 * Return: Page index after it; from half of @pages to one and a half are before it.
 */
u64 mars_plan_batch_end(u64 next, u64 pages)
{
	u64 unit = 1, end;

	while (unit <= pages / 2)
		unit *= 2;
	end = (next + pages) & ~(unit - 1);
	return end - next < pages / 2 ? end + unit : end;
}

/**
 * mars_plan_max_order() - greatest folio order for one read
 * @max_folio_bytes: the mount's knob, a power of two
 * @page_shift: log2 of the page size
 * @min_order: least order of the mapping
 * @max_order: greatest order of the mapping
 *
 * Context: Any.
 * Return: An order in [@min_order, @max_order].
 */
unsigned int mars_plan_max_order(u64 max_folio_bytes, unsigned int page_shift,
				 unsigned int min_order, unsigned int max_order)
{
	unsigned int order = max_order;

	while (order > min_order && (1ULL << (order + page_shift)) > max_folio_bytes)
		order--;
	return order;
}

/**
 * mars_plan_window() - bytes that one read may have in flight
 * @wanted: the mount's knob, or the read's length where that is less
 * @share: what the reads under way leave of MARS's share of memory
 * @group: least limit of the reader's memory cgroup and its ancestors, ~0 for none
 * @available: memory that can be had without swapping
 *
 * A quarter of a limit: what is in flight cannot be reclaimed before it was
 * copied, and neither the reader's own memory nor its neighbours in the cgroup
 * are to be pushed out for it. At most half of what is left of the share, so that
 * the next reader finds some too.
 *
 * Context: Any.
 * Return: Bytes, at least %MARS_WINDOW_LEAST, or 0 when @share has less than that.
 */
u64 mars_plan_window(u64 wanted, u64 share, u64 group, u64 available)
{
	u64 window = min(wanted, min(group, available) / 4);

	if (share < MARS_WINDOW_LEAST)
		return 0;
	return max(min(window, share / 2), MARS_WINDOW_LEAST);
}
