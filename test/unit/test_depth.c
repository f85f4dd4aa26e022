// SPDX-License-Identifier: GPL-2.0-only
/*
 * Depth, against model devices: a read as the pipeline does it, with the limit that
 * depth=auto gives it, must be within 5 % of the best that any fixed depth gets, and
 * have no more in flight than a small multiple of what the device can make use of.
 */
#include <stdlib.h>

#include "unit.h"

/* The source itself may be another one, see mutants.sh. */
#ifdef DEPTH
#include DEPTH
#else
#include "../../mars_mod/core/depth.c"
#endif

#define KIB 1024ULL
#define MIB (KIB << 10)
#define BATCH MIB
#define CHANNELS_MAX 128
#define BATCHES_MAX 1024

/**
 * struct device - requests go to its channels in turn
 * @channels:	that work side by side
 * @latency:	nanoseconds before a request's first byte
 * @jitter:	of that, uniform, in per cent
 * @speed:	bytes a microsecond, of a channel
 * @bus:	bytes a microsecond, of all together
 * @burst:	each so many requests somebody else's load holds all channels up ...
 * @held:	... for so many nanoseconds
 */
struct device {
	u32 channels;
	u64 latency;
	u32 jitter;
	u64 speed;
	u64 bus;
	u32 burst;
	u64 held;
	u64 free[CHANNELS_MAX];
	u64 bus_free;
	u64 requests;
	uint64_t rng;
};

/* What a CPU does a MiB: nanoseconds to submit, and to copy. */
#define SUBMIT_NS 40000ULL
#define COPY_NS 100000ULL

struct reader {
	u64 now;
	u64 in_flight_sum;
	u64 in_flight_nr;
};

static u64 serve(struct device *dev, u64 now)
{
	u64 *channel = &dev->free[dev->requests++ % dev->channels];
	u64 spread = dev->latency * dev->jitter / 100, start = max(*channel, now), sent;
	u32 i;

	if (dev->burst && dev->requests % dev->burst == 0) {
		for (i = 0; i < dev->channels; i++)
			dev->free[i] = max(dev->free[i], now) + dev->held;
	}
	start += dev->latency - spread + (spread ? unit_random(&dev->rng) % (2 * spread) : 0);
	*channel = start + BATCH * 1000 / dev->speed;
	sent = max(dev->bus_free, start) + BATCH * 1000 / dev->bus;
	dev->bus_free = max(dev->bus_free, now) + BATCH * 1000 / dev->bus;
	return max(*channel, sent);
}

/* One read, mars_run() in short: a batch in, and what is ready out. Returns its time. */
static u64 read_once(struct reader *reader, struct device *dev, u64 length, u64 limit,
		     struct mars_depth_curve *curve)
{
	static u64 ready[BATCHES_MAX];
	u64 start = reader->now, in = 0, out = 0, total = length / BATCH;

	mars_depth_begin(curve, start);
	while (out < total) {
		bool more = in < total && (in - out) * BATCH < limit;

		if (more) {
			reader->now += SUBMIT_NS;
			ready[in++] = serve(dev, reader->now);
		}
		reader->in_flight_sum += (in - out) * BATCH;
		reader->in_flight_nr++;
		if (ready[out] > reader->now) {
			if (in < total && (in - out) * BATCH < limit)
				continue;
			reader->now = ready[out];
		}
		reader->now += COPY_NS;
		out++;
		mars_depth_reach(curve, out * BATCH, reader->now);
	}
	return reader->now - start;
}

static u64 mean_in_flight(struct reader *reader)
{
	u64 mean = reader->in_flight_sum / (reader->in_flight_nr ?: 1);

	reader->in_flight_sum = 0;
	reader->in_flight_nr = 0;
	return mean;
}

/* Nanoseconds of @nr reads at a fixed depth. */
static u64 fixed(const struct device *model, u64 length, u64 limit, u32 nr)
{
	struct device dev = *model;
	struct reader reader = { 0 };
	struct mars_depth_curve curve;
	u64 sum = 0;

	while (nr--) {
		sum += read_once(&reader, &dev, length, limit, &curve);
		/* The next one finds the device at rest. */
		reader.now += 50000000;
	}
	return sum;
}

