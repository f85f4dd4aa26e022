// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread vrace FILE [--change NAME] [--disturb NAME]
 *
 * Readers of a file that says of each block which generation it is, beside one
 * process that changes it and one that disturbs. No read may return what was
 * never there, what was overwritten before it began, or less than there was.
 */
#include "version.h"

#define SMALL (128 * KIB)	/* a native read among those of MARS */

struct job {
	struct vrace race;
	const struct changer *change, *disturb;
	uint64_t len, seconds, readers, fewest;
	bool whole, retries, keep;
	const char *then;	/* a command, once the file is there */
	struct mars mars;
	uint64_t reads_before, retries_before;
};

/* One read, checked. */
static void read_once(struct job *j, int fd, struct vview *v, uint8_t *buf)
{
	const struct vfile *f = &j->race.file;
	uint64_t off = rng_below(&j->race.rng, f->size), len = j->len, want;
	struct vshared *sh = f->sh;
	ssize_t n;

	if (rng_below(&j->race.rng, 3) == 0)
		off = off / (2 * MIB) * 2 * MIB;
	if (rng_below(&j->race.rng, 8) == 0)
		len = SMALL;
	vfile_before(f, v, off, len);
	n = pread(fd, buf, len, off);
	if (n < 0)
		die("vrace: pread of %llu at %llu: %s", (unsigned long long)len,
		    (unsigned long long)off, strerror(errno));
	vfile_after(f, v, off, len);
	want = f->size;
	if (v->size_seq % 2 || v->size_seq != __atomic_load_n(&sh->size_seq, __ATOMIC_SEQ_CST))
		want = sh->low;
	want = want > off ? min64(len, want - off) : 0;
	if (n < (ssize_t)want)
		die("vrace: a read of %llu at %llu returned %zd, there were %llu all the time",
		    (unsigned long long)len, (unsigned long long)off, n,
		    (unsigned long long)want);
	__atomic_add_fetch(&sh->torn, vfile_check(f, v, buf, off, n, j->whole), __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&sh->reads, 1, __ATOMIC_SEQ_CST);
}

static void reader(void *arg)
{
	struct job *j = arg;
	struct rng *rng = &j->race.rng;
	int fd = xopen(j->race.file.path, O_RDONLY);
	/* Aligned with the file, so that no word of it is torn by the copy alone. */
	uint8_t *map = xmmap(j->len + PAGE);
	struct vview v;

	vview_make(&v, j->len);
	while (!j->race.file.sh->stop) {
		/* XFS lets nobody write while somebody reads: let him in. */
		if (rng_below(rng, 2))
			usleep(rng_below(rng, 10000));
		if (!j->keep && rng_below(rng, 2))
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		read_once(j, fd, &v, map);
	}
}

/* Until the race is over, with @pause for those whom the change shuts out. */
static void keep_changing(struct job *j, const struct changer *c, uint64_t *count, bool pause)
{
	struct vrace *r = &j->race;

	changer_enter(r, c);
	while (!r->file.sh->stop) {
		c->change(r);
		__atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
		if (pause && rng_below(&r->rng, 2))
			usleep(rng_below(&r->rng, 3000));
	}
}

/* Room for the readers: some locks are not fair. */
static void changer(void *arg)
{
	struct job *j = arg;

	keep_changing(j, j->change, &j->race.file.sh->changes, true);
}

static void disturber(void *arg)
{
	struct job *j = arg;

	keep_changing(j, j->disturb, &j->race.file.sh->disturbances, false);
}

/* Folios of MARS that went away, or were in its way, since the race began. */
static uint64_t retries(const struct job *j)
{
	return j->mars.dir[0] ? mars_stat(&j->mars, "retries") - j->retries_before : 0;
}

static bool raced(const struct job *j)
{
	const struct vshared *sh = j->race.file.sh;

	if (j->mars.dir[0] && j->retries && !retries(j))
		return false;
	return sh->reads >= 10 && sh->overlapped >= 5 &&
	       (!j->change || sh->changes >= j->fewest) &&
	       (!j->disturb || sh->disturbances >= j->fewest);
}

