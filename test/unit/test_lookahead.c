// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lookahead: which reads look ahead, how far, and for how much memory.
 */
#include "unit.h"

#define M (1024 * 1024ULL)

static void test_continues(void **state)
{
	(void)state;
	assert_true(mars_continues(4096, 4096, false, false));
	assert_true(mars_continues(1, 1, false, true));
	assert_false(mars_continues(4096, 4095, false, false));
	assert_false(mars_continues(4096, 8192, false, false));
	assert_false(mars_continues(4096, 8192, false, true));
	/* The first read of a file, wherever it is. */
	assert_false(mars_continues(0, -1, false, false));
	assert_false(mars_continues(4096, -1, false, false));
	assert_true(mars_continues(0, -1, false, true));
	assert_true(mars_continues(4096, -1, false, true));
	/* Random access is random whatever it looks like. */
	assert_false(mars_continues(4096, 4096, true, false));
	assert_false(mars_continues(4096, 4096, true, true));
	assert_false(mars_continues(0, -1, true, true));
}

static void test_want(void **state)
{
	(void)state;
	assert_int_equal(mars_lookahead_want(MARS_AUTO, 64 * M, 4 * M, 0), 4 * M);
	assert_int_equal(mars_lookahead_want(MARS_AUTO, 64 * M, 4 * M, 4 * M), 8 * M);
	assert_int_equal(mars_lookahead_want(MARS_AUTO, 64 * M, 4 * M, 8 * M), 16 * M);
	assert_int_equal(mars_lookahead_want(MARS_AUTO, 64 * M, 4 * M, 16 * M), 24 * M);
	/* Taken over from small reads, or from a much larger one. */
	assert_int_equal(mars_lookahead_want(MARS_AUTO, 64 * M, 4 * M, 128 << 10), 4 * M);
	assert_int_equal(mars_lookahead_want(MARS_AUTO, 64 * M, M, 60 * M), 62 * M);
	/* Of another place, or of a time with another limit. */
	assert_int_equal(mars_lookahead_want(MARS_AUTO, 64 * M, 4 * M, 65 * M), 4 * M);
	assert_int_equal(mars_lookahead_want(MARS_AUTO, 64 * M, 4 * M, ~0ULL >> 1), 4 * M);
	/* Limits: the knob, the window, whichever is less. */
	assert_int_equal(mars_lookahead_want(MARS_AUTO, 64 * M, 128 * M, 0), 64 * M);
	assert_int_equal(mars_lookahead_want(3 * M, 64 * M, 4 * M, 4 * M), 3 * M);
	assert_int_equal(mars_lookahead_want(256 * M, 64 * M, 128 * M, 64 * M), 64 * M);
	assert_int_equal(mars_lookahead_want(0, 64 * M, 4 * M, 4 * M), 0);
}

/*
 * A stream: the lookahead grows to the limit and stays there, every read submits
 * what it has read and at most twice its length more.
 */
static void stream(u64 length, u64 limit)
{
	u64 pos = 0, edge = 0, reads = 0, before = 0;

	while (reads++ < 2000) {
		u64 ahead = edge > pos ? edge - pos : 0;
		u64 want = mars_lookahead_want(limit, 1ULL << 30, length, ahead);
		u64 next = max(edge, pos + length + want);

		assert_true(want >= min(length, limit));
		assert_true(want <= limit);
		assert_true(want >= before);
		assert_true(next - max(edge, pos + length) <= 3 * length);
		before = want;
		edge = next;
		pos += length;
	}
	assert_int_equal(edge - pos, limit);
}

static void test_stream(void **state)
{
	u64 length, limit;

	(void)state;
	for (length = M; length <= 256 * M; length *= 3)
		for (limit = 64 << 10; limit <= 1 << 30; limit *= 5)
			stream(length, limit);
}

