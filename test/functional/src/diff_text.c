// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations in words, for whoever has to understand a difference.
 */
#include "diff.h"
#include <stdarg.h>

static const char * const bufs[BUF_NR] = {
	[BUF_REUSED] = "reused", [BUF_FRESH] = "fresh", [BUF_HUGE] = "fresh, huge pages",
	[BUF_SHMEM] = "shared memory", [BUF_UNMAPPED] = "unmapped", [BUF_RDONLY] = "read-only",
	[BUF_PRIVATE] = "private mapping of the file", [BUF_SHARED] = "shared mapping of the file",
};

struct name {
	int bit;
	const char *text;
};

static const struct name rwf[] = {
	{ 1, "HIPRI" }, { 2, "DSYNC" }, { 4, "SYNC" }, { 8, "NOWAIT" }, { 16, "APPEND" },
	{ 32, "NOAPPEND" }, { 64, "ATOMIC" }, { 128, "DONTCACHE" }, { 256, "NOSIGNAL" },
};

static const struct name opens[] = {
	{ O_WRONLY, "WRONLY" }, { O_RDWR, "RDWR" }, { O_APPEND, "APPEND" },
	{ O_NOATIME, "NOATIME" }, { O_DSYNC, "DSYNC" }, { O_SYNC & ~O_DSYNC, "SYNC" },
	{ O_DIRECT, "DIRECT" }, { O_NONBLOCK, "NONBLOCK" }, { O_TRUNC, "TRUNC" },
};

static const char * const advices[] = {
	[POSIX_FADV_NORMAL] = "normal", [POSIX_FADV_RANDOM] = "random",
	[POSIX_FADV_SEQUENTIAL] = "sequential", [POSIX_FADV_WILLNEED] = "willneed",
	[POSIX_FADV_DONTNEED] = "dontneed", [POSIX_FADV_NOREUSE] = "noreuse",
};

struct text {
	char s[400];
	size_t len;
};

static void add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct text *t, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(t->s + t->len, sizeof(t->s) - t->len, fmt, args);
	va_end(args);
	if (n > 0)
		t->len = min64(t->len + n, sizeof(t->s) - 1);
}

static void add_bits(struct text *t, int flags, const struct name *names, size_t nr)
{
	const char *sep = " ";

	for (size_t i = 0; i < nr; i++) {
		if (flags & names[i].bit) {
			add(t, "%s%s", sep, names[i].text);
			sep = "|";
		}
	}
}

static void add_buffer(struct text *t, const struct op *op)
{
	add(t, ", buffer %s +%u", bufs[op->buf], op->misalign);
	if (op->buf == BUF_UNMAPPED || op->buf == BUF_RDONLY)
		add(t, " at page %llu for %llu", (unsigned long long)op->bad_page,
		    (unsigned long long)op->bad_pages);
	if (op->buf == BUF_PRIVATE || op->buf == BUF_SHARED)
		add(t, " at %llu", (unsigned long long)op->map_off);
}

static void add_flags(struct text *t, const struct op *op)
{
	if (op_has(op, T_FLAGS))
		add_bits(t, op->flags, rwf, ARRAY_SIZE(rwf));
	else if (op->kind == OP_OPEN)
		add_bits(t, op->flags, opens, ARRAY_SIZE(opens));
	else if (op->kind == OP_FADVISE)
		add(t, " %s", advices[op->flags]);
	else if (op->kind == OP_LSEEK)
		add(t, " %s", op->flags == SEEK_SET ? "SET" : op->flags == SEEK_CUR ? "CUR" : "END");
	else if (op->kind == OP_MMAP_READ && op->flags)
		add(t, " populate");
	else if (op->kind == OP_MMAP_WRITE && op->flags)
		add(t, " msync");
	else if ((op->kind == OP_PREALLOC || op->kind == OP_ZERO) && op->flags)
		add(t, " keep size");
	else if (op->kind == OP_DROP_ALL)
		add(t, " %d", op->flags);
}

const char *op_text(const struct op *op)
{
	static struct text t;

	t.len = 0;
	add(&t, "#%u %s", op->index, diff_kinds[op->kind].name);
	add_flags(&t, op);
	if (op->kind == OP_OPEN || op->kind == OP_DROP_ALL) {
		add(&t, ", descriptor %u", op->slot);
		return t.s;
	}
	if (op->off == -1)
		add(&t, " at the position");
	else if (op->kind != OP_TRUNCATE)
		add(&t, " at %lld", (long long)op->off);
	if (op->kind != OP_LSEEK)
		add(&t, " len %llu", (unsigned long long)op->len);
	if (op->nr > 1)
		add(&t, " in %u%s %s", op->nr, op->overlap ? " overlapping" : "",
		    op_has(op, T_VECTOR) ? "iovecs" : "requests");
	if (op->punt && (op->kind >= OP_URING_READ && op->kind <= OP_URING_FIXED))
		add(&t, " async");
	if (op_has(op, T_BUFFER))
		add_buffer(&t, op);
	add(&t, ", descriptor %u", op->slot);
	if (op->atime_ahead)
		add(&t, ", atime ahead");
	return t.s;
}

const char *seq_text(const struct seq *seq)
{
	static struct text t;

	t.len = 0;
	add(&t, "seed %llu: file of %llu bytes%s%s, %u operations; %s",
	    (unsigned long long)seq->seed, (unsigned long long)seq->size,
	    seq->sparse ? ", sparse" : "", seq->cold ? ", cold" : "", seq->nr,
	    knobs_text(&seq->knobs));
	return t.s;
}
