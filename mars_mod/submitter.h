/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The submitters: one thread on each CPU, asleep until a read calls it. They know
 * pieces of work and no reads. See submitter.c.
 */
#ifndef _MARS_SUBMITTER_H
#define _MARS_SUBMITTER_H

#include <linux/types.h>

#include "worker.h"

/**
 * struct mars_task - a piece of work
 * @run:	does it; may sleep
 */
struct mars_task {
	void (*run)(struct mars_task *task);
};

/**
 * struct mars_submitters - the submitters that a read has reserved
 * @nr:		how many
 * @cpu:	whose they are
 */
struct mars_submitters {
	unsigned int nr;
	int cpu[MARS_EXECUTORS_MAX - 1];
};

unsigned int mars_submitters_gather(struct mars_submitters *set, unsigned int executors);
bool mars_submitter_at_hand(int cpu);
void mars_submitter_call(int cpu);
bool mars_submitter_give(int cpu, struct mars_task *task);
bool mars_submitter_collect(int cpu);
void mars_submitter_wait(int cpu);
void mars_submitters_release(struct mars_submitters *set);
int mars_submitters_init(void);
void mars_submitters_exit(void);

#endif /* _MARS_SUBMITTER_H */
