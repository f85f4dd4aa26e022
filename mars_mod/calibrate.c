// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a copy costs on this machine: measured when the module is loaded, and
 * when somebody asks for it, in some milliseconds. The workers do it with the
 * very protocol that reads use.
 *
 *   S	what one CPU copies in a second, from memory to memory
 *   D	from calling an idle worker to its being at work
 *   cap  as many executors as still finish the same work an eighth sooner than
 *	half as many, but at least two: beyond them it is memory that is slow
 *
 * On a machine that is busy meanwhile D and cap keep the values they had.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/vmalloc.h>

#include "worker.h"

#define COPY_BYTES ((u64)SZ_4M)
#define ITEM_BYTES (COPY_BYTES / MARS_JOB_ITEMS)
#define STEP_BYTES ((u64)SZ_64K)
#define ROUNDS 3
#define CALLS 5
/* A worker that has not come by then does not count. */
#define CALL_MOST_NS (2 * NSEC_PER_MSEC)

struct trial {
	struct mars_job job;
	u8 *from;
	u8 *to;
};

static DEFINE_MUTEX(calibrate_mutex);	/* one at a time */

static u64 values[MARS_NR_WORKER_VALUES] = {
	[MARS_WORKER_alpha] = 500,
	[MARS_WORKER_gain] = 100,
	/* Until they are measured. */
	[MARS_WORKER_copy_bytes_per_second] = 4000000000ULL,
	[MARS_WORKER_copy_dispatch_ns] = 50000,
	[MARS_WORKER_copy_cap] = 2,
};

static const u64 greatest[MARS_NR_WORKER_VALUES] = {
	[MARS_WORKER_poll_us] = 10000,
	[MARS_WORKER_alpha] = MARS_COST_ALPHA_MAX,
	[MARS_WORKER_gain] = MARS_COST_GAIN_MAX,
	[MARS_WORKER_copy_bytes_per_second] = MARS_COST_SPEED_MAX,
	[MARS_WORKER_copy_dispatch_ns] = 1000000000ULL,
	[MARS_WORKER_copy_cap] = MARS_EXECUTORS_MAX,
};

static void copy_item(struct mars_job *job, struct mars_item *item)
{
	struct trial *trial = container_of(job, struct trial, job);

	do {
		u64 step = min(item->end - item->cursor, STEP_BYTES);

		memcpy(trial->to + item->cursor, trial->from + item->cursor, step);
		item->cursor += step;
	} while (item->cursor < item->end && !mars_workers_want_cpu());
}

static int copy_rest(struct mars_job *job, struct mars_item *item)
{
	struct trial *trial = container_of(job, struct trial, job);

	memcpy(trial->to + item->cursor, trial->from + item->cursor, item->end - item->cursor);
	item->cursor = item->end;
	cond_resched();
	return 0;
}

/* The time that so many executors take for a copy; 0 when there are not as many. */
static u64 time_copy(struct trial *trial, unsigned int executors)
{
	struct mars_crew crew;
	u64 start, ns, pos;

	if (mars_crew_gather(&crew, COPY_BYTES, executors) + 1 != executors) {
		mars_crew_recall(&crew);
		return 0;
	}
	mars_job_init(&trial->job, copy_item);
	start = ktime_get_ns();
	for (pos = 0; pos < COPY_BYTES; pos += ITEM_BYTES)
		mars_job_add(&trial->job, pos, pos + ITEM_BYTES);
	mars_crew_call(&crew, &trial->job);
	mars_job_finish(&trial->job, copy_rest);
	ns = ktime_get_ns() - start;
	mars_crew_recall(&crew);
	return ns;
}

static u64 best_copy(struct trial *trial, unsigned int executors)
{
	u64 best = 0, ns;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		ns = time_copy(trial, executors);
		if (ns && (!best || ns < best))
			best = ns;
		/* Let the CPUs be seen idle again. */
		usleep_range(100, 200);
	}
	return best;
}

