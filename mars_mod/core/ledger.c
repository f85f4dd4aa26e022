// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ledger: what was copied ahead of the copy cursor, so that the commit step
 * passes over it instead of copying it twice.
 */
#include <mars/core.h>

/**
 * mars_ledger_init() - forget everything
 * @ledger: the ledger of one read
 *
 * Context: Any.
 */
void mars_ledger_init(struct mars_ledger *ledger)
{
	ledger->nr = 0;
}

/* First piece that ends at or above @pos. */
static u32 first_from(const struct mars_ledger *ledger, u64 pos)
{
	u32 i = 0;

	while (i < ledger->nr && ledger->piece[i].end < pos)
		i++;
	return i;
}

static void close_gap(struct mars_ledger *ledger, u32 at, u32 nr)
{
	memmove(&ledger->piece[at], &ledger->piece[at + nr],
		(ledger->nr - at - nr) * sizeof(ledger->piece[0]));
	ledger->nr -= nr;
}

/**
 * mars_ledger_record() - note a piece that was copied
 * @ledger: the ledger of one read
 * @start: file position of its first byte
 * @end: file position after its last byte, greater than @start
 *
 * A piece that touches others is joined with them.
 *
 * Context: Any.
 * Return: False when there is no room; then the piece is not covered, and has
 * to be copied again in its turn.
 */
bool mars_ledger_record(struct mars_ledger *ledger, u64 start, u64 end)
{
	u32 at = first_from(ledger, start);
	u32 last = at;

	if (end <= start)
		return false;
	while (last < ledger->nr && ledger->piece[last].start <= end)
		last++;
	if (last == at) {
		if (ledger->nr == MARS_LEDGER_MAX)
			return false;
		memmove(&ledger->piece[at + 1], &ledger->piece[at],
			(ledger->nr - at) * sizeof(ledger->piece[0]));
		ledger->piece[at] = (struct mars_run){ start, end };
		ledger->nr++;
		return true;
	}
	ledger->piece[at].start = min(ledger->piece[at].start, start);
	ledger->piece[at].end = max(ledger->piece[last - 1].end, end);
	close_gap(ledger, at + 1, last - at - 1);
	return true;
}

/**
 * mars_ledger_full() - could a piece that touches no other be refused?
 * @ledger: the ledger of one read
 *
 * Context: Any.
 * Return: True if so.
 */
bool mars_ledger_full(const struct mars_ledger *ledger)
{
	return ledger->nr == MARS_LEDGER_MAX;
}

/**
 * mars_ledger_covered() - how far is the data from a position on copied already?
 * @ledger: the ledger of one read
 * @pos: file position
 *
 * Context: Any.
 * Return: The position after the last such byte; @pos itself when there is none.
 */
u64 mars_ledger_covered(const struct mars_ledger *ledger, u64 pos)
{
	u32 i = first_from(ledger, pos + 1);

	return i < ledger->nr && ledger->piece[i].start <= pos ? ledger->piece[i].end : pos;
}

/**
 * mars_ledger_next() - where does the next copied piece begin?
 * @ledger: the ledger of one read
 * @pos: file position that is not covered
 *
 * Context: Any.
 * Return: Its first position, or ~0 when there is none above @pos.
 */
u64 mars_ledger_next(const struct mars_ledger *ledger, u64 pos)
{
	u32 i = first_from(ledger, pos + 1);

	return i < ledger->nr ? ledger->piece[i].start : ~0ULL;
}

/**
 * mars_ledger_retire() - forget everything below the copy cursor
 * @ledger: the ledger of one read
 * @pos: file position of the copy cursor
 *
 * Context: Any.
 */
void mars_ledger_retire(struct mars_ledger *ledger, u64 pos)
{
	u32 nr = 0;

	while (nr < ledger->nr && ledger->piece[nr].end <= pos)
		nr++;
	close_gap(ledger, 0, nr);
}