static u64 best_fixed(const struct device *model, u64 length, u32 nr)
{
	u64 best = ~0ULL, limit;

	for (limit = BATCH; limit <= 64 * MIB; limit *= 2)
		best = min(best, fixed(model, length, limit, nr));
	return best;
}

static u64 governed(struct reader *reader, struct device *dev, struct mars_depth *depth,
		    u64 length, u32 nr)
{
	u64 sum = 0;

	while (nr--) {
		struct mars_depth_curve curve;
		bool probe;
		u64 limit = mars_depth_limit(depth, length, reader->now, &probe);

		sum += read_once(reader, dev, length, min(max(limit, 4 * BATCH), 64 * MIB), &curve);
		if (probe)
			mars_depth_learn(depth, &curve, reader->now);
		reader->now += 50000000;
	}
	return sum;
}

static const struct {
	const char *name;
	struct device dev;
	u64 most;	/* in flight, on the average */
} devices[] = {
	{ "memory", { .channels = 64, .latency = 1000, .speed = 20000, .bus = 20000 }, 4 * MIB },
	{ "nvme", { .channels = 32, .latency = 80000, .jitter = 30, .speed = 1500, .bus = 6000 },
	  24 * MIB },
	{ "ssd", { .channels = 8, .latency = 150000, .jitter = 30, .speed = 500, .bus = 550 },
	  16 * MIB },
	{ "limited", { .channels = 1, .latency = 100000, .speed = 1000, .bus = 1000 }, 8 * MIB },
	{ "array", { .channels = 64, .latency = 5000000, .jitter = 50, .speed = 200, .bus = 10000 },
	  64 * MIB },
	{ "disk", { .channels = 1, .latency = 8000000, .jitter = 90, .speed = 200, .bus = 200 },
	  16 * MIB },
	{ "shared", { .channels = 8, .latency = 150000, .jitter = 30, .speed = 500, .bus = 2500,
		      .burst = 40, .held = 4000000 }, 48 * MIB },
};

static void test_devices(void **state)
{
	static const u64 lengths[] = { 16 * MIB, 64 * MIB, 256 * MIB };
	size_t d, i, bad = 0;

	(void)state;
	for (d = 0; d < ARRAY_SIZE(devices); d++) {
		for (i = 0; i < ARRAY_SIZE(lengths); i++) {
			struct device dev = devices[d].dev;
			struct mars_depth depth;
			struct reader reader = { 0 };
			u64 best, time, flight;

			mars_depth_init(&depth);
			governed(&reader, &dev, &depth, lengths[i], 16);
			mean_in_flight(&reader);
			time = governed(&reader, &dev, &depth, lengths[i], 64);
			flight = mean_in_flight(&reader);
			best = best_fixed(&devices[d].dev, lengths[i], 64);
			print_message("%s, %llu MiB: %.3f of the best, limit %lld MiB, %.1f MiB in flight\n",
				      devices[d].name, (unsigned long long)(lengths[i] / MIB),
				      (double)best / time, (long long)depth.limit / (long long)MIB,
				      (double)flight / MIB);
			bad += time > best + best / 20 || flight > devices[d].most;
		}
	}
	assert_int_equal(bad, 0);
}

/* One for which a few batches in flight are enough. */
static const struct device shallow = {
	.channels = 4, .latency = 100000, .speed = 500, .bus = 1000,
};

/* What a read gets at last, as a share of the best fixed depth's, in per cent. */
static u64 share_of_best(struct reader *reader, struct device *dev, struct mars_depth *depth)
{
	return best_fixed(dev, 64 * MIB, 16) * 100 / governed(reader, dev, depth, 64 * MIB, 16);
}

/*
 * Ten times more channels, with ten times the latency: many times what was in flight is
 * needed now. And back: then less has to do in the end.
 */
