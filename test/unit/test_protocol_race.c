// SPDX-License-Identifier: GPL-2.0-only
/*
 * Protocol: the same code on real threads, under the thread sanitizer, which
 * knows what the barriers order and what they do not. Every byte is an ordinary
 * variable that one thread writes and the master reads afterwards: each access
 * that is not ordered by the pairs (A) to (D) of protocol.c is a report.
 */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>

#ifndef PROTOCOL
#define PROTOCOL "../../mars_mod/core/protocol.c"
#endif
#include PROTOCOL

#define WORKERS 2
#define ITEM_BYTES 64
#define ITEMS 40
#define JOBS 3000

struct work {
	struct mars_job job;
	unsigned char bytes[ITEMS * ITEM_BYTES];
};

static struct mars_post post[WORKERS];
static int stop;

static void worker_execute(struct mars_job *job, struct mars_item *item)
{
	struct work *work = (struct work *)job;
	u64 end = item->end;

	/* Now and then a normal task wants the CPU. */
	if (item->start / ITEM_BYTES % 7 == 3)
		end = item->start + ITEM_BYTES / 2;
	while (item->cursor < end)
		work->bytes[item->cursor++]++;
}

static int master_run(struct mars_job *job, struct mars_item *item)
{
	struct work *work = (struct work *)job;

	while (item->cursor < item->end)
		work->bytes[item->cursor++]++;
	return 0;
}

static void *worker(void *arg)
{
	struct mars_post *p = arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (mars_visit(p) == MARS_VISIT_IDLE)
			mars_post_doze(p);
	}
	return NULL;
}

static void reap(struct work *work)
{
	struct mars_item *item;
	u64 pos;

	while ((item = mars_job_reap(&work->job)))
		for (pos = item->start; pos < item->end; pos++)
			assert_int_equal(work->bytes[pos], 1);
}

static void one_job(void)
{
	struct work *work = calloc(1, sizeof(*work));
	u64 k;
	int i;

	assert_non_null(work);
	mars_job_init(&work->job, worker_execute);
	for (i = 0; i < WORKERS; i++)
		assert_true(mars_post_reserve(&post[i]));
	for (k = 0; k < ITEMS; k++) {
		while (mars_job_room(&work->job) == MARS_JOB_ITEMS) {
			reap(work);
			if (mars_job_room(&work->job) == MARS_JOB_ITEMS)
				mars_job_help(&work->job, master_run);
		}
		mars_job_add(&work->job, k * ITEM_BYTES, (k + 1) * ITEM_BYTES);
		for (i = 0; i < WORKERS; i++)
			mars_post_call(&post[i], &work->job);
	}
	assert_int_equal(mars_job_finish(&work->job, master_run), 0);
	reap(work);
	assert_int_equal(work->job.head, work->job.tail);
	for (i = 0; i < WORKERS; i++) {
		mars_post_recall(&post[i]);
		mars_post_free(&post[i]);
	}
	free(work);
}

static void test_threads(void **state)
{
	pthread_t thread[WORKERS];
	int i;

	(void)state;
	for (i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, worker, &post[i]), 0);
	for (i = 0; i < JOBS; i++)
		one_job();
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < WORKERS; i++)
		pthread_join(thread[i], NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
