// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads that do not name a buffer: splice, sendfile, copy_file_range, mmap.  What
 * they moved is fetched from where it went into the side's buffer, and judged
 * there.  How much one call moves may depend on what is cached; what all of them
 * together move may not.
 */
#include "diff.h"
#include <sys/sendfile.h>

static int pipe_fd[2] = { -1, -1 };
static int memory_fd = -1;

static void open_pipe(void)
{
	if (pipe_fd[0] >= 0)
		return;
	if (pipe2(pipe_fd, O_CLOEXEC) || fcntl(pipe_fd[1], F_SETPIPE_SZ, (int)MIB) < 0)
		die("diff: making a pipe of 1 MiB: %s", strerror(errno));
}

static void fetch_pipe(uint8_t *to, size_t len)
{
	while (len) {
		ssize_t n = read(pipe_fd[0], to, len);

		if (n <= 0)
			die("diff: reading from the pipe: %s", n ? strerror(errno) : "empty");
		to += n;
		len -= n;
	}
}

/* From a file that is read with calls too small for MARS at its default. */
static void fetch_file(int fd, uint8_t *to, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = pread(fd, to + at, min64(len - at, 256 * KIB), at);

		if (n <= 0)
			die("diff: reading back what was sent: %s", n ? strerror(errno) : "too short");
		at += n;
	}
}

/* An error after the first bytes shows in the next call's result, as with read(). */
static void note(struct side *s, uint64_t done, ssize_t n)
{
	s->out.ret[0] = done ? (int64_t)done : n < 0 ? -errno : 0;
}

void run_splice(struct diff *d, struct side *s, const struct op *op)
{
	loff_t off = op->off;
	uint64_t done = 0;
	ssize_t n = 0;

	(void)d;
	open_pipe();
	while (done < op->len) {
		n = splice(op_fd(s, op), op->off == -1 ? NULL : &off, pipe_fd[1], NULL,
			   op->len - done, 0);
		if (n <= 0)
			break;
		fetch_pipe(s->buf.p + done, n);
		done += n;
	}
	note(s, done, n);
}

void run_sendfile(struct diff *d, struct side *s, const struct op *op)
{
	off_t off = op->off;
	uint64_t done = 0;
	ssize_t n = 0;

	(void)d;
	if (memory_fd < 0)
		memory_fd = memfd_create("mread-diff", MFD_CLOEXEC);
	if (memory_fd < 0 || lseek(memory_fd, 0, SEEK_SET) || ftruncate(memory_fd, 0))
		die("diff: a file in memory: %s", strerror(errno));
	while (done < op->len) {
		n = sendfile(memory_fd, op_fd(s, op), op->off == -1 ? NULL : &off, op->len - done);
		if (n <= 0)
			break;
		done += n;
	}
	note(s, done, n);
	fetch_file(memory_fd, s->buf.p, done);
}

/* May share blocks with the copy instead; later writes then have to part them. */
void run_copy_range(struct diff *d, struct side *s, const struct op *op)
{
	loff_t off = op->off, to = 0;
	uint64_t done = 0;
	ssize_t n = 0;

	(void)d;
	if (ftruncate(s->copy_fd, 0))
		die("diff: %s: %s", s->copy, strerror(errno));
	while (done < op->len) {
		n = copy_file_range(op_fd(s, op), op->off == -1 ? NULL : &off, s->copy_fd, &to,
				    op->len - done, 0);
		if (n <= 0)
			break;
		done += n;
	}
	note(s, done, n);
	fetch_file(s->copy_fd, s->buf.p, done);
}

void run_mmap_read(struct diff *d, struct side *s, const struct op *op)
{
	uint64_t skip = op->off > 0 ? op->off % PAGE : 0;
	uint64_t n = piece_expect(d, &d->plan.piece[0]);
	uint8_t *map;

	map = mmap(NULL, skip + op->len + PAGE, PROT_READ, MAP_SHARED | op->flags, op_fd(s, op),
		   op->off - skip);
	if (map == MAP_FAILED) {
		s->out.ret[0] = -errno;
		return;
	}
	memcpy(s->buf.p, map + skip, n);
	s->out.ret[0] = n;
	munmap(map, skip + op->len + PAGE);
}
