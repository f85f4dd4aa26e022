// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread procio FILE [--seed N]
 *
 * /proc/PID/io of a reader, natively and through MARS, by every call, cold and warm.
 * All seven counters must rise by the same. Natively FADV_RANDOM keeps the reads to
 * what was asked for; MARS keeps to it by itself, so there it is not given.
 *
 * A read that is counted twice (by MARS and by a native piece of it), I/O that is
 * submitted by anybody but the reader, pages that are read beyond the range or twice:
 * each shows in one of the counters.
 */
#include "effect.h"

struct what {
	enum call how;
	bool warm;
	uint64_t off, len;
};

static void difference(struct proc_io *d, const struct proc_io *a, const struct proc_io *b)
{
	d->rchar = b->rchar - a->rchar;
	d->wchar = b->wchar - a->wchar;
	d->syscr = b->syscr - a->syscr;
	d->syscw = b->syscw - a->syscw;
	d->read_bytes = b->read_bytes - a->read_bytes;
	d->write_bytes = b->write_bytes - a->write_bytes;
	d->cancelled = b->cancelled - a->cancelled;
}

static void describe(const struct proc_io *d, char *text, size_t size)
{
	snprintf(text, size,
		 "rchar %llu wchar %llu syscr %llu syscw %llu read_bytes %llu write_bytes %llu cancelled %llu",
		 (unsigned long long)d->rchar, (unsigned long long)d->wchar,
		 (unsigned long long)d->syscr, (unsigned long long)d->syscw,
		 (unsigned long long)d->read_bytes, (unsigned long long)d->write_bytes,
		 (unsigned long long)d->cancelled);
}

static void one(struct reader *r, const struct mars *m, int fd, const struct what *w, int run,
		struct proc_io *d)
{
	struct order o = {
		.how = w->how, .off = w->off, .len = w->len,
		.advice = mars_exact(m, run) ? POSIX_FADV_NORMAL : POSIX_FADV_RANDOM,
	};
	struct proc_io before, after;
	struct counters counters;

	mars_enable(m, run == MARS);
	cache_drop(fd);
	if (w->warm)
		reader_do(r, &o);
	mars_read(m, &counters);
	proc_io(r->pid, &before);
	reader_do(r, &o);
	proc_io(r->pid, &after);
	mars_expect(m, &counters, run == MARS, run == MARS ? w->len : 0, ANY, "procio");
	difference(d, &before, &after);
}

static void compare(const struct what *w, const struct proc_io *d)
{
	uint64_t pages = (w->off % PAGE + w->len + PAGE - 1) / PAGE * PAGE;
	char native[256], mars[256];

	describe(&d[NATIVE], native, sizeof(native));
	describe(&d[MARS], mars, sizeof(mars));
	if (strcmp(native, mars))
		die("procio: %s of %llu bytes at %llu, %s: natively %s; with MARS %s",
		    call_names[w->how], (unsigned long long)w->len, (unsigned long long)w->off,
		    w->warm ? "warm" : "cold", native, mars);
	if (d[NATIVE].rchar != w->len || d[NATIVE].syscr != 1 ||
	    d[NATIVE].read_bytes != (w->warm ? 0 : pages))
		die("procio: %s of %llu bytes at %llu, %s: %s: this shows nothing",
		    call_names[w->how], (unsigned long long)w->len, (unsigned long long)w->off,
		    w->warm ? "warm" : "cold", native);
	printf("procio: %s, %s: %s\n", call_names[w->how], w->warm ? "warm" : "cold", native);
}

int cmd_procio(int argc, char **argv)
{
	static const struct { uint64_t off, len; } ranges[] = {
		{ 0, 4 * MIB }, { 5 * MIB + 3, 8 * MIB }, { 15 * MIB - 1, 1 * MIB + 4098 },
	};
	struct reader r = { .most = 16 * MIB, .seed = 1 };
	const struct opt opts[] = { { .name = "seed", .size = &r.seed } };
	struct proc_io d[2];
	struct mars m;
	int fd;

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1)
		die("usage: mread procio FILE [--seed N]");
	r.path[0] = argv[0];
	fd = xopen(argv[0], O_RDONLY);
	mars_init(&m, fd);
	mars_enable(&m, false);
	reader_start(&r);
	/* Once all of it: the file system knows then where it lies, and reads no more. */
	reader_do(&r, &(struct order){ .len = file_size(fd), .chunk = MIB });
	for (unsigned int i = 0; i < ARRAY_SIZE(ranges) * CALL_NR * 2; i++) {
		struct what w = {
			.how = i % CALL_NR, .warm = i / CALL_NR % 2,
			.off = ranges[i / CALL_NR / 2].off, .len = ranges[i / CALL_NR / 2].len,
		};

		one(&r, &m, fd, &w, NATIVE, &d[NATIVE]);
		one(&r, &m, fd, &w, MARS, &d[MARS]);
		compare(&w, d);
	}
	reader_stop(&r);
	return 0;
}
