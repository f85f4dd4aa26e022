// SPDX-License-Identifier: GPL-2.0-only
/*
 * What must hold after an operation: each side's result against the model, then
 * one side's against the other's.
 *
 * Some things are not the same on two native runs either, and are only checked for
 * what must hold:
 * - RWF_NOWAIT: EAGAIN, or a right prefix that is not empty; which of them depends
 *   on what is cached and on locks.  Whether atime moved then differs too.
 * - Direct I/O into a buffer that cannot be written in full stops at an extent:
 *   EFAULT or a right prefix.
 * - io_uring, reading at the file position into such a buffer, moves the position
 *   when a worker thread made the read, and not when the submitter did, which
 *   depends on what is cached; and it does not move it after direct I/O that ended
 *   later. There the position is not looked at.
 * - How much one splice, sendfile or copy_file_range moves: see diff_stream.c. With
 *   O_DIRECT they stop where a piece is not aligned any more.
 * Where positions may differ, the descriptor's is then set to the first's.
 */
#include "diff.h"
#include <stdarg.h>

/* Keeps the first complaint; always true, for the caller to return. */
bool differ(struct diff *d, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (!d->why[0])
		vsnprintf(d->why, sizeof(d->why), fmt, args);
	va_end(args);
	return true;
}

static bool spoilt(const struct diff *d)
{
	const struct dbuf *b = &d->side[0].buf;

	return b->bad < b->len;
}

static bool loose(const struct diff *d, const struct op *op)
{
	return op_has(op, T_BUFFER) &&
	       (op_nowait(op) || (op_direct(d, op) && spoilt(d)));
}

static bool loose_position(const struct diff *d, const struct op *op)
{
	return op->kind >= OP_URING_READ && op->kind <= OP_URING_FIXED &&
	       (spoilt(d) || op_direct(d, op));
}

/* Errors that a read of a healthy file may end with. */
static bool may_fail(const struct diff *d, const struct side *s, const struct op *op,
		     const struct piece *piece, int err)
{
	uint64_t good = piece_good(d, &s->buf, piece), expect = piece_expect(d, piece);

	switch (err) {
	case EBADF:
	case EINVAL:
	case EOPNOTSUPP:
	case EOVERFLOW:
		return true;
	case EACCES:
		return op->kind == OP_MMAP_READ;
	case EAGAIN:
		return op_nowait(op);
	case EFAULT:
		if (op_direct(d, op))
			return good < piece->len;
		return good < expect && !good;
	default:
		return false;
	}
}

static bool judge_count(struct diff *d, const struct side *s, const struct op *op,
			unsigned int nr)
{
	const struct piece *piece = &d->plan.piece[nr];
	uint64_t expect = piece_expect(d, piece);
	uint64_t most = min64(piece_good(d, &s->buf, piece), expect);
	int64_t ret = s->out.ret[nr];
	bool prefix;

	if (ret < 0)
		return !may_fail(d, s, op, piece, -ret) &&
		       differ(d, "side %u: failed with %s; %llu bytes are before the end of the file, %llu can be written",
			      s->nr, strerror(-ret), (unsigned long long)expect,
			      (unsigned long long)piece_good(d, &s->buf, piece));
	prefix = loose(d, op) || (op_has(op, T_STREAM) && op_direct(d, op));
	if ((uint64_t)ret > most || (prefix ? !ret && most : (uint64_t)ret != most))
		return differ(d, "side %u: returned %lld, must be %llu (request %u: %llu before the end of the file, %llu can be written)",
			      s->nr, (long long)ret, (unsigned long long)most, nr,
			      (unsigned long long)expect,
			      (unsigned long long)piece_good(d, &s->buf, piece));
	return false;
}

static bool judge_position(struct diff *d, const struct side *s, const struct op *op)
{
	const struct outcome *o = &s->out;
	bool moves = op_has(op, T_CURSOR) || (op_has(op, T_EITHER) && op->off == -1);
	int64_t want = o->begin;

	if (!op_has(op, T_BUFFER) || loose_position(d, op))
		return false;
	if (moves && o->ret[0] > 0)
		want += o->ret[0];
	return o->pos != want &&
	       differ(d, "side %u: the position went from %lld to %lld, must be %lld", s->nr,
		      (long long)o->begin, (long long)o->pos, (long long)want);
}

