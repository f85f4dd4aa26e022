// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parallelism: both formulas against floating point over the whole range, the
 * edges by hand, and the directions in which neither may move.
 */
#include "unit.h"

#include <math.h>

/* How far f^a may be off: the logarithm's last bit, times the largest exponent. */
#define ROUNDING 0.00000001

static bool gains(double m, double d, double r, double n)
{
	return 1000 * (m - d) > r * n * (m + (n - 2) * d);
}

/* Where the sides differ by less than what a double keeps, either answer is right. */
static bool undecided(double m, double d, double r, double n)
{
	double left = 1000 * (m - d), right = r * n * (m + (n - 2) * d);

	return fabs(left - right) < 0.000000000001 * (fabs(left) + fabs(right) + 1000 * (m + d));
}

static void check_max(u64 bytes, const struct mars_cost *cost)
{
	double m = (double)bytes * 1e9, d = (double)cost->bytes_per_second * cost->dispatch_ns;
	unsigned int n = mars_parallel_max(bytes, cost);

	assert_in_range(n, 1, cost->cap);
	if (m <= d && !undecided(m, d, 0, 1)) {
		assert_int_equal(n, 1);
		return;
	}
	if (n > 1 && !undecided(m, d, cost->gain, n))
		assert_true(gains(m, d, cost->gain, n));
	if (n < cost->cap && m > d && !undecided(m, d, cost->gain, n + 1))
		assert_false(gains(m, d, cost->gain, n + 1));
}

static u64 random_bits(u64 *state, unsigned int most)
{
	return unit_random(state) >> (64 - most) >> (unit_random(state) % most);
}

static void test_max_against_double(void **unused)
{
	u64 state = 5, i;

	(void)unused;
	for (i = 0; i < 2000000; i++) {
		struct mars_cost cost = {
			.bytes_per_second = random_bits(&state, 48) + 1,
			.dispatch_ns = random_bits(&state, 32),
			.gain = unit_random(&state) % 1001,
			.cap = 1 + unit_random(&state) % (i % 2 ? 8 : MARS_COST_CAP_MAX),
		};

		check_max(random_bits(&state, 64), &cost);
	}
}

/* The inequality by itself, in integers that cannot overflow: no rounding at all. */
static void test_max_exactly(void **unused)
{
	unsigned int m, d, r, n, best;

	(void)unused;
	for (m = 0; m < 40; m++)
		for (d = 0; d < 40; d++)
			for (r = 0; r <= 1000; r += r < 40 ? 1 : 37) {
				struct mars_cost cost = { 1000000000, d, r, 50 };

				best = 1;
				for (n = 2; n <= 50 && m > d; n++)
					if (1000 * (m - d) > r * n * (m + (n - 2) * d))
						best = n;
				assert_int_equal(mars_parallel_max(m, &cost), best);
			}
}

static void test_max_edges(void **unused)
{
	struct mars_cost cost = { 1 << 30, 50000, 100, 64 };

	(void)unused;
	/* M = D exactly, and one byte more with nothing asked of it. */
	cost = (struct mars_cost){ 1000000000, 500, 0, 64 };
	assert_int_equal(mars_parallel_max(500, &cost), 1);
	assert_int_equal(mars_parallel_max(501, &cost), 64);
	assert_int_equal(mars_parallel_max(0, &cost), 1);
	/* D = 0: n < 1000 / r. */
	cost = (struct mars_cost){ 1000000000, 0, 100, 64 };
	assert_int_equal(mars_parallel_max(1, &cost), 9);
	cost.gain = 500;
	assert_int_equal(mars_parallel_max(1ULL << 40, &cost), 1);
	cost.gain = 499;
	assert_int_equal(mars_parallel_max(1ULL << 40, &cost), 2);
	/* r = 0 and huge work: the cap alone. */
	cost = (struct mars_cost){ ~0ULL, ~0ULL, 0, ~0U };
	assert_int_equal(mars_parallel_max(~0ULL, &cost), MARS_COST_CAP_MAX);
	cost = (struct mars_cost){ 1, ~0ULL, 0, ~0U };
	assert_int_equal(mars_parallel_max(~0ULL, &cost), MARS_COST_CAP_MAX);
	cost = (struct mars_cost){ ~0ULL, 1, 1000, ~0U };
	assert_int_equal(mars_parallel_max(~0ULL, &cost), 1);
	/* Not known: one. */
	cost = (struct mars_cost){ 0, 0, 0, 8 };
	assert_int_equal(mars_parallel_max(1 << 30, &cost), 1);
	cost = (struct mars_cost){ 1, 0, 0, 0 };
	assert_int_equal(mars_parallel_max(1 << 30, &cost), 1);
}

static void test_max_directions(void **unused)
{
	u64 state = 17, i;

	(void)unused;
	for (i = 0; i < 500000; i++) {
		struct mars_cost cost = {
			.bytes_per_second = random_bits(&state, 48) + 1,
			.dispatch_ns = random_bits(&state, 32),
			.gain = unit_random(&state) % 1001,
			.cap = 1 + unit_random(&state) % 256,
		};
		u64 bytes = random_bits(&state, 64);
		u64 more = bytes + random_bits(&state, 63) / 2;
		unsigned int n = mars_parallel_max(bytes, &cost);

		if (more >= bytes)
			assert_true(mars_parallel_max(more, &cost) >= n);
		cost.gain += unit_random(&state) % 100;
		assert_true(mars_parallel_max(bytes, &cost) <= n);
	}
}

