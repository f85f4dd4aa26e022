// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread points FILE --how error|kill --spoil COMMAND --mend COMMAND
 *	[--points N --seed N --rng N --any | --off]
 *
 * One cold read of 64 MiB for each of N points: a page that cannot be read, or one
 * that does not come until the reader is killed. --spoil gets the page's sector as
 * its last word. Count, position and buffer must be as early_copy promises: nothing
 * behind what is returned, or behind the contiguous prefix of a read that was killed,
 * was touched; with --any it may have been, by the right bytes and never by those of
 * the page itself; with --off nothing at all need have been when the reader is killed.
 */
#include "mread.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define LEN (64 * MIB)
#define PATIENCE 120	/* seconds, for what takes one */

struct points {
	const char *path, *spoil, *mend;
	uint64_t seed;
	bool kill, any, off;
	int fd;
	uint8_t *buf;		/* shared with the reader that is killed */
	uint64_t point;
	/* Over all points: what a test would miss that shows nothing. */
	uint64_t below, above;	/* bytes copied, below and above the point */
};

static void run(const char *command, const char *word)
{
	char line[512];
	int status;

	snprintf(line, sizeof(line), "%s %s", command, word);
	status = system(line);
	if (status)
		die("points: '%s' ended with wait status %#x", line, status);
}

/* Is the page at @pos of the buffer as it was? Else it must be the file's. */
static bool untouched(const struct points *p, uint64_t pos)
{
	if (pat_check(p->buf + pos, pos, PAGE, CANARY) == PAGE)
		return true;
	data_verify("points", p->buf + pos, pos, PAGE, p->seed, LAYOUT_FULL);
	return false;
}

/* @end: no byte from there on may be touched; LEN if it is not known. */
static void check_buffer(struct points *p, uint64_t end)
{
	uint64_t prefix = LEN;

	for (uint64_t pos = 0; pos < LEN; pos += PAGE) {
		bool touched = !untouched(p, pos);

		if (!touched && prefix == LEN)
			prefix = pos;
		if (!touched)
			continue;
		if (pos == p->point)
			die("points: the page at %llu never came, and was copied",
			    (unsigned long long)pos);
		if (!p->any && (pos >= end || pos > prefix))
			die("points: point %llu: bytes at %llu were copied; the prefix ends at %llu",
			    (unsigned long long)p->point, (unsigned long long)pos,
			    (unsigned long long)min64(prefix, end));
		if (pos < p->point)
			p->below += PAGE;
		else
			p->above += PAGE;
	}
	if (end != LEN && prefix < end)
		die("points: point %llu: %llu bytes were returned, %llu copied",
		    (unsigned long long)p->point, (unsigned long long)end,
		    (unsigned long long)prefix);
}

/* A prefix that ends less than a folio of the default read-ahead below, then EIO. */
static void by_error(struct points *p)
{
	const uint64_t granule = 128 * KIB;
	uint64_t least = p->point / granule * granule;
	ssize_t n;

	if (lseek(p->fd, 0, SEEK_SET))
		die("lseek: %s", strerror(errno));
	n = read(p->fd, p->buf, LEN);
	if (n < 0 && (errno != EIO || least))
		die("points: point %llu: the read failed: %s", (unsigned long long)p->point,
		    strerror(errno));
	n = n < 0 ? 0 : n;
	if ((uint64_t)n > p->point || (uint64_t)n < least || n % PAGE)
		die("points: point %llu: the read returned %zd", (unsigned long long)p->point, n);
	if (lseek(p->fd, 0, SEEK_CUR) != n)
		die("points: point %llu: %zd returned, and the position is %lld",
		    (unsigned long long)p->point, n, (long long)lseek(p->fd, 0, SEEK_CUR));
	check_buffer(p, n);
	if (pread(p->fd, p->buf, PAGE, p->point) != -1 || errno != EIO)
		die("points: point %llu: a read of that page alone did not give EIO",
		    (unsigned long long)p->point);
}

static void reader(void *arg)
{
	struct points *p = arg;
	ssize_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	n = pread(p->fd, p->buf, LEN, 0);
	die("points: point %llu: the read returned %zd although a page never came",
	    (unsigned long long)p->point, n);
}

static void by_kill(struct points *p)
{
	double end = now_s() + PATIENCE;
	pid_t pid = spawn(reader, p);
	int status;

	while (!process_sleeps(pid)) {
		if (now_s() > end)
			die("points: point %llu: the reader does not sleep (state %c)",
			    (unsigned long long)p->point, process_state(pid));
		usleep(10000);
	}
	if (kill(pid, SIGKILL) || waitpid(pid, &status, 0) != pid)
		die("points: kill: %s", strerror(errno));
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		die("points: the reader ended with wait status %#x", status);
	check_buffer(p, LEN);
}

static void one_point(struct points *p)
{
	char sector[32];

	pat_fill(p->buf, 0, LEN, CANARY);
	cache_drop(p->fd);
	snprintf(sector, sizeof(sector), "%llu",
		 (unsigned long long)file_sector(p->fd, p->point));
	run(p->spoil, sector);
	if (p->kill)
		by_kill(p);
	else
		by_error(p);
	run(p->mend, "");
}

static void parse(struct points *p, int argc, char **argv, uint64_t *nr, uint64_t *rng)
{
	const char *how = "";
	const struct opt opts[] = {
		{ .name = "how", .text = &how },
		{ .name = "spoil", .text = &p->spoil },
		{ .name = "mend", .text = &p->mend },
		{ .name = "points", .size = nr },
		{ .name = "seed", .size = &p->seed },
		{ .name = "rng", .size = rng },
		{ .name = "any", .flag = &p->any },
		{ .name = "off", .flag = &p->off },
	};

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1 || !p->spoil || !p->mend ||
	    !*nr || (strcmp(how, "error") && strcmp(how, "kill")))
		die("usage: mread points FILE --how error|kill --spoil COMMAND --mend COMMAND [--points N --seed N --rng N --any | --off]");
	p->path = argv[0];
	p->kill = !strcmp(how, "kill");
}

int cmd_points(int argc, char **argv)
{
	struct points p = { .seed = 1 };
	uint64_t nr = 16, seed = 1, reads = 0;
	struct rng rng;
	struct mars m;

	parse(&p, argc, argv, &nr, &seed);
	rng.state = seed;
	p.fd = xopen(p.path, O_RDONLY);
	p.buf = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p.buf == MAP_FAILED || file_size(p.fd) < LEN)
		die("points: no memory, or %s is shorter than %llu", p.path, LEN);
	mars_init(&m, p.fd);
	if (m.dir[0])
		reads = mars_stat(&m, "bytes_submitted");
	/* The ends, and one at random in each part of the read. */
	for (uint64_t i = 0; i < nr; i++) {
		uint64_t part = LEN / PAGE / nr;

		p.point = (i * part + rng_below(&rng, part)) * PAGE;
		if (!i)
			p.point = 0;
		else if (i == nr - 1)
			p.point = LEN - PAGE;
		one_point(&p);
	}
	if (m.dir[0] && mars_stat(&m, "bytes_submitted") < reads + nr * MIB)
		die("points: MARS did not do the reads");
	if ((!p.below && !(p.off && p.kill)) || (m.dir[0] && p.any && p.kill && !p.above))
		die("points: %llu bytes copied below the points, %llu above: this shows nothing",
		    (unsigned long long)p.below, (unsigned long long)p.above);
	printf("points: %llu reads, %llu MiB copied below the page, %llu above\n",
	       (unsigned long long)nr, (unsigned long long)(p.below / MIB),
	       (unsigned long long)(p.above / MIB));
	return 0;
}
