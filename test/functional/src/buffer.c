// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers with canaries: 64 KiB before and behind, and in the buffer itself
 * unless it is to be fresh (never touched, so that the read has to fault every
 * page in).  A read that returns n bytes may have changed those n and no other.
 */
#include "mread.h"

#define GUARD (64 * KIB)

void gbuf_make(struct gbuf *g, size_t len, size_t misalign, bool fresh)
{
	g->map_len = (GUARD * 2 + misalign + len + PAGE - 1) / PAGE * PAGE;
	g->map = xmmap(g->map_len);
	g->p = g->map + GUARD + misalign;
	g->len = len;
	g->fresh = fresh;
	if (!fresh) {
		pat_fill(g->map, 0, g->map_len, CANARY);
		return;
	}
	pat_fill(g->map, 0, GUARD + misalign, CANARY);
	pat_fill(g->p + len, GUARD + misalign + len,
		 g->map_len - GUARD - misalign - len, CANARY);
}

void gbuf_verify(const struct gbuf *g, size_t written, const char *what)
{
	size_t before = g->p - g->map;
	size_t tail = g->fresh ? before + g->len : before + written;
	size_t bad;

	bad = pat_check(g->map, 0, before, CANARY);
	if (bad != before)
		die("%s: byte %zu before the buffer was overwritten", what,
		    before - bad);
	bad = pat_check(g->map + tail, tail, g->map_len - tail, CANARY);
	if (bad != g->map_len - tail)
		die("%s: byte %zu of a buffer of %zu was overwritten; the read returned %zu",
		    what, tail + bad - before, g->len, written);
	if (!g->fresh)
		return;
	bad = zero_check(g->p + written, g->len - written);
	if (bad != g->len - written)
		die("%s: byte %zu of a fresh buffer of %zu was overwritten; the read returned %zu",
		    what, written + bad, g->len, written);
}

void gbuf_free(struct gbuf *g)
{
	munmap(g->map, g->map_len);
	g->map = NULL;
}
