// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plan: folio orders and batch sizes.
 */
#include "unit.h"

/* Every small case: aligned, inside the run, as large as both allow. */
static void test_order_exhaustive(void **state)
{
	unsigned int least, most;
	u64 index, nr;

	(void)state;
	for (least = 0; least <= 4; least++)
		for (most = least; most <= 9; most++)
			for (index = 0; index < 1024; index += 1ULL << least)
				for (nr = 1; nr < 600; nr += nr < 40 ? 1 : 37) {
					unsigned int o = mars_plan_order(index, nr, least, most);

					assert_true(o >= least && o <= most);
					assert_int_equal(index & ((1ULL << o) - 1), 0);
					assert_true(o == least || 1ULL << o <= nr);
					assert_false(o == 1 && least == 0);
				}
}

static void test_order_is_largest(void **state)
{
	(void)state;
	assert_int_equal(mars_plan_order(0, 512, 0, 9), 9);
	assert_int_equal(mars_plan_order(0, 511, 0, 9), 8);
	assert_int_equal(mars_plan_order(512, 10000, 0, 9), 9);
	assert_int_equal(mars_plan_order(4, 10000, 0, 9), 2);
	assert_int_equal(mars_plan_order(3, 10000, 0, 9), 0);
	assert_int_equal(mars_plan_order(2, 10000, 0, 9), 0);
	assert_int_equal(mars_plan_order(0, 3, 0, 9), 0);
	assert_int_equal(mars_plan_order(0, 4, 0, 9), 2);
	assert_int_equal(mars_plan_order(0, 1, 2, 9), 2);
	assert_int_equal(mars_plan_order(0, 10000, 0, 0), 0);
	assert_int_equal(mars_plan_order(1ULL << 51, 1ULL << 51, 0, 9), 9);
}

/* Stepping down ends at the least order, in a bounded number of steps. */
static void test_step_down_ends(void **state)
{
	unsigned int least, order, steps;

	(void)state;
	for (least = 0; least <= 4; least++) {
		order = 18;
		for (steps = 0; order > least; steps++) {
			unsigned int next = mars_plan_step_down(order, least);

			assert_true(next < order && next >= least);
			assert_false(next == 1 && least == 0);
			order = next;
		}
		assert_true(steps <= 10);
	}
}

static void test_batches_grow(void **state)
{
	u64 batch, limit;

	(void)state;
	for (limit = 64 << 10; limit <= 1 << 30; limit = limit * 3 / 4096 * 4096) {
		u64 previous = 0, steps = 0;

		do {
			batch = mars_plan_batch(previous, limit);
			assert_true(batch > 0 && batch <= limit);
			assert_true(batch >= previous);
			assert_true(!previous || batch == limit || batch == 2 * previous);
			assert_int_equal(batch % 4096, 0);
			previous = batch;
		} while (batch < limit && ++steps < 30);
		assert_int_equal(batch, limit);
	}
	assert_int_equal(mars_plan_batch(0, 1 << 20), 256 << 10);
}

/* Half to one and a half of what was asked, and on a boundary, whatever the start. */
static void test_batch_ends(void **state)
{
	u64 next, pages, unit, end;

	(void)state;
	for (pages = 1; pages <= 700; pages++) {
		for (unit = 1; unit * 2 <= pages;)
			unit *= 2;
		for (next = 0; next < 2100; next++) {
			end = mars_plan_batch_end(next, pages);
			assert_true(end > next);
			assert_true(end - next >= pages / 2);
			assert_true(2 * (end - next) <= 3 * pages);
			assert_int_equal(end % unit, 0);
		}
	}
	assert_int_equal(mars_plan_batch_end((1ULL << 51) + 3, 256), (1ULL << 51) + 256);
}

/* 64 MiB as the defaults read it, from any page: whole folios of a batch's size. */
static void test_batches_make_large_folios(void **state)
{
	u64 start, next, end, batch, folios, pages;

	(void)state;
	for (start = 0; start < 600; start += 7) {
		batch = 0;
		folios = 0;
		for (next = start; next < start + (64 << 20) / 4096;) {
			batch = mars_plan_batch(batch, 1 << 20);
			end = mars_plan_batch_end(next, batch / 4096);
			for (; next < end; next += pages, folios++)
				pages = 1ULL << mars_plan_order(next, end - next, 0, 9);
		}
		assert_true(folios <= 64 + 30);
	}
}

static void test_max_order(void **state)
{
	(void)state;
	assert_int_equal(mars_plan_max_order(2 << 20, 12, 0, 9), 9);
	assert_int_equal(mars_plan_max_order(2 << 20, 12, 0, 8), 8);
	assert_int_equal(mars_plan_max_order(1 << 20, 12, 0, 9), 8);
	assert_int_equal(mars_plan_max_order(4096, 12, 0, 9), 0);
	assert_int_equal(mars_plan_max_order(4096, 12, 3, 9), 3);
	assert_int_equal(mars_plan_max_order(4096, 16, 0, 9), 0);
	assert_int_equal(mars_plan_max_order(64 << 20, 16, 0, 11), 10);
	assert_int_equal(mars_plan_max_order(2 << 20, 12, 0, 0), 0);
}

static void test_window(void **state)
{
	const u64 none = ~0ULL;

	(void)state;
	assert_int_equal(mars_plan_window(64 << 20, 1 << 30, none, 4ULL << 30), 64 << 20);
	assert_int_equal(mars_plan_window(64 << 20, 128 << 20, none, 4ULL << 30), 64 << 20);
	assert_int_equal(mars_plan_window(64 << 20, 20 << 20, none, 4ULL << 30), 10 << 20);
	assert_int_equal(mars_plan_window(64 << 20, 1 << 30, 64 << 20, 4ULL << 30), 16 << 20);
	assert_int_equal(mars_plan_window(64 << 20, 1 << 30, none, 32 << 20), 8 << 20);
	/* Never below the least, never above the share, none when that is less. */
	assert_int_equal(mars_plan_window(64 << 20, 1 << 30, 2 << 20, 0), MARS_WINDOW_LEAST);
	assert_int_equal(mars_plan_window(4096, 1 << 30, none, none), MARS_WINDOW_LEAST);
	assert_int_equal(mars_plan_window(64 << 20, MARS_WINDOW_LEAST, none, none),
			 MARS_WINDOW_LEAST);
	assert_int_equal(mars_plan_window(64 << 20, MARS_WINDOW_LEAST - 1, none, none), 0);
	assert_int_equal(mars_plan_window(64 << 20, 0, none, none), 0);
}

/* Many readers at once: the share is kept, and a good number of them get some. */
static void test_share(void **state)
{
	u64 limit, left, window;
	int readers;

	(void)state;
	for (limit = 1 << 20; limit < 1ULL << 36; limit = limit * 3 / 2) {
		left = limit;
		readers = 0;
		while ((window = mars_plan_window(64 << 20, left, ~0ULL, ~0ULL))) {
			assert_true(window >= MARS_WINDOW_LEAST && window <= left);
			left -= window;
			readers++;
		}
		assert_true(left < MARS_WINDOW_LEAST);
		assert_true(limit < 256 << 20 || readers >= 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_exhaustive),
		cmocka_unit_test(test_order_is_largest),
		cmocka_unit_test(test_step_down_ends),
		cmocka_unit_test(test_batches_grow),
		cmocka_unit_test(test_batch_ends),
		cmocka_unit_test(test_batches_make_large_folios),
		cmocka_unit_test(test_max_order),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
