// SPDX-License-Identifier: GPL-2.0-only
/*
 * Page cache residency: made to order before each read, and verified with
 * mincore(), which counts only pages that are up to date.
 */
#include "mread.h"

static const char * const names[] = {
	[RES_COLD] = "cold", [RES_WARM] = "warm", [RES_PREFIX] = "prefix",
	[RES_SUFFIX] = "suffix", [RES_SCATTER] = "scatter", [RES_MIX] = "mix",
};

enum residency parse_residency(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(text, names[i]))
			return i;
	}
	die("mread: residency '%s' is not one of cold warm prefix suffix scatter mix", text);
}

const char *residency_name(enum residency res)
{
	return names[res];
}

/* Bytes of [off, off + len) that lie on resident pages. */
uint64_t cache_resident(int fd, uint64_t off, uint64_t len)
{
	uint64_t first, end, total = 0, size = file_size(fd);
	unsigned char *vec;
	void *map;

	if (off >= size || !len)
		return 0;
	len = min64(len, size - off);
	first = off / PAGE;
	end = (off + len + PAGE - 1) / PAGE;
	map = mmap(NULL, (end - first) * PAGE, PROT_READ, MAP_SHARED, fd,
		   first * PAGE);
	vec = malloc(end - first);
	if (map == MAP_FAILED || !vec || mincore(map, (end - first) * PAGE, vec))
		die("mincore: %s", strerror(errno));
	for (uint64_t i = first; i < end; i++) {
		uint64_t lo = i * PAGE > off ? i * PAGE : off;
		uint64_t hi = min64((i + 1) * PAGE, off + len);

		if (vec[i - first] & 1)
			total += hi - lo;
	}
	munmap(map, (end - first) * PAGE);
	free(vec);
	return total;
}

static void drop_caches(void)
{
	int fd = xopen("/proc/sys/vm/drop_caches", O_WRONLY);

	sync();
	if (write(fd, "1", 1) != 1)
		die("drop_caches: %s", strerror(errno));
	close(fd);
}

/* A folio on another CPU's LRU batch is busy: hence more than one attempt. */
void cache_drop(int fd)
{
	for (int i = 0; i < 20; i++) {
		fdatasync(fd);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		if (!cache_resident(fd, 0, UINT64_MAX / 2))
			return;
		if (i > 2) {
			drop_caches();
			usleep(50000);
		}
	}
	die("cache: %llu bytes stay resident after fadvise and drop_caches",
	    (unsigned long long)cache_resident(fd, 0, UINT64_MAX / 2));
}

/* Small reads, so that they are native whatever is enabled. */
static void populate(int fd, uint64_t off, uint64_t len)
{
	static char buf[64 * KIB];

	len = min64(len, file_size(fd) > off ? file_size(fd) - off : 0);
	while (len) {
		ssize_t n = pread(fd, buf, min64(len, sizeof(buf)), off);

		if (n <= 0)
			die("populating the cache at %llu: %s",
			    (unsigned long long)off, n ? strerror(errno) : "EOF");
		off += n;
		len -= n;
	}
}

static void scatter(int fd, uint64_t off, uint64_t len, struct rng *rng)
{
	/* Pieces of 64 KiB, not more than some hundreds of them: time. */
	uint64_t step = 128 * KIB;

	while (len / step > 400)
		step *= 2;
	for (uint64_t o = off / UNIT * UNIT; o < off + len; o += step)
		populate(fd, o + rng_below(rng, step / UNIT) * UNIT, UNIT);
}

void cache_set(int fd, uint64_t off, uint64_t len, enum residency res,
	       struct rng *rng)
{
	uint64_t cut = len / 4 + rng_below(rng, len / 2 + 1);
	bool exact = res != RES_WARM || rng_next(rng) & 1;

	cache_drop(fd);
	/* RANDOM: only what is asked for; else read-ahead makes large folios. */
	posix_fadvise(fd, 0, 0, exact ? POSIX_FADV_RANDOM : POSIX_FADV_NORMAL);
	switch (res) {
	case RES_WARM:
		populate(fd, off, len);
		break;
	case RES_PREFIX:
		populate(fd, off, cut);
		break;
	case RES_SUFFIX:
		populate(fd, off + cut, len - cut);
		break;
	case RES_SCATTER:
		scatter(fd, off, len, rng);
		break;
	default:
		break;
	}
	posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL);
}

/* mread resident FILE: prints the resident bytes of a file */
int cmd_resident(int argc, char **argv)
{
	if (parse_opts(argc, argv, NULL, 0) != 1)
		die("usage: mread resident FILE");
	printf("%llu\n", (unsigned long long)
	       cache_resident(xopen(argv[0], O_RDONLY), 0, UINT64_MAX / 2));
	return 0;
}

/* mread drop FILE: drops the pages of a file */
int cmd_drop(int argc, char **argv)
{
	if (parse_opts(argc, argv, NULL, 0) != 1)
		die("usage: mread drop FILE");
	cache_drop(xopen(argv[0], O_RDONLY));
	return 0;
}
