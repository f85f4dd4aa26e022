// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread blkcg FILE --group DIR [--seed N]
 *
 * Whose I/O a read is, natively and through MARS, by a reader in a cgroup of its own:
 * io.stat of the cgroup rises by exactly the bytes of the pages that were missing, and
 * io.max holds it back. I/O that is submitted in another's name, or without one, is
 * charged elsewhere and passes the limit.
 *
 * At RATE a read of LEN takes LEN / RATE seconds; the limit may let some pass at once,
 * and a slow machine can only make it longer, so half of that is asked for.
 */
#include "effect.h"
#include <sys/sysmacros.h>

#define LEN (8 * MIB)
#define RATE (4 * MIB)
#define LEAST (0.5 * LEN / RATE)

struct job {
	const char *path, *parent;
	int fd;
	dev_t dev;
	uint64_t seed;
	struct mars m;
};

static uint64_t charged(const struct job *j, const char *group)
{
	char disk[32];

	snprintf(disk, sizeof(disk), "%u:%u ", major(j->dev), minor(j->dev));
	return group_get(group, "io.stat", disk, "rbytes=");
}

/* RANDOM, so that natively nothing else is read either. Returns the seconds. */
static double one(struct job *j, int run, struct reader *r, const char *what)
{
	const struct order o = { .off = 3 * MIB, .len = LEN, .advice = POSIX_FADV_RANDOM };
	struct counters counters;
	uint64_t before, bytes;
	double seconds;

	cache_drop(j->fd);
	before = charged(j, r->group);
	mars_read(&j->m, &counters);
	seconds = reader_do(r, &o);
	bytes = charged(j, r->group) - before;
	mars_expect(&j->m, &counters, run == MARS, run == MARS ? LEN : 0, ANY, "blkcg");
	if (bytes != LEN)
		die("blkcg: %s %s: the reader's cgroup was charged %llu bytes for a cold read of %llu",
		    run_name(run), what, (unsigned long long)bytes, LEN);
	printf("blkcg: %s, %s: %llu bytes in %.2f s\n", run_name(run), what,
	       (unsigned long long)bytes, seconds);
	return seconds;
}

static void run(struct job *j, int run)
{
	struct reader r = { .path = { j->path }, .most = LEN, .seed = j->seed };
	char group[256], limit[64];
	double seconds;

	mars_enable(&j->m, run == MARS);
	group_make(group, sizeof(group), j->parent, run);
	r.group = group;
	reader_start(&r);
	one(j, run, &r, "no limit");
	snprintf(limit, sizeof(limit), "%u:%u rbps=%llu", major(j->dev), minor(j->dev), RATE);
	group_put(group, "io.max", limit);
	seconds = one(j, run, &r, limit);
	if (seconds < LEAST)
		die("blkcg: %s %llu bytes with io.max at %llu a second took %.2f s, %.2f at least are to be expected",
		    run_name(run), LEN, RATE, seconds, LEAST);
	reader_stop(&r);
	cache_drop(j->fd);
	group_remove(group);
}

int cmd_blkcg(int argc, char **argv)
{
	struct job j = { .seed = 1 };
	const struct opt opts[] = {
		{ .name = "group", .text = &j.parent },
		{ .name = "seed", .size = &j.seed },
	};
	struct stat st;
	char byte;

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1 || !j.parent)
		die("usage: mread blkcg FILE --group DIR [--seed N]");
	j.path = argv[0];
	j.fd = xopen(j.path, O_RDONLY);
	fstat(j.fd, &st);
	j.dev = st.st_dev;
	mars_init(&j.m, j.fd);
	/* The file system knows then where the file lies. */
	if (pread(j.fd, &byte, 1, 3 * MIB) != 1)
		die("blkcg: pread: %s", strerror(errno));
	run(&j, NATIVE);
	run(&j, MARS);
	return 0;
}
