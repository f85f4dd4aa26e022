// SPDX-License-Identifier: GPL-2.0-only
/*
 * A bad sector under a large read.
 */
#include "mread.h"
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

/* The disk sector that holds a byte of the file */
uint64_t file_sector(int fd, uint64_t off)
{
	struct {
		struct fiemap map;
		struct fiemap_extent extent;
	} f = { { 0 }, { 0 } };

	f.map.fm_start = off;
	f.map.fm_length = PAGE;
	f.map.fm_flags = FIEMAP_FLAG_SYNC;
	f.map.fm_extent_count = 1;
	if (ioctl(fd, FS_IOC_FIEMAP, &f.map))
		die("fiemap: %s", strerror(errno));
	if (f.map.fm_mapped_extents != 1)
		die("the file has no block at %llu", (unsigned long long)off);
	return (f.extent.fe_physical + off - f.extent.fe_logical) / 512;
}

/* mread physical FILE OFFSET: prints it */
int cmd_physical(int argc, char **argv)
{
	if (parse_opts(argc, argv, NULL, 0) != 2)
		die("usage: mread physical FILE OFFSET");
	printf("%llu\n", (unsigned long long)file_sector(xopen(argv[0], O_RDONLY),
							 parse_size(argv[1])));
	return 0;
}

/*
 * mread ioerror FILE --bad OFFSET [--seed N --granule S]
 * Reads across a block that the disk refuses, natively and through MARS.  The
 * prefix ends at the folio that holds the block: a granule (the largest folio of
 * the default read-ahead) before it at the earliest, never behind its first byte,
 * through MARS too; then the read fails with EIO; nothing behind the prefix was
 * written.
 */
static ssize_t prefix(int fd, uint64_t bad, uint64_t granule, uint64_t seed,
		      const char *who)
{
	const uint64_t len = 16 * MIB, off = bad - 5 * MIB - 123;
	struct gbuf g;
	ssize_t n;

	gbuf_make(&g, len, 0, false);
	cache_drop(fd);
	n = pread(fd, g.p, len, off);
	if (n < 0)
		die("ioerror: %s: the whole read failed (%s), although the first bad byte is %llu in",
		    who, strerror(errno), (unsigned long long)(bad - off));
	data_verify(who, g.p, off, n, seed, LAYOUT_FULL);
	gbuf_verify(&g, n, who);
	if (off + n > bad || off + n + granule < bad)
		die("ioerror: %s: the read stopped at %llu, the bad block begins at %llu",
		    who, (unsigned long long)(off + n), (unsigned long long)bad);
	if (pread(fd, g.p, len, bad) != -1 || errno != EIO)
		die("ioerror: %s: a read that starts at the bad block did not give EIO",
		    who);
	if (pread(fd, g.p, MIB, bad + 4 * MIB) != (ssize_t)MIB)
		die("ioerror: %s: a read far behind the bad block failed too", who);
	data_verify(who, g.p, bad + 4 * MIB, MIB, seed, LAYOUT_FULL);
	gbuf_free(&g);
	return n;
}

int cmd_ioerror(int argc, char **argv)
{
	uint64_t seed = 1, bad = 0, granule = 128 * 1024;
	const struct opt opts[] = {
		{ .name = "seed", .size = &seed },
		{ .name = "bad", .size = &bad },
		{ .name = "granule", .size = &granule },
	};
	struct counters before, after;
	ssize_t native, through;
	struct mars mars;
	int fd;

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1 || bad < 6 * MIB)
		die("usage: mread ioerror FILE --bad OFFSET [--seed N --granule S], OFFSET at least 6M");
	fd = xopen(argv[0], O_RDONLY);
	mars_init(&mars, fd);
	mars_enable(&mars, false);
	native = prefix(fd, bad, granule, seed, "native");
	mars_enable(&mars, true);
	mars_read(&mars, &before);
	through = prefix(fd, bad, granule, seed, "MARS");
	mars_read(&mars, &after);
	if (mars.dir[0] && after.v[C_READS] == before.v[C_READS])
		die("ioerror: MARS did not do the read");
	printf("ioerror: the prefix is %zd bytes through MARS, %zd natively; then EIO\n",
	       through, native);
	return 0;
}
