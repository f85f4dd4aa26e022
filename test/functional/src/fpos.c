// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread fpos FILE [--seed N] [--chunk SIZE]: reads a whole file with read(), as
 * cat would, and checks the position after each call, the short read at the
 * end, and the zero that follows it.
 */
#include "mread.h"

static void whole_file(int fd, uint64_t size, uint64_t chunk, uint64_t seed)
{
	uint64_t pos = 0;
	struct gbuf g;

	gbuf_make(&g, chunk, 0, false);
	for (;;) {
		ssize_t n = read(fd, g.p, chunk);
		uint64_t want = min64(chunk, size - pos);

		if (n != (ssize_t)want)
			die("fpos: read() of %llu bytes at %llu returned %zd, expected %llu",
			    (unsigned long long)chunk, (unsigned long long)pos, n,
			    (unsigned long long)want);
		data_verify("fpos", g.p, pos, n, seed, LAYOUT_FULL);
		pos += n;
		if (lseek(fd, 0, SEEK_CUR) != (off_t)pos)
			die("fpos: position %lld after the read, expected %llu",
			    (long long)lseek(fd, 0, SEEK_CUR), (unsigned long long)pos);
		if (!n)
			break;
	}
	gbuf_free(&g);
}

int cmd_fpos(int argc, char **argv)
{
	uint64_t seed = 1, chunk = 16 * MIB, size, full, rest;
	const struct opt opts[] = {
		{ .name = "seed", .size = &seed },
		{ .name = "chunk", .size = &chunk },
	};
	struct counters before;
	struct mars mars;
	int fd;

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1)
		die("usage: mread fpos FILE [--seed N] [--chunk SIZE]");
	fd = xopen(argv[0], O_RDONLY);
	size = file_size(fd);
	mars_init(&mars, fd);
	full = size / chunk;
	rest = size % chunk;
	cache_drop(fd);
	mars_read(&mars, &before);
	whole_file(fd, size, chunk, seed);
	if (chunk >= mars.min_read_bytes)
		mars_expect(&mars, &before, full + (rest >= mars.min_read_bytes),
			    full * chunk + (rest >= mars.min_read_bytes ? rest : 0),
			    ANY, "fpos");
	printf("fpos: %llu bytes in pieces of %llu, position right after each\n",
	       (unsigned long long)size, (unsigned long long)chunk);
	return 0;
}
