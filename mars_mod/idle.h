/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs that have nothing else to do. See idle.c.
 */
#ifndef _MARS_IDLE_H
#define _MARS_IDLE_H

#include <linux/cpumask.h>
#include <linux/types.h>

/* Candidates of one read; on a larger machine some idle ones stay unseen. */
#define MARS_SCAN_MAX 64

/**
 * struct mars_scan - what a read sees of the other CPUs
 * @cpus:	those that it may use, its own among them
 * @nr:		idle ones whose thread is willing
 * @cpu:	which, nearest first
 * @idle:	their idle time at the first look
 */
struct mars_scan {
	unsigned int cpus;
	unsigned int nr;
	int cpu[MARS_SCAN_MAX];
	u64 idle[MARS_SCAN_MAX];
};

void mars_scan_idle(struct mars_scan *scan, bool (*willing)(int cpu),
		    bool (*at_hand)(int cpu, u64 now));
void mars_workers_get_cpus(struct cpumask *cpus);
void mars_workers_set_cpus(const struct cpumask *cpus);
void mars_idle_init(void);

#endif /* _MARS_IDLE_H */
