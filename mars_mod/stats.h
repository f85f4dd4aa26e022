/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters: per CPU, added to without locks, summed when read.
 */
#ifndef _MARS_STATS_H
#define _MARS_STATS_H

#include <linux/percpu.h>

#include <mars/core.h>

enum mars_stat {
#define MARS_STAT(name) MARS_STAT_##name,
#include <mars/stats.def>
#undef MARS_STAT
	MARS_NR_OWN_STATS,
	/* one counter per reason, in the order of reasons.def */
	MARS_STAT_NATIVE = MARS_NR_OWN_STATS,
	MARS_NR_STATS = MARS_STAT_NATIVE + MARS_NR_REASONS
};

/**
 * struct mars_stats - the counters of one mount on one CPU
 * @count: indexed by enum mars_stat
 */
struct mars_stats {
	u64 count[MARS_NR_STATS];
};

/**
 * mars_stat_add() - add to a counter
 * @stats: a mount's counters
 * @stat: which
 * @n: how much
 *
 * Context: Any.
 */
static inline void mars_stat_add(struct mars_stats __percpu *stats, enum mars_stat stat, u64 n)
{
	this_cpu_add(stats->count[stat], n);
}

/**
 * mars_stat_native() - count a read, or a piece of one, left to the native path
 * @stats: a mount's counters
 * @reason: why
 *
 * Context: Any.
 */
static inline void mars_stat_native(struct mars_stats __percpu *stats, enum mars_reason reason)
{
	this_cpu_inc(stats->count[MARS_STAT_NATIVE + reason]);
}

u64 mars_stat_sum(struct mars_stats __percpu *stats, enum mars_stat stat);

#endif /* _MARS_STATS_H */
