// SPDX-License-Identifier: GPL-2.0-only
/*
 * The plain read calls.  Their flags and offsets go to the kernel as they are.
 */
#include "diff.h"
#include <sys/syscall.h>

/* As the kernel has it, with flags that the C library would refuse. */
static ssize_t preadv2_raw(int fd, const struct iovec *iov, int nr, int64_t off, int flags)
{
	return syscall(SYS_preadv2, fd, iov, nr, off, 0, flags);
}

void run_read(struct diff *d, struct side *s, const struct op *op)
{
	const struct iovec *iov = d->plan.iov;
	int fd = op_fd(s, op);
	ssize_t n;

	switch (op->kind) {
	case OP_READ:
		n = read(fd, s->buf.p, op->len);
		break;
	case OP_PREAD:
		n = pread(fd, s->buf.p, op->len, op->off);
		break;
	case OP_READV:
		n = readv(fd, iov, op->nr);
		break;
	case OP_PREADV:
		n = syscall(SYS_preadv, fd, iov, op->nr, op->off, 0);
		break;
	default:
		n = preadv2_raw(fd, iov, op->nr, op->off, op->flags);
		break;
	}
	s->out.ret[0] = n < 0 ? -errno : n;
}

/* A shared mapping of the file was the buffer: its content is the file's now. */
void apply_read(struct diff *d, const struct op *op, int64_t ret)
{
	const struct dbuf *b = &d->side[0].buf;

	(void)op;
	(void)ret;
	if (b->kind != BUF_SHARED)
		return;
	for (unsigned int i = 0; i < d->plan.nr_pieces; i++) {
		const struct piece *piece = &d->plan.piece[i];
		uint64_t left = d->side[0].out.ret[i] > 0 ? d->side[0].out.ret[i] : 0;
		int64_t off = piece->off;

		for (unsigned int k = piece->first; k < piece->first + piece->nr && left; k++) {
			const struct seg *seg = &d->plan.seg[k];
			uint64_t n = min64(seg->len, left);

			memcpy(d->model + b->file_off + seg->at, d->model + off, n);
			off += n;
			left -= n;
		}
	}
}
