// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread mkfile FILE SIZE [--seed N] [--layout full|sparse]
 * Writes a test file and makes it durable, so that its pages can be dropped.
 */
#include "mread.h"

static void write_all(int fd, uint64_t off, uint64_t len, uint64_t seed)
{
	static char buf[1 * MIB];

	while (len) {
		uint64_t n = min64(len, sizeof(buf) - off % sizeof(buf));

		pat_fill(buf, off, n, seed);
		if (pwrite(fd, buf, n, off) != (ssize_t)n)
			die("writing %llu bytes at %llu: %s", (unsigned long long)n,
			    (unsigned long long)off, strerror(errno));
		off += n;
		len -= n;
	}
}

static void write_unit(int fd, uint64_t off, uint64_t size, uint64_t seed)
{
	uint64_t len = min64(UNIT, size - off);

	switch (unit_class(off / UNIT, seed)) {
	case UNIT_DATA:
		write_all(fd, off, len, seed);
		break;
	case UNIT_ODD:
		if (len > ODD_FIRST)
			write_all(fd, off + ODD_FIRST,
				  min64(len, ODD_END) - ODD_FIRST, seed);
		break;
	case UNIT_UNWRITTEN:
		if (fallocate(fd, FALLOC_FL_KEEP_SIZE, off, len))
			die("fallocate: %s", strerror(errno));
		break;
	case UNIT_HOLE:
		break;
	}
}

int cmd_mkfile(int argc, char **argv)
{
	uint64_t seed = 1, size;
	const char *layout = "full";
	const struct opt opts[] = {
		{ .name = "seed", .size = &seed },
		{ .name = "layout", .text = &layout },
	};
	int fd;

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 2)
		die("usage: mread mkfile FILE SIZE [--seed N] [--layout full|sparse]");
	size = parse_size(argv[1]);
	fd = xopen(argv[0], O_RDWR | O_CREAT | O_TRUNC);
	if (parse_layout(layout) == LAYOUT_FULL) {
		write_all(fd, 0, size, seed);
	} else {
		if (ftruncate(fd, size))
			die("ftruncate: %s", strerror(errno));
		for (uint64_t off = 0; off < size; off += UNIT)
			write_unit(fd, off, size, seed);
	}
	if (fsync(fd))
		die("fsync: %s", strerror(errno));
	printf("mkfile: %s, %llu bytes, %s\n", argv[0], (unsigned long long)size,
	       layout);
	return 0;
}
