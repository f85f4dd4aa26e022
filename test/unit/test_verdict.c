// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verdict: which reads MARS takes.
 */
#include "unit.h"

static const struct mars_facts good = {
	.count = 64 << 20, .pos = 0, .isize = 1LL << 30, .min_read_bytes = 1 << 20,
};

static void test_ordinary(void **state)
{
	(void)state;
	assert_int_equal(mars_verdict(&good), MARS_ACCELERATE);
}

/* The size that counts is min(count, i_size - pos). */
static void test_size(void **state)
{
	static const s64 far = INT64_MAX - (4LL << 30);
	static const struct {
		u64 count;
		s64 pos, isize;
		bool small;
	} t[] = {
		{ 1 << 20, 0, 1 << 20, false },
		{ (1 << 20) - 1, 0, 1 << 20, true },
		{ 1 << 20, 1, 1 << 20, true },
		{ 1 << 20, 1, (1 << 20) + 1, false },
		{ 1 << 30, 0, (1 << 20) - 1, true },
		{ 1 << 30, 0, 0, true },
		{ 1 << 30, 5, 5, true },
		{ 1 << 30, 6, 5, true },
		{ 1 << 30, INT64_MAX, 5, true },
		{ 1 << 30, -1, 1 << 30, true },
		{ 1 << 30, INT64_MIN, 1 << 30, true },
		{ 0, 0, 1 << 30, true },
		{ UINT64_MAX, 0, INT64_MAX, false },
		{ UINT64_MAX, far - (1 << 20), far, false },
		{ UINT64_MAX, far - (1 << 20) + 1, far, true },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct mars_facts f = good;
		enum mars_reason want = t[i].small ? MARS_NATIVE_small : MARS_ACCELERATE;

		f.count = t[i].count;
		f.pos = t[i].pos;
		f.isize = t[i].isize;
		if (mars_verdict(&f) != want)
			fail_msg("case %zu: verdict %d, expected %d", i, mars_verdict(&f), want);
	}
}

/* All sixteen combinations: the first reason in order, and small before all. */
static void test_reasons(void **state)
{
	static const enum mars_reason order[] = {
		MARS_NATIVE_flags, MARS_NATIVE_iter, MARS_NATIVE_context, MARS_NATIVE_file,
	};
	unsigned int bits;

	(void)state;
	for (bits = 0; bits < 16; bits++) {
		struct mars_facts f = good;
		enum mars_reason want = bits ? order[__builtin_ctz(bits)] : MARS_ACCELERATE;

		f.bad_flags = bits & 1;
		f.bad_iter = bits & 2;
		f.bad_context = bits & 4;
		f.bad_file = bits & 8;
		assert_int_equal(mars_verdict(&f), want);
		f.count = 4096;
		assert_int_equal(mars_verdict(&f), MARS_NATIVE_small);
	}
}

static void test_far_end(void **state)
{
	const s64 top = (s64)(~0ULL >> 1);
	struct mars_facts facts = {
		.pos = top - (2 << 20), .isize = top, .count = 1 << 20, .min_read_bytes = 4096,
	};

	(void)state;
	assert_int_equal(mars_verdict(&facts), MARS_NATIVE_file);
	facts.pos = top - (4LL << 30) + 1;
	assert_int_equal(mars_verdict(&facts), MARS_NATIVE_file);
	facts.pos--;
	assert_int_equal(mars_verdict(&facts), MARS_ACCELERATE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_far_end),
		cmocka_unit_test(test_ordinary),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
