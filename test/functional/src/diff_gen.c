// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sequence from its seed.  Every operation draws from a generator of its own,
 * and all its numbers are absolute, so that it stays what it is when others are
 * taken away.  The size that the file will have is only estimated here, to place
 * reads and writes where something is.
 */
#include "diff.h"
#include <linux/falloc.h>

struct gen {
	struct rng rng;
	uint64_t size;		/* about what the file will be */
	uint64_t large;		/* a read that MARS takes: lengths follow it */
};

static bool chance(struct gen *g, unsigned int percent)
{
	return rng_below(&g->rng, 100) < percent;
}

static uint64_t below(struct gen *g, uint64_t bound)
{
	return rng_below(&g->rng, bound);
}

/* Odd, on a page, on a large unit, or beside a page's edge. */
static uint64_t bend(struct gen *g, uint64_t v)
{
	switch (below(g, 6)) {
	case 0:
		return v / PAGE * PAGE;
	case 1:
		return v / (256 * KIB) * (256 * KIB);
	case 2:
		v = (v / PAGE + 1) * PAGE;
		return v + below(g, 5) - 2;
	case 3:
		return v / 512 * 512;
	default:
		return v;
	}
}

/* Reads: half of them large, some across the end or beyond it. */
static void pick_read(struct gen *g, struct op *op)
{
	uint64_t size = g->size, large = g->large, len;

	switch (below(g, 10)) {
	case 0 ... 4:
		len = rng_log(&g->rng, large, size > large ? size : large + 1);
		break;
	case 5:
	case 6:
		len = rng_log(&g->rng, large / 16, 4 * large);
		break;
	case 7:
		len = rng_log(&g->rng, 1, large / 16);
		break;
	case 8:
		len = rng_log(&g->rng, large, 6 * large);
		op->off = size > len ? size - below(g, len) : below(g, size + 1);
		op->len = bend(g, len);
		return;
	default:
		op->off = below(g, 64 * KIB);
		op->len = min64(size + below(g, large), DIFF_CAP);
		return;
	}
	len = bend(g, len);
	op->len = min64(len, DIFF_CAP);
	op->off = chance(g, 75) ? below(g, size > len ? size - len : 1) : below(g, size + 1);
	op->off = bend(g, op->off);
	if (chance(g, 2))
		op->off = size + below(g, 4 * large);
	if (chance(g, 1))
		op->off = chance(g, 50) ? INT64_MAX - (int64_t)below(g, MIB) : -5;
	if (chance(g, 1))
		op->len = 0;
}

static void pick_buffer(struct gen *g, struct op *op)
{
	static const uint8_t share[BUF_NR] = {
		[BUF_REUSED] = 34, [BUF_FRESH] = 22, [BUF_HUGE] = 8, [BUF_SHMEM] = 5,
		[BUF_UNMAPPED] = 11, [BUF_RDONLY] = 7, [BUF_PRIVATE] = 7, [BUF_SHARED] = 6,
	};
	uint64_t pages = op->len / PAGE + 1;
	int left = below(g, 100);

	for (op->buf = 0; op->buf < BUF_NR - 1; op->buf++) {
		left -= share[op->buf];
		if (left < 0)
			break;
	}
	op->misalign = chance(g, 40) ? 0 : below(g, PAGE);
	op->bad_page = chance(g, 15) ? 0 : below(g, pages);
	op->bad_pages = chance(g, 80) ? 1 + below(g, 8) : pages;
	op->map_off = below(g, g->size / PAGE + 1) * PAGE;
}

static int pick_rwf(struct gen *g)
{
	/* HIPRI, DSYNC, SYNC, APPEND: harmless; then all the others up to NOSIGNAL. */
	switch (below(g, 4)) {
	case 0:
	case 1:
		return 0;
	case 2:
		return below(g, 8) | below(g, 2) << 4;
	default:
		return below(g, 512) & below(g, 512);
	}
}

