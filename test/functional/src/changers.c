// SPDX-License-Identifier: GPL-2.0-only
/*
 * Those that change a file under its readers, each in its own way, and those that
 * change nothing but get in the readers' way.
 */
#include "version.h"
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

#define MOST 256	/* blocks changed at once */
#define ALIGN 512	/* blocks, 2 MiB: no page-cache folio reaches over it */

/* Defined in linux/falloc.h, which fcntl.h has for _GNU_SOURCE. */
static const int zero_range = FALLOC_FL_ZERO_RANGE;
static const int punch_hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

static void failed(const struct vrace *r, const char *what)
{
	die("race: %s of %s: %s", what, r->file.path, strerror(errno));
}

static uint32_t pick(struct vrace *r, uint32_t *nr)
{
	*nr = rng_log(&r->rng, 1, MOST);
	return rng_below(&r->rng, r->file.nr - *nr + 1);
}

static void put_blocks(struct vrace *r, int fd, uint32_t block, uint32_t nr)
{
	vfile_fill(&r->file, r->buf, block, nr);
	if (pwrite(fd, r->buf, nr * PAGE, block * PAGE) != (ssize_t)(nr * PAGE))
		failed(r, "writing");
}

static void overwrite(struct vrace *r, uint32_t block, uint32_t nr)
{
	vfile_begin(&r->file, block, nr, false);
	put_blocks(r, r->fd, block, nr);
	vfile_done(&r->file, block, nr);
}

/* write, direct: the flags of open() make the difference */
static void change_write(struct vrace *r)
{
	uint32_t nr, block = pick(r, &nr);

	overwrite(r, block, nr);
}

