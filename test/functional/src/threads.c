// SPDX-License-Identifier: GPL-2.0-only
/*
 * Readers that lose what they read into, or themselves, while others copy for
 * them: the buffer changed by another thread, exec, SIGKILL.
 */
#include "mread.h"
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

struct race {
	const char *path;
	uint64_t seed, len;
	uint8_t *buf;
	volatile int stop;
	volatile uint64_t changes;
};

/* One change of some pages; afterwards they are there again, zero or as before. */
static void disturb_once(struct race *r, struct rng *rng)
{
	uint64_t pages = 1 + rng_below(rng, 512);
	uint8_t *at = r->buf + rng_below(rng, r->len / PAGE - pages) * PAGE;
	size_t len = pages * PAGE;
	void *map = at;
	int err = 0;

	switch (rng_below(rng, 3)) {
	case 0:
		err = munmap(at, len);
		if (rng_below(rng, 2))
			usleep(rng_below(rng, 500));
		map = mmap(at, len, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		break;
	case 1:
		err = mprotect(at, len, PROT_READ);
		if (rng_below(rng, 2))
			usleep(rng_below(rng, 500));
		err = err ? err : mprotect(at, len, PROT_READ | PROT_WRITE);
		break;
	default:
		err = madvise(at, len, MADV_DONTNEED);
	}
	if (err || map != at)
		die("bufrace: changing the buffer: %s", strerror(errno));
}

static void *disturb(void *arg)
{
	struct race *r = arg;
	struct rng rng = { 4711 };

	while (!r->stop) {
		disturb_once(r, &rng);
		r->changes++;
		usleep(rng_below(&rng, 2000));
	}
	return NULL;
}

/* What another thread took away is zero; every other byte is the file's. */
static void verify_or_zero(const struct race *r, size_t len)
{
	size_t i = 0, zeros;

	for (;;) {
		i += pat_check(r->buf + i, i, len - i, r->seed);
		if (i == len)
			return;
		zeros = zero_check(r->buf + i, len - i);
		if (!zeros)
			data_verify("bufrace", r->buf + i, i, len - i, r->seed, LAYOUT_FULL);
		i += zeros;
	}
}

/*
 * mread bufrace FILE [--len S --count N --seed N]
 * Reads into a buffer whose pages another thread unmaps, protects and drops. A
 * read may then be short or fail with EFAULT; afterwards one is right again.
 */
int cmd_bufrace(int argc, char **argv)
{
	struct race r = { .seed = 1, .len = 32 * MIB };
	uint64_t count = 100, done = 0, cut = 0;
	const struct opt opts[] = {
		{ .name = "seed", .size = &r.seed },
		{ .name = "len", .size = &r.len },
		{ .name = "count", .size = &count },
	};
	pthread_t thread;
	ssize_t n;
	int fd;

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1 || r.len < 4 * MIB)
		die("usage: mread bufrace FILE [--len S --count N --seed N], S at least 4M");
	fd = xopen(argv[0], O_RDONLY);
	r.buf = xmmap(r.len);
	if (pthread_create(&thread, NULL, disturb, &r))
		die("bufrace: no second thread");
	for (; done < count || r.changes < count; done++) {
		n = pread(fd, r.buf, r.len, 0);
		if (n < 0 && errno != EFAULT)
			die("bufrace: pread: %s", strerror(errno));
		cut += n != (ssize_t)r.len;
	}
	r.stop = 1;
	pthread_join(thread, NULL);
	/* The pages that hold something hold the right thing. */
	verify_or_zero(&r, r.len);
	n = pread(fd, r.buf, r.len, 0);
	if (n != (ssize_t)r.len)
		die("bufrace: with nobody in the way the read returned %zd (%s)", n,
		    n < 0 ? strerror(errno) : "short");
	data_verify("bufrace", r.buf, 0, r.len, r.seed, LAYOUT_FULL);
	printf("bufrace: %llu reads, %llu of them cut short, %llu changes of the buffer\n",
	       (unsigned long long)done, (unsigned long long)cut,
	       (unsigned long long)r.changes);
	return 0;
}

static void *read_on(void *arg)
{
	struct race *r = arg;
	int fd = xopen(r->path, O_RDONLY);

	for (;;) {
		ssize_t n = pread(fd, r->buf, r->len, 0);

		if (n != (ssize_t)r->len)
			die("reader: pread returned %zd (%s)", n, n < 0 ? strerror(errno) : "short");
		r->changes++;
	}
	return NULL;
}

/* A thread reads, the other one calls exec; the new program reads right. */
static void exec_child(struct race *r, uint64_t delay)
{
	char seed[24], len[24];
	pthread_t thread;

	r->buf = xmmap(r->len);
	if (pthread_create(&thread, NULL, read_on, r))
		die("execrace: no second thread");
	while (!r->changes)
		usleep(100);
	usleep(delay);
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)r->seed);
	snprintf(len, sizeof(len), "%llu", (unsigned long long)r->len);
	execl("/proc/self/exe", "mread", "bigread", r->path, "--seed", seed, "--len", len, NULL);
	die("execrace: exec: %s", strerror(errno));
}

static void kill_child(struct race *r)
{
	r->buf = xmmap(r->len);
	read_on(r);
}

static pid_t start(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	return pid;
}

/* Within a minute, or the child hangs. */
static int end_of(pid_t pid, const char *who)
{
	int status, i;

	for (i = 0; i < 60000; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		usleep(1000);
	}
	die("%s: process %d does not end", who, pid);
}

static void parse_race(int argc, char **argv, struct race *r, uint64_t *count, const char *name)
{
	const struct opt opts[] = {
		{ .name = "seed", .size = &r->seed },
		{ .name = "len", .size = &r->len },
		{ .name = "count", .size = count },
	};

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1)
		die("usage: mread %s FILE [--len S --count N --seed N]", name);
	r->path = argv[0];
}

/* mread execrace FILE [--len S --count N --seed N]: exec while a thread reads */
int cmd_execrace(int argc, char **argv)
{
	struct race r = { .seed = 1, .len = 32 * MIB };
	struct rng rng = { 5 };
	uint64_t count = 10, i;
	int status;

	parse_race(argc, argv, &r, &count, "execrace");
	for (i = 0; i < count; i++) {
		pid_t pid = start();

		if (!pid)
			exec_child(&r, rng_below(&rng, 20000));
		status = end_of(pid, "execrace");
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			die("execrace: the program that replaced a reader failed (wait status %#x)",
			    status);
	}
	printf("execrace: %llu readers replaced\n", (unsigned long long)count);
	return 0;
}

/* mread killrace FILE [--len S --count N --seed N]: SIGKILL while it reads */
int cmd_killrace(int argc, char **argv)
{
	struct race r = { .seed = 1, .len = 32 * MIB };
	struct rng rng = { 6 };
	uint64_t count = 10, i;
	int status;

	parse_race(argc, argv, &r, &count, "killrace");
	for (i = 0; i < count; i++) {
		pid_t pid = start();

		if (!pid)
			kill_child(&r);
		usleep(rng_below(&rng, 50000));
		kill(pid, SIGKILL);
		status = end_of(pid, "killrace");
		if (!WIFSIGNALED(status))
			die("killrace: a reader ended by itself (wait status %#x)", status);
	}
	printf("killrace: %llu readers killed\n", (unsigned long long)count);
	return 0;
}
