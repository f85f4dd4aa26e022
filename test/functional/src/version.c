// SPDX-License-Identifier: GPL-2.0-only
/*
 * The content of a file that changes while it is read.
 *
 * A block begins with its generation and its number; the rest follows from both,
 * so a block vouches for itself: one of another place, of another time, or made of
 * several, is recognised and can be named. A generation is either data or zeros.
 *
 * Whoever changes blocks says so in shared memory, before (begun) and after
 * (done). A read may return any generation from the last that was done when it
 * began to the last that was begun when it ended: an older one is stale, a newer
 * one impossible. Bytes of two such generations in one block are what a native
 * read can return as well wherever a file system lets it run beside a write.
 *
 * Inserting and collapsing ranges moves blocks instead. Layouts alternate between
 * the plain one and one with blocks inserted; the same rule holds for them.
 */
#include "version.h"

#define WORDS (PAGE / 8)
#define STEP 0x9E3779B97F4A7C15ULL

struct content {
	bool zero, absent;
	uint32_t block, gen;
};

static void *shared(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return p;
}

static void fill(uint8_t *buf, uint64_t seed, const struct content *c)
{
	uint64_t word[WORDS], w;

	if (c->zero) {
		memset(buf, 0, PAGE);
		return;
	}
	w = (seed * STEP) ^ ((uint64_t)c->block << 32 | c->gen);
	w = (w ^ (w >> 29)) * 0xBF58476D1CE4E5B9ULL;
	w ^= w >> 32;
	word[0] = 0x4D415253ULL << 32 | c->gen;
	word[1] = c->block;
	for (size_t i = 2; i < WORDS; i++, w += STEP)
		word[i] = w;
	memcpy(buf, word, PAGE);
}

/* A new file: every block is data of its first generation, and durable. */
void vfile_make(struct vfile *f)
{
	static uint8_t buf[256 * PAGE];
	int fd = xopen(f->path, O_RDWR | O_CREAT | O_TRUNC);

	f->size = f->size / (2 * MIB) * 2 * MIB;
	f->nr = f->size / PAGE;
	f->sh = shared(sizeof(*f->sh));
	f->begun = shared(3 * f->nr * sizeof(uint32_t));
	f->done = f->begun + f->nr;
	f->zeros = f->done + f->nr;
	f->sh->low = f->size;
	for (uint32_t b = 0; b < f->nr; b += 256) {
		uint32_t n = min64(256, f->nr - b);

		vfile_begin(f, b, n, false);
		vfile_fill(f, buf, b, n);
		if (pwrite(fd, buf, n * PAGE, b * PAGE) != (ssize_t)(n * PAGE))
			die("writing %s: %s", f->path, strerror(errno));
		vfile_done(f, b, n);
	}
	if (fsync(fd))
		die("fsync of %s: %s", f->path, strerror(errno));
	close(fd);
}

/* From now on a reader may see the next generation. One changer a block. */
void vfile_begin(struct vfile *f, uint32_t block, uint32_t nr, bool zero)
{
	for (uint32_t b = block; b < block + nr; b++) {
		uint32_t gen = f->begun[b] + 1, bit = 1U << gen % VHISTORY;

		if (zero)
			__atomic_or_fetch(&f->zeros[b], bit, __ATOMIC_SEQ_CST);
		else
			__atomic_and_fetch(&f->zeros[b], ~bit, __ATOMIC_SEQ_CST);
		__atomic_store_n(&f->begun[b], gen, __ATOMIC_SEQ_CST);
	}
}

/* From now on every reader that begins must see it. */
void vfile_done(struct vfile *f, uint32_t block, uint32_t nr)
{
	for (uint32_t b = block; b < block + nr; b++)
		__atomic_store_n(&f->done[b], f->begun[b], __ATOMIC_SEQ_CST);
}

static struct content of_gen(const struct vfile *f, uint32_t block, uint32_t gen)
{
	struct content c = { .block = block, .gen = gen };

	c.zero = f->zeros[block] >> gen % VHISTORY & 1;
	return c;
}

/* What was begun last, for who is about to write it. */
void vfile_fill(const struct vfile *f, uint8_t *buf, uint32_t block, uint32_t nr)
{
	for (uint32_t b = block; b < block + nr; b++, buf += PAGE) {
		struct content c = of_gen(f, b, f->begun[b]);

		fill(buf, f->seed, &c);
	}
}

static uint64_t activity(const struct vfile *f)
{
	return __atomic_load_n(&f->sh->changes, __ATOMIC_SEQ_CST) +
	       __atomic_load_n(&f->sh->disturbances, __ATOMIC_SEQ_CST);
}

/* For reads of up to @len bytes. */
void vview_make(struct vview *v, uint64_t len)
{
	v->done = calloc(2 * (len / PAGE + 2), sizeof(uint32_t));
	if (!v->done)
		die("race: no memory");
	v->begun = v->done + len / PAGE + 2;
}

static uint32_t end_block(const struct vfile *f, uint64_t off, uint64_t len)
{
	return min64(f->nr, (off + len + PAGE - 1) / PAGE);
}

void vfile_before(const struct vfile *f, struct vview *v, uint64_t off, uint64_t len)
{
	uint32_t first = off / PAGE, end = end_block(f, off, len);

	v->activity = activity(f);
	v->size_seq = __atomic_load_n(&f->sh->size_seq, __ATOMIC_SEQ_CST);
	v->shift_done = __atomic_load_n(&f->sh->shift_done, __ATOMIC_SEQ_CST);
	for (uint32_t i = first; i < end; i++)
		v->done[i - first] = __atomic_load_n(&f->done[i], __ATOMIC_SEQ_CST);
}

