// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verdict: which reads MARS takes. An allow list: whatever is not known to be
 * an ordinary large read into user memory stays with the native path.
 */
#include <mars/core.h>

/*
 * Up to here no sum of a position with a read's length (at most 2 GiB), a window
 * (at most 1 GiB) and a folio overflows.
 */
#define POS_GREATEST ((s64)(~0ULL >> 1) - (4LL << 30))

/**
 * mars_verdict() - decide whether a read is accelerated
 * @facts: what the hook knows of it
 *
 * The size that counts is min(count, i_size - pos): a huge buffer handed to a
 * small file is a small read. It is checked first, being the cheapest and by
 * far the most frequent reason.
 *
 * Context: Any; called with preemption disabled.
 * Return: MARS_ACCELERATE, or the first reason that applies.
 */
enum mars_reason mars_verdict(const struct mars_facts *facts)
{
	u64 left;

	if (facts->pos < 0 || facts->pos >= facts->isize)
		return MARS_NATIVE_small;
	left = (u64)(facts->isize - facts->pos);
	if (min(facts->count, left) < facts->min_read_bytes)
		return MARS_NATIVE_small;
	if (facts->bad_flags)
		return MARS_NATIVE_flags;
	if (facts->bad_iter)
		return MARS_NATIVE_iter;
	if (facts->bad_context)
		return MARS_NATIVE_context;
	if (facts->bad_file || facts->pos > POS_GREATEST)
		return MARS_NATIVE_file;
	return MARS_ACCELERATE;
}
