/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The workers: one thread on each CPU, asleep until a read calls it. They know
 * items (core/protocol.c) and no reads. See worker.c.
 */
#ifndef _MARS_WORKER_H
#define _MARS_WORKER_H

#include <linux/cpumask.h>
#include <linux/lockdep.h>
#include <linux/types.h>

#include <mars/core.h>

/* Executors that one read has at most, itself among them. */
#define MARS_EXECUTORS_MAX 32

/**
 * struct mars_crew - the workers that a read has reserved
 * @nr:		how many
 * @called:	they were called, so they can come late
 * @cpu:	whose they are
 */
struct mars_crew {
	unsigned int nr;
	bool called;
	int cpu[MARS_EXECUTORS_MAX - 1];
};

enum mars_worker_counter {
#define MARS_WORKER_COUNTER(name) MARS_WORKER_##name,
#include <mars/workers.def>
#undef MARS_WORKER_COUNTER
	MARS_NR_WORKER_COUNTERS
};

enum mars_worker_value {
	MARS_WORKER_poll_us,
	MARS_WORKER_alpha,
	MARS_WORKER_gain,
	MARS_WORKER_copy_bytes_per_second,
	MARS_WORKER_copy_dispatch_ns,
	MARS_WORKER_copy_cap,
	MARS_NR_WORKER_VALUES
};

bool mars_workers_want_cpu(void);
unsigned int mars_crew_gather(struct mars_crew *crew, u64 bytes, u64 executors);
void mars_crew_call(struct mars_crew *crew, struct mars_job *job);
void mars_crew_recall(struct mars_crew *crew);
bool mars_have_workers(void);
u64 mars_workers_counter(enum mars_worker_counter counter);
int mars_workers_init(void);
void mars_workers_exit(void);

/* calibrate.c */
int mars_calibrate(void);
void mars_workers_cost(struct mars_cost *cost);
u64 mars_workers_least_bytes(void);
u64 mars_workers_value(enum mars_worker_value which);
int mars_workers_set_value(enum mars_worker_value which, u64 value);

#endif /* _MARS_WORKER_H */
