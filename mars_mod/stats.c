// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpumask.h>

#include "stats.h"

/**
 * mars_stat_sum() - value of a counter
 * @stats: a mount's counters
 * @stat: which
 *
 * A sum over CPUs while they count on: it never falls, and is exact when
 * nobody reads.
 *
 * Context: Any.
 * Return: The sum.
 */
u64 mars_stat_sum(struct mars_stats __percpu *stats, enum mars_stat stat)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(stats, cpu)->count[stat]);
	return sum;
}
