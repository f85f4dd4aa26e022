// SPDX-License-Identifier: GPL-2.0-only
/*
 * How side 1's mount is set up: each sequence has settings of its own.
 */
#include "diff.h"

static const char * const words[] = { "off", "ordered", "any" };

void knobs_gen(struct knobs *knobs, struct rng *rng)
{
	static const uint64_t least[] = { MIB, MIB, MIB, 64 * KIB, 64 * KIB, 4 * KIB };
	static const uint64_t windows[] = { MIB, 2 * MIB, 5 * MIB, 64 * MIB, 64 * MIB };
	static const uint64_t batches[] = { 64 * KIB, 256 * KIB, MIB, MIB, 4 * MIB };
	static const uint64_t aheads[] = { 0, 64 * KIB, 4 * MIB, 1024 * MIB, 1024 * MIB };
	static const uint64_t folios[] = { 4 * KIB, 64 * KIB, 2 * MIB, 2 * MIB, 64 * MIB };

	knobs->min_read_bytes = least[rng_below(rng, ARRAY_SIZE(least))];
	knobs->window_bytes = windows[rng_below(rng, ARRAY_SIZE(windows))];
	knobs->batch_bytes = min64(batches[rng_below(rng, ARRAY_SIZE(batches))],
				   knobs->window_bytes);
	knobs->max_folio_bytes = folios[rng_below(rng, ARRAY_SIZE(folios))];
	knobs->early_copy = rng_below(rng, ARRAY_SIZE(words));
	knobs->fault_in = rng_below(rng, 2);
	knobs->lookahead_bytes = aheads[rng_below(rng, ARRAY_SIZE(aheads))];
}

const char *knobs_text(const struct knobs *knobs)
{
	static char text[256];

	snprintf(text, sizeof(text),
		 "min_read_bytes %llu window_bytes %llu batch_bytes %llu max_folio_bytes %llu early_copy %s fault_in %u lookahead_bytes %llu",
		 (unsigned long long)knobs->min_read_bytes,
		 (unsigned long long)knobs->window_bytes,
		 (unsigned long long)knobs->batch_bytes,
		 (unsigned long long)knobs->max_folio_bytes,
		 words[knobs->early_copy], knobs->fault_in,
		 (unsigned long long)knobs->lookahead_bytes);
	return text;
}

static void put_size(const struct mars *m, const char *name, uint64_t size)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)size);
	mars_put(m, name, text);
}

/* A batch is never above the window, on the way neither. */
void knobs_set(const struct diff *d, const struct knobs *knobs)
{
	const struct mars *m = &d->mars;

	if (!m->dir[0])
		return;
	put_size(m, "batch_bytes", 64 * KIB);
	put_size(m, "window_bytes", knobs->window_bytes);
	put_size(m, "batch_bytes", knobs->batch_bytes);
	put_size(m, "min_read_bytes", knobs->min_read_bytes);
	put_size(m, "max_folio_bytes", knobs->max_folio_bytes);
	mars_put(m, "early_copy", words[knobs->early_copy]);
	put_size(m, "fault_in", knobs->fault_in);
	put_size(m, "lookahead_bytes", knobs->lookahead_bytes);
}
