// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations that change the file, the page cache, the position or a descriptor,
 * and what those of the first kind do to the model.
 */
#include "diff.h"
#include <linux/falloc.h>
#include <sys/syscall.h>

static void result(struct side *s, int64_t ret)
{
	s->out.ret[0] = ret < 0 ? -errno : ret;
}

/* What is written is a piece of the pool, so no two writes are alike. */
static const uint8_t *write_data(const struct diff *d, const struct op *op)
{
	return d->pool + op->rnd % (DIFF_POOL - op->len);
}

int64_t write_off(const struct diff *d, const struct side *s, const struct op *op)
{
	if (s->open_flags[op->slot] & O_APPEND || op->kind == OP_APPEND)
		return d->size;
	return op->off == -1 ? s->out.begin : op->off;
}

void run_write(struct diff *d, struct side *s, const struct op *op)
{
	struct iovec iov = { (void *)write_data(d, op), op->len };
	int64_t off = write_off(d, s, op);
	int fd = op_fd(s, op);

	if (off + op->len > DIFF_CAP) {
		s->out.skipped = true;
		return;
	}
	if (op->kind == OP_WRITE)
		result(s, write(fd, iov.iov_base, op->len));
	else if (op->kind == OP_PWRITE)
		result(s, pwrite(fd, iov.iov_base, op->len, op->off));
	else
		result(s, syscall(SYS_pwritev2, fd, &iov, 1, op->off, 0, RWF_APPEND));
}

static void model_grow(struct diff *d, uint64_t size)
{
	if (size <= d->size)
		return;
	memset(d->model + d->size, 0, size - d->size);
	d->size = size;
}

/* @ret of OP_MMAP_WRITE is less than len where the file ended. */
void apply_write(struct diff *d, const struct op *op, int64_t ret)
{
	int64_t off = op->kind == OP_MMAP_WRITE ? op->off : write_off(d, &d->side[0], op);

	if (ret <= 0)
		return;
	model_grow(d, off + ret);
	memcpy(d->model + off, write_data(d, op), ret);
}

void run_mmap_write(struct diff *d, struct side *s, const struct op *op)
{
	uint64_t skip = op->off % PAGE, n;
	uint8_t *map;

	n = (uint64_t)op->off < d->size ? min64(op->len, d->size - op->off) : 0;
	map = mmap(NULL, skip + op->len + PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, op_fd(s, op),
		   op->off - skip);
	if (map == MAP_FAILED) {
		s->out.ret[0] = -errno;
		return;
	}
	memcpy(map + skip, write_data(d, op), n);
	if (op->flags && msync(map, skip + n, MS_SYNC))
		die("diff: msync of %s: %s", s->path, strerror(errno));
	munmap(map, skip + op->len + PAGE);
	s->out.ret[0] = n;
}

void run_truncate(struct diff *d, struct side *s, const struct op *op)
{
	(void)d;
	s->out.skipped = op->len > DIFF_CAP;
	if (!s->out.skipped)
		result(s, ftruncate(op_fd(s, op), op->len));
}

void apply_truncate(struct diff *d, const struct op *op, int64_t ret)
{
	if (ret)
		return;
	model_grow(d, op->len);
	d->size = op->len;
}

int falloc_mode(const struct op *op)
{
	switch (op->kind) {
	case OP_PUNCH:
		return FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	case OP_ZERO:
		return FALLOC_FL_ZERO_RANGE | op->flags;
	case OP_COLLAPSE:
		return FALLOC_FL_COLLAPSE_RANGE;
	case OP_INSERT:
		return FALLOC_FL_INSERT_RANGE;
	default:
		return op->flags;
	}
}

void run_fallocate(struct diff *d, struct side *s, const struct op *op)
{
	uint64_t end = op->kind == OP_INSERT ? d->size + op->len : op->off + op->len;

	s->out.skipped = end > DIFF_CAP && op->kind != OP_PUNCH && op->kind != OP_COLLAPSE;
	if (!s->out.skipped)
		result(s, fallocate(op_fd(s, op), falloc_mode(op), op->off, op->len));
}

void apply_fallocate(struct diff *d, const struct op *op, int64_t ret)
{
	uint64_t off = op->off, end = off + op->len;

	if (ret)
		return;
	if (op->kind == OP_COLLAPSE) {
		memmove(d->model + off, d->model + end, d->size - end);
		d->size -= op->len;
		return;
	}
	if (op->kind == OP_INSERT) {
		memmove(d->model + end, d->model + off, d->size - off);
		memset(d->model + off, 0, op->len);
		d->size += op->len;
		return;
	}
	if (op->kind != OP_PREALLOC && off < d->size)
		memset(d->model + off, 0, min64(op->len, d->size - off));
	if (!(falloc_mode(op) & FALLOC_FL_KEEP_SIZE))
		model_grow(d, end);
}

/* The whole system's cache: once for both, when both are on their disks. */
static void drop_all(struct diff *d, struct side *s, const struct op *op)
{
	int fd;

	if (!s->nr)
		return;
	if (syncfs(d->side[0].ctl) || syncfs(d->side[1].ctl))
		die("diff: syncfs: %s", strerror(errno));
	fd = xopen("/proc/sys/vm/drop_caches", O_WRONLY);
	if (write(fd, op->flags == 1 ? "1" : op->flags == 2 ? "2" : "3", 1) != 1)
		die("diff: drop_caches: %s", strerror(errno));
	close(fd);
}

void run_cache(struct diff *d, struct side *s, const struct op *op)
{
	int fd = op_fd(s, op), err = 0;

	switch (op->kind) {
	case OP_FADVISE:
		err = posix_fadvise(fd, op->off, op->len, op->flags);
		break;
	case OP_READAHEAD:
		err = readahead(fd, op->off, op->len) < 0 ? errno : 0;
		break;
	case OP_SYNC:
		err = fdatasync(fd) ? errno : 0;
		break;
	case OP_DROP_FILE:
		err = fdatasync(s->ctl) ? errno :
		      posix_fadvise(s->ctl, op->off, op->len, POSIX_FADV_DONTNEED);
		break;
	default:
		drop_all(d, s, op);
		break;
	}
	s->out.ret[0] = -err;
}

void run_lseek(struct diff *d, struct side *s, const struct op *op)
{
	(void)d;
	result(s, lseek(op_fd(s, op), op->off, op->flags));
}

void run_open(struct diff *d, struct side *s, const struct op *op)
{
	int fd = open(s->path, op->flags | O_CLOEXEC);

	(void)d;
	s->out.ret[0] = fd < 0 ? -errno : 0;
	if (fd < 0)
		return;
	close(s->fd[op->slot]);
	s->fd[op->slot] = fd;
	s->open_flags[op->slot] = op->flags & ~O_TRUNC;
	s->out.begin = 0;
}

void apply_open(struct diff *d, const struct op *op, int64_t ret)
{
	if (!ret && op->flags & O_TRUNC)
		d->size = 0;
}