static void change_mmap(struct vrace *r)
{
	uint32_t nr, block = pick(r, &nr);

	if (!r->map) {
		r->map = mmap(NULL, r->file.size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
		if (r->map == MAP_FAILED)
			failed(r, "mmap");
	}
	vfile_begin(&r->file, block, nr, false);
	vfile_fill(&r->file, r->map + block * PAGE, block, nr);
	vfile_done(&r->file, block, nr);
	if (rng_below(&r->rng, 4) == 0)
		msync(r->map + block * PAGE, nr * PAGE, MS_SYNC);
}

/* zero, punch: zeros without writing them, then data again */
static void zero_blocks(struct vrace *r, int mode, const char *what)
{
	uint32_t nr, block = pick(r, &nr);

	vfile_begin(&r->file, block, nr, true);
	if (fallocate(r->fd, mode, block * PAGE, nr * PAGE))
		failed(r, what);
	vfile_done(&r->file, block, nr);
	usleep(rng_below(&r->rng, 3000));
	overwrite(r, block, nr);
}

static void change_zero(struct vrace *r)
{
	zero_blocks(r, zero_range, "zeroing a range");
}

static void change_punch(struct vrace *r)
{
	zero_blocks(r, punch_hole, "punching a hole");
}

/*
 * Cut in the middle of a large folio, which has to be split, and grown again. The
 * blocks behind the cut are zeros then, until they are written.
 */
static void change_split(struct vrace *r)
{
	uint32_t cut = r->file.nr - 1 - rng_below(&r->rng, 3 * ALIGN);
	struct vshared *sh = r->file.sh;

	__atomic_store_n(&sh->low, r->file.size - 3 * ALIGN * PAGE, __ATOMIC_SEQ_CST);
	vfile_begin(&r->file, cut, r->file.nr - cut, true);
	__atomic_add_fetch(&sh->size_seq, 1, __ATOMIC_SEQ_CST);
	if (ftruncate(r->fd, cut * PAGE) || ftruncate(r->fd, r->file.size))
		failed(r, "ftruncate");
	__atomic_add_fetch(&sh->size_seq, 1, __ATOMIC_SEQ_CST);
	vfile_done(&r->file, cut, r->file.nr - cut);
	for (uint32_t b = cut, n; b < r->file.nr; b += n) {
		n = min64(MOST, r->file.nr - b);
		overwrite(r, b, n);
	}
}

/* A range inserted, and taken out again the next time. */
static void change_shift(struct vrace *r)
{
	struct vshared *sh = r->file.sh;
	uint32_t next = sh->shift_begun + 1, slot = next % VSHIFTS, first, nr;
	int mode = FALLOC_FL_COLLAPSE_RANGE;

	if (next % 2) {
		mode = FALLOC_FL_INSERT_RANGE;
		sh->shift[slot].nr = ALIGN * (1 + rng_below(&r->rng, 3));
		sh->shift[slot].first = ALIGN * rng_below(&r->rng, r->file.nr / ALIGN);
	} else {
		sh->shift[slot] = sh->shift[(next - 1) % VSHIFTS];
	}
	first = sh->shift[slot].first;
	nr = sh->shift[slot].nr;
	__atomic_store_n(&sh->shift_begun, next, __ATOMIC_SEQ_CST);
	if (fallocate(r->fd, mode, first * PAGE, nr * PAGE))
		failed(r, next % 2 ? "inserting a range" : "collapsing a range");
	__atomic_store_n(&sh->shift_done, next, __ATOMIC_SEQ_CST);
	usleep(rng_below(&r->rng, 8000));
}

static void need_aside(struct vrace *r)
{
	char path[4096];

	if (r->aside >= 0)
		return;
	snprintf(path, sizeof(path), "%s.aside", r->file.path);
	r->aside = xopen(path, O_RDWR | O_CREAT | O_TRUNC);
	unlink(path);
	if (ftruncate(r->aside, r->file.size))
		failed(r, "making a second file");
}

static void change_clone(struct vrace *r)
{
	uint32_t nr, block = pick(r, &nr);
	struct file_clone_range range = {
		.src_offset = block * PAGE, .src_length = nr * PAGE,
		.dest_offset = block * PAGE,
	};

	need_aside(r);
	range.src_fd = r->aside;
	vfile_begin(&r->file, block, nr, false);
	put_blocks(r, r->aside, block, nr);
	if (ioctl(r->fd, FICLONERANGE, &range))
		failed(r, "reflinking a range");
	vfile_done(&r->file, block, nr);
}

/* Blocks become shared with equal ones, which no reader may notice; then new ones. */
static void change_dedupe(struct vrace *r)
{
	struct {
		struct file_dedupe_range range;
		struct file_dedupe_range_info info;
	} arg = { 0 };
	uint32_t nr, block = pick(r, &nr);

	need_aside(r);
	put_blocks(r, r->aside, block, nr);
	arg.range.src_offset = block * PAGE;
	arg.range.src_length = nr * PAGE;
	arg.range.dest_count = 1;
	arg.info.dest_fd = r->fd;
	arg.info.dest_offset = block * PAGE;
	if (ioctl(r->aside, FIDEDUPERANGE, &arg))
		failed(r, "deduplicating a range");
	if (arg.info.status != FILE_DEDUPE_RANGE_SAME)
		die("race: deduplicating equal ranges of %s: status %d", r->file.path,
		    arg.info.status);
	usleep(rng_below(&r->rng, 3000));
	overwrite(r, block, nr);
}

static const struct changer changers[] = {
	{ "write", O_RDWR, change_write },
	{ "direct", O_RDWR | O_DIRECT, change_write },
	{ "mmap", O_RDWR, change_mmap },
	{ "zero", O_RDWR, change_zero },
	{ "punch", O_RDWR, change_punch },
	{ "split", O_RDWR, change_split },
	{ "shift", O_RDWR, change_shift },
	{ "clone", O_RDWR, change_clone },
	{ "dedupe", O_RDWR, change_dedupe },
};

static void put_number(const char *path, const char *text)
{
	int fd = xopen(path, O_WRONLY);

	if (write(fd, text, 1) != 1)
		die("race: writing %s to %s: %s", text, path, strerror(errno));
	close(fd);
}

static void disturb_drop(struct vrace *r)
{
	put_number("/proc/sys/vm/drop_caches", rng_below(&r->rng, 4) ? "1" : "3");
	usleep(rng_below(&r->rng, 5000));
}

static void disturb_dontneed(struct vrace *r)
{
	uint64_t off = rng_below(&r->rng, r->file.nr) * PAGE;

	posix_fadvise(r->fd, off, rng_log(&r->rng, PAGE, r->file.size), POSIX_FADV_DONTNEED);
	usleep(rng_below(&r->rng, 1000));
}

static void disturb_compact(struct vrace *r)
{
	put_number("/proc/sys/vm/compact_memory", "1");
	usleep(rng_below(&r->rng, 5000));
}

static void disturb_freeze(struct vrace *r)
{
	if (ioctl(r->fd, FIFREEZE, 0))
		failed(r, "freezing the file system");
	usleep(rng_below(&r->rng, 30000));
	if (ioctl(r->fd, FITHAW, 0))
		failed(r, "thawing the file system");
	usleep(rng_below(&r->rng, 20000));
}

static void remount(struct vrace *r, unsigned long flags)
{
	if (mount(NULL, r->mount, NULL, MS_REMOUNT | flags, NULL))
		failed(r, "remounting the file system");
}

static void disturb_remount(struct vrace *r)
{
	remount(r, MS_RDONLY);
	usleep(rng_below(&r->rng, 20000));
	remount(r, 0);
	usleep(rng_below(&r->rng, 20000));
}

static const struct changer disturbers[] = {
	{ "drop", O_RDONLY, disturb_drop },
	{ "dontneed", O_RDONLY, disturb_dontneed },
	{ "compact", O_RDONLY, disturb_compact },
	{ "freeze", O_RDONLY, disturb_freeze },
	{ "remount", O_RDONLY, disturb_remount },
};

static const struct changer *find(const struct changer *c, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(c[i].name, name))
			return &c[i];
	}
	die("race: '%s' is not known", name);
}

const struct changer *changer_find(const char *name)
{
	return find(changers, ARRAY_SIZE(changers), name);
}

const struct changer *disturber_find(const char *name)
{
	return find(disturbers, ARRAY_SIZE(disturbers), name);
}

void changer_enter(struct vrace *r, const struct changer *c)
{
	r->fd = xopen(r->file.path, c->flags);
	r->aside = -1;
	r->map = NULL;
	r->buf = xmmap(MOST * PAGE);
}
