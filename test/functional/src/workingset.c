// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread workingset FILE --hot FILE --group DIR [--seed N]
 *
 * What reclaim learns from reads, natively and through MARS, each in a memory cgroup
 * of its own, on a kernel with active and inactive lists, not generations, and with
 * max_folio_bytes=4K: reclaim takes and counts folios whole.
 *
 * Accessed: --hot is read twice without a limit. The first read of a page marks it as
 * referenced, the second makes it active, and MARS's folios must end where native ones
 * do. A read that forgets folio_mark_accessed(), or calls it twice for a folio, leaves
 * other lists.
 *
 * Refault: FILE does not fit beside --hot, so each pass over it reads again what was
 * evicted. Each page that is read in the second pass has a shadow entry, so
 * workingset_refault_file rises by exactly what the disk was asked for, in pages, in
 * either run; an insertion that loses shadows shows here. How many pages that is
 * depends on what happened to survive the first pass: hence no more than a factor of
 * two between the runs.
 */
#include "effect.h"

#define LIMIT (48 * MIB)
#define LEN (36 * MIB)		/* of the file */
#define HOT (20 * MIB)
#define CHUNK (4 * MIB)
/*
 * Pages by which a counter may be behind: each CPU keeps up to 64 to itself, and with
 * them a batch of folios for the lists.
 */
#define BEHIND 512

enum { ACTIVE, INACTIVE, PGACTIVATE, REFAULT, ACTIVATE, RESTORE, NR };

static const char * const keys[NR] = {
	"active_file ", "inactive_file ", "pgactivate ",
	"workingset_refault_file ", "workingset_activate_file ", "workingset_restore_file ",
};

struct job {
	const char *path, *hot, *parent;
	int fd, hot_fd;
	uint64_t seed;
	struct mars m;
};

struct lists {
	uint64_t v[NR];		/* pages */
	uint64_t read;		/* pages, from the disk */
};

static void stat_take(const char *group, struct lists *l)
{
	for (int i = 0; i < NR; i++) {
		l->v[i] = group_get(group, "memory.stat", keys[i], keys[i]);
		if (i <= INACTIVE)
			l->v[i] /= PAGE;
	}
}

static void begin(struct job *j, int run, struct reader *r, char *group, size_t size)
{
	mars_enable(&j->m, run == MARS);
	cache_drop(j->fd);
	cache_drop(j->hot_fd);
	group_make(group, size, j->parent, run);
	*r = (struct reader){
		.path = { j->path, j->hot }, .most = CHUNK, .seed = j->seed, .group = group,
	};
	reader_start(r);
}

static void end(struct job *j, struct reader *r, const char *group)
{
	reader_stop(r);
	cache_drop(j->fd);
	cache_drop(j->hot_fd);
	group_remove(group);
}

static void accessed(struct job *j, int run, struct lists *after)
{
	const struct order o = { .file = 1, .len = HOT, .chunk = CHUNK };
	struct counters counters;
	struct lists before;
	struct reader r;
	char group[256];

	begin(j, run, &r, group, sizeof(group));
	stat_take(group, &before);
	mars_read(&j->m, &counters);
	reader_do(&r, &o);
	reader_do(&r, &o);
	stat_take(group, after);
	mars_expect(&j->m, &counters, run == MARS ? 2 * HOT / CHUNK : 0,
		    run == MARS ? 2 * HOT : 0, ANY, "workingset");
	for (int i = 0; i < NR; i++)
		after->v[i] -= min64(before.v[i], after->v[i]);
	end(j, &r, group);
}

static void check_accessed(const struct lists *l)
{
	for (int i = ACTIVE; i <= PGACTIVATE; i++) {
		uint64_t n = l[NATIVE].v[i], m = l[MARS].v[i];

		if (n > m + BEHIND || m > n + BEHIND)
			die("workingset: after two reads of %llu pages, %srose by %llu natively and by %llu with MARS",
			    HOT / PAGE, keys[i], (unsigned long long)n, (unsigned long long)m);
	}
	if (l[NATIVE].v[PGACTIVATE] < HOT / PAGE / 2)
		die("workingset: two native reads of %llu pages activated %llu: this shows nothing",
		    HOT / PAGE, (unsigned long long)l[NATIVE].v[PGACTIVATE]);
	printf("workingset: read twice: active %llu, inactive %llu, activated %llu; natively %llu, %llu, %llu\n",
	       (unsigned long long)l[MARS].v[ACTIVE], (unsigned long long)l[MARS].v[INACTIVE],
	       (unsigned long long)l[MARS].v[PGACTIVATE],
	       (unsigned long long)l[NATIVE].v[ACTIVE], (unsigned long long)l[NATIVE].v[INACTIVE],
	       (unsigned long long)l[NATIVE].v[PGACTIVATE]);
}

