// SPDX-License-Identifier: GPL-2.0-only
/*
 * Readers against somebody who changes the file: what a read returns must be
 * data that were in the file, never zeros that were not.
 */
#include "mread.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

struct race {
	struct shared *sh;
	const char *path;
	uint64_t seed, size, low, read_len, rng;
	bool holes;		/* zeros are legal: the file is punched */
	bool stream;		/* a read begins where the last one ended */
};

struct shared *shared_make(void)
{
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return p;
}

pid_t spawn(void (*fn)(void *arg), void *arg)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fn(arg);
	fflush(stdout);
	_exit(0);
}

void reap(pid_t pid, const char *who)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		die("waitpid: %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		die("%s failed (wait status %#x)", who, status);
}

/* The state in /proc/PID/stat, as R, S, D, T or Z; 0 when there is no such process. */
char process_state(pid_t pid)
{
	char path[64], text[512] = "", *at;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	at = strrchr(text, ')');
	return at && at[1] ? at[2] : 0;
}

/* Without interruption. Three times in a row: it may do so for something else between. */
bool process_sleeps(pid_t pid)
{
	for (int i = 0; i < 3; i++) {
		if (i)
			usleep(15000);
		if (process_state(pid) != 'D')
			return false;
	}
	return true;
}

static void write_pattern(int fd, uint64_t off, uint64_t len, uint64_t seed)
{
	static uint8_t buf[256 * KIB];

	while (len) {
		size_t n = min64(len, sizeof(buf));

		pat_fill(buf, off, n, seed);
		if (pwrite(fd, buf, n, off) != (ssize_t)n)
			die("race: writing at %llu: %s", (unsigned long long)off,
			    strerror(errno));
		off += n;
		len -= n;
	}
}

/*
 * With holes, any byte may be zero: a page can be punched while it is copied.
 * Everything else, stale data or another file's, is still wrong.
 */
static void verify_or_zero(const uint8_t *buf, uint64_t off, size_t len,
			   const struct race *r)
{
	size_t i = 0, zeros;

	for (;;) {
		i += pat_check(buf + i, off + i, len - i, r->seed);
		if (i == len)
			return;
		zeros = r->holes ? zero_check(buf + i, len - i) : 0;
		if (!zeros)
			data_verify("race: reader", buf + i, off + i, len - i,
				    r->seed, LAYOUT_FULL);
		i += zeros;
	}
}

static void reader(void *arg)
{
	struct race *r = arg;
	struct rng rng = { r->rng };
	int fd = xopen(r->path, O_RDONLY);
	uint8_t *buf = xmmap(r->read_len);
	uint64_t next = 0;

	while (!r->sh->stop) {
		uint64_t off = rng_below(&rng, r->size);
		ssize_t n;

		/* XFS lets nobody write while somebody reads: let him in. */
		if (rng_below(&rng, 2))
			usleep(rng_below(&rng, 20000));
		if (rng_below(&rng, 4) == 0)
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		if (rng_below(&rng, 2))
			off = 0;
		if (r->stream)
			off = next;
		n = pread(fd, buf, r->read_len, off);
		if (n < 0)
			die("race: pread of %llu at %llu: %s",
			    (unsigned long long)r->read_len,
			    (unsigned long long)off, strerror(errno));
		if (n < (ssize_t)r->read_len && off + n < r->sh->low)
			die("race: a read at %llu stopped after %zd bytes, although the file was never smaller than %llu",
			    (unsigned long long)off, n, (unsigned long long)r->sh->low);
		verify_or_zero(buf, off, n, r);
		next = n < (ssize_t)r->read_len ? 0 : off + n;
		__sync_fetch_and_add(&r->sh->reads, 1);
	}
}

/*
 * Cuts at multiples of 2 MiB only: a page or large folio that the new end cuts
 * through is zeroed behind it, and a native reader may see that too.
 */
static void truncater(void *arg)
{
	struct race *r = arg;
	struct rng rng = { r->rng + 99 };
	int fd = xopen(r->path, O_RDWR);

	while (!r->sh->stop) {
		uint64_t step = rng_below(&rng, (r->size - r->low) / (2 * MIB));
		uint64_t cut = r->low + step * 2 * MIB;

		if (ftruncate(fd, cut))
			die("race: ftruncate: %s", strerror(errno));
		if (rng_below(&rng, 2))
			usleep(rng_below(&rng, 20000));
		write_pattern(fd, cut, r->size - cut, r->seed);
		if (rng_below(&rng, 3) == 0)
			fdatasync(fd);
		r->sh->changes++;
	}
}

/* Grows by odd steps, from nothing to size and again. */
static void appender(void *arg)
{
	struct race *r = arg;
	struct rng rng = { r->rng + 7 };
	int fd = xopen(r->path, O_RDWR);
	uint64_t at = 0;

	while (!r->sh->stop) {
		uint64_t n = rng_log(&rng, 1, 256 * KIB);

		if (at + n > r->size) {
			if (ftruncate(fd, 0))
				die("race: ftruncate: %s", strerror(errno));
			at = 0;
		}
		write_pattern(fd, at, n, r->seed);
		at += n;
		r->sh->changes++;
	}
}

static void puncher(void *arg)
{
	struct race *r = arg;
	struct rng rng = { r->rng + 5 };
	int fd = xopen(r->path, O_RDWR);

	while (!r->sh->stop) {
		uint64_t len = (1 + rng_below(&rng, 64)) * 64 * KIB;
		uint64_t off = rng_below(&rng, (r->size - len) / PAGE) * PAGE;

		if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off, len))
			die("race: punch: %s", strerror(errno));
		write_pattern(fd, off, len, r->seed);
		r->sh->changes++;
	}
}

