// SPDX-License-Identifier: GPL-2.0-only
/*
 * Protocol: every interleaving of a master and two workers, each stopped before
 * every access to shared memory, as long as it may please (explore.h). The
 * functions of protocol.c are the tasks' code as it ships; only the ring is
 * shorter, so that it turns.
 *
 * In each state: what is PARTIAL or RUNNING has a worker in its section, and a
 * job that is gone is not touched. From each state without a worker in its
 * section: the master ends by itself, without waiting. At each end: every byte
 * was done exactly once.
 *
 * PROTOCOL is the source to explore; mutants.sh gives others, each of which must
 * be found wrong here.
 */
#include "explore.h"

#define mars_step() explore_yield()
#define mars_relax() explore_spin()
#define MARS_JOB_ITEMS 2

#include "unit.h"

#include <stdlib.h>

#ifndef PROTOCOL
#define PROTOCOL "../../mars_mod/core/protocol.c"
#endif
#include PROTOCOL

#define WORKERS 2
#define ITEM_BYTES 2
#define BYTES_MOST (4 * ITEM_BYTES)
#define GONE 0x5A

static struct {
	struct mars_post post[WORKERS];
	struct mars_job job;
	unsigned char times[BYTES_MOST];	/* a byte was done */
	unsigned char in_section[WORKERS];
	unsigned char gone;	/* the master has returned; nothing is the job's */
	unsigned char failed;	/* 1 + the lowest byte that the master met an error at */
} w;

/* What this exploration is of. */
static struct {
	unsigned int items[2];	/* in the first job and, on the same posts, a second */
	bool may_fail;
	bool workers_park;
} plan;

static void do_byte(struct mars_item *item)
{
	if (item->cursor >= item->end || item->end > BYTES_MOST) {
		explore_wrong("something is done that was never asked for");
		return;
	}
	if (w.times[item->cursor]++)
		explore_wrong("a byte is done twice");
	item->cursor++;
}

static void worker_execute(struct mars_job *job, struct mars_item *item)
{
	if (w.gone)
		explore_wrong("a worker executes for a master that has returned");
	if (job != &w.job || !w.in_section[explore_current() - 1])
		explore_wrong("a worker executes outside its section");
	do {
		if (plan.workers_park && explore_choose())
			return;
		do_byte(item);
		explore_yield();
	} while (item->cursor < item->end && !w.gone);
}

static int master_run(struct mars_job *job, struct mars_item *item)
{
	(void)job;
	explore_yield();
	if (plan.may_fail && explore_choose()) {
		w.failed = 1 + item->cursor;
		return -EFAULT;
	}
	while (item->cursor < item->end)
		do_byte(item);
	return 0;
}

/* As parallel.c makes room: account what is finished, else help, else wait. */
static void make_room(void)
{
	while (mars_job_room(&w.job) == MARS_JOB_ITEMS) {
		if (!mars_job_reap(&w.job) && !mars_job_help(&w.job, master_run))
			mars_job_await(&w.job);
	}
}

static void offer(unsigned int nr)
{
	unsigned int i, k;

	for (k = 0; k < nr; k++) {
		make_room();
		if (w.job.err)
			return;
		mars_job_add(&w.job, k * ITEM_BYTES, (k + 1) * ITEM_BYTES);
		for (i = 0; i < WORKERS; i++)
			mars_post_call(&w.post[i], &w.job);
	}
}

static void account(unsigned int nr)
{
	/* What lies below an error is done in any case. */
	unsigned int i, whole = w.failed ? w.failed - 1U : nr * ITEM_BYTES;

	while (mars_job_reap(&w.job))
		;
	if (w.job.head != w.job.tail)
		explore_wrong("the master returns with an item open");
	for (i = 0; i < nr * ITEM_BYTES; i++)
		if (w.times[i] > 1 || (!w.times[i] && i < whole))
			explore_wrong("a byte is lost");
}

static void one_job(unsigned int nr)
{
	unsigned int i;

	memset(&w.job, 0, sizeof(w.job));
	memset(w.times, 0, sizeof(w.times));
	w.gone = 0;
	mars_job_init(&w.job, worker_execute);
	for (i = 0; i < WORKERS; i++)
		if (!mars_post_reserve(&w.post[i]))
			explore_wrong("a worker that was let go is not free");
	offer(nr);
	if (!mars_job_finish(&w.job, master_run) != !w.failed)
		explore_wrong("an error is lost, or made up");
	account(nr);
	for (i = 0; i < WORKERS; i++) {
		mars_post_recall(&w.post[i]);
		mars_post_free(&w.post[i]);
	}
	memset(&w.job, GONE, sizeof(w.job));
	w.job.execute = worker_execute;
	w.gone = 1;
	explore_yield();
}

