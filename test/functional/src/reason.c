// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread reason FILE --name REASON [--seed N]
 * One read that MARS leaves to the native path for that reason: it is right, it is
 * counted there, and it is not counted as a read of MARS.
 */
#include "mread.h"
#include <sys/syscall.h>

#define LEN (2 * MIB)

struct args {
	int fd;
	const char *path;
	uint8_t *buf;
};

struct reason {
	const char *name;
	ssize_t (*read)(struct args *a);	/* bytes of LEN in the buffer */
};

static ssize_t read_small(struct args *a)
{
	return pread(a->fd, a->buf, PAGE, 0);
}

static ssize_t read_plain(struct args *a)
{
	return pread(a->fd, a->buf, LEN, 0);
}

static ssize_t read_nowait(struct args *a)
{
	struct iovec iov = { a->buf, LEN };

	/* Into the page cache first, by small reads. */
	for (uint64_t at = 0; at < LEN; at += 64 * KIB) {
		if (pread(a->fd, a->buf, 64 * KIB, at) != (ssize_t)(64 * KIB))
			die("reason: pread: %s", strerror(errno));
	}
	return preadv2(a->fd, &iov, 1, 0, RWF_NOWAIT);
}

/* The kernel itself reads the file, into its own memory, and finds no module. */
static ssize_t read_module(struct args *a)
{
	if (!syscall(SYS_finit_module, a->fd, "", 0) || errno != ENOEXEC)
		die("reason: finit_module of %s: %s, expected ENOEXEC", a->path, strerror(errno));
	return 0;
}

/* By a module of the tests, which reads where nobody may enter a file system. */
static ssize_t read_context(struct args *a)
{
	struct {
		uint64_t fd, buf, len, pos;
	} request = { a->fd, (uintptr_t)a->buf, LEN, 0 };
	int fd = xopen("/dev/mars_test_context", O_WRONLY);
	ssize_t n = write(fd, &request, sizeof(request));

	if (n < 0)
		die("reason: /dev/mars_test_context: %s", strerror(errno));
	close(fd);
	return n;
}

static const struct reason reasons[] = {
	{ "small", read_small },
	{ "flags", read_nowait },
	{ "iter", read_module },
	{ "context", read_context },
	{ "file", read_plain },
	{ "nomem", read_plain },
};

static void check(const struct mars *m, const struct reason *r, uint64_t count,
		  const struct counters *before)
{
	struct counters now;
	char name[64];

	if (!m->dir[0])
		return;
	snprintf(name, sizeof(name), "native_%s", r->name);
	if (mars_stat(m, name) == count)
		die("reason: %s did not rise", name);
	mars_read(m, &now);
	if (now.v[C_READS] != before->v[C_READS])
		die("reason: a read left native for '%s' was counted as one of MARS", r->name);
}

int cmd_reason(int argc, char **argv)
{
	const char *name = NULL;
	const struct reason *r = NULL;
	uint64_t seed = 1, count = 0;
	const struct opt opts[] = {
		{ .name = "name", .text = &name },
		{ .name = "seed", .size = &seed },
	};
	struct counters before;
	struct mars mars;
	struct args a;
	char stat[64];
	ssize_t n;

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1 || !name)
		die("usage: mread reason FILE --name REASON [--seed N]");
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (!strcmp(name, reasons[i].name))
			r = &reasons[i];
	}
	if (!r)
		die("reason: '%s' cannot be provoked here", name);
	a.path = argv[0];
	a.fd = xopen(a.path, O_RDONLY);
	a.buf = xmmap(LEN);
	mars_init(&mars, a.fd);
	snprintf(stat, sizeof(stat), "native_%s", name);
	if (mars.dir[0])
		count = mars_stat(&mars, stat);
	mars_read(&mars, &before);
	n = r->read(&a);
	if (n < 0)
		die("reason: the read failed: %s", strerror(errno));
	data_verify("reason", a.buf, 0, n, seed, LAYOUT_FULL);
	check(&mars, r, count, &before);
	printf("reason: %s, %zd bytes right\n", name, n);
	return 0;
}