static void test_change(void **state)
{
	struct device slow = shallow;
	struct device fast = { .channels = 64, .latency = 2000000, .speed = 500, .bus = 10000 };
	struct mars_depth depth;
	struct reader reader = { 0 };
	u64 before;

	(void)state;
	mars_depth_init(&depth);
	governed(&reader, &slow, &depth, 64 * MIB, 32);
	before = depth.limit;
	assert_true(before <= 4 * MIB);
	/* Nothing is known of a change for 16 reads; three find it out. */
	governed(&reader, &fast, &depth, 64 * MIB, 20);
	assert_true(depth.limit >= 32 * MIB);
	assert_true(share_of_best(&reader, &fast, &depth) >= 95);
	governed(&reader, &slow, &depth, 64 * MIB, 16 * (MARS_DEPTH_KNEES + 1));
	assert_int_equal(depth.limit, before);
	assert_true(share_of_best(&reader, &slow, &depth) >= 95);
}

/* Nothing was read for a while: the next read looks again at once. */
static void test_idle(void **state)
{
	struct device dev = shallow;
	struct mars_depth depth;
	struct reader reader = { 0 };
	bool probe;

	(void)state;
	mars_depth_init(&depth);
	governed(&reader, &dev, &depth, 64 * MIB, 17);
	assert_int_equal(mars_depth_limit(&depth, 64 * MIB, reader.now, &probe), depth.limit);
	assert_false(probe);
	assert_int_equal(mars_depth_limit(&depth, 64 * MIB, reader.now + 11000000000ULL, &probe),
			 4 * depth.limit);
	assert_true(probe);
	/* One that is not limited may always say what it found. */
	assert_int_equal(mars_depth_limit(&depth, MIB, reader.now, &probe), depth.limit);
	assert_true(probe);
}

/* Short reads say nothing, and nobody is limited for their sake. */
static void test_short(void **state)
{
	struct device dev = shallow;
	struct mars_depth_curve curve;
	struct mars_depth depth;
	struct reader reader = { 0 };
	bool bent;

	(void)state;
	mars_depth_init(&depth);
	governed(&reader, &dev, &depth, 4 * MIB, 100);
	assert_int_equal(depth.limit, MARS_DEPTH_NONE);
	mars_depth_begin(&curve, 7);
	assert_int_equal(mars_depth_knee(&curve, &bent), 0);
	mars_depth_learn(&depth, &curve, 7);
	assert_int_equal(depth.limit, MARS_DEPTH_NONE);
}

/* Points of the curve that are known: knee and bend are where the formula says. */
static void test_knee(void **state)
{
	static const u64 no_time[] = { 0, 1 };
	struct mars_depth_curve curve;
	u64 latency, x, ns_a_mib;
	size_t i;
	bool bent;

	(void)state;
	for (latency = 100000; latency <= 12800000; latency *= 2) {
		for (ns_a_mib = 50000; ns_a_mib <= 3200000; ns_a_mib *= 4) {
			u64 knee = 9 * latency * MIB / ns_a_mib, got;

			mars_depth_begin(&curve, 1000);
			for (x = MIB; x <= 1024 * MIB; x += MIB / 2)
				mars_depth_reach(&curve, x,
						 1000 + latency + x * ns_a_mib / MIB);
			got = mars_depth_knee(&curve, &bent);
			assert_true(got <= 512 * MIB ? bent : !bent);
			/* The greatest value is not quite reached at 1 GiB; points are coarse. */
			assert_true(got <= max(knee + knee / 2, MIB));
			if (knee < 256 * MIB)
				assert_true(got >= knee / 4 * 3);
		}
	}
	/* Nothing is divided by a time of 0, and nothing overflows. */
	for (i = 0; i < ARRAY_SIZE(no_time); i++) {
		mars_depth_begin(&curve, 0);
		mars_depth_reach(&curve, ~0ULL, no_time[i]);
		assert_int_equal(curve.nr, MARS_DEPTH_POINTS);
		assert_int_equal(mars_depth_knee(&curve, &bent), 1024 * MIB);
		assert_false(bent);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_knee),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