static void test_share(void **state)
{
	u64 limit, left, total, readers;

	(void)state;
	assert_int_equal(mars_lookahead_share(512 * M, 512 * M), 64 * M);
	assert_int_equal(mars_lookahead_share(512 * M, 384 * M), 32 * M);
	assert_int_equal(mars_lookahead_share(512 * M, 256 * M), 0);
	assert_int_equal(mars_lookahead_share(512 * M, 0), 0);
	/* When the limit was lowered while reads were under way. */
	assert_int_equal(mars_lookahead_share(M, 0), 0);
	/* However many look ahead, half of it is left for what was asked for. */
	for (limit = M; limit <= 1ULL << 40; limit *= 3) {
		left = limit;
		total = 0;
		for (readers = 0; readers < 1000; readers++) {
			u64 more = mars_lookahead_share(limit, left);

			left -= more;
			total += more;
		}
		assert_true(total <= limit / 2 + 1);
		assert_true(total > limit / 2 - limit / 8);
	}
}

static void test_fit(void **state)
{
	(void)state;
	assert_int_equal(mars_lookahead_fit(8 * M, 12 * M, 12 * M), 8 * M);
	assert_int_equal(mars_lookahead_fit(64 * M, 64 * M, 16 * M), 16 * M);
	assert_int_equal(mars_lookahead_fit(64 * M, 64 * M, MARS_WINDOW_LEAST), 0);
	assert_int_equal(mars_lookahead_fit(64 * M, 64 * M, 0), 0);
	assert_int_equal(mars_lookahead_fit(0, 4 * M, 4 * M), 0);
	/* It asked for little and got all of it. */
	assert_int_equal(mars_lookahead_fit(M / 2, M, M), M / 2);
	assert_int_equal(mars_lookahead_fit(M / 4, M / 2, MARS_WINDOW_LEAST), M / 4);
}

static void test_edge(void **state)
{
	(void)state;
	assert_int_equal(mars_lookahead_edge(1024, 2048, 100000, 0, 5), 2048);
	assert_int_equal(mars_lookahead_edge(1024, 2047, 100000, 0, 5), 2016);
	/* No room for a whole one. */
	assert_int_equal(mars_lookahead_edge(1024, 1050, 100000, 0, 5), 1050);
	assert_int_equal(mars_lookahead_edge(1024, 1051, 100000, 2, 5), 1048);
	/* The end of the file ends it, and the last page is in it. */
	assert_int_equal(mars_lookahead_edge(1024, 2048, 1500, 0, 5), 1500);
	assert_int_equal(mars_lookahead_edge(1024, 2048, 1501, 2, 5), 1504);
	assert_int_equal(mars_lookahead_edge(1024, 2048, 2048, 0, 5), 2048);
	/* Nothing there, or the file has become shorter. */
	assert_int_equal(mars_lookahead_edge(1024, 1024, 100000, 0, 5), 1024);
	assert_int_equal(mars_lookahead_edge(1024, 2048, 1000, 0, 5), 1024);
}

/* Whatever the numbers: aligned, between the range's end and both bounds. */
static void test_edge_random(void **state)
{
	uint64_t rng = 1;
	int i;

	(void)state;
	for (i = 0; i < 200000; i++) {
		unsigned int min_order = unit_random(&rng) % 5;
		unsigned int order = min_order + unit_random(&rng) % 8;
		u64 least = 1ULL << min_order;
		u64 limit = unit_random(&rng) % 10000 * least;
		u64 edge = limit + unit_random(&rng) % 5000;
		u64 eof = unit_random(&rng) % 200000;
		u64 far = mars_lookahead_edge(limit, edge, eof, min_order, order);

		assert_int_equal(far % least, 0);
		assert_true(far >= limit);
		assert_true(far == limit || far <= edge || edge >= eof);
		assert_true(far == limit || far < eof + least);
		/* No more is given up than a folio. */
		assert_true(far + (1ULL << order) > min(edge, eof));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_continues),
		cmocka_unit_test(test_want),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_fit),
		cmocka_unit_test(test_edge),
		cmocka_unit_test(test_edge_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