static void test_least(void **unused)
{
	u64 state = 23, i, least;

	(void)unused;
	for (i = 0; i < 20000; i++) {
		struct mars_cost cost = {
			.bytes_per_second = random_bits(&state, 40) + 1,
			.dispatch_ns = random_bits(&state, 20),
			.gain = unit_random(&state) % 600,
			.cap = 2 + unit_random(&state) % 8,
		};

		least = mars_parallel_least(&cost);
		if (cost.gain >= 500) {
			assert_int_equal(least, ~0ULL);
			continue;
		}
		assert_true(mars_parallel_max(least, &cost) >= 2);
		assert_int_equal(mars_parallel_max(least - 1, &cost), 1);
	}
}

static unsigned int n_of(unsigned int k, double share)
{
	double n = ceil(k / (k - (k - 1) * share));

	return n < 1 ? 1 : n > k ? k : n;
}

static void check_n(unsigned int n_max, unsigned int cpus, unsigned int q, unsigned int alpha)
{
	unsigned int n = mars_parallel_n(n_max, cpus, q, alpha);
	unsigned int k = n_max < q + 1 ? n_max : q + 1;
	double share;

	k = k < cpus ? k : cpus;
	if (!q || !k) {
		assert_int_equal(n, 1);
		return;
	}
	share = pow((double)(q < cpus ? q : cpus) / cpus, alpha / 1000.0);
	assert_in_range(n, n_of(k, share * (1 - ROUNDING) - ROUNDING),
			n_of(k, share * (1 + ROUNDING)));
}

static void test_n_against_double(void **unused)
{
	static const unsigned int alphas[] = { 0, 1, 250, 500, 1000, 1500, 2000, 7999, 8000 };
	unsigned int cpus, q, a, k;
	u64 state = 3, i;

	(void)unused;
	for (cpus = 1; cpus <= 64; cpus++)
		for (q = 0; q <= cpus; q++)
			for (a = 0; a < ARRAY_SIZE(alphas); a++)
				for (k = 1; k <= 66; k += 1 + k / 8)
					check_n(k, cpus, q, alphas[a]);
	for (i = 0; i < 1000000; i++) {
		cpus = 1 + unit_random(&state) % MARS_COST_CAP_MAX;
		check_n(1 + random_bits(&state, 15), cpus, unit_random(&state) % (cpus + 1),
			unit_random(&state) % (MARS_COST_ALPHA_MAX + 1));
	}
}

static void test_n_edges(void **unused)
{
	(void)unused;
	/* alpha = 0: all that there is; q = N: the same, whatever alpha. */
	assert_int_equal(mars_parallel_n(4, 8, 3, 0), 4);
	assert_int_equal(mars_parallel_n(9, 8, 3, 0), 4);
	assert_int_equal(mars_parallel_n(6, 8, 8, 8000), 6);
	assert_int_equal(mars_parallel_n(~0U, 8, 8, 1000), 8);
	/* Nobody there, or nothing worth it. */
	assert_int_equal(mars_parallel_n(64, 8, 0, 0), 1);
	assert_int_equal(mars_parallel_n(1, 8, 8, 0), 1);
	assert_int_equal(mars_parallel_n(0, 8, 8, 0), 1);
	assert_int_equal(mars_parallel_n(8, 0, 8, 0), 1);
	assert_int_equal(mars_parallel_n(8, 1, 1, 0), 1);
	/* Two CPUs, the other one idle: f = 1/2, so alpha decides. */
	assert_int_equal(mars_parallel_n(2, 2, 1, 500), 2);
	assert_int_equal(mars_parallel_n(2, 2, 1, 1000), 2);
	assert_int_equal(mars_parallel_n(8, 16, 1, 8000), 2);
	assert_int_equal(mars_parallel_n(~0U, ~0U, ~0U, ~0U), MARS_COST_CAP_MAX);
}

static void test_n_directions(void **unused)
{
	u64 state = 29, i;

	(void)unused;
	for (i = 0; i < 1000000; i++) {
		unsigned int cpus = 1 + random_bits(&state, 14);
		unsigned int n_max = 1 + random_bits(&state, 12);
		unsigned int q = unit_random(&state) % cpus;
		unsigned int alpha = unit_random(&state) % MARS_COST_ALPHA_MAX;
		unsigned int n = mars_parallel_n(n_max, cpus, q, alpha);

		assert_true(mars_parallel_n(n_max, cpus, q + 1, alpha) >= n);
		assert_true(mars_parallel_n(n_max, cpus, q, alpha + 1) <= n);
		assert_true(mars_parallel_n(n_max + 1, cpus, q, alpha) >= n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_max_against_double),
		cmocka_unit_test(test_max_exactly),
		cmocka_unit_test(test_max_edges),
		cmocka_unit_test(test_max_directions),
		cmocka_unit_test(test_least),
		cmocka_unit_test(test_n_against_double),
		cmocka_unit_test(test_n_edges),
		cmocka_unit_test(test_n_directions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
