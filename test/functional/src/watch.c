// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread watch FILE --mode access|perm|pre [--seed N]
 *
 * What somebody who watches a file with fanotify learns of its reads, and may forbid,
 * natively and through MARS. Both belong to the VFS, above the hook:
 *
 * access: a FAN_ACCESS for each read that returned bytes, none for others. (Two alike in
 *	a row are one to fanotify.)
 * perm: one FAN_ACCESS_PERM before each read, however many pieces of it MARS leaves to
 *	the native path; forbidden, it is EPERM, not a byte of the buffer is touched,
 *	nothing becomes resident and MARS counts no read.
 * pre: the same with FAN_PRE_ACCESS, which also tells the range and chooses the errno.
 */
#include "effect.h"
#include <sys/fanotify.h>

#ifndef FAN_PRE_ACCESS	/* Linux 6.14 */
#define FAN_PRE_ACCESS 0x00100000
#endif
#ifndef FAN_EVENT_INFO_TYPE_RANGE
#define FAN_EVENT_INFO_TYPE_RANGE 6
struct fanotify_event_info_range {
	struct fanotify_event_info_header hdr;
	uint32_t pad;
	uint64_t offset;
	uint64_t count;
};
#endif

#define LEN (4 * MIB)

enum mode { MODE_ACCESS, MODE_PERM, MODE_PRE };

static const struct kind {
	const char *name;
	unsigned int class, flags;
	uint64_t mask;
} kinds[] = {
	[MODE_ACCESS] = { "access", FAN_CLASS_NOTIF, FAN_NONBLOCK, FAN_ACCESS },
	[MODE_PERM] = { "perm", FAN_CLASS_CONTENT, 0, FAN_ACCESS_PERM },
	[MODE_PRE] = { "pre", FAN_CLASS_PRE_CONTENT, 0, FAN_PRE_ACCESS },
};

/* What was seen of one read; in memory that the responder shares. */
struct seen {
	unsigned int events, strange;	/* strange: of another process or kind */
	uint64_t off, count;		/* of the last that told them */
};

struct watch {
	const char *path;
	int fd;			/* opened when the watch was there already */
	int observer;		/* opened before, for the cache */
	int group;		/* of fanotify */
	pid_t reader;
	enum mode mode;
	uint64_t seed;
	uint8_t *buf, *none;
	struct seen *seen;
	volatile int *forbid;	/* 0, or the errno */
	struct mars m;
};

struct trial {
	const char *name;
	enum call how;
	uint64_t off, len;
	bool warm, bad, forbidden;
};

struct result {
	ssize_t ret;
	int err;
	struct seen seen;
	uint64_t resident;
};

static void note_range(struct seen *s, const struct fanotify_event_metadata *e)
{
	const char *at = (const char *)e + e->metadata_len, *end = (const char *)e + e->event_len;

	while (at + sizeof(struct fanotify_event_info_header) <= end) {
		const struct fanotify_event_info_header *h = (const void *)at;

		if (!h->len)
			break;
		if (h->info_type == FAN_EVENT_INFO_TYPE_RANGE) {
			const struct fanotify_event_info_range *r = (const void *)at;

			s->off = r->offset;
			s->count = r->count;
		}
		at += h->len;
	}
}

/* Noted before it is answered: the reader goes on then, and looks. */
static void take_event(struct watch *w, const struct fanotify_event_metadata *e)
{
	struct fanotify_response answer = { .fd = e->fd, .response = FAN_ALLOW };
	int forbid = *w->forbid;

	w->seen->events++;
	if (e->pid != w->reader || e->mask != kinds[w->mode].mask)
		w->seen->strange++;
	note_range(w->seen, e);
	__sync_synchronize();
	if (forbid)
		answer.response = FAN_DENY;
	if (forbid && w->mode == MODE_PRE)
		answer.response |= (uint32_t)forbid << 24;
	if (w->mode != MODE_ACCESS && write(w->group, &answer, sizeof(answer)) != sizeof(answer))
		die("watch: answering: %s", strerror(errno));
	close(e->fd);
}

