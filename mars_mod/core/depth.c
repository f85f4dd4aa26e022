// SPDX-License-Identifier: GPL-2.0-only
/*
 * Depth: how many bytes a read should have in flight (depth=auto), one for each mount.
 *
 * Too few and the device waits, more than enough and everybody else waits: requests that
 * cannot be served yet stand before those of other readers. How many are enough shows
 * in how a read begins: it submits as fast as it can, and its first x bytes are there
 * after a time C(x). With a latency L and a bandwidth W that is about L + x / W, so
 * x / C(x) grows with x until it is near W, and what is in flight beyond that gains
 * nothing. The knee is where x / C(x) has nine tenths of its greatest value: on such a
 * device at x = 9 L W, several times what must be in flight to keep it busy (Little's
 * law), which leaves room for latencies that vary and for short hold-ups. A device that
 * does many requests side by side has a C(x) that is flat for long, and its knee where
 * that ends. One that is faster than the copy has it at the beginning.
 *
 * The curve compares a read with itself, not with other reads, so noise does little to
 * it; what it does, a read that is held up at its beginning say, makes the knee larger,
 * which costs less than one that is too small. For the same reason the greatest knee of
 * some reads counts.
 *
 * Only a read with more in flight than the knee can show one. Until there are some, no
 * read is limited; later one read in sixteen may have four times the limit. When its
 * curve has not bent by the middle of what it got, the next ones may have more still,
 * so that a device that becomes faster is found out in a few reads.
 */
#include <mars/core.h>

/* Of the greatest x / C(x), in per cent. */
#define KNEE_PERCENT 90
/* A curve that is shorter says nothing. */
#define CURVE_LEAST (8ULL << 20)
/* What the curve must reach, in knees, or there may be a later bend. */
#define BENT_TIMES 2
/* Curves that it takes to begin with. */
#define CURVES_FIRST 4
/* A read that looks for the knee may have so many times the limit. */
#define PROBE_TIMES 4
/* Reads between two of those, or nanoseconds. */
#define PROBE_READS 16
#define PROBE_NS 10000000000ULL

/**
 * mars_depth_point() - a point of the curve
 * @nth: which, from 0
 *
 * Half octaves: 1, 1.5, 2, 3, 4, 6 MiB and so on.
 *
 * Context: Any.
 * Return: Bytes.
 */
u64 mars_depth_point(u32 nth)
{
	u64 octave = 1ULL << (20 + nth / 2);

	return nth % 2 ? octave + octave / 2 : octave;
}

/**
 * mars_depth_begin() - a read has submitted its first bytes
 * @curve: its
 * @now: nanoseconds
 *
 * Context: Any.
 */
void mars_depth_begin(struct mars_depth_curve *curve, u64 now)
{
	curve->begin = now;
	curve->nr = 0;
}

/**
 * mars_depth_reach() - so much of what it submitted is there, and copied
 * @curve: the read's
 * @bytes: since it began
 * @now: nanoseconds
 *
 * Context: Any.
 */
void mars_depth_reach(struct mars_depth_curve *curve, u64 bytes, u64 now)
{
	while (curve->nr < MARS_DEPTH_POINTS && bytes >= mars_depth_point(curve->nr))
		curve->after[curve->nr++] = max(now - curve->begin, (u64)1);
}

/* Bytes a millisecond, about. */
static u64 speed(const struct mars_depth_curve *curve, u32 nth)
{
	return (mars_depth_point(nth) << 20) / curve->after[nth];
}

/**
 * mars_depth_knee() - where a curve bends
 * @curve: of a read
 * @bent: set when it goes on long enough behind that
 *
 * Context: Any.
 * Return: Bytes; 0 when the curve is too short to say.
 */
u64 mars_depth_knee(const struct mars_depth_curve *curve, bool *bent)
{
	u64 best = 0, last;
	u32 i;

	if (!curve->nr)
		return 0;
	last = mars_depth_point(curve->nr - 1);
	if (last < CURVE_LEAST)
		return 0;
	for (i = 0; i < curve->nr; i++)
		best = max(best, speed(curve, i));
	for (i = 0; speed(curve, i) < best - best / 100 * (100 - KNEE_PERCENT); i++)
		;
	*bent = mars_depth_point(i) * BENT_TIMES <= last;
	return mars_depth_point(i);
}

/**
 * mars_depth_init() - nothing is known of the device
 * @depth: the mount's
 *
 * Context: Any.
 */
void mars_depth_init(struct mars_depth *depth)
{
	memset(depth, 0, sizeof(*depth));
	depth->limit = MARS_DEPTH_NONE;
}

/**
 * mars_depth_limit() - how much may the read that begins now have in flight?
 * @depth: the mount's
 * @length: bytes of the read
 * @now: nanoseconds
 * @probe: set when it is to have its curve learned from
 *
 * Context: Any; one at a time, as with mars_depth_learn().
 * Return: Bytes, or MARS_DEPTH_NONE: as many as it likes.
 */
u64 mars_depth_limit(struct mars_depth *depth, u64 length, u64 now, bool *probe)
{
	u64 limit = depth->limit;

	/* It is not limited, so its curve costs nothing. */
	*probe = limit == MARS_DEPTH_NONE || length <= limit;
	if (*probe)
		return limit;
	depth->reads++;
	*probe = depth->unbent || depth->reads >= PROBE_READS || now - depth->learned >= PROBE_NS;
	return *probe ? limit * PROBE_TIMES : limit;
}

/**
 * mars_depth_learn() - what a read's curve says
 * @depth: the mount's
 * @curve: of a read that was to be learned from
 * @now: nanoseconds
 *
 * Context: Any; one at a time.
 * Return: False when it says nothing.
 */
bool mars_depth_learn(struct mars_depth *depth, const struct mars_depth_curve *curve, u64 now)
{
	bool bent;
	u64 knee = mars_depth_knee(curve, &bent), most = 0;
	u32 i;

	/* A curve without a bend says that the knee is not below this, and no more. */
	if (knee && !bent)
		knee *= PROBE_TIMES;
	if (!knee || (!bent && depth->limit != MARS_DEPTH_NONE && knee <= depth->limit))
		return false;
	depth->learned = now;
	depth->reads = 0;
	depth->unbent = !bent;
	depth->knee[depth->nr++ % MARS_DEPTH_KNEES] = knee;
	for (i = 0; i < depth->nr && i < MARS_DEPTH_KNEES; i++)
		most = max(most, depth->knee[i]);
	depth->limit = depth->nr < CURVES_FIRST ? MARS_DEPTH_NONE : most;
	return true;
}