/* The hot file's pages by small reads, which are native in both runs. */
static void refault(struct job *j, int run, struct lists *d)
{
	const struct order hot = { .file = 1, .len = HOT, .chunk = 64 * KIB };
	const struct order pass = {
		.len = LEN, .chunk = CHUNK, .advice = POSIX_FADV_RANDOM,
	};
	struct counters counters;
	struct lists before;
	struct reader r;
	char group[256], limit[32];
	struct stat st;

	fstat(j->fd, &st);
	begin(j, run, &r, group, sizeof(group));
	snprintf(limit, sizeof(limit), "%llu", LIMIT);
	group_put(group, "memory.max", limit);
	reader_do(&r, &hot);
	reader_do(&r, &hot);
	reader_do(&r, &pass);
	disk_settle(st.st_dev);
	stat_take(group, &before);
	before.read = disk_sectors_read(st.st_dev);
	mars_read(&j->m, &counters);
	reader_do(&r, &pass);
	disk_settle(st.st_dev);
	d->read = (disk_sectors_read(st.st_dev) - before.read) * 512 / PAGE;
	stat_take(group, d);
	mars_expect(&j->m, &counters, run == MARS ? LEN / CHUNK : 0,
		    run == MARS ? LEN : 0, ANY, "workingset");
	for (int i = PGACTIVATE; i < NR; i++)
		d->v[i] -= before.v[i];
	if (group_get(group, "memory.events", "oom_kill ", "oom_kill "))
		die("workingset: a process of %s was killed for memory", group);
	end(j, &r, group);
}

static bool alike(uint64_t a, uint64_t b)
{
	return a <= 2 * b + BEHIND && b <= 2 * a + BEHIND;
}

static void check_refault(const struct lists *l)
{
	for (int run = NATIVE; run <= MARS; run++) {
		uint64_t read = l[run].read, rose = l[run].v[REFAULT];

		if (rose > read + BEHIND || read > rose + BEHIND)
			die("workingset: %s a second pass read %llu pages, workingset_refault_file rose by %llu",
			    run_name(run), (unsigned long long)read, (unsigned long long)rose);
		if (read < LEN / PAGE / 4)
			die("workingset: %s a second pass read %llu pages of %llu: this shows nothing",
			    run_name(run), (unsigned long long)read, LEN / PAGE);
		printf("workingset: %s: %llu pages read again, refaulted %llu, activated %llu, restored %llu, pgactivate %llu\n",
		       run_name(run), (unsigned long long)read, (unsigned long long)rose,
		       (unsigned long long)l[run].v[ACTIVATE],
		       (unsigned long long)l[run].v[RESTORE],
		       (unsigned long long)l[run].v[PGACTIVATE]);
	}
	for (int i = REFAULT; i <= ACTIVATE; i++) {
		if (!alike(l[NATIVE].v[i], l[MARS].v[i]))
			die("workingset: %srose by %llu natively and by %llu with MARS", keys[i],
			    (unsigned long long)l[NATIVE].v[i], (unsigned long long)l[MARS].v[i]);
	}
	if (l[NATIVE].v[ACTIVATE] < LEN / PAGE / 16)
		die("workingset: natively %llu pages were activated when they came back: this shows nothing",
		    (unsigned long long)l[NATIVE].v[ACTIVATE]);
}

int cmd_workingset(int argc, char **argv)
{
	struct job j = { .seed = 1 };
	const struct opt opts[] = {
		{ .name = "hot", .text = &j.hot },
		{ .name = "group", .text = &j.parent },
		{ .name = "seed", .size = &j.seed },
	};
	struct lists l[2];

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1 || !j.hot || !j.parent)
		die("usage: mread workingset FILE --hot FILE --group DIR [--seed N]");
	j.path = argv[0];
	j.fd = xopen(j.path, O_RDONLY);
	j.hot_fd = xopen(j.hot, O_RDONLY);
	mars_init(&j.m, j.fd);
	for (int run = NATIVE; run <= MARS; run++)
		accessed(&j, run, &l[run]);
	check_accessed(l);
	for (int run = NATIVE; run <= MARS; run++)
		refault(&j, run, &l[run]);
	check_refault(l);
	return 0;
}
