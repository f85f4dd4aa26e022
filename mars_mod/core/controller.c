// SPDX-License-Identifier: GPL-2.0-only
/*
 * Controller: how many executors submit the I/O of a read (submit_executors=auto), one
 * for each mount. On one device more of them are better, on another worse, and which it
 * is changes with the load; so it is tried out.
 *
 * What is compared is the time that a read spends submitting or asleep, a byte, as a
 * share of all its time: what the other stages take is not the submitters' doing. Reads
 * are put together to epochs, of some ten MiB each. In a trial epochs of the degree in
 * use and of the one on trial take turns, and each of these is compared with the mean of
 * the two beside it: what changes slowly (another reader, say) meets both. The median of
 * what the single comparisons say decides, so that what changes suddenly (a burst of
 * somebody else's) is outvoted. One that is clearly worse is dropped after three.
 *
 * More executors must be worth it, fewer only be no worse. When the neighbours on both
 * sides have lost, the degree is settled, for 32 epochs the first time, and twice as long
 * each time after that. When the time a byte takes is several times what it was, for
 * some epochs, the device is another one, or has another load: then all this begins anew.
 *
 * The bytes in flight are the depth's business (depth.c). This never asks for more or less of
 * them; and when they have changed from one epoch of the degree in use to the next,
 * nothing is concluded from the one in between, for it may be that which made the
 * difference.
 *
 * All of it is integers: times are nanoseconds a MiB, gains thousandths.
 */
#include <mars/core.h>

/* An epoch: so many bytes at least, and so many reads. */
#define EPOCH_BYTES (32ULL << 20)
#define EPOCH_READS 2
/* Comparisons of a trial, and of one that was undecided then. */
#define PAIRS 7
#define PAIRS_MOST MARS_CONTROLLER_PAIRS
/* So many more may come to nothing. */
#define UNLIKE_MOST 21
/* Least gain of more executors; greatest loss of fewer. */
#define WORTH_IT 25
#define NO_WORSE (-10)
/* Of so many comparisons one may speak against more executors. */
#define DISSENT 4
/* So clear, so many times, that it need not be tried to the end. */
#define CLEARLY 120
#define CLEAR_WINS 4
#define CLEAR_LOSSES 3
/* Bytes in flight that have become so many times more or less have changed. */
#define LIKE_TIMES 2
/* Epochs that a degree stays settled: the first time, and at most. */
#define REST_FIRST 32
#define REST_MOST 512
/* A time that is so many times longer or shorter, in so many epochs, is a change. */
#define CHANGE_TIMES 3
#define CHANGE_EPOCHS 3

/**
 * mars_controller_init() - begin with one executor
 * @controller: the mount's
 *
 * Context: Any.
 */
void mars_controller_init(struct mars_controller *controller)
{
	memset(controller, 0, sizeof(*controller));
	controller->degree = 1;
	controller->trial = 1;
	controller->direction = 1;
	controller->rest = 1;
	controller->next_rest = REST_FIRST;
}

static bool trying(const struct mars_controller *controller)
{
	return controller->trial != controller->degree;
}

static u32 present(const struct mars_controller *controller)
{
	return controller->second ? controller->trial : controller->degree;
}

static void begin_epoch(struct mars_controller *controller, bool second)
{
	controller->second = second;
	controller->reads = 0;
	memset(&controller->epoch, 0, sizeof(controller->epoch));
}

static void begin_trial(struct mars_controller *controller, u32 degree)
{
	controller->trial = degree;
	controller->nr_pairs = 0;
	controller->unlike = 0;
	controller->before.bytes = 0;
	begin_epoch(controller, false);
}

/**
 * mars_controller_degree() - executors for the read that begins now
 * @controller: the mount's
 * @most: how many it could have
 *
 * Context: Any; one at a time, as with all of these.
 * Return: From 1 to @most.
 */
unsigned int mars_controller_degree(struct mars_controller *controller, unsigned int most)
{
	controller->most = max(most, 1U);
	if (controller->degree > controller->most) {
		controller->degree = controller->most;
		begin_trial(controller, controller->degree);
	}
	return min(present(controller), controller->most);
}

/* One step from @degree in a direction; @degree itself when there is none. */
static u32 neighbour(const struct mars_controller *controller, u32 degree, int direction)
{
	u32 step = degree < 4 ? 1 : degree / 2;

	if (direction > 0)
		return min(degree + step, controller->most);
	/* Down again where it came up: 1 2 3 4 6 9 13 19 28. */
	if (degree <= 4)
		return degree - (degree > 1);
	return max((2 * degree + 2) / 3, 4U);
}

static void settle(struct mars_controller *controller)
{
	begin_trial(controller, controller->degree);
	controller->lost = 0;
	controller->epochs = 0;
	controller->strange = 0;
	controller->usual = 0;
	controller->rest = controller->next_rest;
	controller->next_rest = min(controller->next_rest * 2, (u32)REST_MOST);
}

/* Tries the next neighbour that has not lost, on the side where the last one won first. */
static void look_around(struct mars_controller *controller)
{
	while (controller->lost < 2) {
		u32 next = neighbour(controller, controller->degree, controller->direction);

		if (next != controller->degree) {
			begin_trial(controller, next);
			return;
		}
		controller->direction = -controller->direction;
		controller->lost++;
	}
	settle(controller);
}

static void trial_lost(struct mars_controller *controller)
{
	controller->direction = -controller->direction;
	controller->lost++;
	look_around(controller);
}

/* Behind it lies what it was better than: that side has lost already. */
static void trial_won(struct mars_controller *controller)
{
	controller->degree = controller->trial;
	controller->lost = 1;
	look_around(controller);
}

