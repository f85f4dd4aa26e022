// SPDX-License-Identifier: GPL-2.0-only
/*
 * Controller: simulated reads of model devices, with the degree that the shipping code
 * chooses, against every fixed degree.
 *
 * A read is what read.c makes of it: batches are inserted by the reader, submitted by it
 * or by whichever submitter is free, served by the device in the order of submission,
 * copied in file order; the reader sleeps when the window is full. What a submission
 * takes, and what it costs the others that submit at the time, is the device's; so is
 * what the device loses by being given requests in pieces by several.
 *
 * In steady state, the regular trials included, the controller is within 5 % of the best
 * fixed degree; when something changes in mid-run, within 15 % of the best fixed degree
 * of each part, what it takes to find out included. And it does not move to and fro.
 *
 * CONTROLLER is the source to test; mutants.sh gives others, each of which must fail here.
 */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#ifndef CONTROLLER
#define CONTROLLER "../../mars_mod/core/controller.c"
#endif
#include CONTROLLER

#define MIB 1048576.0
#define MOST 8
#define BATCHES 128	/* of a read, at most */

/**
 * struct device - a model
 * @mib_ns:	what it takes for a MiB when it has nothing else to do
 * @latency:	from there to the reader, in nanoseconds
 * @submit:	nanoseconds of one executor for a batch of 1 MiB
 * @contention:	by how much each other one that submits makes that longer
 * @scatter:	by how much each executor beyond the first makes the device slower
 */
struct device {
	double mib_ns;
	double latency;
	double submit;
	double contention;
	double scatter;
};

/* The paper's single SSD: four submitters cost it 8 %. */
static const struct device worse = { 900e3, 100e3, 150e3, 0.3, 0.028 };
/* Its RAID0 of five: submission is what takes the time. */
static const struct device better = { 120e3, 100e3, 320e3, 0.10, 0.0 };
/* Whatever one does. */
static const struct device even = { 900e3, 100e3, 60e3, 0.0, 0.0 };
/* It is the degree in the middle that is best. */
static const struct device middle = { 130e3, 100e3, 300e3, 0.05, 0.11 };

/* What is going on. */
struct world {
	struct device device;
	double now;
	double free;		/* when the device has done all that it was given */
	double executor[MOST];	/* when each is free */
	double window;		/* MiB */
	double noise;		/* of a read's device time, relative */
	bool shared;		/* bursts of somebody else's */
	bool burst;
	double turn;		/* when that changes */
	uint64_t rng;
	uint64_t burst_rng;	/* of its own: the bursts of all runs are the same */
};

static double uniform(uint64_t *rng)
{
	return (unit_random(rng) >> 11) / 9007199254740992.0;
}

static double exponential(uint64_t *rng, double mean)
{
	return -mean * log(1.0 - uniform(rng));
}

/* Roughly normal, mean 1. */
static double jitter(struct world *w)
{
	double sum = 0;
	int i;

	for (i = 0; i < 12; i++)
		sum += uniform(&w->rng);
	return fmax(0.2, 1 + w->noise * (sum - 6));
}

/* How many times longer the device takes for us at this moment. */
static double load(struct world *w)
{
	while (w->shared && w->now >= w->turn) {
		w->burst = !w->burst;
		w->turn += exponential(&w->burst_rng, w->burst ? 60e6 : 140e6);
	}
	return w->burst ? 3.0 : 1.0;
}

/* When the submission of a batch is through; moves the reader's time if it does it. */
static double submit(struct world *w, unsigned int degree, bool first, double *t)
{
	unsigned int i, at = 0, busy = 0;

	for (i = 1; i < degree; i++)
		busy += w->executor[i] > *t;
	for (i = 1; i < degree && !first; i++)
		if (w->executor[i] <= *t)
			at = i;
	double takes = w->device.submit * (1 + w->device.contention * busy);

	if (at) {
		*t += 3e3;
		w->executor[at] = *t + takes;
		return w->executor[at];
	}
	*t += takes;
	return *t;
}

/* One read of so many MiB; what the controller gets to know of it. */
static struct mars_sample simulate(struct world *w, unsigned int degree, unsigned int n)
{
	double done[BATCHES], start = w->now, t = start, wait = 0, flight = 0;
	double mib_ns = w->device.mib_ns * (1 + w->device.scatter * (degree - 1)) * jitter(w);
	unsigned int i = 0, j = 0;

	while (j < n) {
		if (i < n && i - j < w->window) {
			double before;

			t += 40e3;
			before = t;
			w->now = t;
			done[i] = fmax(w->free, submit(w, degree, !i, &t)) + mib_ns * load(w);
			wait += t - before;
			w->free = done[i];
			done[i] += w->device.latency;
			i++;
			flight += (i - j) * MIB;
			if (done[j] > t)
				continue;
		}
		if (done[j] > t) {
			wait += done[j] - t;
			t = done[j];
		}
		t += 70e3;
		j++;
	}
	w->now = t;
	return (struct mars_sample){ .degree = degree, .bytes = n * MIB, .wait_ns = wait,
				     .whole_ns = t - start, .in_flight = flight / n };
}

