// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ledger: pieces copied in random order against a plain array of flags, and
 * the commit walk over it: every byte copied once, in the end.
 */
#include "unit.h"

#define BYTES 4096

struct model {
	struct mars_ledger ledger;
	unsigned char copied[BYTES];	/* times a byte was copied */
};

static void check_against(struct model *m, uint64_t cursor)
{
	uint64_t pos, end, next;

	for (pos = cursor; pos < BYTES; pos++) {
		end = pos;
		while (end < BYTES && m->copied[end])
			end++;
		assert_int_equal(mars_ledger_covered(&m->ledger, pos), end);
		if (end > pos)
			continue;
		next = pos;
		while (next < BYTES && !m->copied[next])
			next++;
		assert_int_equal(mars_ledger_next(&m->ledger, pos),
				 next < BYTES ? next : UINT64_MAX);
	}
}

static void copy_early(struct model *m, uint64_t start, uint64_t end)
{
	uint64_t pos;

	start = mars_ledger_covered(&m->ledger, start);
	if (mars_ledger_next(&m->ledger, start) < end)
		end = mars_ledger_next(&m->ledger, start);
	if (start >= end || !mars_ledger_record(&m->ledger, start, end))
		return;
	for (pos = start; pos < end; pos++)
		m->copied[pos]++;
}

/* What copy.c does at the copy cursor: pass over what is covered, copy the rest. */
static uint64_t commit(struct model *m, uint64_t cursor, uint64_t end)
{
	while (cursor < end) {
		uint64_t covered = mars_ledger_covered(&m->ledger, cursor);
		uint64_t stop = mars_ledger_next(&m->ledger, cursor);

		if (covered > cursor) {
			cursor = covered < end ? covered : end;
			continue;
		}
		for (stop = stop < end ? stop : end; cursor < stop; cursor++)
			m->copied[cursor]++;
	}
	mars_ledger_retire(&m->ledger, cursor);
	return cursor;
}

static void test_random_orders(void **state)
{
	uint64_t seed = 1;
	int round, i;

	(void)state;
	for (round = 0; round < 300; round++) {
		struct model m = { 0 };
		uint64_t cursor = 0;

		mars_ledger_init(&m.ledger);
		while (cursor < BYTES) {
			uint64_t step = 1 + unit_random(&seed) % 400;

			for (i = 0; i < 8; i++) {
				uint64_t start = cursor + unit_random(&seed) % (BYTES - cursor);
				uint64_t len = 1 + unit_random(&seed) % 200;

				copy_early(&m, start, start + len < BYTES ? start + len : BYTES);
			}
			check_against(&m, cursor);
			cursor = commit(&m, cursor, cursor + step < BYTES ? cursor + step : BYTES);
		}
		for (i = 0; i < BYTES; i++)
			assert_int_equal(m.copied[i], 1);
		assert_int_equal(m.ledger.nr, 0);
	}
}

static void test_full(void **state)
{
	struct mars_ledger l;
	uint64_t i;

	(void)state;
	mars_ledger_init(&l);
	for (i = 0; i < MARS_LEDGER_MAX; i++) {
		assert_false(mars_ledger_full(&l));
		assert_true(mars_ledger_record(&l, 10 * i + 5, 10 * i + 10));
	}
	assert_true(mars_ledger_full(&l));
	/* No room for another piece, and nothing of it is taken for copied. */
	assert_false(mars_ledger_record(&l, 10 * i + 5, 10 * i + 10));
	assert_int_equal(mars_ledger_covered(&l, 10 * i + 5), 10 * i + 5);
	/* One that joins two others needs no room. */
	assert_true(mars_ledger_record(&l, 10, 15));
	assert_int_equal(l.nr, MARS_LEDGER_MAX - 1);
	assert_int_equal(mars_ledger_covered(&l, 5), 20);
	assert_false(mars_ledger_record(&l, 7, 7));
}

static void test_join(void **state)
{
	struct mars_ledger l;

	(void)state;
	mars_ledger_init(&l);
	assert_true(mars_ledger_record(&l, 10, 20));
	assert_true(mars_ledger_record(&l, 30, 40));
	assert_true(mars_ledger_record(&l, 50, 60));
	assert_true(mars_ledger_record(&l, 20, 50));
	assert_int_equal(l.nr, 1);
	assert_int_equal(mars_ledger_covered(&l, 10), 60);
	assert_int_equal(mars_ledger_covered(&l, 60), 60);
	assert_int_equal(mars_ledger_next(&l, 0), 10);
	assert_true(mars_ledger_next(&l, 60) == UINT64_MAX);
	mars_ledger_retire(&l, 59);
	assert_int_equal(mars_ledger_covered(&l, 59), 60);
	mars_ledger_retire(&l, 60);
	assert_int_equal(l.nr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_join),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_random_orders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
