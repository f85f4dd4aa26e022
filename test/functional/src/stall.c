// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread stall FILE --hot FILE --group DIR --stop COMMAND --go COMMAND
 *	[--thrash --seed N]
 *
 * A read that sleeps for the disk for a time that is known: the disk is stopped until
 * it sleeps, and for STALL more. Delay accounting must have noted that much as waiting
 * for block I/O, and not more than all of the read took. With --thrash the pages had
 * been active and were evicted not long ago: then it is thrashing too, and memory
 * pressure (PSI) of the reader's cgroup; without, it is neither. There is no limit on
 * the cgroup's memory while it reads, so no reclaim adds to the pressure.
 *
 * A wait that is not io_schedule()'s, a folio that lost its workingset bit, a
 * psi_memstall_enter() that is missing, is done for any folio, or is not left again:
 * each makes one of the two runs fail.
 */
#include "effect.h"

#define LEN (4 * MIB)
#define HOT (48 * MIB)
#define STALL 400	/* ms */
#define STALL_US (STALL * 1000ULL)
#define STALL_NS (STALL_US * 1000ULL)

struct job {
	const char *path, *hot, *parent, *stop, *go;
	int fd, hot_fd;
	uint64_t seed;
	bool thrash;
	struct mars m;
};

struct toll {
	struct delays delays;
	uint64_t some, full;	/* microseconds of memory pressure */
	uint64_t restored;	/* pages that had been active before they were evicted */
};

static void command(const char *line)
{
	int status = system(line);

	if (status)
		die("stall: '%s' ended with wait status %#x", line, status);
}

static void toll_take(struct toll *t, const struct reader *r)
{
	task_delays(r->pid, &t->delays);
	t->some = group_get(r->group, "memory.pressure", "some ", "total=");
	t->full = group_get(r->group, "memory.pressure", "full ", "total=");
	t->restored = group_get(r->group, "memory.stat", "workingset_restore_file ",
				"workingset_restore_file ");
}

/* To look at it is also what brings the kernel's own view of it up to date. */
static unsigned long long active(const struct reader *r)
{
	return group_get(r->group, "memory.stat", "active_file ", "active_file ");
}

/*
 * Both files become active, the hot one last, so that reclaim begins with the other.
 * What remains active is more than what was evicted: to the kernel a page that comes
 * back was missed.
 */
static void evict(const struct job *j, struct reader *r)
{
	struct order o = { .len = LEN, .chunk = 64 * KIB };

	reader_do(r, &o);
	reader_do(r, &o);
	printf("stall: active_file is %llu, ", active(r));
	o.file = 1;
	o.len = HOT;
	reader_do(r, &o);
	reader_do(r, &o);
	for (int i = 0; cache_resident(j->fd, 0, LEN); i++) {
		if (i == 30)
			die("stall: %llu bytes stay resident whatever is reclaimed",
			    (unsigned long long)cache_resident(j->fd, 0, LEN));
		/* It may say EAGAIN, and have done something. */
		if (!group_try(r->group, "memory.reclaim", "1M") && errno != EAGAIN)
			die("stall: %s/memory.reclaim: %s", r->group, strerror(errno));
	}
	printf("then %llu, with %llu of %llu bytes of the hot file resident\n", active(r),
	       (unsigned long long)cache_resident(j->hot_fd, 0, HOT), HOT);
}

static void subtract(struct toll *a, const struct toll *b)
{
	a->delays.blkio_count -= b->delays.blkio_count;
	a->delays.blkio_ns -= b->delays.blkio_ns;
	a->delays.thrash_count -= b->delays.thrash_count;
	a->delays.thrash_ns -= b->delays.thrash_ns;
	a->some -= b->some;
	a->full -= b->full;
	a->restored -= b->restored;
}

static double attempt(struct job *j, int which, struct toll *toll)
{
	const struct order o = { .len = LEN };
	struct counters counters;
	struct toll before;
	struct reader r = {
		.path = { j->path, j->hot }, .most = LEN, .seed = j->seed,
	};
	char group[256];
	double seconds;

	mars_enable(&j->m, which == MARS);
	cache_drop(j->fd);
	cache_drop(j->hot_fd);
	group_make(group, sizeof(group), j->parent, which);
	r.group = group;
	reader_start(&r);
	if (j->thrash)
		evict(j, &r);
	mars_read(&j->m, &counters);
	toll_take(&before, &r);
	command(j->stop);
	reader_begin(&r, &o);
	reader_sleeps(&r);
	usleep(STALL_US);
	command(j->go);
	seconds = reader_end(&r);
	active(&r);
	toll_take(toll, &r);
	subtract(toll, &before);
	mars_expect(&j->m, &counters, which == MARS, which == MARS ? LEN : 0, ANY, "stall");
	reader_stop(&r);
	cache_drop(j->fd);
	cache_drop(j->hot_fd);
	group_remove(group);
	return seconds;
}