static void gen_read(struct gen *g, struct op *op)
{
	pick_read(g, op);
	if (op_has(op, T_CURSOR) || (op_has(op, T_EITHER) && chance(g, 15)))
		op->off = -1;
	if (op_has(op, T_BUFFER))
		pick_buffer(g, op);
	else
		op->misalign = below(g, PAGE);
	op->nr = 1;
	if (op_has(op, T_VECTOR))
		op->nr = chance(g, 90) ? 1 + below(g, 12) : chance(g, 90) ? 200 : 1025;
	else if (op_has(op, T_PIECES) && op->off >= 0 && chance(g, 40))
		op->nr = 2 + below(g, DIFF_PIECES - 1);
	if (op_has(op, T_FLAGS))
		op->flags = pick_rwf(g);
	if (op->kind == OP_MMAP_READ)
		op->flags = chance(g, 30) ? MAP_POPULATE : 0;
	op->overlap = op_has(op, T_VECTOR) && op->nr > 1 && chance(g, 20);
	op->punt = chance(g, 30);
	/* Streams go through a pipe page by page: not for much. */
	if (op_has(op, T_STREAM))
		op->len = min64(op->len, 4 * MIB);
}

static void gen_write(struct gen *g, struct op *op)
{
	if (chance(g, 60))
		op->len = bend(g, rng_log(&g->rng, 1, g->large / 4));
	else
		op->len = bend(g, rng_log(&g->rng, g->large / 16, 2 * g->large));
	op->off = bend(g, chance(g, 85) ? below(g, g->size + 1) : g->size + below(g, g->large));
	if (op->kind == OP_MMAP_WRITE)
		op->flags = chance(g, 50);
	if (op->kind == OP_WRITE)
		op->off = -1;
	if (op->kind == OP_APPEND)
		op->off = g->size;
	if (op->off >= 0 && op->off + op->len > g->size && op->off + op->len <= DIFF_CAP &&
	    op->kind != OP_MMAP_WRITE)
		g->size = op->off + op->len;
}

static void gen_truncate(struct gen *g, struct op *op)
{
	if (chance(g, 50))
		op->len = g->size - min64(below(g, 2 * g->large), g->size);
	else if (chance(g, 60))
		op->len = min64(g->size + rng_log(&g->rng, 1, 3 * g->large), DIFF_CAP);
	else
		op->len = below(g, 2 * g->size + 1) % DIFF_START;
	op->len = bend(g, op->len);
	g->size = op->len;
}

static void gen_fallocate(struct gen *g, struct op *op)
{
	bool moves = op->kind == OP_COLLAPSE || op->kind == OP_INSERT;
	uint64_t len = rng_log(&g->rng, 512, 2 * g->large), off = below(g, g->size + 1);

	if (moves && chance(g, 95)) {
		len = (len / PAGE + 1) * PAGE;
		off = off / PAGE * PAGE;
	} else {
		len = bend(g, len);
		off = bend(g, off);
	}
	op->off = off;
	op->len = len;
	op->flags = chance(g, 50) ? FALLOC_FL_KEEP_SIZE : 0;
	if (op->kind == OP_COLLAPSE && off + len < g->size)
		g->size -= len;
	else if (op->kind == OP_INSERT && off < g->size && g->size + len <= DIFF_CAP)
		g->size += len;
	else if ((op->kind == OP_PREALLOC || op->kind == OP_ZERO) && !op->flags &&
		 off + len > g->size && off + len <= DIFF_CAP)
		g->size = off + len;
}

static void gen_cache(struct gen *g, struct op *op)
{
	static const int advice[] = {
		POSIX_FADV_NORMAL, POSIX_FADV_RANDOM, POSIX_FADV_SEQUENTIAL,
		POSIX_FADV_WILLNEED, POSIX_FADV_DONTNEED, POSIX_FADV_NOREUSE,
		POSIX_FADV_WILLNEED, POSIX_FADV_DONTNEED,
	};

	pick_read(g, op);
	op->flags = advice[below(g, ARRAY_SIZE(advice))];
	if (op->kind == OP_DROP_ALL)
		op->flags = 1 + below(g, 3);
	/* Mostly a part of the file: what is cached is then neither all nor nothing. */
	if (chance(g, op->kind == OP_DROP_FILE ? 25 : 50)) {
		op->off = 0;
		op->len = op->kind == OP_READAHEAD ? DIFF_CAP : 0;
	}
}

static void gen_lseek(struct gen *g, struct op *op)
{
	static const int whence[] = { SEEK_SET, SEEK_SET, SEEK_SET, SEEK_CUR, SEEK_END };

	op->flags = whence[below(g, ARRAY_SIZE(whence))];
	if (op->flags == SEEK_SET)
		op->off = bend(g, below(g, g->size + 1));
	else
		op->off = (int64_t)below(g, 2 * g->large) -
			  (int64_t)g->large * (op->flags == SEEK_END ? 2 : 1);
	if (chance(g, 2))
		op->off = INT64_MAX - below(g, 3);
}

