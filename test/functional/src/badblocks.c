// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files with blocks that cannot be read, or hold something else than they should.
 */
#include "mread.h"

#define MOST 64
/*
 * One bad block takes its folio with it: the largest of the default read-ahead. Btrfs
 * reads ahead more than others.
 */
#define GRANULE (128 * KIB)

struct scan {
	int fd;
	const char *path, *who;
	uint64_t off, len, seed, granule;
	uint64_t bad[MOST];	/* first bytes of bad blocks, ascending */
	int nr_bad;
	/* What came of it. */
	uint64_t first, good, errors;
};

/* The first bad block that makes a read stop at @pos, or die. */
static uint64_t blame(const struct scan *s, uint64_t pos, const char *what)
{
	for (int i = 0; i < s->nr_bad; i++) {
		if (pos / s->granule == s->bad[i] / s->granule)
			return s->bad[i];
	}
	die("badblocks: %s: %s at %llu, where no bad block is within %llu bytes", s->who, what,
	    (unsigned long long)pos, (unsigned long long)s->granule);
}

static void check_good(const struct scan *s, const struct gbuf *g, uint64_t pos, size_t n)
{
	data_verify(s->who, g->p, pos, n, s->seed, LAYOUT_FULL);
	for (int i = 0; i < s->nr_bad; i++) {
		if (s->bad[i] >= pos && s->bad[i] < pos + n)
			die("badblocks: %s: a read at %llu returned %zu bytes, over the bad block at %llu",
			    s->who, (unsigned long long)pos, n, (unsigned long long)s->bad[i]);
	}
}

/* One read at @pos, up to @end; returns where to go on. */
static uint64_t step(struct scan *s, uint64_t pos, uint64_t end)
{
	struct gbuf g;
	uint64_t bad;
	ssize_t n;
	int err;

	gbuf_make(&g, end - pos, 0, false);
	if (lseek(s->fd, pos, SEEK_SET) < 0)
		die("lseek: %s", strerror(errno));
	n = read(s->fd, g.p, g.len);
	err = errno;
	if (!n || (n < 0 && err != EIO))
		die("badblocks: %s: a read at %llu returned %zd (%s)", s->who,
		    (unsigned long long)pos, n, n ? strerror(err) : "no error");
	gbuf_verify(&g, n > 0 ? n : 0, s->who);
	if (n > 0)
		check_good(s, &g, pos, n);
	gbuf_free(&g);
	if (lseek(s->fd, 0, SEEK_CUR) != (off_t)(pos + (n > 0 ? n : 0)))
		die("badblocks: %s: the position is %lld after a read at %llu that returned %zd",
		    s->who, (long long)lseek(s->fd, 0, SEEK_CUR), (unsigned long long)pos, n);
	if (n > 0) {
		s->good += n;
		if (pos + n < end)
			blame(s, pos + n, "a read ended");
		return pos + n;
	}
	s->errors++;
	bad = blame(s, pos, "EIO");
	return (bad / s->granule + 1) * s->granule;
}

/*
 * As a program that wants to save what can be: on after each error, past it. The
 * first read asks for everything, the others for less: time. Of a file that is
 * opened for it: each error makes the kernel read less ahead, in the end nothing.
 */
static void scan(struct scan *s)
{
	uint64_t pos = s->off, end = s->off + s->len, next;
	bool first = true;

	s->fd = xopen(s->path, O_RDONLY);
	cache_drop(s->fd);
	while (pos < end) {
		next = step(s, pos, first ? end : min64(end, pos + 8 * MIB));
		if (first)
			s->first = s->errors ? 0 : next - pos;
		first = false;
		pos = next;
	}
	close(s->fd);
	if (!s->errors)
		die("badblocks: %s: no read failed", s->who);
	printf("badblocks: %s: %llu bytes first, %llu errors, %llu bytes in all\n", s->who,
	       (unsigned long long)s->first, (unsigned long long)s->errors,
	       (unsigned long long)s->good);
}

static void parse_bad(struct scan *s, const char *text)
{
	char one[32];
	size_t n;

	for (; *text; text += n + (text[n] == ',')) {
		n = strcspn(text, ",");
		if (!n || n >= sizeof(one) || s->nr_bad == MOST)
			die("badblocks: --bad is a list of up to %d offsets", MOST);
		memcpy(one, text, n);
		one[n] = 0;
		s->bad[s->nr_bad++] = parse_size(one) / PAGE * PAGE;
	}
}

/*
 * mread badblocks FILE --bad OFFSET[,OFFSET...] [--off S --len S --granule S --seed N]
 * Reads across bad blocks natively and through MARS: prefix, EIO, position, buffer,
 * and what follows.
 */
