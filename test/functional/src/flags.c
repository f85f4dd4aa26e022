// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread flags FILE [--seed N]: reads that are none of MARS's business.
 * NOWAIT, HIPRI, DONTCACHE, O_DIRECT, sendfile and splice must work as if MARS
 * were not there, and must not be counted as its reads.
 */
#include "mread.h"
#include <sys/sendfile.h>

#define LEN (8 * MIB)

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x80
#endif

static void not_mars(const struct mars *m, const struct counters *before,
		     const char *what)
{
	struct counters now;

	mars_read(m, &now);
	if (now.v[C_READS] != before->v[C_READS])
		die("flags: a read with %s was counted as a read of MARS", what);
}

static void nowait(int fd, const struct mars *m, uint8_t *buf, uint64_t seed)
{
	struct iovec iov = { buf, LEN };
	struct counters before;
	ssize_t n;

	cache_drop(fd);
	mars_read(m, &before);
	n = preadv2(fd, &iov, 1, 0, RWF_NOWAIT);
	/* A disk that answers at once makes even this one succeed. */
	if (n < 0 && errno != EAGAIN)
		die("flags: a cold read with RWF_NOWAIT failed: %s", strerror(errno));
	data_verify("flags: cold NOWAIT", buf, 0, n > 0 ? n : 0, seed, LAYOUT_FULL);
	not_mars(m, &before, "RWF_NOWAIT");
	if (pread(fd, buf, LEN, 0) != (ssize_t)LEN)
		die("flags: pread: %s", strerror(errno));
	mars_read(m, &before);
	n = preadv2(fd, &iov, 1, 0, RWF_NOWAIT);
	if (n != LEN)
		die("flags: a warm read with RWF_NOWAIT returned %zd (%s)", n,
		    n < 0 ? strerror(errno) : "short");
	data_verify("flags: NOWAIT", buf, 0, LEN, seed, LAYOUT_FULL);
	not_mars(m, &before, "RWF_NOWAIT");
}

/* A flag that the kernel or file system does not know is refused by it. */
static void with_flag(int fd, const struct mars *m, uint8_t *buf, uint64_t seed,
		      int flag, const char *what)
{
	struct iovec iov = { buf, LEN };
	struct counters before;
	ssize_t n;

	cache_drop(fd);
	mars_read(m, &before);
	n = preadv2(fd, &iov, 1, 0, flag);
	if (n < 0 && (errno == EOPNOTSUPP || errno == EINVAL)) {
		printf("flags: this kernel refuses %s\n", what);
		return;
	}
	if (n != LEN)
		die("flags: a read with %s returned %zd (%s)", what, n,
		    n < 0 ? strerror(errno) : "short");
	data_verify(what, buf, 0, LEN, seed, LAYOUT_FULL);
	not_mars(m, &before, what);
}

static void direct(const char *path, const struct mars *m, uint8_t *buf, uint64_t seed)
{
	struct counters before;
	int fd = xopen(path, O_RDONLY | O_DIRECT);

	mars_read(m, &before);
	if (pread(fd, buf, LEN, 0) != (ssize_t)LEN)
		die("flags: O_DIRECT: %s", strerror(errno));
	data_verify("flags: O_DIRECT", buf, 0, LEN, seed, LAYOUT_FULL);
	not_mars(m, &before, "O_DIRECT");
	close(fd);
}

static void send_file(int fd, const struct mars *m, uint8_t *buf, uint64_t seed)
{
	struct counters before;
	off_t off = 0;
	int out;

	out = memfd_create("mread", MFD_CLOEXEC);
	if (out < 0)
		die("flags: memfd_create: %s", strerror(errno));
	cache_drop(fd);
	mars_read(m, &before);
	while (off < (off_t)LEN) {
		ssize_t n = sendfile(out, fd, &off, LEN - off);

		if (n <= 0)
			die("flags: sendfile at %lld returned %zd (%s)",
			    (long long)off, n, strerror(errno));
	}
	not_mars(m, &before, "sendfile");
	if (pread(out, buf, LEN, 0) != (ssize_t)LEN)
		die("flags: reading back what sendfile sent: %s", strerror(errno));
	data_verify("flags: sendfile", buf, 0, LEN, seed, LAYOUT_FULL);
	close(out);
}

int cmd_flags(int argc, char **argv)
{
	uint64_t seed = 1;
	const struct opt opts[] = { { .name = "seed", .size = &seed } };
	struct mars mars;
	uint8_t *buf;
	int fd;

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1)
		die("usage: mread flags FILE [--seed N]");
	fd = xopen(argv[0], O_RDONLY);
	mars_init(&mars, fd);
	buf = xmmap(LEN);
	nowait(fd, &mars, buf, seed);
	with_flag(fd, &mars, buf, seed, RWF_HIPRI, "RWF_HIPRI");
	with_flag(fd, &mars, buf, seed, RWF_DONTCACHE, "RWF_DONTCACHE");
	direct(argv[0], &mars, buf, seed);
	send_file(fd, &mars, buf, seed);
	printf("flags: NOWAIT, HIPRI, DONTCACHE, O_DIRECT, sendfile untouched\n");
	return 0;
}
