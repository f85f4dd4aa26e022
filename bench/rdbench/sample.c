// SPDX-License-Identifier: GPL-2.0-only
/* One sample: offsets from the seed, the cache prepared, the reads timed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rdbench.h"

static const char *file_path;
static uint64_t file_size;
static unsigned char *reused;
static uint64_t reused_len;

void sample_setup(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		die("cannot stat %s: %s", path, strerror(errno));
	file_path = path;
	file_size = st.st_size & ~(PAGE - 1);
}

void *buffer_map(const struct sample *s)
{
	void *p = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("no memory for a buffer of %llu bytes", (unsigned long long)s->size);
	/* A kernel without huge pages does not know the advice, nor does it need it. */
	if (s->small_pages && madvise(p, s->size, MADV_NOHUGEPAGE) && errno != EINVAL)
		die("madvise(MADV_NOHUGEPAGE): %s", strerror(errno));
	return p;
}

void *buffer_reused(const struct sample *s)
{
	if (s->size > reused_len) {
		if (reused)
			munmap(reused, reused_len);
		reused = buffer_map(s);
		reused_len = s->size;
	}
	/* Every time: it may have been swapped out, or shared with the zero page. */
	memset(reused, 1, s->size);
	return reused;
}

/* The other half is for a program beside the sample. */
static uint64_t own_part(const struct sample *s)
{
	return s->beside ? file_size / 2 / PAGE * PAGE : file_size;
}

/*
 * Random: the file is cut into as many strata as there are reads, one read at a random
 * page of each, the strata in random order. So no two reads of a sample overlap, and a
 * page read ahead in vain is not found again by luck. Never offset 0: the kernel takes
 * that for the beginning of a stream.
 */
static struct range *make_ranges(const struct sample *s, size_t *nr)
{
	uint64_t n = s->total / s->size, stratum, slack, i, rng = s->seed;
	struct range *r = calloc(n, sizeof(*r));

	stratum = own_part(s) / n / PAGE * PAGE;
	if (!r || stratum < s->size + PAGE)
		die("the file (%llu bytes) is too small for %llu reads of %llu bytes",
		    (unsigned long long)file_size, (unsigned long long)n,
		    (unsigned long long)s->size);
	slack = (stratum - s->size) / PAGE;
	for (i = 0; i < n; i++) {
		r[i].len = s->size;
		r[i].off = s->sequential ? i * s->size :
			   i * stratum + (1 + rng_next(&rng) % slack) * PAGE;
	}
	for (i = n; !s->sequential && i > 1; i--) {
		uint64_t j = rng_next(&rng) % i;
		struct range swap = r[j];

		r[j] = r[i - 1];
		r[i - 1] = swap;
	}
	*nr = n;
	return r;
}

static void read_range(int fd, unsigned char *buf, const struct range *r)
{
	uint64_t done = 0;

	while (done < r->len) {
		ssize_t n = pread(fd, buf + done, r->len - done, r->off + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("pread of %llu bytes at %llu of %s: %s",
			    (unsigned long long)(r->len - done),
			    (unsigned long long)(r->off + done), file_path,
			    n ? strerror(errno) : "unexpected end of file");
		done += n;
	}
}

static void map_range(int fd, const struct range *r)
{
	volatile unsigned char *p = mmap(NULL, r->len, PROT_READ, MAP_SHARED, fd, r->off);
	uint64_t i;

	if (p == MAP_FAILED)
		die("cannot map %s: %s", file_path, strerror(errno));
	for (i = 0; i < r->len; i += PAGE)
		(void)p[i];
	munmap((void *)p, r->len);
}

static void one_read(const struct sample *s, int fd, unsigned char *buf, const struct range *r)
{
	if (!strcmp(s->op, "mmap")) {
		map_range(fd, r);
		return;
	}
	if (!strcmp(s->op, "willneed"))
		posix_fadvise(fd, r->off, r->len, POSIX_FADV_WILLNEED);
	read_range(fd, buf, r);
}

static double time_reused(const struct sample *s, int fd, const struct range *r, size_t nr)
{
	unsigned char *buf = buffer_reused(s);
	double start = now();
	size_t i;

	for (i = 0; i < nr; i++)
		one_read(s, fd, buf, &r[i]);
	return now() - start;
}

/* Making and destroying the mapping is the program's business, faulting it in is not. */
static double time_fresh(const struct sample *s, int fd, const struct range *r, size_t nr)
{
	double start, sum = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		unsigned char *buf = buffer_map(s);

		start = now();
		one_read(s, fd, buf, &r[i]);
		sum += now() - start;
		munmap(buf, s->size);
	}
	return sum;
}

/* A new open for every sample: a file keeps the read-ahead size that it was opened with. */
static int open_sample(const struct sample *s)
{
	int fd = open(file_path, O_RDONLY | (strcmp(s->op, "odirect") ? 0 : O_DIRECT));

	if (fd < 0)
		die("cannot open %s for %s: %s", file_path, s->op, strerror(errno));
	if (!strcmp(s->op, "random"))
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	return fd;
}

void sample_run(const struct sample *s, const struct target *t, struct result *res)
{
	long long before[NR_COUNTERS];
	struct device device;
	struct range *r;
	size_t nr;
	int fd, i;

	r = make_ranges(s, &nr);
	mars_set(s);
	target_set_ra(t, s->ra);
	cold_prepare(s, r, nr);
	res->resident_pages = cold_resident(r, nr);
	fd = open_sample(s);
	if (s->beside)
		beside_start(s, file_path, own_part(s), file_size);
	target_device(t, &device);
	mars_stats(before);

	res->seconds = s->fresh ? time_fresh(s, fd, r, nr) : time_reused(s, fd, r, nr);

	if (s->beside)
		beside_stop(s, res);
	mars_stats(res->mars);
	for (i = 0; i < NR_COUNTERS; i++)
		res->mars[i] -= before[i];
	target_device(t, &res->device);
	if (device.sectors < 0 || res->device.sectors < 0) {
		res->device = (struct device){ -1, -1, -1 };
	} else {
		res->device.sectors -= device.sectors;
		res->device.requests -= device.requests;
		res->device.ms -= device.ms;
	}
	res->reads = nr;
	res->bytes = nr * s->size;
	close(fd);
	free(r);
}
