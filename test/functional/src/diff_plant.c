// SPDX-License-Identifier: GPL-2.0-only
/*
 * Differences made on purpose: each kind must be found, and shrunk to the few
 * operations that it takes.
 */
#include "diff.h"

#define LARGE (64 * KIB)

static const struct {
	const char *name;
	unsigned int ops;	/* what is left at most when all that can go is gone */
} plants[PLANT_NR] = {
	[PLANT_BYTE] = { "byte", 1 },
	[PLANT_BOTH] = { "both", 1 },
	[PLANT_GUARD] = { "guard", 1 },
	/* A read beyond the end, which a truncation may have to bring nearer. */
	[PLANT_BEHIND] = { "behind", 2 },
	[PLANT_RETURN] = { "return", 1 },
	[PLANT_POSITION] = { "position", 1 },
	[PLANT_ATIME] = { "atime", 1 },
	[PLANT_FILE] = { "file", 1 },
	[PLANT_PAIR] = { "pair", 2 },
};

enum plant plant_parse(const char *text)
{
	for (int i = PLANT_NONE + 1; i < PLANT_NR; i++) {
		if (!strcmp(text, plants[i].name))
			return i;
	}
	die("diff: --plant takes byte both guard behind return position atime file pair, not '%s'",
	    text);
}

unsigned int plant_ops(enum plant plant)
{
	return plants[plant].ops;
}

/* The address of byte @n of the first request, in the order of its iovecs. */
static uint8_t *byte_at(const struct diff *d, const struct side *s, uint64_t n)
{
	const struct piece *piece = &d->plan.piece[0];

	for (unsigned int i = piece->first; i < piece->first + piece->nr; i++) {
		const struct seg *seg = &d->plan.seg[i];

		if (n < seg->len)
			return s->buf.p + seg->at + n;
		n -= seg->len;
	}
	return NULL;
}

static void flip(const struct diff *d, const struct side *s, uint64_t n)
{
	uint8_t *p = byte_at(d, s, n);

	if (p)
		*p ^= 0xff;
}

static bool own_memory(const struct dbuf *b)
{
	return b->kind <= BUF_SHMEM;
}

/* One byte of the second file, at the disk's end of it. */
static void spoil_file(const struct side *s, uint64_t size)
{
	uint8_t byte;

	if (!size)
		return;
	if (pread(s->ctl, &byte, 1, size / 2) != 1)
		die("diff: reading %s: %s", s->path, strerror(errno));
	byte ^= 0xff;
	if (pwrite(s->ctl, &byte, 1, size / 2) != 1)
		die("diff: writing %s: %s", s->path, strerror(errno));
}

static void plant_read(struct diff *d, const struct op *op, struct side *s, uint64_t n)
{
	bool large = n >= LARGE;

	if (d->plant == PLANT_GUARD && own_memory(&s->buf))
		s->buf.p[s->buf.len + DIFF_GUARD - 1] ^= 1;
	else if (d->plant == PLANT_BEHIND && own_memory(&s->buf) && !op_direct(d, op))
		flip(d, s, n);
	else if ((d->plant == PLANT_BYTE || d->plant == PLANT_BOTH) && large)
		flip(d, s, n / 2);
	else if (d->plant == PLANT_PAIR && large && d->primed)
		flip(d, s, n / 2);
	if (d->plant == PLANT_BOTH && large)
		flip(d, &d->side[0], n / 2);
	if (d->plant == PLANT_RETURN && large)
		s->out.ret[0]--;
	if (d->plant == PLANT_POSITION && op_has(op, T_CURSOR) && n)
		s->out.pos++;
	if (d->plant == PLANT_ATIME && large && !op_nowait(op))
		s->out.atime = !s->out.atime;
}

/* Between the operation and its judgement. */
void plant_now(struct diff *d, const struct op *op)
{
	struct side *s = &d->side[1];

	if (s->out.skipped || s->out.ret[0] < 0)
		return;
	if (op_has(op, T_BUFFER))
		plant_read(d, op, s, s->out.ret[0]);
	if (op->kind == OP_PUNCH)
		d->primed = true;
	if (op->kind == OP_TRUNCATE && d->plant == PLANT_FILE)
		spoil_file(s, s->out.size);
}
