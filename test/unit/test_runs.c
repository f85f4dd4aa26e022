// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs: the ring against a plain bitmap of the same pages.
 */
#include "unit.h"

#define PAGES 4096

/* The last page of ours from the cursor on, in the ring and in the bitmap. */
static void check_last(const struct mars_runs *r, const bool *mine, u64 cursor)
{
	u64 index, last = PAGES, total = 0, i;

	for (i = cursor; i < PAGES; i++)
		total += mine[i];
	assert_int_equal(mars_runs_total(r), total);
	while (last > cursor && !mine[last - 1])
		last--;
	assert_int_equal(mars_runs_last(r, &index), last > cursor);
	if (last > cursor)
		assert_int_equal(index, last - 1);
}

static void test_empty(void **state)
{
	struct mars_runs r;

	(void)state;
	mars_runs_init(&r);
	assert_false(mars_runs_full(&r));
	assert_false(mars_runs_contain(&r, 0));
	mars_runs_retire(&r, 100);
	mars_runs_rewind(&r, 0);
	assert_false(mars_runs_contain(&r, 0));
}

static void test_push_rules(void **state)
{
	struct mars_runs r;

	(void)state;
	mars_runs_init(&r);
	assert_false(mars_runs_push(&r, 5, 5));
	assert_false(mars_runs_push(&r, 5, 4));
	assert_true(mars_runs_push(&r, 5, 8));
	assert_false(mars_runs_push(&r, 7, 9));
	assert_false(mars_runs_push(&r, 0, 2));
	assert_true(mars_runs_push(&r, 8, 9));
	assert_int_equal(r.nr, 1);
	assert_true(mars_runs_push(&r, 10, 11));
	assert_int_equal(r.nr, 2);
	assert_true(mars_runs_contain(&r, 5));
	assert_true(mars_runs_contain(&r, 8));
	assert_false(mars_runs_contain(&r, 9));
	assert_false(mars_runs_contain(&r, 4));
}

/* Full: no run of its own fits, but one that touches the last still does. */
static void test_full(void **state)
{
	struct mars_runs r;
	u64 i;

	(void)state;
	mars_runs_init(&r);
	for (i = 0; i < MARS_RUNS_MAX; i++) {
		assert_false(mars_runs_full(&r));
		assert_true(mars_runs_push(&r, 2 * i, 2 * i + 1));
	}
	assert_true(mars_runs_full(&r));
	assert_false(mars_runs_push(&r, 2 * i, 2 * i + 1));
	assert_true(mars_runs_push(&r, 2 * i - 1, 2 * i));
	mars_runs_retire(&r, 1);
	assert_false(mars_runs_full(&r));
	assert_true(mars_runs_push(&r, 2 * i + 1, 2 * i + 2));
}

/* Random pushes, rewinds and a cursor that moves up: asked at the cursor. */
static void test_model(void **state)
{
	static bool mine[PAGES];
	uint64_t rng = 7, round;

	(void)state;
	for (round = 0; round < 3000; round++) {
		u64 top = unit_random(&rng) % 50, cursor = top;
		struct mars_runs r;

		memset(mine, 0, sizeof(mine));
		mars_runs_init(&r);
		while (cursor < PAGES - 100) {
			u64 n = 1 + unit_random(&rng) % 20, i;

			switch (unit_random(&rng) % 4) {
			case 0:	/* resident pages: nothing of ours */
				top += n;
				break;
			case 1:
				if (top + n < PAGES && mars_runs_push(&r, top, top + n)) {
					for (i = top; i < top + n; i++)
						mine[i] = true;
					top += n;
				} else {
					assert_true(top + n >= PAGES || mars_runs_full(&r));
				}
				break;
			case 2:	/* truncated, or lost a race: back to here */
				if (unit_random(&rng) % 3 || top <= cursor)
					break;
				top = cursor + unit_random(&rng) % (top - cursor);
				mars_runs_rewind(&r, top);
				for (i = top; i < PAGES; i++)
					mine[i] = false;
				break;
			default:
				for (i = 0; i < n && cursor < top; i++, cursor++) {
					mars_runs_retire(&r, cursor);
					assert_int_equal(mars_runs_contain(&r, cursor),
							 mine[cursor]);
					check_last(&r, mine, cursor);
				}
				if (top >= PAGES - 20 && cursor >= top)
					cursor = PAGES;
			}
			if (top >= PAGES - 20 && cursor >= top)
				break;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_push_rules),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