/*
 * Whether what is evicted counts as having been active depends on when reclaim found it,
 * so there is more than one attempt; that pages come back as restored is up to how they
 * are inserted. And where a task that goes to sleep stays on its run queue for a while
 * (6.12 and later), the beginning of its delay may be noted for another task, and then it
 * is counted from the last one on: longer than the read took, whoever reads.
 */
static double run(struct job *j, int which, struct toll *toll)
{
	for (int i = 0; i < 12; i++) {
		double seconds = attempt(j, which, toll);

		if (toll->delays.blkio_ns > 1.1e9 * seconds)
			printf("stall: %s the kernel's delay is %.3f s, the read took %.3f s\n",
			       run_name(which), toll->delays.blkio_ns / 1e9, seconds);
		else if (j->thrash && toll->restored < LEN / PAGE / 2)
			printf("stall: %s only %llu pages came back as restored\n",
			       run_name(which), (unsigned long long)toll->restored);
		else
			return seconds;
	}
	die("stall: %s no attempt has delays that fit, or brings back what had been active",
	    run_name(which));
}

/* Clocks of different kinds: hence a tenth. */
static void check_one(const char *what, int which, uint64_t got, uint64_t least, uint64_t most)
{
	if (got < least - least / 10 || got > most + most / 10)
		die("stall: %s %s is %llu us; the read slept for %llu at least and took %llu",
		    run_name(which), what, (unsigned long long)got, (unsigned long long)least,
		    (unsigned long long)most);
}

static void check(const struct job *j, int which, const struct toll *t, double seconds)
{
	uint64_t took = seconds * 1e6;

	printf("stall: %s: %.3f s; block I/O %llu times, %.3f s; thrashing %llu times, %.3f s; pressure %.3f s, full %.3f s; %llu pages restored\n",
	       run_name(which), seconds, (unsigned long long)t->delays.blkio_count,
	       t->delays.blkio_ns / 1e9, (unsigned long long)t->delays.thrash_count,
	       t->delays.thrash_ns / 1e9, t->some / 1e6, t->full / 1e6,
	       (unsigned long long)t->restored);
	check_one("delay by block I/O", which, t->delays.blkio_ns / 1000, STALL_US, took);
	if (!t->delays.blkio_count)
		die("stall: %s no wait for block I/O was counted", run_name(which));
	if (j->thrash) {
		check_one("delay by thrashing", which, t->delays.thrash_ns / 1000, STALL_US, took);
		check_one("memory pressure (some)", which, t->some, STALL_US, took);
		check_one("memory pressure (full)", which, t->full, STALL_US, took);
		if (!t->delays.thrash_count)
			die("stall: %s no thrashing was counted", run_name(which));
	} else if (t->delays.thrash_count || t->some > STALL_US / 10) {
		die("stall: %s a first read was counted as thrashing %llu times, and as memory pressure for %llu us",
		    run_name(which), (unsigned long long)t->delays.thrash_count,
		    (unsigned long long)t->some);
	}
}

int cmd_stall(int argc, char **argv)
{
	struct job j = { .seed = 1 };
	const struct opt opts[] = {
		{ .name = "hot", .text = &j.hot },
		{ .name = "group", .text = &j.parent },
		{ .name = "stop", .text = &j.stop },
		{ .name = "go", .text = &j.go },
		{ .name = "seed", .size = &j.seed },
		{ .name = "thrash", .flag = &j.thrash },
	};

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1 || !j.hot || !j.parent ||
	    !j.stop || !j.go)
		die("usage: mread stall FILE --hot FILE --group DIR --stop COMMAND --go COMMAND [--thrash --seed N]");
	j.path = argv[0];
	j.fd = xopen(j.path, O_RDONLY);
	j.hot_fd = xopen(j.hot, O_RDONLY);
	mars_init(&j.m, j.fd);
	for (int which = NATIVE; which <= MARS; which++) {
		struct toll toll;
		double seconds = run(&j, which, &toll);

		check(&j, which, &toll, seconds);
	}
	return 0;
}
