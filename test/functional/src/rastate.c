// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread rastate FILE [--seed N]
 *
 * The state that a large cold read leaves to the small ones that follow it.
 *
 * Exactly: natively a large read with FADV_RANDOM brings in what was asked for and
 * nothing else, as MARS does with any advice. From there on both must go the same
 * way: after each of some sequential reads of 64 KiB the very same pages are
 * resident, and the disk was asked for the same number of sectors. This finds a
 * file_ra_state (or prev_pos) that MARS leaves otherwise than filemap_read(), a page
 * marked for read-ahead that should not be, a page too many and a page read twice.
 *
 * Roughly: a native large read without FADV_RANDOM has its own read-ahead under way
 * when it returns, so the small reads behind it find their window at another place
 * than behind MARS, which brings in nothing more. What must not differ is that there
 * is read-ahead at all, and how far it goes: from the second small read on the next
 * one is resident already, and the ends lie at most two windows apart (one for what
 * the native read had begun, one for the step of the window itself).
 */
#include "effect.h"
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#define OFF (9 * MIB + 5 * PAGE)
#define LEN (8 * MIB)
#define SMALL (64 * KIB)
#define STEPS 8

struct scene {
	const char *path;
	int fd;			/* of the observer */
	dev_t dev;
	uint64_t seed;
	struct mars m;
	/* The case: */
	int advice;		/* for the small reads, and through MARS for the large one */
	int large;		/* for the large one natively */
	bool history;		/* there were small reads elsewhere before */
	uint64_t odd;		/* bytes by which the large read ends within a page */
};

struct trail {
	struct view view[STEPS + 1];
	uint64_t sectors[STEPS + 1];
};

static const char *advice_name(int advice)
{
	switch (advice) {
	case POSIX_FADV_RANDOM:
		return "RANDOM";
	case POSIX_FADV_SEQUENTIAL:
		return "SEQUENTIAL";
	default:
		return "NORMAL";
	}
}

static void small_read(const struct scene *s, int fd, uint64_t off)
{
	static uint8_t buf[SMALL];

	if (pread(fd, buf, SMALL, off) != (ssize_t)SMALL)
		die("rastate: pread: %s", strerror(errno));
	data_verify("rastate", buf, off, SMALL, s->seed, LAYOUT_FULL);
}

static void look(const struct scene *s, struct trail *t, int step, uint64_t sectors)
{
	disk_settle(s->dev);
	view_take(&t->view[step], s->fd);
	t->sectors[step] = disk_sectors_read(s->dev) - sectors;
}

static void run(const struct scene *s, int which, struct trail *t)
{
	static uint8_t *buf;
	int fd = xopen(s->path, O_RDONLY);
	uint64_t before, resident, len = LEN - s->odd;
	struct counters counters;

	if (!buf)
		buf = xmmap(LEN);
	mars_enable(&s->m, which == MARS);
	cache_drop(s->fd);
	posix_fadvise(fd, 0, 0, s->advice);
	for (int i = 0; s->history && i < 4; i++)
		small_read(s, fd, i * SMALL);
	disk_settle(s->dev);
	resident = cache_resident(s->fd, 0, UINT64_MAX / 2);
	before = disk_sectors_read(s->dev);
	mars_read(&s->m, &counters);
	if (!mars_exact(&s->m, which))
		posix_fadvise(fd, 0, 0, s->large);
	if (pread(fd, buf, len, OFF) != (ssize_t)len)
		die("rastate: pread: %s", strerror(errno));
	posix_fadvise(fd, 0, 0, s->advice);
	data_verify("rastate", buf, OFF, len, s->seed, LAYOUT_FULL);
	mars_expect(&s->m, &counters, which == MARS, which == MARS ? len : 0, ANY, "rastate");
	look(s, t, 0, before);
	if ((mars_exact(&s->m, which) || s->large == POSIX_FADV_RANDOM) &&
	    (t->view[0].resident != resident + LEN || t->sectors[0] != LEN / 512))
		die("rastate: %s %llu bytes of pages became resident and %llu sectors were read for %llu bytes",
		    run_name(which), (unsigned long long)(t->view[0].resident - resident),
		    (unsigned long long)t->sectors[0], LEN);
	for (int i = 0; i < STEPS; i++) {
		small_read(s, fd, OFF + len + i * SMALL);
		look(s, t, i + 1, before);
	}
	close(fd);
}

