// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handover: every interleaving of a read and two submitters, each stopped before every
 * access to shared memory, as long as it may please (explore.h).
 *
 * In each state: what was taken has a thread at it, which is in its work; a thread is at
 * nothing that was taken back. From each state in which no thread is at work: the read
 * ends by itself, whatever it had offered. At each end: every piece was done exactly
 * once, and the read knows what came of it.
 *
 * HANDOVER is the source to explore; mutants.sh gives others, each of which must be
 * found wrong here.
 */
#include "explore.h"

#define mars_step() explore_yield()
#define mars_relax() explore_spin()

#include "unit.h"

#include <stdlib.h>

#ifndef HANDOVER
#define HANDOVER "../../mars_mod/core/handover.c"
#endif
#include HANDOVER

#define THREADS 2
#define PIECES 3

struct piece {
	unsigned char filled;
	unsigned char times;
	unsigned char result;
};

static struct {
	struct mars_handover post[THREADS];
	struct piece piece[PIECES];
	unsigned char has[THREADS];	/* 1 + the piece that the thread was given */
	unsigned char at_work[THREADS];
	unsigned char gone;	/* the read has returned; the pieces are nobody's */
} w;

static void execute(struct piece *piece)
{
	if (w.gone)
		explore_wrong("a piece is done for a read that has returned");
	if (!piece->filled)
		explore_wrong("a piece is done before it was filled in");
	if (piece->times++)
		explore_wrong("a piece is done twice");
	explore_yield();
	piece->result = 1;
}

static void account(unsigned int thread)
{
	if (!w.piece[w.has[thread] - 1].result)
		explore_wrong("a piece counts as done and is not");
	w.has[thread] = 0;
}

/* Does a thread take it? It is looked at once, or not even that. */
static bool give(unsigned int thread, unsigned int nr)
{
	if (w.has[thread]) {
		if (!mars_handover_collect(&w.post[thread]))
			return false;
		account(thread);
	}
	w.piece[nr].filled = 1;
	mars_handover_offer(&w.post[thread], &w.piece[nr]);
	if (mars_handover_offered(&w.post[thread]) &&
	    mars_handover_withdraw(&w.post[thread]))
		return false;
	w.has[thread] = nr + 1;
	return true;
}

static void master(void)
{
	unsigned int i, nr;

	for (i = 0; i < THREADS; i++)
		if (!mars_handover_reserve(&w.post[i]))
			explore_wrong("a thread that nobody has is not free");
	for (nr = 0; nr < PIECES; nr++) {
		for (i = 0; i < THREADS && !give(i, nr); i++)
			;
		if (i < THREADS)
			continue;
		w.piece[nr].filled = 1;
		execute(&w.piece[nr]);
	}
	for (i = 0; i < THREADS; i++) {
		if (!w.has[i])
			continue;
		while (!mars_handover_collect(&w.post[i]))
			explore_spin();
		account(i);
	}
	for (i = 0; i < THREADS; i++)
		mars_handover_free(&w.post[i]);
	for (nr = 0; nr < PIECES; nr++)
		if (w.piece[nr].times != 1 || !w.piece[nr].result)
			explore_wrong("a piece is lost");
	memset(w.piece, 0, sizeof(w.piece));
	w.gone = 1;
	explore_yield();
}

static void thread(unsigned int nr)
{
	for (;;) {
		struct piece *piece = mars_handover_take(&w.post[nr]);

		if (piece) {
			w.at_work[nr] = 1;
			execute(piece);
			w.at_work[nr] = 0;
			mars_handover_done(&w.post[nr]);
		} else {
			explore_yield();
		}
	}
}

static void thread0(void)
{
	thread(0);
}

static void thread1(void)
{
	thread(1);
}

static const char *check(void)
{
	unsigned int i;

	for (i = 0; i < THREADS; i++)
		if (w.at_work[i] && w.post[i].state != MARS_HANDOVER_TAKEN)
			return "a thread is at work and its piece does not count as taken";
	return NULL;
}

static bool nobody_has_any(void)
{
	unsigned int i;

	for (i = 0; i < THREADS; i++)
		if (w.post[i].state == MARS_HANDOVER_TAKEN)
			return false;
	return true;
}

static void test_all(void **state)
{
	struct explore what = {
		.task = { master, thread0, thread1 },
		.shared = &w,
		.size = sizeof(w),
		.check = check,
		.alone = nobody_has_any,
	};
	struct explored found = explore_run(&what);

	(void)state;
	printf("%lu states, %lu ends, %s\n", found.states, found.ends,
	       found.wrong ? found.wrong : "all right");
	if (found.wrong)
		fail_msg("%s", found.wrong);
	assert_true(found.states > 1000 && found.ends > 0);
}

/* One read at a time. */
static void test_reserve(void **state)
{
	struct mars_handover one = { 0 };

	(void)state;
	memset(&w, 0, sizeof(w));
	assert_true(mars_handover_reserve(&one));
	assert_false(mars_handover_reserve(&one));
	mars_handover_free(&one);
	assert_true(mars_handover_reserve(&one));
	mars_handover_offer(&one, &w);
	assert_true(mars_handover_offered(&one));
	assert_true(mars_handover_withdraw(&one));
	assert_null(mars_handover_take(&one));
	mars_handover_offer(&one, &w);
	assert_ptr_equal(mars_handover_take(&one), &w);
	assert_null(mars_handover_take(&one));
	assert_false(mars_handover_withdraw(&one));
	assert_false(mars_handover_collect(&one));
	mars_handover_done(&one);
	assert_false(mars_handover_reserve(&one));
	assert_true(mars_handover_collect(&one));
	assert_false(mars_handover_collect(&one));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_reserve),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
