// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers: both sides get one of the same shape.  What a read may not touch has
 * known content: a byte of its own for each operation, zero in a fresh mapping,
 * or the file's content in a mapping of the file.
 */
#include "diff.h"

static uint64_t pages_of(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* Where a read can put its data is the same on both sides, so decided once. */
static enum buf_kind kind_now(const struct diff *d, const struct op *op)
{
	const struct piece *first = &d->plan.piece[0];
	const struct piece *last = &d->plan.piece[d->plan.nr_pieces - 1];
	uint64_t from = op->map_off + op->misalign, end = from + op->len;
	bool apart;

	if (op->kind == OP_URING_FIXED || op_has(op, T_STREAM))
		return BUF_REUSED;
	if (op->buf != BUF_SHARED && op->buf != BUF_PRIVATE)
		return op->buf;
	if (!d->size || op->map_off >= d->size)
		return BUF_FRESH;
	if (op->buf == BUF_PRIVATE)
		return BUF_PRIVATE;
	/*
	 * Into the very range that is read: what comes out depends on the order of
	 * copying, natively too.  Where a call may legitimately read less on one
	 * side, the files would differ from then on.
	 */
	apart = first->off < 0 || end <= first->off / PAGE * PAGE ||
		from >= pages_of(last->off + last->len);
	return apart && end <= d->size && !op_nowait(op) && !op_direct(d, op) ?
	       BUF_SHARED : BUF_PRIVATE;
}

static void make_file_map(struct diff *d, struct side *s, const struct op *op)
{
	struct dbuf *b = &s->buf;
	uint64_t end = pages_of(d->size);

	b->map_len = pages_of(op->misalign + op->len) + PAGE;
	b->map = mmap(NULL, b->map_len, PROT_READ | PROT_WRITE,
		      b->kind == BUF_SHARED ? MAP_SHARED : MAP_PRIVATE, s->ctl, op->map_off);
	if (b->map == MAP_FAILED)
		die("diff: mapping %s: %s", s->path, strerror(errno));
	b->p = b->map + op->misalign;
	b->file_off = op->map_off + op->misalign;
	if (b->file_off + b->len > end) {
		b->bad = end > b->file_off ? end - b->file_off : 0;
		b->bad_end = b->len;
		b->bad_hidden = true;
	}
}

static void make_anonymous(struct side *s, const struct op *op)
{
	struct dbuf *b = &s->buf;
	size_t head = DIFF_GUARD + op->misalign, align = b->kind == BUF_HUGE ? 2 * MIB : 0;

	b->map_len = pages_of(head + b->len + DIFF_GUARD) + align;
	b->map = mmap(NULL, b->map_len, PROT_READ | PROT_WRITE, MAP_ANONYMOUS |
		      (b->kind == BUF_SHMEM ? MAP_SHARED : MAP_PRIVATE), -1, 0);
	if (b->map == MAP_FAILED)
		die("diff: mmap of %zu bytes: %s", b->map_len, strerror(errno));
	b->p = b->map + head;
	if (b->kind == BUF_HUGE) {
		b->p += -(uintptr_t)(b->map + DIFF_GUARD) & (2 * MIB - 1);
		madvise(b->map, b->map_len, MADV_HUGEPAGE);
	}
	memset(b->p - DIFF_GUARD, b->canary, DIFF_GUARD);
	memset(b->p + b->len, b->canary, DIFF_GUARD);
}

/* A hole that the other side's buffer does not fit into stays one. */
static void spoil(struct side *s, const struct op *op)
{
	struct dbuf *b = &s->buf;
	uint8_t *bad = b->p - op->misalign + op->bad_page * PAGE;
	uint64_t room = pages_of(op->misalign + b->len) / PAGE, nr = op->bad_pages;
	bool unmap = b->kind == BUF_UNMAPPED && nr <= 8;

	memset(b->p, b->canary, b->len);
	if (op->bad_page >= room)
		return;
	if (nr > room - op->bad_page)
		nr = room - op->bad_page;
	if (unmap ? munmap(bad, nr * PAGE) :
		    mprotect(bad, nr * PAGE, b->kind == BUF_RDONLY ? PROT_READ : PROT_NONE))
		die("diff: preparing a buffer: %s", strerror(errno));
	b->bad = bad < b->p ? 0 : bad - b->p;
	b->bad_end = min64(bad + nr * PAGE - b->p, b->len);
	b->bad_hidden = b->kind == BUF_UNMAPPED;
}

/* The first bytes of the guard are lost with the buffer's last page. */
static uint64_t hidden_behind(const struct dbuf *b)
{
	return b->bad_hidden && b->bad_end == b->len ? -(uintptr_t)(b->p + b->len) & (PAGE - 1) : 0;
}

void buf_make(struct diff *d, struct side *s, const struct op *op)
{
	struct dbuf *b = &s->buf;

	memset(b, 0, sizeof(*b));
	b->kind = kind_now(d, op);
	b->len = op->len;
	b->bad = op->len;
	b->bad_end = op->len;
	b->canary = 0xA0 | (op->rnd & 0xf);
	switch (b->kind) {
	case BUF_PRIVATE:
	case BUF_SHARED:
		make_file_map(d, s, op);
		break;
	case BUF_REUSED:
		b->p = s->arena + DIFF_GUARD + op->misalign;
		memset(b->p - DIFF_GUARD, b->canary, b->len + 2 * DIFF_GUARD);
		break;
	default:
		make_anonymous(s, op);
		break;
	}
	if (b->kind == BUF_UNMAPPED || b->kind == BUF_RDONLY)
		spoil(s, op);
}

void buf_free(struct dbuf *b)
{
	if (b->map)
		munmap(b->map, b->map_len);
	memset(b, 0, sizeof(*b));
}

/* One vector: cut anywhere, empty parts included, and not in the buffer's order. */
static void cut_vector(struct diff *d, const struct op *op)
{
	struct plan *plan = &d->plan;
	struct rng rng = { op->rnd };
	uint64_t at = 0;

	for (unsigned int i = 0; i < op->nr; i++) {
		uint64_t left = op->len - at;
		uint64_t most = min64(left, 2 * left / (op->nr - i)), len = left;

		if (i < op->nr - 1)
			len = rng_below(&rng, 8) ? rng_below(&rng, most + 1) : 0;
		plan->seg[i] = (struct seg){ at, len };
		at += len;
	}
	for (unsigned int i = op->nr; i > 1 && op->rnd & 1; i--) {
		unsigned int k = rng_below(&rng, i);
		struct seg tmp = plan->seg[k];

		plan->seg[k] = plan->seg[i - 1];
		plan->seg[i - 1] = tmp;
	}
	plan->piece[0].nr = op->nr;
	/* Direct I/O promises no order. */
	plan->overlaps = op->overlap && !op_direct(d, op);
	for (unsigned int i = 0; i < op->nr && plan->overlaps; i++) {
		if (rng_below(&rng, 2))
			plan->seg[i].at = rng_below(&rng, op->len - plan->seg[i].len + 1);
	}
}

static void cut_pieces(struct plan *plan, const struct op *op)
{
	uint64_t each = op->len / op->nr + 1, at = 0;

	for (unsigned int i = 0; i < op->nr; i++) {
		uint64_t len = min64(each, op->len - at);

		plan->seg[i] = (struct seg){ at, len };
		plan->piece[i] = (struct piece){ op->off + at, i, 1, len };
		at += len;
	}
	plan->nr_pieces = op->nr;
}

/* What goes where: the same on both sides. */
void plan_make(struct diff *d, const struct op *op)
{
	struct plan *plan = &d->plan;
	int64_t off = op->off;

	if (off < 0 && (op_has(op, T_CURSOR) || (op_has(op, T_EITHER) && off == -1)))
		off = d->side[0].out.begin;
	plan->nr_pieces = 1;
	plan->overlaps = false;
	plan->piece[0] = (struct piece){ off, 0, 1, op->len };
	plan->seg[0] = (struct seg){ 0, op->len };
	if (op_has(op, T_VECTOR))
		cut_vector(d, op);
	else if (op_has(op, T_PIECES) && op->nr > 1)
		cut_pieces(plan, op);
}

void plan_iov(struct diff *d, struct side *s)
{
	struct plan *plan = &d->plan;
	const struct piece *last = &plan->piece[plan->nr_pieces - 1];

	for (unsigned int i = 0; i < last->first + last->nr; i++) {
		plan->iov[i].iov_base = plan->seg[i].len ? s->buf.p + plan->seg[i].at : NULL;
		plan->iov[i].iov_len = plan->seg[i].len;
	}
}

/* How much of a piece can be written before the first byte that cannot. */
uint64_t piece_good(const struct diff *d, const struct dbuf *b, const struct piece *piece)
{
	uint64_t good = 0;

	for (unsigned int i = piece->first; i < piece->first + piece->nr; i++) {
		const struct seg *seg = &d->plan.seg[i];

		if (seg->len && seg->at < b->bad_end && seg->at + seg->len > b->bad)
			return good + (seg->at < b->bad ? b->bad - seg->at : 0);
		good += seg->len;
	}
	return good;
}

/* How much of a piece lies before the end of the file. */
uint64_t piece_expect(const struct diff *d, const struct piece *piece)
{
	if (piece->off < 0 || (uint64_t)piece->off >= d->size)
		return 0;
	return min64(piece->len, d->size - piece->off);
}

bool same(struct diff *d, const struct side *s, uint64_t at, const uint8_t *want,
	  uint64_t len, const char *what)
{
	const uint8_t *got = s->buf.p + at;
	uint64_t i = 0;

	if (!memcmp(got, want, len))
		return true;
	while (got[i] == want[i])
		i++;
	differ(d, "side %u: %s: byte %llu of the buffer is %02x, must be %02x", s->nr, what,
	       (unsigned long long)(at + i), got[i], want[i]);
	return false;
}

static bool all(struct diff *d, const struct side *s, const uint8_t *p, uint64_t len,
		uint8_t byte, const char *what)
{
	uint64_t i = 0;

	if (!len || (p[0] == byte && !memcmp(p, p + 1, len - 1)))
		return true;
	while (p[i] == byte)
		i++;
	differ(d, "side %u: %s: byte %lld of a buffer of %zu is %02x, was %02x before", s->nr, what,
	       (long long)(p + i - s->buf.p), s->buf.len, p[i], byte);
	return false;
}

/* What the bytes of a buffer were that is no mapping of the file. */
static uint8_t before(const struct dbuf *b)
{
	return b->kind == BUF_FRESH || b->kind == BUF_HUGE || b->kind == BUF_SHMEM ? 0 : b->canary;
}

/* A part that no read may have touched. */
static bool untouched(struct diff *d, const struct side *s, uint64_t at, uint64_t len,
		      const char *what)
{
	const struct dbuf *b = &s->buf;

	if (b->bad_hidden && at < b->bad_end && at + len > b->bad) {
		uint64_t end = at + len;

		return (at >= b->bad || untouched(d, s, at, b->bad - at, what)) &&
		       (end <= b->bad_end || untouched(d, s, b->bad_end, end - b->bad_end, what));
	}
	if (b->kind != BUF_PRIVATE && b->kind != BUF_SHARED)
		return all(d, s, b->p + at, len, before(b), what);
	if (b->file_off + at >= d->size)
		return true;
	return same(d, s, at, d->model + b->file_off + at,
		    min64(len, d->size - b->file_off - at), what);
}

/* early_copy=any, and a short read: each byte is as before, or the file's. */
static bool perhaps(struct diff *d, const struct side *s, uint64_t at, uint64_t len, int64_t off)
{
	const struct dbuf *b = &s->buf;
	bool mapped = b->kind == BUF_PRIVATE || b->kind == BUF_SHARED;
	uint8_t was = before(b);

	for (uint64_t i = at; i < at + len; i++) {
		if (b->bad_hidden && i >= b->bad && i < b->bad_end)
			continue;
		if (mapped && b->file_off + i >= d->size)
			break;
		if (mapped)
			was = d->model[b->file_off + i];
		if (b->p[i] != was && b->p[i] != d->model[off + i - at])
			return !differ(d, "side %u: behind a short read: byte %llu of the buffer is %02x, neither %02x as before nor %02x as the file",
				       s->nr, (unsigned long long)i, b->p[i], was,
				       d->model[off + i - at]);
	}
	return true;
}

/* The bytes of a segment behind what the read returned; the file had @file of them. */
static bool rest(struct diff *d, const struct side *s, uint64_t at, uint64_t len,
		 uint64_t file, int64_t off)
{
	if (s->nr == 1 && d->any && file) {
		if (!perhaps(d, s, at, file, off))
			return false;
		at += file;
		len -= file;
	}
	return !len || untouched(d, s, at, len, "behind what was read");
}

/* The buffer as it must be: what was there, then each segment in its turn. */
static void draw_image(struct diff *d, const struct dbuf *b, const struct piece *piece,
		       uint64_t left)
{
	bool mapped = b->kind == BUF_PRIVATE || b->kind == BUF_SHARED;
	int64_t off = piece->off;

	if (mapped)
		memcpy(d->image, d->model + b->file_off,
		       b->file_off < d->size ? min64(b->len, d->size - b->file_off) : 0);
	else
		memset(d->image, before(b), b->len);
	for (unsigned int i = piece->first; i < piece->first + piece->nr && left; i++) {
		const struct seg *seg = &d->plan.seg[i];
		uint64_t n = min64(seg->len, left);

		memcpy(d->image + seg->at, d->model + off, n);
		off += n;
		left -= n;
	}
}

/*
 * Segments that overlap.  After a short read with early_copy=any the last of them
 * may lie over what the earlier ones left: nothing is known of the bytes then.
 */
static bool judge_image(struct diff *d, const struct side *s, uint64_t n)
{
	const struct piece *piece = &d->plan.piece[0];
	const struct dbuf *b = &s->buf;
	uint64_t end = b->len;

	if (s->nr == 1 && d->any && n < piece_expect(d, piece))
		return true;
	if (b->kind == BUF_PRIVATE || b->kind == BUF_SHARED)
		end = b->file_off < d->size ? min64(end, d->size - b->file_off) : 0;
	draw_image(d, b, piece, n);
	if (!b->bad_hidden)
		return same(d, s, 0, d->image, end, "data");
	return same(d, s, 0, d->image, min64(end, b->bad), "data") &&
	       (end <= b->bad_end ||
		same(d, s, b->bad_end, d->image + b->bad_end, end - b->bad_end, "data"));
}

static bool judge_piece(struct diff *d, const struct side *s, const struct op *op, unsigned int nr)
{
	const struct piece *piece = &d->plan.piece[nr];
	uint64_t n = s->out.ret[nr] > 0 ? s->out.ret[nr] : 0, expect = piece_expect(d, piece);
	int64_t off = piece->off;
	uint64_t done = 0;

	if (d->plan.overlaps)
		return judge_image(d, s, n);
	for (unsigned int i = piece->first; i < piece->first + piece->nr; i++) {
		const struct seg *seg = &d->plan.seg[i];
		uint64_t here = min64(seg->len, n - min64(n, done));
		uint64_t file = min64(seg->len, expect - min64(expect, done));

		if (here && !same(d, s, seg->at, d->model + off, here, "data"))
			return false;
		/* Direct I/O is in blocks: it may fill the last one. */
		if (!op_direct(d, op) && seg->len > here &&
		    !rest(d, s, seg->at + here, seg->len - here, file - here, off + here))
			return false;
		done += seg->len;
		off += seg->len;
	}
	return true;
}

/* Data, what lies behind them, and the guards; false when something is wrong. */
bool buf_judge(struct diff *d, const struct side *s, const struct op *op)
{
	const struct dbuf *b = &s->buf;
	uint64_t behind = hidden_behind(b), head = b->bad_hidden && !b->bad ? op->misalign : 0;

	for (unsigned int i = 0; i < d->plan.nr_pieces; i++) {
		if (!judge_piece(d, s, op, i))
			return false;
	}
	if (b->kind == BUF_PRIVATE || b->kind == BUF_SHARED)
		return true;
	return all(d, s, b->p + b->len + behind, DIFF_GUARD - behind, b->canary, "guard behind") &&
	       all(d, s, b->p - DIFF_GUARD, DIFF_GUARD - head, b->canary, "guard before");
}
