// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parallelism: how many executors a piece of work is worth (paper, section 3.3).
 *
 * With B bytes of work and an executor that does S bytes a second, one executor
 * takes M = B/S. Each further one costs the master D before it starts. n of
 * them are worth it as long as the last one still gains the share r (thousandths)
 * of the time:
 *
 *	1000 (M - D) > r n (M + (n-2) D)
 *
 * The right side grows with n, so the largest such n is found by bisection; and
 * nothing is divided, so it is exact. Times are kept as S times nanoseconds in
 * 128 bits, which the limits below keep from overflowing.
 *
 * Of those, as many are asked as the machine can spare. With N CPUs that the
 * reader may use, q of them available, f = q/N and K = min(n_max, q+1, N):
 *
 *	n = ceil(K / (K - (K-1) f^a)), and 1 when q = 0
 *
 * All CPUs idle gives K, a busy machine fewer than are idle at the moment, since
 * others will want them. f^a is 2^(a log2 f) in fixed point. Every rounding step
 * keeps the order of its inputs, so n never falls with q nor rises with a.
 */
#include <mars/core.h>

/* Fractional bits of a logarithm, and of what its power is computed with. */
#define LOG_BITS 32
#define MANTISSA_BITS 62
/* Fractional bits of f^a where it is divided by. */
#define SHARE_BITS 40

/* 2^-(2^-i) for i from 1 on: one factor for each fractional bit of an exponent. */
static const u64 root_of_half[LOG_BITS] = {
	0x2d413cccfe779921, 0x35d13f32b5a75abd, 0x3ab031b9f7490e4b, 0x3d495f454921b30b,
	0x3ea0ecb6dc8a80ce, 0x3f4f83033d21b05d, 0x3fa784571ee3e212, 0x3fd3b2d65447b229,
	0x3fe9d59487236bb4, 0x3ff4e9d4703df842, 0x3ffa74acbdf6c9d5, 0x3ffd3a46ffc6e30f,
	0x3ffe9d1fa8010199, 0x3fff4e8ede053ad4, 0x3fffa747318376ac, 0x3fffd3a38961e6fe,
	0x3fffe9d1c0d8fd14, 0x3ffff4e8df7680c4, 0x3ffffa746f7dc0eb, 0x3ffffd3a37af8097,
	0x3ffffe9d1bd3e854, 0x3fffff4e8de8fe2c, 0x3fffffa746f44196, 0x3fffffd3a37a116b,
	0x3fffffe9d1bd04dd, 0x3ffffff4e8de8178, 0x3ffffffa746f407e, 0x3ffffffd3a37a030,
	0x3ffffffe9d1bd014, 0x3fffffff4e8de809, 0x3fffffffa746f404, 0x3fffffffd3a37a02,
};

/* Does the @n-th executor still gain enough? One is always there. */
static bool gains(mars_u128 m, mars_u128 d, u64 gain, u64 n)
{
	return n < 2 || 1000 * (m - d) > (mars_u128)(gain * n) * (m + (n - 2) * d);
}

/**
 * mars_parallel_max() - most executors that a piece of work is worth
 * @bytes: size of the work
 * @cost: what this kind of work costs here
 *
 * Context: Any.
 * Return: From 1 to @cost->cap (1 when that is 0); 1 when the speed is not known.
 */
unsigned int mars_parallel_max(u64 bytes, const struct mars_cost *cost)
{
	u64 speed = min(cost->bytes_per_second, MARS_COST_SPEED_MAX);
	u64 gain = min(cost->gain, MARS_COST_GAIN_MAX);
	mars_u128 d = (mars_u128)speed * min(cost->dispatch_ns, MARS_COST_DISPATCH_MAX);
	mars_u128 m = (mars_u128)bytes * 1000000000;
	u64 low = 1, high = min(cost->cap, MARS_COST_CAP_MAX);

	if (!speed || m <= d)
		return 1;
	while (low < high) {
		u64 middle = (low + high + 1) / 2;

		if (gains(m, d, gain, middle))
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/**
 * mars_parallel_least() - least work that a second executor is worth
 * @cost: what this kind of work costs here
 *
 * Context: Any.
 * Return: Bytes, or ~0 when no size is.
 */
u64 mars_parallel_least(const struct mars_cost *cost)
{
	u64 low = 0, high = ~0ULL;

	if (mars_parallel_max(high, cost) < 2)
		return ~0ULL;
	while (high - low > 1) {
		u64 middle = low + (high - low) / 2;

		if (mars_parallel_max(middle, cost) < 2)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* -log2(@part / @whole), for 0 < @part <= @whole <= MARS_COST_CAP_MAX. */
static u64 minus_log2(u64 part, u64 whole)
{
	u64 sum = 0, x;
	int i;

	while (part < whole) {
		part *= 2;
		sum += 1ULL << LOG_BITS;
	}
	/* In [1, 2) now; a square of 2 and more is a bit of the logarithm. */
	x = ((part << 46) / whole) << (MANTISSA_BITS - 46);
	for (i = 1; i <= LOG_BITS; i++) {
		x = ((mars_u128)x * x) >> MANTISSA_BITS;
		if (x >> (MANTISSA_BITS + 1)) {
			x >>= 1;
			sum -= 1ULL << (LOG_BITS - i);
		}
	}
	return sum;
}

/* 2^-x, with SHARE_BITS fractional bits. */
static u64 power_of_half(u64 x)
{
	u64 y = 1ULL << MANTISSA_BITS;
	int i;

	if (x >> LOG_BITS >= MANTISSA_BITS)
		return 0;
	for (i = 1; i <= LOG_BITS; i++) {
		if (x & (1ULL << (LOG_BITS - i)))
			y = ((mars_u128)y * root_of_half[i - 1]) >> MANTISSA_BITS;
	}
	return y >> (x >> LOG_BITS) >> (MANTISSA_BITS - SHARE_BITS);
}

/**
 * mars_parallel_n() - executors for a piece of work, the master among them
 * @n_max: most that it is worth
 * @cpus: CPUs that the reader may use, its own among them
 * @available: workers that could begin now
 * @alpha: how much a busy machine is spared, in thousandths; 0: not at all
 *
 * Context: Any.
 * Return: From 1 to min(@n_max, @available + 1, @cpus), but at least 1.
 */
unsigned int mars_parallel_n(unsigned int n_max, unsigned int cpus,
			     unsigned int available, unsigned int alpha)
{
	u64 n = min(cpus, MARS_COST_CAP_MAX);
	u64 q = min(available, cpus);
	u64 k = min(q + 1, n);
	u64 share, left, count;

	q = min(q, n);
	if (n_max < k)
		k = n_max;
	if (!q || k < 2)
		return 1;
	share = power_of_half(minus_log2(q, n) * min(alpha, MARS_COST_ALPHA_MAX) / 1000);
	left = (k << SHARE_BITS) - (k - 1) * share;
	count = ((k << SHARE_BITS) + left - 1) / left;
	return min(max(count, 1ULL), k);
}