static void exactly(const struct scene *s, const struct trail *t)
{
	for (int i = 0; i <= STEPS; i++) {
		const struct view *n = &t[NATIVE].view[i], *m = &t[MARS].view[i];

		if (n->resident == m->resident && n->hash == m->hash &&
		    t[NATIVE].sectors[i] == t[MARS].sectors[i])
			continue;
		die("rastate: %s%s, odd %llu: after %d small reads natively %llu bytes are resident up to %llu, %llu sectors read; with MARS %llu up to %llu, %llu sectors",
		    advice_name(s->advice), s->history ? ", after others" : "",
		    (unsigned long long)s->odd, i,
		    (unsigned long long)n->resident, (unsigned long long)n->end,
		    (unsigned long long)t[NATIVE].sectors[i],
		    (unsigned long long)m->resident, (unsigned long long)m->end,
		    (unsigned long long)t[MARS].sectors[i]);
	}
	/* Else there was nothing to compare. */
	if (s->advice != POSIX_FADV_RANDOM &&
	    t[NATIVE].view[STEPS].end <= OFF + LEN + STEPS * SMALL)
		die("rastate: %s: no read-ahead natively: this shows nothing",
		    advice_name(s->advice));
}

static uint64_t window(const struct scene *s)
{
	char path[128];
	unsigned int kib;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/queue/read_ahead_kb",
		 major(s->dev), minor(s->dev));
	f = fopen(path, "r");
	if (!f || fscanf(f, "%u", &kib) != 1 || !kib)
		die("%s: no read-ahead", path);
	fclose(f);
	return kib * KIB * (s->advice == POSIX_FADV_SEQUENTIAL ? 2 : 1);
}

static void roughly(const struct scene *s, const struct trail *t)
{
	uint64_t most = 2 * window(s);

	for (int i = 2; i <= STEPS; i++) {
		uint64_t n = t[NATIVE].view[i].end, m = t[MARS].view[i].end;
		uint64_t next = OFF + LEN - s->odd + (i + 1) * SMALL;

		if (n < next)
			die("rastate: %s: native read-ahead ends at %llu, before %llu: this shows nothing",
			    advice_name(s->advice), (unsigned long long)n,
			    (unsigned long long)next);
		if (m < next || m > n + most || n > m + most)
			die("rastate: %s: after %d small reads read-ahead is at %llu natively and at %llu with MARS; the next one ends at %llu",
			    advice_name(s->advice), i, (unsigned long long)n,
			    (unsigned long long)m, (unsigned long long)next);
	}
}

static void one_case(struct scene *s)
{
	struct trail t[2];

	run(s, NATIVE, &t[NATIVE]);
	run(s, MARS, &t[MARS]);
	if (s->large == POSIX_FADV_RANDOM)
		exactly(s, t);
	else
		roughly(s, t);
	printf("rastate: %s%s, odd %llu, large read natively with %s: end after each read, beyond the range:",
	       advice_name(s->advice), s->history ? ", after others" : "",
	       (unsigned long long)s->odd, advice_name(s->large));
	for (int i = 0; i <= STEPS; i++)
		printf(" %lld/%lld KiB", (long long)(t[NATIVE].view[i].end - OFF - LEN) / 1024,
		       (long long)(t[MARS].view[i].end - OFF - LEN) / 1024);
	printf("\n");
}

int cmd_rastate(int argc, char **argv)
{
	static const int advices[] = {
		POSIX_FADV_NORMAL, POSIX_FADV_RANDOM, POSIX_FADV_SEQUENTIAL,
	};
	struct scene s = { .seed = 1 };
	const struct opt opts[] = { { .name = "seed", .size = &s.seed } };

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1)
		die("usage: mread rastate FILE [--seed N]");
	s.path = argv[0];
	s.fd = observe(s.path, &s.dev, &s.m);
	/* So that the file system knows where the file lies, and reads nothing else. */
	for (uint64_t at = 0; at < file_size(s.fd); at += SMALL)
		small_read(&s, s.fd, at);
	for (unsigned int i = 0; i < ARRAY_SIZE(advices) * 4; i++) {
		s.advice = advices[i / 4];
		s.history = i & 1;
		s.odd = i & 2 ? 1000 : 0;
		s.large = POSIX_FADV_RANDOM;
		one_case(&s);
		s.large = s.advice;
		if (!s.history && s.advice != POSIX_FADV_RANDOM)
			one_case(&s);
	}
	return 0;
}