/* The time until a worker has begun, and done, next to nothing; 0: it did not come. */
static u64 time_call(struct trial *trial)
{
	struct mars_crew crew;
	u64 start, ns = 0;

	if (!mars_crew_gather(&crew, COPY_BYTES, 2))
		return 0;
	mars_job_init(&trial->job, copy_item);
	mars_job_add(&trial->job, 0, 1);
	start = ktime_get_ns();
	mars_crew_call(&crew, &trial->job);
	do {
		cpu_relax();
		if (mars_job_reap(&trial->job))
			ns = ktime_get_ns() - start;
	} while (!ns && ktime_get_ns() < start + CALL_MOST_NS);
	mars_job_finish(&trial->job, copy_rest);
	mars_crew_recall(&crew);
	return ns;
}

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static u64 median_call(struct trial *trial)
{
	u64 ns[CALLS];
	int i, nr = 0;

	for (i = 0; i < CALLS; i++) {
		/* Longer than a worker stays awake, so that it has to be woken. */
		usleep_range(700, 900);
		ns[nr] = time_call(trial);
		nr += !!ns[nr];
	}
	sort(ns, nr, sizeof(ns[0]), compare_u64, NULL);
	return nr ? ns[nr / 2] : 0;
}

static unsigned int measure_cap(struct trial *trial, u64 alone)
{
	unsigned int n, cap = 2;
	u64 before = best_copy(trial, 2), ns;

	if (!before || before > alone)
		before = alone;
	for (n = 4; n <= MARS_EXECUTORS_MAX; n *= 2) {
		ns = best_copy(trial, n);
		if (!ns || ns * 8 > before * 7)
			break;
		cap = n;
		before = ns;
	}
	return cap;
}

static void measure(struct trial *trial)
{
	u64 alone, call;

	memset(trial->from, 1, COPY_BYTES);
	memset(trial->to, 2, COPY_BYTES);
	alone = best_copy(trial, 1);
	if (alone)
		mars_workers_set_value(MARS_WORKER_copy_bytes_per_second,
				       COPY_BYTES * NSEC_PER_SEC / alone);
	call = median_call(trial);
	if (!call)
		return;
	mars_workers_set_value(MARS_WORKER_copy_dispatch_ns, call);
	mars_workers_set_value(MARS_WORKER_copy_cap, measure_cap(trial, alone));
}

/**
 * mars_calibrate() - measure what a copy costs, and use it from now on
 *
 * Context: May sleep. The workers' threads exist.
 * Return: 0 or -ENOMEM; then nothing is changed.
 */
int mars_calibrate(void)
{
	struct trial *trial = kzalloc(sizeof(*trial), GFP_KERNEL);
	int err = -ENOMEM;

	if (!trial)
		return err;
	trial->from = vmalloc(COPY_BYTES);
	trial->to = vmalloc(COPY_BYTES);
	if (trial->from && trial->to) {
		mutex_lock(&calibrate_mutex);
		measure(trial);
		mutex_unlock(&calibrate_mutex);
		err = 0;
	}
	vfree(trial->from);
	vfree(trial->to);
	kfree(trial);
	return err;
}

/**
 * mars_workers_cost() - what a copy costs, as measured or as somebody wrote it
 * @cost: filled in
 *
 * Context: Any.
 */
void mars_workers_cost(struct mars_cost *cost)
{
	cost->bytes_per_second = READ_ONCE(values[MARS_WORKER_copy_bytes_per_second]);
	cost->dispatch_ns = READ_ONCE(values[MARS_WORKER_copy_dispatch_ns]);
	cost->gain = READ_ONCE(values[MARS_WORKER_gain]);
	cost->cap = min_t(u64, READ_ONCE(values[MARS_WORKER_copy_cap]), MARS_EXECUTORS_MAX);
}

/**
 * mars_workers_least_bytes() - least work that a second executor is worth
 *
 * Context: Any.
 * Return: Bytes, by the formula and the values of workers/; ~0 when no size is.
 */
u64 mars_workers_least_bytes(void)
{
	struct mars_cost cost;

	mars_workers_cost(&cost);
	return mars_have_workers() ? mars_parallel_least(&cost) : ~0ULL;
}

/**
 * mars_workers_value() - a value that decides how workers are used
 * @which: which
 *
 * Context: Any.
 * Return: It.
 */
u64 mars_workers_value(enum mars_worker_value which)
{
	return READ_ONCE(values[which]);
}

/**
 * mars_workers_set_value() - change such a value
 * @which: which
 * @value: it
 *
 * Context: May sleep.
 * Return: 0 or -EINVAL, when nothing is changed.
 */
int mars_workers_set_value(enum mars_worker_value which, u64 value)
{
	if (value > greatest[which])
		return -EINVAL;
	WRITE_ONCE(values[which], value);
	return 0;
}
