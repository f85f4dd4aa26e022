// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread advice FILE [--folio SIZE --seed N]
 *
 * posix_fadvise() before and after a large read, natively and through MARS, as far as
 * residency and the disk's counter show it.
 *
 * --folio is what max_folio_bytes is set to. FADV_DONTNEED drops whole folios only,
 * with the native path's large folios as with MARS's. So where the range that is
 * dropped does not end on a boundary of the largest one, up to one of them may stay on
 * either side; with --folio 4096 nothing may.
 */
#include "effect.h"

#define OFF (6 * MIB)
#define LEN (8 * MIB)

struct scene {
	const char *path;
	int fd;
	dev_t dev;
	uint64_t seed, folio;
	struct mars m;
};

struct result {
	struct view view[2];	/* after the read, and after what follows */
	uint64_t sectors;
};

struct trial {
	const char *name;
	int before;		/* advice for the part of the range, or the file, or -1 */
	int after;
	uint64_t off, len;	/* the part; 0: the whole file */
	bool again;		/* the range is read once more in the end */
	bool loose;		/* a large folio may stay at either edge */
};

static const struct trial trials[] = {
	{ "DONTNEED, all", -1, POSIX_FADV_DONTNEED, 0, 0, false, false },
	{ "DONTNEED, then again", -1, POSIX_FADV_DONTNEED, 0, 0, true, false },
	{ "DONTNEED, aligned", -1, POSIX_FADV_DONTNEED, OFF + 2 * MIB, 4 * MIB, false, false },
	{ "DONTNEED, odd", -1, POSIX_FADV_DONTNEED, OFF + MIB + 100, 5 * MIB + 7, false, true },
	{ "DONTNEED, one page", -1, POSIX_FADV_DONTNEED, OFF + 3 * MIB, PAGE, false, true },
	{ "WILLNEED, then read", POSIX_FADV_WILLNEED, -1, OFF + MIB, 96 * KIB, false, false },
	{ "WILLNEED, at the front", POSIX_FADV_WILLNEED, -1, OFF, 2 * MIB, false, false },
	{ "WILLNEED of what is there", -1, POSIX_FADV_WILLNEED, OFF, LEN, true, false },
	{ "NOREUSE", POSIX_FADV_NOREUSE, -1, 0, 0, true, false },
};

static void advise(int fd, const struct trial *t, int advice)
{
	int err = advice < 0 ? 0 : posix_fadvise(fd, t->off, t->len, advice);

	if (err)
		die("advice: %s: posix_fadvise: %s", t->name, strerror(err));
}

static void read_range(const struct scene *s, int fd)
{
	static uint8_t *buf;

	if (!buf)
		buf = xmmap(LEN);
	if (pread(fd, buf, LEN, OFF) != (ssize_t)LEN)
		die("advice: pread: %s", strerror(errno));
	data_verify("advice", buf, OFF, LEN, s->seed, LAYOUT_FULL);
}

/* Natively RANDOM first: nothing beyond the range. NOREUSE does not change that. */
static void run(const struct scene *s, const struct trial *t, int which, struct result *r)
{
	int fd = xopen(s->path, O_RDONLY), reads = t->again ? 2 : 1;
	struct counters counters;
	uint64_t sectors;

	mars_enable(&s->m, which == MARS);
	cache_drop(s->fd);
	sectors = disk_sectors_read(s->dev);
	if (!mars_exact(&s->m, which))
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	mars_read(&s->m, &counters);
	advise(fd, t, t->before);
	read_range(s, fd);
	view_take(&r->view[0], s->fd);
	if (r->view[0].resident != LEN)
		die("advice: %s: %s %llu bytes are resident after a read of %llu", t->name,
		    run_name(which), (unsigned long long)r->view[0].resident, LEN);
	advise(fd, t, t->after);
	if (t->again)
		read_range(s, fd);
	disk_settle(s->dev);
	view_take(&r->view[1], s->fd);
	r->sectors = disk_sectors_read(s->dev) - sectors;
	mars_expect(&s->m, &counters, which == MARS ? reads : 0,
		    which == MARS ? reads * LEN : 0, ANY, t->name);
	close(fd);
}

static void compare(const struct scene *s, const struct trial *t, const struct result *r)
{
	uint64_t n = r[NATIVE].view[1].resident, m = r[MARS].view[1].resident;
	bool dropped = t->after == POSIX_FADV_DONTNEED;
	uint64_t stays = t->loose && s->folio > PAGE ? 2 * s->folio : 0;
	uint64_t want = LEN / 512 * (dropped && t->again ? 2 : 1);

	if (m < n || m > n + stays || (!stays && r[NATIVE].view[1].hash != r[MARS].view[1].hash))
		die("advice: %s: %llu bytes are resident natively, %llu with MARS, folios of up to %llu",
		    t->name, (unsigned long long)n, (unsigned long long)m,
		    (unsigned long long)s->folio);
	if (r[NATIVE].sectors != want || r[MARS].sectors != want)
		die("advice: %s: %llu sectors were read natively, %llu with MARS, for %llu",
		    t->name, (unsigned long long)r[NATIVE].sectors,
		    (unsigned long long)r[MARS].sectors, (unsigned long long)want);
	if (dropped && !t->again && n == LEN)
		die("advice: %s: nothing was dropped natively: this shows nothing", t->name);
	printf("advice: %s: %llu sectors, resident %llu, natively %llu\n", t->name,
	       (unsigned long long)want, (unsigned long long)m, (unsigned long long)n);
}

int cmd_advice(int argc, char **argv)
{
	struct scene s = { .seed = 1, .folio = 2 * MIB };
	const struct opt opts[] = {
		{ .name = "seed", .size = &s.seed },
		{ .name = "folio", .size = &s.folio },
	};
	struct result r[2];

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1)
		die("usage: mread advice FILE [--folio SIZE --seed N]");
	s.path = argv[0];
	s.fd = observe(s.path, &s.dev, &s.m);
	/* So that the file system knows where the file lies, and reads nothing else. */
	read_range(&s, s.fd);
	for (size_t i = 0; i < ARRAY_SIZE(trials); i++) {
		run(&s, &trials[i], NATIVE, &r[NATIVE]);
		run(&s, &trials[i], MARS, &r[MARS]);
		compare(&s, &trials[i], r);
	}
	return 0;
}