/* Reads of so many MiB each until they are @gib together; nanoseconds. */
static double fixed(struct world w, unsigned int degree, unsigned int n, double gib)
{
	double start = w.now;
	unsigned int i;

	for (i = 0; i < gib * 1024 / n; i++)
		simulate(&w, degree, n);
	return w.now - start;
}

static double best(struct world w, unsigned int n, double gib, unsigned int *which)
{
	double least = INFINITY, ns;
	unsigned int degree;

	for (degree = 1; degree <= MOST; degree++) {
		ns = fixed(w, degree, n, gib);
		if (ns < least) {
			least = ns;
			*which = degree;
		}
	}
	return least;
}

/* What was seen of a run. */
struct run {
	double ns;
	unsigned int moves;	/* of the settled degree */
	unsigned int degree;
};

static struct run governed(struct world *w, struct mars_controller *c, unsigned int n, double gib)
{
	struct run run = { 0 };
	double start = w->now;
	unsigned int i;

	for (i = 0; i < gib * 1024 / n; i++) {
		unsigned int degree = mars_controller_degree(c, MOST), was = c->degree;
		struct mars_sample sample = simulate(w, degree, n);

		mars_controller_note(c, &sample);
		run.moves += c->degree != was;
	}
	run.ns = w->now - start;
	run.degree = c->degree;
	return run;
}

static struct world world(const struct device *device)
{
	struct world w = {
		.device = *device, .window = 64, .noise = 0.05, .rng = 7, .burst_rng = 8,
	};

	return w;
}

static void within(const char *what, double ns, double least, double slack)
{
	printf("%-32s %+5.1f %% of the best fixed\n", what, 100 * (ns / least - 1));
	if (ns > least * (1 + slack))
		fail_msg("%s: %.1f %% slower than the best fixed degree, %.0f %% are allowed",
			 what, 100 * (ns / least - 1), 100 * slack);
}

/* Long enough for several regular trials; with different luck each time, if @times. */
static void steady_often(const char *what, struct world start, unsigned int n, unsigned int times)
{
	unsigned int which = 0, moves = 0, i;
	double least = 0, ns = 0;

	for (i = 0; i < times; i++) {
		struct world w = start;
		struct mars_controller c;
		struct run run;

		w.rng += 10 * i;
		w.burst_rng += 10 * i;
		mars_controller_init(&c);
		governed(&w, &c, n, 32);
		least += best(w, n, 192, &which);
		run = governed(&w, &c, n, 192);
		ns += run.ns;
		moves += run.moves;
		printf("%s: best %u, settled at %u, moved %u times\n", what, which, run.degree,
		       run.moves);
	}
	within(what, ns, least, 0.05);
	if (moves > 3 * times)
		fail_msg("%s: moved %u times in %u GiB without a reason", what, moves, 192 * times);
}

static void steady(const char *what, struct world w, unsigned int n)
{
	steady_often(what, w, n, 1);
}

static void test_models_differ(void **state)
{
	unsigned int which = 0;

	(void)state;
	best(world(&worse), 64, 32, &which);
	assert_int_equal(which, 1);
	best(world(&better), 64, 32, &which);
	assert_true(which >= 4);
	best(world(&middle), 64, 32, &which);
	assert_true(which > 1 && which < 5);
	/* The figures that they are modelled on. */
	assert_true(fixed(world(&worse), 4, 64, 32) > 1.06 * fixed(world(&worse), 1, 64, 32));
	assert_true(fixed(world(&better), 4, 64, 32) * 1.35 < fixed(world(&better), 1, 64, 32));
}

static void test_worse(void **state)
{
	(void)state;
	steady("more is worse, 64 MiB", world(&worse), 64);
	steady("more is worse, 8 MiB", world(&worse), 8);
}

static void test_better(void **state)
{
	(void)state;
	steady("more is better, 64 MiB", world(&better), 64);
	steady("more is better, 128 MiB", world(&better), 128);
	steady("more is better, 16 MiB", world(&better), 16);
}

static void test_middle(void **state)
{
	(void)state;
	steady("the middle is best", world(&middle), 64);
}

/* What is as good with fewer is done with fewer. */
static void test_even(void **state)
{
	struct world w = world(&even);
	struct mars_controller c;

	(void)state;
	steady("all the same", w, 64);
	w.noise = 0.01;
	mars_controller_init(&c);
	c.degree = 4;
	c.trial = 4;
	governed(&w, &c, 64, 64);
	assert_true(c.degree <= 2);
}

static void test_noise(void **state)
{
	struct world w = world(&better);

	(void)state;
	w.noise = 0.15;
	steady_often("more is better, noisy", w, 64, 4);
	w = world(&worse);
	w.noise = 0.15;
	steady_often("more is worse, noisy", w, 64, 4);
}

static void test_bursts(void **state)
{
	struct world w = world(&better);

	(void)state;
	w.shared = true;
	steady_often("more is better, bursts", w, 64, 4);
	w = world(&worse);
	w.shared = true;
	steady_often("more is worse, bursts", w, 64, 4);
}

