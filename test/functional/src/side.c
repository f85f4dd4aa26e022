// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread side FILE [--seed N]: what a read changes besides the buffer.
 * Runs natively and through MARS and compares access time and task I/O accounting
 * of the two.  The mount must be strictatime.
 */
#include "effect.h"

#define OFF (5 * MIB + 3)
#define LEN (32 * MIB)

struct effects {
	uint64_t rchar, syscr, read_bytes;
	bool atime_moved;
};

static bool same_atime(const struct stat *a, const struct stat *b)
{
	return a->st_atim.tv_sec == b->st_atim.tv_sec &&
	       a->st_atim.tv_nsec == b->st_atim.tv_nsec;
}

static void measure(int fd, struct effects *e, uint64_t seed)
{
	static uint8_t *buf;
	struct proc_io before, after;
	struct stat st0, st1;
	size_t own;
	ssize_t n;

	if (!buf)
		buf = xmmap(LEN);
	cache_drop(fd);
	usleep(20000);	/* so that the clock of atime has moved on */
	fstat(fd, &st0);
	own = proc_io(getpid(), &before);
	n = pread(fd, buf, LEN, OFF);
	proc_io(getpid(), &after);
	fstat(fd, &st1);
	if (n != LEN)
		die("side: pread returned %zd", n);
	data_verify("side", buf, OFF, LEN, seed, LAYOUT_FULL);
	e->rchar = after.rchar - before.rchar - own;
	e->syscr = after.syscr - before.syscr - 1;
	e->read_bytes = after.read_bytes - before.read_bytes;
	e->atime_moved = !same_atime(&st0, &st1);
}

int cmd_side(int argc, char **argv)
{
	struct effects native = { 0 }, mars_e = { 0 };
	const uint64_t pages = (OFF % PAGE + LEN + PAGE - 1) / PAGE * PAGE;
	uint64_t seed = 1;
	const struct opt opts[] = { { .name = "seed", .size = &seed } };
	struct mars mars;
	int fd;

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1)
		die("usage: mread side FILE [--seed N]");
	fd = xopen(argv[0], O_RDONLY);
	mars_init(&mars, fd);
	mars_enable(&mars, false);
	measure(fd, &native, seed);
	mars_enable(&mars, true);
	measure(fd, &mars_e, seed);
	if (!native.atime_moved)
		die("side: a native read did not move atime: mount with strictatime");
	if (native.atime_moved != mars_e.atime_moved)
		die("side: MARS did not update the access time");
	if (native.rchar != LEN || native.syscr != 1 ||
	    mars_e.rchar != LEN || mars_e.syscr != 1)
		die("side: rchar/syscr rose by %llu/%llu natively and by %llu/%llu with MARS",
		    (unsigned long long)native.rchar, (unsigned long long)native.syscr,
		    (unsigned long long)mars_e.rchar, (unsigned long long)mars_e.syscr);
	/* Native read-ahead may go past the range; MARS may by a large folio. */
	if (native.read_bytes < pages || mars_e.read_bytes < pages ||
	    mars_e.read_bytes > pages + 4 * MIB)
		die("side: read_bytes rose by %llu natively and %llu with MARS for %llu bytes of pages",
		    (unsigned long long)native.read_bytes,
		    (unsigned long long)mars_e.read_bytes, (unsigned long long)pages);
	printf("side: atime, rchar, syscr as natively; read_bytes %llu, natively %llu\n",
	       (unsigned long long)mars_e.read_bytes,
	       (unsigned long long)native.read_bytes);
	return 0;
}