int cmd_badblocks(int argc, char **argv)
{
	struct scan native = { .len = 64 * MIB, .granule = GRANULE, .seed = 1 }, mars;
	const char *bad = NULL;
	const struct opt opts[] = {
		{ .name = "bad", .text = &bad },
		{ .name = "off", .size = &native.off },
		{ .name = "len", .size = &native.len },
		{ .name = "granule", .size = &native.granule },
		{ .name = "seed", .size = &native.seed },
	};
	struct counters before, after;
	struct mars m;

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1 || !bad)
		die("usage: mread badblocks FILE --bad OFFSET[,OFFSET...] [--off S --len S --granule S --seed N]");
	parse_bad(&native, bad);
	native.path = argv[0];
	mars_init(&m, xopen(argv[0], O_RDONLY));
	mars = native;
	mars.who = "MARS";
	native.who = "native";
	mars_enable(&m, false);
	scan(&native);
	mars_enable(&m, true);
	mars_read(&m, &before);
	scan(&mars);
	mars_read(&m, &after);
	if (m.dir[0] && after.v[C_READS] == before.v[C_READS])
		die("badblocks: MARS did not do the reads");
	if (mars.first / native.granule != native.first / native.granule)
		die("badblocks: the first read returned %llu bytes through MARS, %llu natively",
		    (unsigned long long)mars.first, (unsigned long long)native.first);
	return 0;
}

/*
 * mread findblock DEVICE OFFSET... [--seed N --most S]: the sectors that hold blocks
 * of a file, found by their content in the first bytes of a device, whatever the
 * file system says of their place.
 */
int cmd_findblock(int argc, char **argv)
{
	uint64_t seed = 1, most = 1024 * MIB, where[MOST] = { 0 };
	const struct opt opts[] = {
		{ .name = "seed", .size = &seed },
		{ .name = "most", .size = &most },
	};
	static uint8_t want[MOST][PAGE];
	uint8_t *buf = xmmap(MIB);
	int fd, n;

	n = parse_opts(argc, argv, opts, ARRAY_SIZE(opts));
	if (n < 2 || n > MOST)
		die("usage: mread findblock DEVICE OFFSET... [--seed N --most S]");
	fd = xopen(argv[0], O_RDONLY);
	for (int i = 1; i < n; i++)
		pat_fill(want[i], parse_size(argv[i]) / PAGE * PAGE, PAGE, seed);
	for (uint64_t at = 0; at < most; at += MIB) {
		if (pread(fd, buf, MIB, at) != (ssize_t)MIB)
			die("findblock: %s ends at %llu or cannot be read there", argv[0],
			    (unsigned long long)at);
		for (uint64_t k = 0; k < MIB; k += PAGE) {
			for (int i = 1; i < n; i++) {
				if (!memcmp(buf + k, want[i], PAGE))
					where[i] = (at + k) / 512;
			}
		}
	}
	for (int i = 1; i < n; i++) {
		if (!where[i])
			die("findblock: the block at %s is not on %s", argv[i], argv[0]);
		printf("%llu\n", (unsigned long long)where[i]);
	}
	return 0;
}

/*
 * mread flaky FILE --seconds N [--seed N]: cold reads of a disk that fails now and
 * then. What is returned is right, and the only error is EIO.
 */
int cmd_flaky(int argc, char **argv)
{
	uint64_t seed = 1, seconds = 8, good = 0, shorter = 0, failed = 0;
	const struct opt opts[] = {
		{ .name = "seed", .size = &seed },
		{ .name = "seconds", .size = &seconds },
	};
	struct rng rng = { 1 };
	double end;
	uint8_t *buf = xmmap(16 * MIB);
	uint64_t size;
	int fd;

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1)
		die("usage: mread flaky FILE [--seconds N --seed N]");
	fd = xopen(argv[0], O_RDONLY);
	size = file_size(fd);
	end = now_s() + seconds;
	while (now_s() < end || ((!good || !failed) && now_s() < end + 10 * seconds)) {
		uint64_t len = rng_log(&rng, MIB, 16 * MIB), off = rng_below(&rng, size - len);
		ssize_t n;

		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		n = pread(fd, buf, len, off);
		if (!n || (n < 0 && errno != EIO))
			die("flaky: pread at %llu returned %zd (%s)", (unsigned long long)off, n,
			    n ? strerror(errno) : "no error");
		good += n == (ssize_t)len;
		shorter += n > 0 && n < (ssize_t)len;
		failed += n < 0;
		if (n > 0)
			data_verify("flaky", buf, off, n, seed, LAYOUT_FULL);
	}
	if (!good || !failed)
		die("flaky: %llu whole reads and %llu failed ones: the disk was not flaky",
		    (unsigned long long)good, (unsigned long long)failed);
	printf("flaky: %llu reads whole, %llu short, %llu with EIO\n", (unsigned long long)good,
	       (unsigned long long)shorter, (unsigned long long)failed);
	return 0;
}
