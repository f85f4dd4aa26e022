// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lookahead: how far a read that continues the one before it looks beyond its
 * own end.
 */
#include <mars/core.h>

/**
 * mars_continues() - does a read continue what was read of its file before?
 * @pos: where it begins
 * @prev_pos: where the last read of the open file ended; negative when there was none
 * @random: the file was opened for random access (FADV_RANDOM)
 * @sequential: the file was opened for sequential access (FADV_SEQUENTIAL)
 *
 * To begin at the beginning of a file is no sign of a stream: a loader that wants
 * one large tensor of each file does it too. Who has announced a stream is believed
 * from the first read on, but not after a jump.
 *
 * Context: Any.
 * Return: True if so.
 */
bool mars_continues(s64 pos, s64 prev_pos, bool random, bool sequential)
{
	if (random)
		return false;
	return prev_pos < 0 ? sequential : pos == prev_pos;
}

/**
 * mars_lookahead_want() - bytes beyond its end that a continuing read is to have under way
 * @knob: lookahead_bytes; %MARS_AUTO for as much as the window
 * @window: window_bytes
 * @length: bytes of the read
 * @ahead: bytes from its beginning on that were brought in for it before it came; more
 *	   than there can be means that those were not for it
 *
 * The first time its own length, then twice as much as the time before. What is new
 * of it is never more than three times the read's own length, so that no read pays
 * for much more than itself.
 *
 * Context: Any. No size is above 2^62.
 * Return: Bytes.
 */
u64 mars_lookahead_want(u64 knob, u64 window, u64 length, u64 ahead)
{
	u64 limit = min(knob, window);

	if (ahead > limit)
		ahead = 0;
	return min(limit, max(length, min(2 * ahead, ahead + 2 * length)));
}

/**
 * mars_lookahead_share() - bytes that it may have of the memory for all reads together
 * @limit: that memory
 * @left: what the reads under way leave of it
 *
 * Of the first half only, and a quarter of what is left of that: what reads have asked
 * for comes first, and a read that comes late is not to do without its window, or
 * without MARS, because others look ahead.
 *
 * Context: Any.
 * Return: Bytes.
 */
u64 mars_lookahead_share(u64 limit, u64 left)
{
	return left > limit / 2 ? (left - limit / 2) / 4 : 0;
}

/**
 * mars_lookahead_fit() - the same, given what there is
 * @want: what mars_lookahead_want() said, within mars_lookahead_share()
 * @asked: bytes in flight that the read asked for, its lookahead included
 * @granted: bytes in flight that it got: see mars_plan_window()
 *
 * What it got is a fair part of its memory cgroup, of the machine's memory and of
 * what all reads may have; and so much may also stay under way when it has returned.
 * A read that got no more than every read gets leaves the memory to the others.
 *
 * Context: Any.
 * Return: Bytes.
 */
u64 mars_lookahead_fit(u64 want, u64 asked, u64 granted)
{
	if (granted < asked && granted <= MARS_WINDOW_LEAST)
		return 0;
	return min(want, granted);
}

/**
 * mars_lookahead_edge() - where a lookahead ends
 * @limit: page index after the read's range, a multiple of the least folio
 * @edge: page index up to which it may go
 * @eof: page index after the last page of the file
 * @min_order: least order of the mapping
 * @order: order of the folios that it is made of, at least @min_order
 *
 * Before the end of the file it ends with a whole folio, where there is room for one:
 * the next lookahead begins there, and is made of whole folios again.
 *
 * Context: Any.
 * Return: The page index after it, a multiple of the least folio, at least @limit.
 */
u64 mars_lookahead_edge(u64 limit, u64 edge, u64 eof, unsigned int min_order, unsigned int order)
{
	u64 least = (1ULL << min_order) - 1;
	u64 whole = edge & ~((1ULL << order) - 1);

	if (edge >= eof)
		return max(limit, (eof + least) & ~least);
	if (whole <= limit)
		whole = edge & ~least;
	return max(limit, whole);
}