void vfile_after(const struct vfile *f, struct vview *v, uint64_t off, uint64_t len)
{
	uint32_t first = off / PAGE, end = end_block(f, off, len);

	for (uint32_t i = first; i < end; i++)
		v->begun[i - first] = __atomic_load_n(&f->begun[i], __ATOMIC_SEQ_CST);
	v->shift_begun = __atomic_load_n(&f->sh->shift_begun, __ATOMIC_SEQ_CST);
	if (activity(f) != v->activity)
		__atomic_add_fetch(&f->sh->overlapped, 1, __ATOMIC_SEQ_CST);
}

static struct content of_layout(const struct vfile *f, uint32_t block, uint32_t layout)
{
	uint32_t first = f->sh->shift[layout % VSHIFTS].first;
	uint32_t nr = f->sh->shift[layout % VSHIFTS].nr;
	uint32_t from = block;
	struct content c = { .absent = true };

	if (layout % 2 && block >= first && block < first + nr) {
		c = (struct content){ .zero = true };
	} else {
		if (layout % 2 && block >= first)
			from -= nr;
		if (from < f->nr)
			c = of_gen(f, from, f->done[from]);
	}
	return c;
}

static bool is_among(const struct content *new, const struct content *c, int n)
{
	for (int i = 0; i < n; i++) {
		if (c[i].zero == new->zero && c[i].block == new->block && c[i].gen == new->gen)
			return true;
	}
	return false;
}

/* All that a reader may have seen of a block; returns how many there are. */
static int candidates(const struct vfile *f, const struct vview *v, uint32_t index,
		      uint32_t block, struct content *c)
{
	uint32_t first = v->shift_done, last = v->shift_begun;
	int n = 0;

	if (!last) {
		first = v->done[index];
		for (uint32_t g = v->begun[index]; g >= first && n < VHISTORY; g--)
			c[n++] = of_gen(f, block, g);
		return n;
	}
	for (uint32_t i = 0; i <= last - first && n < VHISTORY - 1; i++) {
		c[n] = of_layout(f, block, last - i);
		n += !c[n].absent && !is_among(&c[n], c, n);
	}
	/* The end moves: a native read may find it moved already, the blocks not yet. */
	if (block >= f->nr && last != first)
		c[n++] = (struct content){ .zero = true };
	return n;
}

static const char *kind(const struct content *c, char *text, size_t size)
{
	if (c->zero)
		snprintf(text, size, "zeros");
	else
		snprintf(text, size, "generation %u of block %u", c->gen, c->block);
	return text;
}

static const char *found(const uint8_t *buf, uint64_t from, uint64_t len, char *text, size_t size)
{
	uint64_t w[2];

	if (zero_check(buf, len) == len) {
		snprintf(text, size, "zeros");
		return text;
	}
	memcpy(w, buf, min64(len, sizeof(w)));
	if (!from && len > sizeof(w) && w[0] >> 32 == 0x4D415253)
		snprintf(text, size, "what begins like generation %u of block %u",
			 (uint32_t)w[0], (uint32_t)w[1]);
	else
		snprintf(text, size, "something else (%zu zeros first)", zero_check(buf, len));
	return text;
}

static void wrong(const struct vfile *f, uint32_t block, const uint8_t *buf, uint64_t from,
		  uint64_t len, const struct content *c, int n, const char *why)
{
	char got[128], newest[64], oldest[64];

	die("race: %s: block %u of %s (offset %llu, bytes %llu to %llu of it) holds %s; allowed: %s to %s (%d)",
	    why, block, f->path, block * PAGE, (unsigned long long)from,
	    (unsigned long long)(from + len), found(buf, from, len, got, sizeof(got)),
	    n ? kind(&c[n - 1], oldest, sizeof(oldest)) : "nothing",
	    n ? kind(&c[0], newest, sizeof(newest)) : "nothing", n);
}

/* Not any one of them as a whole: then each byte must be of one of them. */
static bool is_torn(const struct vfile *f, const uint8_t *buf, uint64_t from, uint64_t len,
		    const struct content *c, int n)
{
	static uint8_t block[VHISTORY][PAGE];

	for (int i = 0; i < n; i++)
		fill(block[i], f->seed, &c[i]);
	for (uint64_t k = 0; k < len; k++) {
		int i;

		for (i = 0; i < n && buf[k] != block[i][from + k]; i++)
			;
		if (i == n)
			return false;
	}
	return true;
}

/* Returns whether the piece of a block is torn; dies if it is wrong. */
static bool check_piece(const struct vfile *f, const struct vview *v, uint32_t index,
			uint32_t block, const uint8_t *buf, uint64_t from, uint64_t len)
{
	struct content c[VHISTORY];
	uint8_t want[PAGE];
	int n = candidates(f, v, index, block, c);

	for (int i = 0; i < n; i++) {
		fill(want, f->seed, &c[i]);
		if (!memcmp(buf, want + from, len))
			return false;
	}
	if (n > 1 && is_torn(f, buf, from, len, c, n))
		return true;
	wrong(f, block, buf, from, len, c, n, "wrong data");
	return false;
}

/*
 * Checks what a read returned. With @whole no block may be torn. Returns how many
 * were.
 */
uint64_t vfile_check(const struct vfile *f, const struct vview *v, const uint8_t *buf,
		     uint64_t off, uint64_t len, bool whole)
{
	uint64_t torn = 0;

	for (uint64_t at = off; at < off + len;) {
		uint64_t from = at % PAGE, n = min64(PAGE - from, off + len - at);
		uint32_t block = at / PAGE;

		if (check_piece(f, v, block - off / PAGE, block, buf + (at - off), from, n)) {
			if (whole)
				wrong(f, block, buf + (at - off), from, n, NULL, 0,
				      "a block in pieces, where writes and reads exclude each other");
			torn++;
		}
		at += n;
	}
	return torn;
}