static void report(const struct job *j)
{
	const struct vshared *sh = j->race.file.sh;
	struct counters now;
	uint64_t through;
	char what[64];

	mars_read(&j->mars, &now);
	through = now.v[C_READS] - j->reads_before;
	snprintf(what, sizeof(what), "vrace: %s%s%s", j->change ? j->change->name : "",
		 j->change && j->disturb ? " and " : "", j->disturb ? j->disturb->name : "");
	printf("%s: %llu reads (%llu through MARS, %llu with a change meanwhile), %llu changes, %llu disturbances, %llu torn blocks, %llu retries\n",
	       what, (unsigned long long)sh->reads, (unsigned long long)through,
	       (unsigned long long)sh->overlapped, (unsigned long long)sh->changes,
	       (unsigned long long)sh->disturbances, (unsigned long long)sh->torn,
	       (unsigned long long)retries(j));
	if (!raced(j))
		die("%s: too few to have raced%s", what,
		    j->retries ? ", or not one folio went away before it was copied" : "");
	if (j->mars.dir[0] && through < 5)
		die("%s: MARS did only %llu of the reads", what, (unsigned long long)through);
}

static void parse(struct job *j, int argc, char **argv)
{
	const char *change = NULL, *disturb = NULL;
	const struct opt opts[] = {
		{ .name = "change", .text = &change },
		{ .name = "disturb", .text = &disturb },
		{ .name = "mount", .text = &j->race.mount },
		{ .name = "then", .text = &j->then },
		{ .name = "seed", .size = &j->race.file.seed },
		{ .name = "size", .size = &j->race.file.size },
		{ .name = "len", .size = &j->len },
		{ .name = "seconds", .size = &j->seconds },
		{ .name = "readers", .size = &j->readers },
		{ .name = "fewest", .size = &j->fewest },
		{ .name = "whole", .flag = &j->whole },
		{ .name = "retries", .flag = &j->retries },
		{ .name = "keep", .flag = &j->keep },
	};

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1 || j->readers > 8 ||
	    (!change && !disturb))
		die("usage: mread vrace FILE [--change NAME] [--disturb NAME --mount DIR] [--then COMMAND] [--size S --len S --seconds N --readers N --fewest N --whole --retries --keep]");
	j->race.file.path = argv[0];
	j->change = change ? changer_find(change) : NULL;
	j->disturb = disturb ? disturber_find(disturb) : NULL;
}

static void run(struct job *j)
{
	struct vshared *sh = j->race.file.sh;
	pid_t pid[10];
	int n = 0;

	for (; n < (int)j->readers; n++) {
		j->race.rng.state = j->race.file.seed * 100 + n;
		pid[n] = spawn(reader, j);
	}
	j->race.rng.state += 1000;
	if (j->change)
		pid[n++] = spawn(changer, j);
	if (j->disturb)
		pid[n++] = spawn(disturber, j);
	/* On a machine that others use too it may take longer to mean something. */
	for (uint64_t t = 0; t < j->seconds || (!raced(j) && t < 10 * j->seconds); t++)
		sleep(1);
	sh->stop = 1;
	for (int i = 0; i < n; i++)
		reap(pid[i], i < (int)j->readers ? "a reader" : "a process beside the readers");
}

int cmd_vrace(int argc, char **argv)
{
	struct job j = {
		.race.file = { .seed = 1, .size = 48 * MIB },
		.len = 16 * MIB, .seconds = 8, .readers = 2, .fewest = 10,
	};
	struct counters before;

	parse(&j, argc, argv);
	vfile_make(&j.race.file);
	if (j.then && system(j.then))
		die("vrace: '%s' failed", j.then);
	mars_init(&j.mars, xopen(j.race.file.path, O_RDONLY));
	mars_read(&j.mars, &before);
	j.reads_before = before.v[C_READS];
	j.retries_before = retries(&j);
	run(&j);
	report(&j);
	return 0;
}
