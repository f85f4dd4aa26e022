// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs: which pages between the copy cursor and the submission cursor a read
 * brought in itself. What is not in a run was resident before, so a folio that
 * is not up to date there belongs to somebody else (set C).
 *
 * Submission goes upwards only, so the runs are a ring in ascending order; a
 * rewind of the submission cursor cuts its tail. The ring's size bounds what a
 * read may have outstanding when its missing pages are badly scattered.
 */
#include <mars/core.h>

static struct mars_run *run_at(struct mars_runs *runs, u32 nth)
{
	return &runs->slot[(runs->head + nth) % MARS_RUNS_MAX];
}

/**
 * mars_runs_init() - forget everything
 * @runs: the runs of one read
 *
 * Context: Any.
 */
void mars_runs_init(struct mars_runs *runs)
{
	runs->head = 0;
	runs->nr = 0;
}

/**
 * mars_runs_full() - can another run be taken in?
 * @runs: the runs of one read
 *
 * Context: Any.
 * Return: True when mars_runs_push() of a run that touches no other fails.
 */
bool mars_runs_full(const struct mars_runs *runs)
{
	return runs->nr == MARS_RUNS_MAX;
}

/**
 * mars_runs_total() - pages in all runs together
 * @runs: the runs of one read
 *
 * Context: Any.
 * Return: The number.
 */
u64 mars_runs_total(const struct mars_runs *runs)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < runs->nr; i++) {
		const struct mars_run *run = &runs->slot[(runs->head + i) % MARS_RUNS_MAX];

		sum += run->end - run->start;
	}
	return sum;
}

/**
 * mars_runs_push() - add a run above all others
 * @runs: the runs of one read
 * @start: first page index
 * @end: page index after the last, greater than @start
 *
 * Context: Any.
 * Return: False when the ring is full or the run does not lie above the rest.
 */
bool mars_runs_push(struct mars_runs *runs, u64 start, u64 end)
{
	struct mars_run *last = runs->nr ? run_at(runs, runs->nr - 1) : NULL;

	if (end <= start || (last && start < last->end))
		return false;
	if (last && start == last->end) {
		last->end = end;
		return true;
	}
	if (mars_runs_full(runs))
		return false;
	*run_at(runs, runs->nr++) = (struct mars_run){ start, end };
	return true;
}

/**
 * mars_runs_retire() - forget everything below the copy cursor
 * @runs: the runs of one read
 * @index: first page index that is still to be copied
 *
 * Context: Any.
 */
void mars_runs_retire(struct mars_runs *runs, u64 index)
{
	struct mars_run *first;

	while (runs->nr && run_at(runs, 0)->end <= index) {
		runs->head = (runs->head + 1) % MARS_RUNS_MAX;
		runs->nr--;
	}
	first = run_at(runs, 0);
	if (runs->nr && first->start < index)
		first->start = index;
}

/**
 * mars_runs_rewind() - forget everything from an index on
 * @runs: the runs of one read
 * @index: page index to which the submission cursor goes back
 *
 * Context: Any.
 */
void mars_runs_rewind(struct mars_runs *runs, u64 index)
{
	while (runs->nr && run_at(runs, runs->nr - 1)->start >= index)
		runs->nr--;
	if (runs->nr && run_at(runs, runs->nr - 1)->end > index)
		run_at(runs, runs->nr - 1)->end = index;
}

/**
 * mars_runs_contain() - did this read bring a page in?
 * @runs: the runs of one read
 * @index: page index at the copy cursor: only the lowest run is looked at,
 *	   after mars_runs_retire() was told of the cursor
 *
 * Context: Any.
 * Return: True if so.
 */
bool mars_runs_contain(const struct mars_runs *runs, u64 index)
{
	const struct mars_run *first = &runs->slot[runs->head];

	return runs->nr && first->start <= index && index < first->end;
}

/**
 * mars_runs_last() - the last page that was submitted
 * @runs: the runs of one read
 * @index: set to its page index
 *
 * Context: Any.
 * Return: False when nothing is outstanding.
 */
bool mars_runs_last(const struct mars_runs *runs, u64 *index)
{
	if (!runs->nr)
		return false;
	*index = runs->slot[(runs->head + runs->nr - 1) % MARS_RUNS_MAX].end - 1;
	return true;
}