static void gen_open(struct gen *g, struct op *op)
{
	static const struct {
		int flag;
		unsigned int percent;
	} more[] = {
		{ O_APPEND, 10 }, { O_NOATIME, 15 }, { O_SYNC, 4 }, { O_DSYNC, 4 },
		{ O_DIRECT, 20 }, { O_NONBLOCK, 10 },
	};

	op->flags = chance(g, 65) ? O_RDWR : chance(g, 90) ? O_RDONLY : O_WRONLY;
	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		if (chance(g, more[i].percent))
			op->flags |= more[i].flag;
	}
	if ((op->flags & O_ACCMODE) == O_RDWR && chance(g, 3)) {
		op->flags |= O_TRUNC;
		g->size = 0;
	}
}

static void gen_op(struct gen *g, struct op *op)
{
	switch (op->kind) {
	case OP_READ ... OP_MMAP_READ:
		gen_read(g, op);
		break;
	case OP_WRITE ... OP_MMAP_WRITE:
		gen_write(g, op);
		break;
	case OP_TRUNCATE:
		gen_truncate(g, op);
		break;
	case OP_PREALLOC ... OP_INSERT:
		gen_fallocate(g, op);
		break;
	case OP_FADVISE ... OP_DROP_ALL:
		gen_cache(g, op);
		break;
	case OP_LSEEK:
		gen_lseek(g, op);
		break;
	default:
		gen_open(g, op);
		break;
	}
}

static enum op_kind pick_kind(struct rng *rng)
{
	unsigned int total = 0;
	int64_t left;

	for (int i = 0; i < OP_NR; i++)
		total += diff_kinds[i].weight;
	left = rng_below(rng, total);
	for (int i = 0; i < OP_NR; i++) {
		left -= diff_kinds[i].weight;
		if (left < 0)
			return i;
	}
	return OP_NR - 1;
}

/* Where MARS takes short reads too, the files can be small. */
static uint64_t large_read(const struct seq *seq)
{
	return seq->knobs.min_read_bytes > 64 * KIB ? seq->knobs.min_read_bytes : 64 * KIB;
}

static void add_op(struct seq *seq, struct rng *rng, uint64_t *size, enum op_kind kind)
{
	struct op *op = &seq->op[seq->nr];
	struct gen g = { { rng_next(rng) }, *size, large_read(seq) };

	memset(op, 0, sizeof(*op));
	op->kind = kind;
	op->index = seq->nr++;
	op->slot = below(&g, DIFF_SLOTS);
	/* The second is at first read-only: seldom for what changes the file. */
	if (op->slot == 1 && kind >= OP_WRITE && kind <= OP_INSERT && chance(&g, 80))
		op->slot = 0;
	op->atime_ahead = chance(&g, 25);
	op->rnd = rng_next(&g.rng);
	gen_op(&g, op);
	*size = g.size;
}

void diff_gen(struct seq *seq, uint64_t seed)
{
	struct rng mixed = { seed }, rng;
	unsigned int nr;
	uint64_t size;

	/* Neighbours must not be the same stream of numbers, shifted. */
	rng.state = rng_next(&mixed);
	nr = 12 + rng_below(&rng, DIFF_OPS - 16);
	memset(seq, 0, sizeof(*seq));
	seq->seed = seed;
	knobs_gen(&seq->knobs, &rng);
	/* Large files take time, and find what small ones do not only now and then. */
	if (rng_below(&rng, 16))
		seq->size = rng_log(&rng, large_read(seq) * 5 / 4, large_read(seq) * 4);
	else
		seq->size = rng_log(&rng, 4 * MIB, DIFF_START);
	seq->data = rng_below(&rng, DIFF_POOL - DIFF_START);
	seq->sparse = rng_below(&rng, 3) == 0;
	seq->cold = rng_below(&rng, 4);
	seq->cold_end = rng_below(&rng, 2);
	size = seq->size;
	while (seq->nr < nr) {
		enum op_kind kind = pick_kind(&rng);

		/* Without a step back, positions would soon be at the end. */
		if (diff_kinds[kind].traits & T_CURSOR && rng_below(&rng, 2))
			add_op(seq, &rng, &size, OP_LSEEK);
		add_op(seq, &rng, &size, kind);
	}
}