/* The device becomes ten times slower, then as fast as before. */
static void test_tenfold(void **state)
{
	struct device slow = better;
	struct world w = world(&better);
	struct mars_controller c;
	unsigned int which = 0, part;
	double ns = 0, least = 0;

	(void)state;
	slow.mib_ns *= 10;
	slow.scatter = 0.05;
	mars_controller_init(&c);
	for (part = 0; part < 6; part++) {
		struct run run;

		w.device = part % 2 ? slow : better;
		least += best(w, 64, 32, &which);
		run = governed(&w, &c, 64, 32);
		ns += run.ns;
		printf("part %u: best %u, settled at %u, moved %u times\n", part, which,
		       run.degree, run.moves);
		if (part)
			assert_true(run.moves <= 8);
		/* It does not stay with what was right before. */
		assert_true(part % 2 ? run.degree <= 2 : run.degree >= 3);
	}
	within("ten times slower, three times", ns, least, 0.15);
}

/*
 * The bytes in flight have a control of their own, which may have anything in mind: they
 * double and halve. That is no reason to move, and no reason not to.
 */
static void fight(const char *what, const struct device *device, bool more)
{
	struct world w = world(device);
	struct mars_controller c;
	unsigned int which = 0, i, moves = 0;
	double ns = 0, least = 0;
	struct run run = { 0 };

	mars_controller_init(&c);
	w.window = 64;
	governed(&w, &c, 64, 16);
	for (i = 0; i < 48; i++) {
		w.window = i % 2 ? 3 : 64;
		least += best(w, 64, 2 + i % 5, &which);
		run = governed(&w, &c, 64, 2 + i % 5);
		ns += run.ns;
		moves += run.moves;
	}
	printf("%s: settled at %u, moved %u times\n", what, run.degree, moves);
	within(what, ns, least, 0.15);
	assert_true(moves <= 12);
	assert_true(more ? run.degree > 1 : run.degree == 1);
}

static void test_no_fight(void **state)
{
	(void)state;
	fight("window to and fro, better", &better, true);
	fight("window to and fro, worse", &worse, false);
}

/* CPUs come and go. */
static void test_most(void **state)
{
	struct world w = world(&better);
	struct mars_controller c;
	unsigned int i;

	(void)state;
	mars_controller_init(&c);
	assert_int_equal(mars_controller_degree(&c, 0), 1);
	for (i = 0; i < 2000; i++) {
		unsigned int most = i < 1000 ? MOST : 2;
		unsigned int degree = mars_controller_degree(&c, most);
		struct mars_sample sample = simulate(&w, degree, 64);

		assert_true(degree >= 1 && degree <= most);
		mars_controller_note(&c, &sample);
	}
	assert_int_equal(c.degree, 2);
}

/* Reads of another degree, or of hardly a byte, say nothing about this one. */
static void test_ignored(void **state)
{
	struct mars_controller c, before;
	unsigned int i;

	(void)state;
	mars_controller_init(&c);
	assert_int_equal(mars_controller_degree(&c, MOST), 1);
	before = c;
	for (i = 0; i < 1000; i++) {
		struct mars_sample s = {
			.degree = 2, .bytes = 64 * MIB, .wait_ns = i, .whole_ns = i,
		};

		mars_controller_note(&c, &s);
		s.degree = 1;
		s.bytes = MARS_SAMPLE_LEAST - 1;
		mars_controller_note(&c, &s);
	}
	assert_memory_equal(&c, &before, sizeof(c));
}

/* Samples that are out of the ordinary do no harm. */
static void test_odd(void **state)
{
	uint64_t rng = 3;
	struct mars_controller c;
	unsigned int i;

	(void)state;
	mars_controller_init(&c);
	for (i = 0; i < 200000; i++) {
		unsigned int degree = mars_controller_degree(&c, 1 + unit_random(&rng) % 32);
		struct mars_sample s = {
			.degree = unit_random(&rng) % 8 ? degree : unit_random(&rng) % 40,
			.bytes = unit_random(&rng) >> (20 + unit_random(&rng) % 44),
			.wait_ns = unit_random(&rng) >> (unit_random(&rng) % 64),
			.whole_ns = unit_random(&rng) >> (unit_random(&rng) % 64),
			.in_flight = unit_random(&rng) >> (20 + unit_random(&rng) % 44),
		};

		assert_true(degree >= 1 && degree <= 32);
		mars_controller_note(&c, &s);
		assert_true(c.degree >= 1 && c.degree <= 32 && c.trial >= 1 && c.trial <= 32);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_models_differ),
		cmocka_unit_test(test_worse),
		cmocka_unit_test(test_better),
		cmocka_unit_test(test_middle),
		cmocka_unit_test(test_even),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_tenfold),
		cmocka_unit_test(test_no_fight),
		cmocka_unit_test(test_most),
		cmocka_unit_test(test_ignored),
		cmocka_unit_test(test_odd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
