// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a sequence that shows a difference to the fewest operations that do: large
 * parts are left out first, then single ones, until none can go.  Each attempt
 * begins at the sequence's own start.
 */
#include "diff.h"

#define TRIES 3

/* A difference that hangs on timing does not come each time. */
bool diff_repeats(struct diff *d, const struct seq *seq, const bool *keep)
{
	for (int i = 0; i < TRIES; i++) {
		if (diff_run(d, seq, keep))
			return true;
	}
	return false;
}

static unsigned int kept(const struct seq *seq, const bool *keep)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < seq->nr; i++)
		nr += keep[i];
	return nr;
}

/* Leaves out @nr kept operations from number @from on; undoes it if they matter. */
static bool without(struct diff *d, const struct seq *seq, bool *keep, unsigned int from,
		    unsigned int nr)
{
	bool less[DIFF_OPS];
	unsigned int seen = 0;

	memcpy(less, keep, sizeof(less));
	for (unsigned int i = 0; i < seq->nr; i++) {
		if (!keep[i])
			continue;
		if (seen >= from && seen < from + nr)
			less[i] = false;
		seen++;
	}
	if (!diff_run(d, seq, less))
		return false;
	memcpy(keep, less, sizeof(less));
	return true;
}

/* Returns how many are left. */
unsigned int diff_shrink(struct diff *d, const struct seq *seq, bool *keep)
{
	unsigned int step = kept(seq, keep) / 2;

	while (step) {
		bool less = false;

		for (unsigned int from = 0; from < kept(seq, keep);) {
			if (without(d, seq, keep, from, step))
				less = true;
			else
				from += step;
		}
		if (!less || step > 1)
			step = step > 1 ? step / 2 : 0;
	}
	return kept(seq, keep);
}