static bool judge_side(struct diff *d, const struct side *s, const struct op *op)
{
	if (judge_position(d, s, op))
		return true;
	if (!op_has(op, T_BUFFER))
		return false;
	for (unsigned int i = 0; i < d->plan.nr_pieces; i++) {
		if (judge_count(d, s, op, i))
			return true;
	}
	return !buf_judge(d, s, op);
}

static const char *ret_text(int64_t ret, char *text, size_t size)
{
	if (ret < 0)
		snprintf(text, size, "%s", strerror(-ret));
	else
		snprintf(text, size, "%lld", (long long)ret);
	return text;
}

static bool judge_results(struct diff *d, const struct op *op)
{
	const struct outcome *a = &d->side[0].out, *b = &d->side[1].out;
	char ta[64], tb[64];

	for (unsigned int i = 0; i < d->plan.nr_pieces && !loose(d, op); i++) {
		if (a->ret[i] != b->ret[i])
			return differ(d, "the results differ: %s and %s (request %u)",
				      ret_text(a->ret[i], ta, sizeof(ta)),
				      ret_text(b->ret[i], tb, sizeof(tb)), i);
	}
	if (a->pos != b->pos && !loose(d, op) && !loose_position(d, op))
		return differ(d, "the positions differ: %lld and %lld", (long long)a->pos,
			      (long long)b->pos);
	return false;
}

static bool judge_inode(struct diff *d, const struct op *op)
{
	const struct outcome *a = &d->side[0].out, *b = &d->side[1].out;

	for (unsigned int i = 0; i < 2; i++) {
		if (d->side[i].out.size != d->size)
			return differ(d, "side %u: the file's size is %llu, must be %llu", i,
				      (unsigned long long)d->side[i].out.size,
				      (unsigned long long)d->size);
	}
	if (a->mtime != b->mtime)
		return differ(d, "mtime %s on side 0 and %s on side 1",
			      a->mtime ? "changed" : "stayed", b->mtime ? "changed" : "stayed");
	if (a->atime != b->atime && !loose(d, op))
		return differ(d, "atime %s on side 0 and %s on side 1",
			      a->atime ? "changed" : "stayed", b->atime ? "changed" : "stayed");
	return false;
}

/* Counts what happened too: a kind that never works proves nothing. */
static void count(struct diff *d, const struct op *op)
{
	d->nr_ops++;
	d->nr_reads += op_has(op, T_BUFFER);
	d->done[op->kind]++;
	if (!d->side[0].out.skipped && d->side[0].out.ret[0] >= 0)
		d->worked[op->kind]++;
}

bool diff_judge(struct diff *d, const struct op *op)
{
	const struct kind *kind = &diff_kinds[op->kind];
	const struct outcome *a = &d->side[0].out, *b = &d->side[1].out;

	count(d, op);
	if (a->skipped != b->skipped)
		die("diff: an operation was skipped on one side only: this program is wrong");
	if (a->skipped)
		return false;
	if (judge_side(d, &d->side[0], op) || judge_side(d, &d->side[1], op) ||
	    judge_results(d, op))
		return true;
	if (kind->apply)
		kind->apply(d, op, a->ret[0]);
	return judge_inode(d, op);
}

static bool judge_file(struct diff *d, struct side *s, bool cold)
{
	uint64_t size = file_size(s->ctl), i = 0;
	const uint8_t *map;
	bool bad;

	if (size != d->size)
		return differ(d, "at the end: side %u: the file has %llu bytes, must have %llu",
			      s->nr, (unsigned long long)size, (unsigned long long)d->size);
	if (!size)
		return false;
	if (cold && (fdatasync(s->ctl) || posix_fadvise(s->ctl, 0, 0, POSIX_FADV_DONTNEED)))
		die("diff: flushing %s: %s", s->path, strerror(errno));
	/* By a mapping, which is none of MARS's business. */
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, s->ctl, 0);
	if (map == MAP_FAILED)
		die("diff: mapping %s: %s", s->path, strerror(errno));
	bad = memcmp(map, d->model, size);
	if (bad) {
		while (map[i] == d->model[i])
			i++;
		differ(d, "at the end: side %u: byte %llu of the file is %02x, must be %02x",
		       s->nr, (unsigned long long)i, map[i], d->model[i]);
	}
	munmap((void *)map, size);
	return bad;
}

/* The files at the end: from the cache, or from the disk. */
bool diff_judge_files(struct diff *d, const struct seq *seq)
{
	return judge_file(d, &d->side[0], seq->cold_end) ||
	       judge_file(d, &d->side[1], seq->cold_end);
}