/* False when there is none now. */
static bool take_events(struct watch *w)
{
	char text[8192] __attribute__((aligned(8)));
	ssize_t n = read(w->group, text, sizeof(text)), left = n;
	struct fanotify_event_metadata *e = (void *)text;

	if (n < 0 && errno != EAGAIN)
		die("watch: reading events: %s", strerror(errno));
	for (; left > 0 && FAN_EVENT_OK(e, left); e = FAN_EVENT_NEXT(e, left))
		take_event(w, e);
	return n > 0;
}

/* Whoever asks waits for the answer, so this is another process. */
static void responder(void *arg)
{
	while (take_events(arg))
		;
	die("watch: no more events");
}

static void seen_take(struct watch *w, struct seen *s)
{
	while (w->mode == MODE_ACCESS && take_events(w))
		;
	*s = *w->seen;
	memset(w->seen, 0, sizeof(*s));
}

static void begin(struct watch *w)
{
	const struct kind *k = &kinds[w->mode];
	void *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	w->buf = xmmap(LEN);
	w->none = mmap(NULL, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || w->none == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	w->seen = shared;
	w->forbid = (int *)(w->seen + 1);
	w->reader = getpid();
	w->observer = xopen(w->path, O_RDONLY);
	w->group = fanotify_init(k->class | k->flags | FAN_CLOEXEC, O_RDONLY | O_LARGEFILE);
	if (w->group < 0)
		die("watch: fanotify_init(%s): %s", k->name, strerror(errno));
	if (fanotify_mark(w->group, FAN_MARK_ADD, k->mask, AT_FDCWD, w->path)) {
		if (errno != EINVAL || w->mode == MODE_ACCESS)
			die("watch: fanotify_mark(%s): %s", k->name, strerror(errno));
		printf("watch: this kernel has no such event as '%s'\n", k->name);
		exit(77);	/* skipped, see guest.sh */
	}
	if (w->mode != MODE_ACCESS) {
		spawn(responder, w);
		/* The last to have it open: should the responder end, nobody waits for it. */
		close(w->group);
	}
	w->fd = xopen(w->path, O_RDONLY);
}

static void one(struct watch *w, const struct trial *t, int run, struct result *r)
{
	uint64_t left = file_size(w->observer) - min64(t->off, file_size(w->observer));
	bool mars = run == MARS && min64(t->len, left) >= MIB && !t->forbidden;
	struct counters counters;
	struct seen stale;

	mars_enable(&w->m, run == MARS);
	cache_drop(w->observer);
	/* Nothing but the range is to be warm. */
	posix_fadvise(w->fd, 0, 0, POSIX_FADV_RANDOM);
	if (t->warm && pread(w->fd, w->buf, t->len, t->off) < 0)
		die("watch: pread: %s", strerror(errno));
	pat_fill(w->buf, 0, LEN, CANARY);
	posix_fadvise(w->fd, 0, 0, mars_exact(&w->m, run) ? POSIX_FADV_NORMAL : POSIX_FADV_RANDOM);
	seen_take(w, &stale);
	mars_read(&w->m, &counters);
	if (t->forbidden)
		*w->forbid = w->mode == MODE_PRE ? EIO : EPERM;
	r->ret = call_read(t->how, w->fd, t->bad ? w->none : w->buf, t->off, t->len);
	r->err = r->ret < 0 ? errno : 0;
	*w->forbid = 0;
	seen_take(w, &r->seen);
	/* How much is brought in for a buffer that takes nothing is nobody's promise. */
	r->resident = t->bad ? 0 : cache_resident(w->observer, 0, UINT64_MAX / 2);
	mars_expect(&w->m, &counters, mars, mars && r->ret > 0 ? r->ret : 0, ANY, t->name);
	if (r->ret > 0)
		data_verify(t->name, w->buf, t->off, r->ret, w->seed, LAYOUT_FULL);
	else if (pat_check(w->buf, 0, LEN, CANARY) != LEN)
		die("watch: %s: %s the read failed, and its buffer was written to", t->name,
		    run_name(run));
}

static void expect(const struct watch *w, const struct trial *t, const struct result *r)
{
	bool some = w->mode != MODE_ACCESS || r->ret > 0;
	int err = t->forbidden ? w->mode == MODE_PRE ? EIO : EPERM : t->bad ? EFAULT : 0;

	if (r->err != err || r->seen.events != some || r->seen.strange)
		die("watch: %s, %s: natively errno %d, %u events, %u of them strange; expected %d, %u: this test is wrong about the kernel",
		    kinds[w->mode].name, t->name, r->err, r->seen.events, r->seen.strange,
		    err, some);
	if (t->forbidden && r->resident)
		die("watch: %s: a read that was forbidden left %llu bytes in memory", t->name,
		    (unsigned long long)r->resident);
	/* It tells of whole pages. */
	if (w->mode == MODE_PRE && (r->seen.off != t->off / PAGE * PAGE ||
				    r->seen.off + r->seen.count < t->off + t->len ||
				    r->seen.off + r->seen.count >= t->off + t->len + PAGE))
		die("watch: %s: natively the event tells of %llu bytes at %llu", t->name,
		    (unsigned long long)r->seen.count, (unsigned long long)r->seen.off);
}

static void compare(const struct watch *w, const struct trial *t, const struct result *r)
{
	char text[2][256];

	for (int i = NATIVE; i <= MARS; i++)
		snprintf(text[i], sizeof(text[i]),
			 "ret %zd errno %d, %u events (%u strange) of %llu bytes at %llu, resident %llu",
			 r[i].ret, r[i].err, r[i].seen.events, r[i].seen.strange,
			 (unsigned long long)r[i].seen.count, (unsigned long long)r[i].seen.off,
			 (unsigned long long)r[i].resident);
	if (strcmp(text[NATIVE], text[MARS]))
		die("watch: %s, %s by %s%s: natively %s; with MARS %s", kinds[w->mode].name,
		    t->name, call_names[t->how], t->warm ? ", warm" : "", text[NATIVE], text[MARS]);
	expect(w, t, &r[NATIVE]);
	printf("watch: %s, %s by %s%s: %s\n", kinds[w->mode].name, t->name, call_names[t->how],
	       t->warm ? ", warm" : "", text[NATIVE]);
}

static void both(struct watch *w, const struct trial *t)
{
	struct result r[2];

	if (t->forbidden && w->mode == MODE_ACCESS)
		return;
	one(w, t, NATIVE, &r[NATIVE]);
	one(w, t, MARS, &r[MARS]);
	compare(w, t, r);
}

static void every_call(struct watch *w)
{
	struct trial large = { .name = "a large read", .off = 3 * MIB + 7, .len = LEN };
	struct trial small = { .name = "a small read", .off = 5000, .len = 64 * KIB };
	struct trial forbidden = {
		.name = "a read forbidden", .off = 2 * MIB, .len = LEN, .forbidden = true,
	};

	for (int i = 0; i < CALL_NR * 2; i++) {
		large.how = i % CALL_NR;
		small.how = i % CALL_NR;
		forbidden.how = i % CALL_NR;
		large.warm = i / CALL_NR;
		small.warm = i / CALL_NR;
		both(w, &large);
		both(w, &small);
		if (!large.warm)
			both(w, &forbidden);
	}
}

int cmd_watch(int argc, char **argv)
{
	const char *mode = "";
	struct watch w = { .seed = 1, .mode = MODE_ACCESS };
	const struct opt opts[] = {
		{ .name = "mode", .text = &mode },
		{ .name = "seed", .size = &w.seed },
	};
	struct trial t = { .how = CALL_PREAD, .len = LEN };
	uint64_t end;

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1)
		die("usage: mread watch FILE --mode access|perm|pre [--seed N]");
	while (strcmp(kinds[w.mode].name, mode)) {
		if (++w.mode == ARRAY_SIZE(kinds))
			die("watch: --mode is access, perm or pre, not '%s'", mode);
	}
	w.path = argv[0];
	begin(&w);
	mars_init(&w.m, w.observer);
	every_call(&w);
	end = file_size(w.observer);
	t.name = "a read across the end";
	t.off = end - 2 * MIB;
	both(&w, &t);
	t.name = "a read at the end";
	t.off = end;
	both(&w, &t);
	t.name = "no buffer";
	t.off = MIB;
	t.bad = true;
	both(&w, &t);
	return 0;
}