static void master(void)
{
	one_job(plan.items[0]);
	if (plan.items[1])
		one_job(plan.items[1]);
}

static void worker(unsigned int nr)
{
	for (;;) {
		enum mars_visit visit;

		w.in_section[nr] = 1;
		visit = mars_visit(&w.post[nr]);
		w.in_section[nr] = 0;
		if (visit == MARS_VISIT_IDLE && explore_choose())
			mars_post_doze(&w.post[nr]);
		else
			explore_yield();
	}
}

static void worker0(void)
{
	worker(0);
}

static void worker1(void)
{
	worker(1);
}

static bool gone_is_untouched(void)
{
	const unsigned char *p = (void *)&w.job;
	size_t i;

	for (i = 0; i < sizeof(w.job); i++)
		if (p[i] != GONE && (i < offsetof(struct mars_job, execute) ||
				     i >= offsetof(struct mars_job, item)))
			return false;
	return true;
}

static const char *check(void)
{
	unsigned int i, at_work = 0, partial = 0;

	for (i = 0; i < WORKERS; i++) {
		if (w.post[i].state == MARS_POST_RUNNING && !w.in_section[i])
			return "a worker counts as running and does not run";
		at_work += w.in_section[i];
	}
	if (w.gone)
		return gone_is_untouched() ? NULL : "a job that is gone was written to";
	for (i = 0; i < MARS_JOB_ITEMS; i++)
		partial += w.job.item[i].state == MARS_ITEM_PARTIAL;
	return partial > at_work ? "an item counts as being worked at and nobody is" : NULL;
}

static bool nobody_in_section(void)
{
	return !w.in_section[0] && !w.in_section[1];
}

static struct explored run(unsigned int first, unsigned int second, bool may_fail, bool park)
{
	struct explore what = {
		.task = { master, worker0, worker1 },
		.shared = &w,
		.size = sizeof(w),
		.check = check,
		.alone = nobody_in_section,
	};
	struct explored found;

	plan.items[0] = first;
	plan.items[1] = second;
	plan.may_fail = may_fail;
	plan.workers_park = park;
	found = explore_run(&what);
	printf("items %u then %u, fail %d, park %d: %lu states, %lu ends, %s\n", first, second,
	       may_fail, park, found.states, found.ends, found.wrong ? found.wrong : "all right");
#ifdef STOP_AT_WRONG
	if (found.wrong)
		exit(1);
#endif
	return found;
}

static void expect_right(struct explored found)
{
	if (found.wrong)
		fail_msg("%s", found.wrong);
	assert_true(found.states > 1000 && found.ends > 0);
}

static void test_park(void **state)
{
	(void)state;
	expect_right(run(2, 0, false, true));
}

static void test_park_and_error(void **state)
{
	(void)state;
	expect_right(run(2, 0, true, true));
}

static void test_ring_turns(void **state)
{
	(void)state;
	expect_right(run(3, 0, false, false));
}

static void test_second_job(void **state)
{
	(void)state;
	expect_right(run(1, 1, false, false));
}

static void test_patience(void **state)
{
	struct mars_patience p = { 0 };
	u64 now = 1000;

	(void)state;
	mars_patience_note(&p, false, now);
	assert_false(mars_patience_over(&p, now));
	/* Coming in time in between makes the first one forgotten. */
	mars_patience_note(&p, true, now);
	mars_patience_note(&p, false, now);
	assert_false(mars_patience_over(&p, now));
	mars_patience_note(&p, false, now);
	assert_true(mars_patience_over(&p, now));
	assert_true(mars_patience_over(&p, now + MARS_PATIENCE_PAUSE_NS - 1));
	assert_false(mars_patience_over(&p, now + MARS_PATIENCE_PAUSE_NS));
	/* And then twice again. */
	now += MARS_PATIENCE_PAUSE_NS;
	mars_patience_note(&p, false, now);
	assert_false(mars_patience_over(&p, now));
	mars_patience_note(&p, false, now);
	assert_true(mars_patience_over(&p, now));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_park),
		cmocka_unit_test(test_park_and_error),
		cmocka_unit_test(test_ring_turns),
		cmocka_unit_test(test_second_job),
		cmocka_unit_test(test_patience),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
