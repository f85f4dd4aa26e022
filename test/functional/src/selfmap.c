// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread selfmap FILE [--seed N]: the buffer is a mapping of the very file that is
 * read, with no page of it present.  A read that faults its buffer in while it
 * holds a folio or invalidate_lock deadlocks here.  FILE is changed.
 */
#include "mread.h"

#define LEN (16 * MIB)

static uint8_t *map_file(int fd, uint64_t off, int flags)
{
	uint8_t *p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, flags, fd, off);

	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return p;
}

/* The counters may show two reads where the first stopped short to fault in. */
static void one(int fd, const struct mars *m, uint64_t from, uint64_t to, int flags,
		uint64_t seed, const char *what)
{
	struct counters before, after;
	uint64_t done = 0;
	uint8_t *p;

	cache_drop(fd);
	p = map_file(fd, to, flags);
	mars_read(m, &before);
	while (done < LEN) {
		ssize_t n = pread(fd, p + done, LEN - done, from + done);

		if (n <= 0)
			die("selfmap: %s: pread at %llu returned %zd (%s)", what,
			    (unsigned long long)(from + done), n, strerror(errno));
		done += n;
	}
	mars_read(m, &after);
	if (m->dir[0] && after.v[C_READS] == before.v[C_READS])
		die("selfmap: %s: MARS did not do the read", what);
	data_verify(what, p, from, LEN, seed, LAYOUT_FULL);
	munmap(p, LEN);
}

/* Puts the pattern back where a shared mapping received another range's. */
static void restore(int fd, uint64_t off, uint64_t seed)
{
	uint8_t *buf = xmmap(LEN);

	pat_fill(buf, off, LEN, seed);
	if (pwrite(fd, buf, LEN, off) != (ssize_t)LEN)
		die("selfmap: restoring the file: %s", strerror(errno));
	munmap(buf, LEN);
}

int cmd_selfmap(int argc, char **argv)
{
	uint64_t seed = 1;
	const struct opt opts[] = { { .name = "seed", .size = &seed } };
	struct mars mars;
	int fd;

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1)
		die("usage: mread selfmap FILE [--seed N]");
	fd = xopen(argv[0], O_RDWR);
	if (file_size(fd) < 4 * LEN)
		die("selfmap: %s is smaller than %llu bytes", argv[0], 4 * LEN);
	mars_init(&mars, fd);
	one(fd, &mars, 0, 2 * LEN, MAP_SHARED, seed, "shared mapping, another range");
	restore(fd, 2 * LEN, seed);
	one(fd, &mars, 2 * LEN, 0, MAP_SHARED, seed, "shared mapping, a range before it");
	restore(fd, 0, seed);
	one(fd, &mars, LEN, LEN, MAP_SHARED, seed, "shared mapping of the same range");
	one(fd, &mars, 0, LEN, MAP_PRIVATE, seed, "private mapping, another range");
	one(fd, &mars, LEN, LEN, MAP_PRIVATE, seed, "private mapping of the same range");
	restore(fd, LEN, seed);
	printf("selfmap: five mappings of the file itself took the read\n");
	return 0;
}