static bool raced(const struct race *r)
{
	return r->sh->reads >= 10 && r->sh->changes >= 4;
}

/* Raced, and with MARS: there is something to report. */
static bool enough(const struct race *r, const struct mars *m, const struct counters *before)
{
	struct counters now;

	mars_read(m, &now);
	return raced(r) && (!m->dir[0] || now.v[C_READS] >= before->v[C_READS] + 5);
}

static void report(const char *name, const struct race *r, const struct mars *m,
		   uint64_t through)
{
	unsigned long long reads = r->sh->reads, changes = r->sh->changes;

	if (!raced(r))
		die("%s: %llu reads and %llu changes are too few to have raced",
		    name, reads, changes);
	if (m->dir[0] && through < 5)
		die("%s: MARS did only %llu of %llu reads", name,
		    (unsigned long long)through, reads);
	printf("%s: %llu reads (%llu through MARS), %llu changes, all data right\n",
	       name, reads, (unsigned long long)through, changes);
}

static void prepare(struct race *r, struct mars *m, bool empty)
{
	int fd = xopen(r->path, O_RDWR | O_CREAT | O_TRUNC);

	if (!empty)
		write_pattern(fd, 0, r->size, r->seed);
	mars_init(m, fd);
	close(fd);
	r->sh = shared_make();
	r->sh->low = r->low;
}

static int run_race(int argc, char **argv, void (*changer)(void *arg),
		    const char *name, bool holes)
{
	uint64_t seconds = 10, readers = 2;
	struct race r = { .seed = 1, .size = 48 * MIB, .read_len = 24 * MIB,
			  .holes = holes };
	const struct opt opts[] = {
		{ .name = "seed", .size = &r.seed },
		{ .name = "size", .size = &r.size },
		{ .name = "low", .size = &r.low },
		{ .name = "len", .size = &r.read_len },
		{ .name = "seconds", .size = &seconds },
		{ .name = "readers", .size = &readers },
		{ .name = "stream", .flag = &r.stream },
	};
	struct counters before, after;
	struct mars mars;
	pid_t pid[17];

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1 || readers > 16)
		die("usage: mread %s FILE [--size S --low S --len S --seconds N --readers N --stream]",
		    name);
	r.path = argv[0];
	prepare(&r, &mars, changer == appender);
	mars_read(&mars, &before);
	for (uint64_t i = 0; i < readers; i++) {
		r.rng = i;
		pid[i] = spawn(reader, &r);
	}
	pid[readers] = spawn(changer, &r);
	/* On a machine that others use too it may take longer to mean something. */
	for (uint64_t t = 0; t < seconds || (!enough(&r, &mars, &before) && t < 30 * seconds); t++)
		sleep(1);
	r.sh->stop = 1;
	for (uint64_t i = 0; i <= readers; i++)
		reap(pid[i], i < readers ? "a reader" : "the process that changes the file");
	mars_read(&mars, &after);
	report(name, &r, &mars, after.v[C_READS] - before.v[C_READS]);
	return 0;
}

/* mread truncrace FILE: a file truncated and grown again while it is read */
int cmd_truncrace(int argc, char **argv)
{
	return run_race(argc, argv, truncater, "truncrace", false);
}

/* mread appendrace FILE: a file appended to while it is read; never a zero */
int cmd_appendrace(int argc, char **argv)
{
	return run_race(argc, argv, appender, "appendrace", false);
}

/* mread punchrace FILE: holes punched and filled again; pattern or zero, no more */
int cmd_punchrace(int argc, char **argv)
{
	return run_race(argc, argv, puncher, "punchrace", true);
}
