// SPDX-License-Identifier: GPL-2.0-only
/*
 * io_uring and aio by their system calls.  A kernel without them fails here: the
 * tests must not pass because half of the reads were never made.
 */
#include "diff.h"
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <sys/syscall.h>

#define RING_ENTRIES 8

static struct {
	int fd;
	unsigned int *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
} ring;

static aio_context_t aio;

static void *ring_map(int fd, size_t len, uint64_t what)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);

	if (p == MAP_FAILED)
		die("diff: mapping an io_uring: %s", strerror(errno));
	return p;
}

static void ring_init(struct diff *d)
{
	struct io_uring_params params = { 0 };
	struct iovec arenas[2];
	uint8_t *sq, *cq;

	ring.fd = syscall(SYS_io_uring_setup, RING_ENTRIES, &params);
	if (ring.fd < 0)
		die("diff: io_uring_setup: %s; this test needs io_uring (sysctl kernel.io_uring_disabled)",
		    strerror(errno));
	sq = ring_map(ring.fd, params.sq_off.array + params.sq_entries * sizeof(unsigned int),
		      IORING_OFF_SQ_RING);
	cq = ring_map(ring.fd, params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe),
		      IORING_OFF_CQ_RING);
	ring.sqes = ring_map(ring.fd, params.sq_entries * sizeof(struct io_uring_sqe),
			     IORING_OFF_SQES);
	ring.sq_tail = (void *)(sq + params.sq_off.tail);
	ring.sq_mask = (void *)(sq + params.sq_off.ring_mask);
	ring.sq_array = (void *)(sq + params.sq_off.array);
	ring.cq_head = (void *)(cq + params.cq_off.head);
	ring.cq_tail = (void *)(cq + params.cq_off.tail);
	ring.cq_mask = (void *)(cq + params.cq_off.ring_mask);
	ring.cqes = (void *)(cq + params.cq_off.cqes);
	for (int i = 0; i < 2; i++)
		arenas[i] = (struct iovec){ d->side[i].arena, DIFF_CAP + PAGE + 2 * DIFF_GUARD };
	if (syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_BUFFERS, arenas, 2))
		die("diff: registering buffers with io_uring: %s", strerror(errno));
}

void async_init(struct diff *d)
{
	ring_init(d);
	if (syscall(SYS_io_setup, RING_ENTRIES, &aio))
		die("diff: io_setup: %s", strerror(errno));
}

static void fill_sqe(struct io_uring_sqe *sqe, const struct diff *d, const struct side *s,
		     const struct op *op, unsigned int nr)
{
	const struct piece *piece = &d->plan.piece[nr];
	const struct iovec *iov = &d->plan.iov[piece->first];

	memset(sqe, 0, sizeof(*sqe));
	sqe->fd = op_fd(s, op);
	sqe->off = op->off == -1 ? -1 : piece->off;
	sqe->rw_flags = op->flags;
	sqe->flags = op->punt ? IOSQE_ASYNC : 0;
	sqe->user_data = nr;
	if (op->kind == OP_URING_READV) {
		sqe->opcode = IORING_OP_READV;
		sqe->addr = (uintptr_t)iov;
		sqe->len = piece->nr;
		return;
	}
	sqe->opcode = op->kind == OP_URING_FIXED ? IORING_OP_READ_FIXED : IORING_OP_READ;
	/* An empty fixed read must name an address of its buffer too. */
	sqe->addr = (uintptr_t)(s->buf.p + d->plan.seg[piece->first].at);
	sqe->len = iov->iov_len;
	sqe->buf_index = op->kind == OP_URING_FIXED ? s->nr : 0;
}

static void reap_cqes(struct side *s, unsigned int nr)
{
	unsigned int head = *ring.cq_head;

	while (nr) {
		const struct io_uring_cqe *cqe;

		if (head == __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE)) {
			if (syscall(SYS_io_uring_enter, ring.fd, 0, 1, IORING_ENTER_GETEVENTS,
				    NULL, 0) < 0 && errno != EINTR)
				die("diff: waiting for io_uring: %s", strerror(errno));
			continue;
		}
		cqe = &ring.cqes[head & *ring.cq_mask];
		if (cqe->user_data >= DIFF_PIECES)
			die("diff: io_uring completed what nobody asked for");
		s->out.ret[cqe->user_data] = cqe->res;
		__atomic_store_n(ring.cq_head, ++head, __ATOMIC_RELEASE);
		nr--;
	}
}

void run_uring(struct diff *d, struct side *s, const struct op *op)
{
	unsigned int tail = *ring.sq_tail, nr = d->plan.nr_pieces, done = 0;

	for (unsigned int i = 0; i < nr; i++, tail++) {
		fill_sqe(&ring.sqes[tail & *ring.sq_mask], d, s, op, i);
		ring.sq_array[tail & *ring.sq_mask] = tail & *ring.sq_mask;
	}
	__atomic_store_n(ring.sq_tail, tail, __ATOMIC_RELEASE);
	/* A request that is refused at once ends a submission before the next. */
	while (done < nr) {
		int n = syscall(SYS_io_uring_enter, ring.fd, nr - done, 0, 0, NULL, 0);

		if (n <= 0)
			die("diff: io_uring_enter: %s", n ? strerror(errno) : "took nothing");
		done += n;
	}
	reap_cqes(s, nr);
}

static void fill_iocb(struct iocb *cb, const struct diff *d, const struct side *s,
		      const struct op *op, unsigned int nr)
{
	const struct piece *piece = &d->plan.piece[nr];
	const struct iovec *iov = &d->plan.iov[piece->first];

	memset(cb, 0, sizeof(*cb));
	cb->aio_data = nr;
	cb->aio_fildes = op_fd(s, op);
	cb->aio_offset = piece->off;
	cb->aio_rw_flags = op->flags;
	if (op->kind == OP_AIO_PREADV) {
		cb->aio_lio_opcode = IOCB_CMD_PREADV;
		cb->aio_buf = (uintptr_t)iov;
		cb->aio_nbytes = piece->nr;
	} else {
		cb->aio_lio_opcode = IOCB_CMD_PREAD;
		cb->aio_buf = (uintptr_t)iov->iov_base;
		cb->aio_nbytes = iov->iov_len;
	}
}

/* One call for all of them; after one that is refused, a call for the rest. */
void run_aio(struct diff *d, struct side *s, const struct op *op)
{
	struct iocb cb[DIFF_PIECES], *list[DIFF_PIECES];
	unsigned int nr = d->plan.nr_pieces, next = 0, flying = 0;
	struct io_event event;

	for (unsigned int i = 0; i < nr; i++) {
		fill_iocb(&cb[i], d, s, op, i);
		list[i] = &cb[i];
	}
	while (next < nr) {
		long n = syscall(SYS_io_submit, aio, nr - next, list + next);

		if (n < 0) {
			s->out.ret[next++] = -errno;
			continue;
		}
		next += n;
		flying += n;
	}
	while (flying) {
		long n = syscall(SYS_io_getevents, aio, 1, 1, &event, NULL);

		if (n < 0 && errno != EINTR)
			die("diff: io_getevents: %s", strerror(errno));
		if (n != 1)
			continue;
		if (event.data >= DIFF_PIECES)
			die("diff: aio completed what nobody asked for");
		s->out.ret[event.data] = event.res;
		flying--;
	}
}