static int median(const struct mars_controller *controller)
{
	int sorted[PAIRS_MOST];
	u32 i, k;

	for (i = 0; i < controller->nr_pairs; i++) {
		for (k = i; k && sorted[k - 1] > controller->gain[i]; k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = controller->gain[i];
	}
	return sorted[(controller->nr_pairs - 1) / 2];
}

/* All comparisons so far say the same, and clearly? */
static bool is_clear(const struct mars_controller *controller, int sign, u32 least)
{
	u32 i;

	for (i = 0; i < controller->nr_pairs; i++) {
		if (sign * controller->gain[i] < CLEARLY)
			return false;
	}
	return controller->nr_pairs >= least;
}

/* By the median; for more executors nearly all must agree, or noise would do. */
static bool is_worth_it(const struct mars_controller *controller)
{
	return median(controller) >= (controller->trial > controller->degree ? WORTH_IT : NO_WORSE);
}

static bool agree(const struct mars_controller *controller)
{
	u32 i, against = 0;

	for (i = 0; i < controller->nr_pairs; i++)
		against += controller->gain[i] <= 0;
	return controller->trial < controller->degree ||
	       against * DISSENT <= controller->nr_pairs;
}

static void judge(struct mars_controller *controller)
{
	u32 nr = controller->nr_pairs;

	if (is_clear(controller, 1, CLEAR_WINS))
		trial_won(controller);
	else if (is_clear(controller, -1, CLEAR_LOSSES))
		trial_lost(controller);
	else if (nr != PAIRS && nr < PAIRS_MOST)
		begin_epoch(controller, true);
	else if (!is_worth_it(controller))
		trial_lost(controller);
	else if (agree(controller))
		trial_won(controller);
	else if (nr < PAIRS_MOST)
		begin_epoch(controller, true);
	else
		trial_lost(controller);
}

static bool differ(u64 a, u64 b, u64 times)
{
	return a > b * times || b > a * times;
}

/* Thousandths of all time that the epoch of the trial has saved. */
static int gain_of(const struct mars_epoch *before, const struct mars_epoch *tried,
		   const struct mars_epoch *after)
{
	s64 saved = (s64)((before->wait + after->wait) / 2) - (s64)tried->wait;
	s64 whole = max((before->whole + after->whole) / 2, tried->whole);
	s64 gain = whole ? saved * 1000 / whole : 0;

	if (gain < -1000)
		return -1000;
	return gain > 1000 ? 1000 : gain;
}

/* An epoch of the degree in use, with one of the trial behind it. */
static void compare(struct mars_controller *controller)
{
	struct mars_epoch before = controller->before;

	controller->before = controller->epoch;
	if (!differ(before.in_flight, controller->epoch.in_flight, LIKE_TIMES)) {
		controller->gain[controller->nr_pairs++] =
			gain_of(&before, &controller->tried, &controller->epoch);
		judge(controller);
	} else if (controller->unlike++ < UNLIKE_MOST) {
		begin_epoch(controller, true);
	} else {
		/* Nothing was learned: it stays as it is, and not for long. */
		controller->next_rest = REST_FIRST;
		settle(controller);
	}
}

static void trial_epoch(struct mars_controller *controller)
{
	if (controller->second) {
		controller->tried = controller->epoch;
		begin_epoch(controller, false);
	} else if (controller->before.bytes) {
		compare(controller);
	} else {
		controller->before = controller->epoch;
		begin_epoch(controller, true);
	}
}

/* Is the device still the one that the degree was found for? */
static bool has_changed(struct mars_controller *controller)
{
	u64 cost = controller->epoch.whole;

	if (!controller->usual)
		controller->usual = cost;
	if (differ(controller->usual, cost, CHANGE_TIMES)) {
		controller->strange++;
		return controller->strange >= CHANGE_EPOCHS;
	}
	controller->strange = 0;
	controller->usual = (7 * controller->usual + cost) / 8;
	return false;
}

static void settled_epoch(struct mars_controller *controller)
{
	if (has_changed(controller)) {
		controller->next_rest = REST_FIRST;
		controller->rest = 0;
	}
	if (++controller->epochs >= controller->rest)
		look_around(controller);
	else
		begin_epoch(controller, false);
}

/* From sums to figures a MiB, and the mean of what was in flight. */
static void close_epoch(struct mars_controller *controller)
{
	struct mars_epoch *epoch = &controller->epoch;
	u64 kib = epoch->bytes >> 10;

	epoch->wait = (epoch->wait << 10) / kib;
	epoch->whole = (epoch->whole << 10) / kib;
	epoch->in_flight /= controller->reads;
}

/**
 * mars_controller_note() - a read has ended
 * @controller: the mount's
 * @sample: what it was like
 *
 * Context: Any; one at a time.
 */
void mars_controller_note(struct mars_controller *controller, const struct mars_sample *sample)
{
	struct mars_epoch *epoch = &controller->epoch;

	/* Too little of a read to say anything, or one from before the last turn. */
	if (sample->bytes < MARS_SAMPLE_LEAST ||
	    sample->degree != min(present(controller), controller->most))
		return;
	epoch->bytes += sample->bytes;
	epoch->wait += min(sample->wait_ns, MARS_SAMPLE_NS_MOST);
	epoch->whole += min(sample->whole_ns, MARS_SAMPLE_NS_MOST);
	epoch->in_flight += sample->in_flight;
	controller->reads++;
	if (epoch->bytes < EPOCH_BYTES || controller->reads < EPOCH_READS)
		return;
	close_epoch(controller);
	if (trying(controller))
		trial_epoch(controller);
	else
		settled_epoch(controller);
}
