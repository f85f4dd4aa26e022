// SPDX-License-Identifier: GPL-2.0-only
/*
 * Readers for scripts to start in the background.
 */
#include "mread.h"

/*
 * mread bigread FILE [--off S --len S --seed N --expect N]
 * One pread, verified.  Prints "bigread: begins" before and the result after.
 */
int cmd_bigread(int argc, char **argv)
{
	uint64_t off = 0, len = 300 * MIB, seed = 1, want;
	const struct opt opts[] = {
		{ .name = "off", .size = &off },
		{ .name = "len", .size = &len },
		{ .name = "seed", .size = &seed },
	};
	struct gbuf g;
	ssize_t n;
	int fd;

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1)
		die("usage: mread bigread FILE [--off S --len S --seed N]");
	fd = xopen(argv[0], O_RDONLY);
	want = file_size(fd) > off ? min64(len, file_size(fd) - off) : 0;
	gbuf_make(&g, len, 0, false);
	printf("bigread: begins\n");
	n = pread(fd, g.p, len, off);
	if (n != (ssize_t)want)
		die("bigread: returned %zd (%s), expected %llu", n,
		    n < 0 ? strerror(errno) : "short", (unsigned long long)want);
	data_verify("bigread", g.p, off, n, seed, LAYOUT_FULL);
	gbuf_verify(&g, n, "bigread");
	printf("bigread: %zd bytes right\n", n);
	return 0;
}

/*
 * mread loopread FILE --stop PATH [--max S --seed N --rng N --pause MS]
 * Random verified reads, part of them cold, until PATH exists, with a pause of
 * up to MS milliseconds after each.  Prints how many.
 */
int cmd_loopread(int argc, char **argv)
{
	uint64_t seed = 1, max = 16 * MIB, pause = 0, size, reads = 0;
	const char *stop = NULL;
	struct rng rng = { 1 };
	const struct opt opts[] = {
		{ .name = "stop", .text = &stop },
		{ .name = "max", .size = &max },
		{ .name = "seed", .size = &seed },
		{ .name = "rng", .size = &rng.state },
		{ .name = "pause", .size = &pause },
	};
	uint8_t *buf;
	int fd;

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1 || !stop)
		die("usage: mread loopread FILE --stop PATH [--max S --seed N --rng N --pause MS]");
	fd = xopen(argv[0], O_RDONLY);
	size = file_size(fd);
	buf = xmmap(max);
	for (; access(stop, F_OK); reads++) {
		uint64_t len = rng_log(&rng, MIB, max);
		uint64_t off = rng_below(&rng, size), want = min64(len, size - off);
		ssize_t n;

		if (rng_below(&rng, 3) == 0)
			posix_fadvise(fd, off, len, POSIX_FADV_DONTNEED);
		n = pread(fd, buf, len, off);
		if (n != (ssize_t)want)
			die("loopread: read %llu of %llu bytes at %llu returned %zd (%s), expected %llu",
			    (unsigned long long)reads, (unsigned long long)len,
			    (unsigned long long)off, n, n < 0 ? strerror(errno) : "short",
			    (unsigned long long)want);
		data_verify("loopread", buf, off, n, seed, LAYOUT_FULL);
		usleep(rng_below(&rng, pause * 1000 + 1));
	}
	if (!reads)
		die("loopread: was told to stop before its first read");
	printf("loopread: %llu reads right\n", (unsigned long long)reads);
	return 0;
}
