// SPDX-License-Identifier: GPL-2.0-only
/* The page cache as a sample wants it, and proof that it is so. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rdbench.h"

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

struct cstat {
	uint64_t cache, dirty, writeback, evicted, recently_evicted;
};

static struct {
	int fd, probe_fd;
	bool whole_machine, no_cachestat;
	unsigned char *map;
	uint64_t size;
} c;

static unsigned char warm_buf[512 << 10] __attribute__((aligned(4096)));

void cold_setup(int fd, const char *path, bool whole_machine)
{
	struct stat st;

	if (fstat(fd, &st))
		die("cannot stat %s: %s", path, strerror(errno));
	c.fd = fd;
	c.size = st.st_size;
	c.whole_machine = whole_machine;
	c.probe_fd = open(path, O_RDONLY | O_DIRECT);
	c.map = mmap(NULL, c.size, PROT_READ, MAP_SHARED, fd, 0);
	if (c.map == MAP_FAILED)
		die("cannot map %s: %s", path, strerror(errno));
}

static uint64_t mincore_pages(const struct range *r)
{
	static unsigned char vec[32768];
	uint64_t off, n, i, pages = 0;

	for (off = r->off; off < r->off + r->len; off += n) {
		n = r->off + r->len - off;
		if (n > sizeof(vec) * PAGE)
			n = sizeof(vec) * PAGE;
		if (mincore(c.map + off, n, vec))
			die("mincore failed: %s", strerror(errno));
		for (i = 0; i < n / PAGE; i++)
			pages += vec[i] & 1;
	}
	return pages;
}

/* cachestat came with 6.5 and costs nothing on an empty range; mincore is everywhere. */
uint64_t cold_resident(const struct range *r, size_t nr)
{
	uint64_t pages = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		struct cstat cs;

		if (!c.no_cachestat && syscall(SYS_cachestat, c.fd, &r[i], &cs, 0))
			c.no_cachestat = true;
		pages += c.no_cachestat ? mincore_pages(&r[i]) : cs.cache;
	}
	return pages;
}

static void drop(void)
{
	if (c.whole_machine) {
		sync();
		write_text("/proc/sys/vm/drop_caches", "3");
	} else if (posix_fadvise(c.fd, 0, 0, POSIX_FADV_DONTNEED)) {
		die("posix_fadvise(DONTNEED) failed");
	}
}

/*
 * A page on its way to the LRU sits in a per-CPU batch, where its reference keeps it in
 * the cache, on an idle CPU for ever: drop_caches does not empty those on older kernels,
 * fadvise does once it meets such a page. A range that stays is somebody else's doing.
 */
static void make_cold(const struct range *r, size_t nr)
{
	uint64_t left = 1;
	int i;

	for (i = 0; i < 5 && left; i++) {
		if (i) {
			usleep(20000);
			posix_fadvise(c.fd, 0, 0, POSIX_FADV_DONTNEED);
		}
		drop();
		left = cold_resident(r, nr);
	}
	if (left)
		die("%llu pages stay in the page cache after %d attempts: does another program use the file?",
		    (unsigned long long)left, i);
}

/* Pieces below any sensible min_read_bytes: the kernel itself fills the cache. */
static void warm(int fd, uint64_t off, uint64_t len)
{
	uint64_t n;

	for (; len; off += n, len -= n) {
		n = len < sizeof(warm_buf) ? len : sizeof(warm_buf);
		if (pread(fd, warm_buf, n, off) != (ssize_t)n)
			die("cannot read ahead of the sample at %llu", (unsigned long long)off);
	}
}

/*
 * The pieces of a range that are to be cached: hit_pct of its blocks, in one piece or
 * drawn without replacement. Returns how many there are.
 */
static size_t choose_pieces(const struct sample *s, const struct range *r, uint64_t *rng,
			    struct range *piece)
{
	uint64_t blocks = r->len / s->hit_run, need = blocks * s->hit_pct / 100, i;
	size_t nr = 0;

	for (i = 0; i < blocks && need; i++) {
		bool take;

		if (s->layout == LAYOUT_PREFIX)
			take = true;
		else if (s->layout == LAYOUT_SUFFIX)
			take = blocks - i <= need;
		else
			take = rng_next(rng) % (blocks - i) < need;
		if (!take)
			continue;
		piece[nr].off = r->off + i * s->hit_run;
		piece[nr++].len = s->hit_run;
		need--;
	}
	return nr;
}

/*
 * Read in through a file of its own, set to RANDOM: what is asked for and nothing beyond
 * it. All pieces are asked for before the first is waited for, so that a device with some
 * latency does not make the preparation longer than the measurement.
 */
static void warm_pieces(const struct range *piece, size_t nr)
{
	char path[64];
	size_t i;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", c.fd);
	fd = open(path, O_RDONLY);
	if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
		die("cannot open the file again: %s", strerror(errno));
	for (i = 0; i < nr; i++)
		posix_fadvise(fd, piece[i].off, piece[i].len, POSIX_FADV_WILLNEED);
	for (i = 0; i < nr; i++)
		warm(fd, piece[i].off, piece[i].len);
	close(fd);
}

/* Exactly these pieces of the range are cached, whatever the kernel made of the requests. */
static void warm_part(const struct sample *s, const struct range *r, uint64_t *rng)
{
	struct range *piece = calloc(r->len / s->hit_run + 1, sizeof(*piece));
	uint64_t pages, all;
	size_t nr;

	if (!piece)
		die("no memory for the list of cached pieces");
	nr = choose_pieces(s, r, rng, piece);
	warm_pieces(piece, nr);
	pages = cold_resident(piece, nr);
	all = cold_resident(r, 1);
	if (pages != nr * s->hit_run / PAGE || all != pages)
		die("%llu pages were to be cached, %llu of them and %llu in all are",
		    (unsigned long long)(nr * s->hit_run / PAGE), (unsigned long long)pages,
		    (unsigned long long)all);
	free(piece);
}

void cold_prepare(const struct sample *s, const struct range *r, size_t nr)
{
	uint64_t rng = s->seed ^ 0x5eed, pages = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		pages += r[i].len / PAGE;
	if (s->hit_pct == 100 && cold_resident(r, nr) == pages)
		return;
	make_cold(r, nr);
	/* Nobody shall pay for reading the extent map: the same for every configuration. */
	if (c.probe_fd >= 0 && pread(c.probe_fd, warm_buf, PAGE, c.size - PAGE) < 0)
		c.probe_fd = -1;
	for (i = 0; i < nr && s->hit_pct == 100; i++)
		warm(c.fd, r[i].off, r[i].len);
	for (i = 0; i < nr && s->hit_pct && s->hit_pct < 100; i++)
		warm_part(s, &r[i], &rng);
}
