// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread straits FILE [--len SIZE] [--count N] [--seed N] [--group DIR] [--failing]
 *
 * Cold reads where memory is short, natively and through MARS in turn: whatever is in
 * the way has been put there by the caller, or is the cgroup that is entered when the
 * buffer is in memory already. No read may fail, and none may return less than was
 * asked for; all of its bytes are looked at. With --failing the kernel has been told to
 * let allocations of this task fail (fault injection): then a native read may fail too,
 * with ENOMEM or after a part, and so may MARS's; what they did return must be right.
 *
 * Each of MARS's reads must have been served by it, or been left to the native path for
 * want of memory from the beginning or in the middle. What it cost is told, and not judged.
 */
#include "effect.h"

/* Each of MARS's reads has another one of these than the one before. */
static const char * const early_copy[] = { "ordered", "any", "off" };

struct job {
	struct gbuf buf;
	int fd, inject;
	uint64_t len, count, seed;
	bool failing;
	struct rng rng;
	struct mars m;
};

struct tally {
	uint64_t whole, part, failed, bytes;
	double seconds;
};

/* Nothing else of this program is to meet a failure. */
static void injection(const struct job *j, const char *on)
{
	if (j->failing && pwrite(j->inject, on, 1, 0) != 1)
		die("straits: /proc/self/make-it-fail does not take %s: %s", on, strerror(errno));
}

/* @early: which early_copy */
static void one(struct job *j, int which, int early, struct tally *t)
{
	uint64_t off = rng_below(&j->rng, (file_size(j->fd) - j->len) / PAGE + 1) * PAGE;
	double start;
	ssize_t n;
	int error;

	pat_fill(j->buf.p, j->buf.p - j->buf.map, j->len, CANARY);
	cache_drop(j->fd);
	injection(j, "1");
	start = now_s();
	n = pread(j->fd, j->buf.p, j->len, off);
	error = errno;
	t->seconds += now_s() - start;
	injection(j, "0");
	if (n < 0 && !(j->failing && error == ENOMEM))
		die("straits: %s a read of %llu bytes at %llu fails: %s", run_name(which),
		    (unsigned long long)j->len, (unsigned long long)off, strerror(error));
	if (n >= 0 && n < j->len && !(j->failing && n))
		die("straits: %s a read of %llu bytes at %llu returns %zd", run_name(which),
		    (unsigned long long)j->len, (unsigned long long)off, n);
	data_verify("straits", j->buf.p, off, n < 0 ? 0 : n, j->seed, LAYOUT_FULL);
	/* What lies behind a short read may have been filled. */
	if (which == NATIVE || strcmp(early_copy[early], "any"))
		gbuf_verify(&j->buf, n < 0 ? 0 : n, "straits");
	if (n == j->len)
		t->whole++;
	else if (n > 0)
		t->part++;
	else
		t->failed++;
	t->bytes += n < 0 ? 0 : n;
}

static uint64_t accounted(const struct job *j)
{
	return !j->m.dir[0] ? 0 : mars_stat(&j->m, "reads") + mars_stat(&j->m, "native_memory") +
				  mars_stat(&j->m, "native_nomem");
}

static void tell(const struct tally *t, int which)
{
	printf("straits: %s %llu whole, %llu short, %llu failed, %.1f MiB/s\n", run_name(which),
	       (unsigned long long)t->whole, (unsigned long long)t->part,
	       (unsigned long long)t->failed, t->bytes / t->seconds / MIB);
}

static void run(struct job *j)
{
	struct tally tally[2] = { 0 };
	uint64_t before, rose;

	for (uint64_t i = 0; i < j->count; i++) {
		int early = i % ARRAY_SIZE(early_copy);

		mars_enable(&j->m, false);
		one(j, NATIVE, early, &tally[NATIVE]);
		mars_enable(&j->m, true);
		mars_put(&j->m, "early_copy", early_copy[early]);
		before = accounted(j);
		one(j, MARS, early, &tally[MARS]);
		rose = accounted(j) - before;
		if (j->m.dir[0] && !rose)
			die("straits: reads, native_memory and native_nomem show nothing of a read");
	}
	mars_put(&j->m, "early_copy", early_copy[0]);
	tell(&tally[NATIVE], NATIVE);
	tell(&tally[MARS], MARS);
	if (tally[MARS].failed + tally[MARS].part >
	    tally[NATIVE].failed + tally[NATIVE].part + j->count / 2)
		die("straits: with MARS far more reads fail than natively");
}

int cmd_straits(int argc, char **argv)
{
	struct job j = { .len = 128 * MIB, .count = 6, .seed = 1 };
	const char *group = NULL;
	const struct opt opts[] = {
		{ .name = "len", .size = &j.len },
		{ .name = "count", .size = &j.count },
		{ .name = "seed", .size = &j.seed },
		{ .name = "group", .text = &group },
		{ .name = "failing", .flag = &j.failing },
	};

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1)
		die("usage: mread straits FILE [--len SIZE --count N --seed N --group DIR --failing]");
	j.fd = xopen(argv[0], O_RDONLY);
	if (file_size(j.fd) < j.len)
		die("straits: %s is smaller than a read", argv[0]);
	j.rng.state = j.seed;
	mars_init(&j.m, j.fd);
	if (j.failing)
		j.inject = xopen("/proc/self/make-it-fail", O_WRONLY);
	gbuf_make(&j.buf, j.len, 0, false);
	if (group)
		group_put(group, "cgroup.procs", "0");
	run(&j);
	return 0;
}
