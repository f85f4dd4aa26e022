// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread ahead FILE --case NAME --disk MAJ:MIN [--seed N --chunk S ...]
 *
 * Streams, and what is no stream: which pages are there before anybody has asked
 * for them, and what the disk was read for. Every byte is verified.
 */
#include "effect.h"
#include <sys/sysmacros.h>

/* What the file system may read besides: less than the shortest lookahead. */
#define METADATA_SLACK (48 * KIB)
#define SMALL (64 * KIB)

struct stream {
	const char *path, *kind, *command;
	int fd;
	dev_t disk;
	uint64_t seed, size, chunk, pos, most, extra, bad;
	uint64_t sectors, ahead, continued, missed;	/* when it began */
	bool off;
	uint8_t *buf;
	struct mars m;
};

static uint64_t stat_of(const struct stream *s, const char *name)
{
	return s->m.dir[0] ? mars_stat(&s->m, name) : 0;
}

static uint64_t ahead(const struct stream *s)
{
	return stat_of(s, "bytes_ahead") - s->ahead;
}

static void begin(struct stream *s)
{
	disk_settle(s->disk);
	s->sectors = disk_sectors_read(s->disk);
	s->ahead = stat_of(s, "bytes_ahead");
	s->continued = stat_of(s, "reads_continued");
	s->missed = stat_of(s, "bytes_missed");
}

static uint64_t disk_bytes(const struct stream *s)
{
	disk_settle(s->disk);
	return (disk_sectors_read(s->disk) - s->sectors) * 512;
}

/* Exactly these bytes were read from the disk. */
static void expect_disk(const struct stream *s, uint64_t bytes)
{
	uint64_t read = disk_bytes(s);

	if (read < bytes || read > bytes + s->extra + METADATA_SLACK)
		die("ahead: %s: the disk was read for %llu bytes, expected %llu", s->kind,
		    (unsigned long long)read, (unsigned long long)bytes);
}

/* A read at the stream's position; whole, and right. */
static void take(struct stream *s, uint64_t len)
{
	uint64_t want = min64(len, s->size - s->pos);
	ssize_t n = pread(s->fd, s->buf, len, s->pos);

	if (n != (ssize_t)want)
		die("ahead: %s: a read of %llu bytes at %llu returned %zd (%s)", s->kind,
		    (unsigned long long)len, (unsigned long long)s->pos, n,
		    n < 0 ? strerror(errno) : "short");
	data_verify(s->kind, s->buf, s->pos, n, s->seed, LAYOUT_FULL);
	s->pos += n;
}

static void take_to(struct stream *s, uint64_t end, uint64_t len)
{
	end = min64(end, s->size);
	while (s->pos < end)
		take(s, min64(len, end - s->pos));
}

/* Where what is there without a gap from the position on ends. */
static uint64_t there(const struct stream *s)
{
	uint64_t at = s->pos / PAGE * PAGE;

	disk_settle(s->disk);
	while (at < s->size && cache_resident(s->fd, at, MIB) == min64(MIB, s->size - at))
		at += MIB;
	while (at < s->size && cache_resident(s->fd, at, PAGE))
		at += PAGE;
	return min64(at, s->size);
}

/*
 * The whole file as a stream: from the third read on the next range is there, or on its
 * way, when it is asked for; and the disk is read for the file, once.
 */
static void case_stream(struct stream *s)
{
	uint64_t early, late, reads = (s->size + s->chunk - 1) / s->chunk;

	take_to(s, 2 * s->chunk, s->chunk);
	early = stat_of(s, "bytes_missed");
	take_to(s, s->size, s->chunk);
	late = stat_of(s, "bytes_missed") - early;
	expect_disk(s, s->size);
	if (!s->m.dir[0] || s->extra)
		return;
	if (late > s->size / 16)
		die("ahead: stream: %llu of %llu bytes were neither there nor on their way",
		    (unsigned long long)late, (unsigned long long)(s->size - 2 * s->chunk));
	if (stat_of(s, "reads_continued") - s->continued != reads - 1)
		die("ahead: stream: reads_continued rose by %llu for %llu reads in a row",
		    (unsigned long long)(stat_of(s, "reads_continued") - s->continued),
		    (unsigned long long)reads);
}

/* In a row, but not to be looked ahead for: FADV_RANDOM, or the knob says so. */
static void case_alone(struct stream *s)
{
	take_to(s, s->size / 2 / s->chunk * s->chunk, s->chunk);
	expect_disk(s, s->pos);
	if (ahead(s))
		die("ahead: alone: %llu bytes were brought in ahead", (unsigned long long)ahead(s));
}

/*
 * What is no stream: a first read, at the beginning of the file too; one that begins a
 * page behind the end of the last one, or a byte before it; anywhere.
 */
static void case_random(struct stream *s)
{
	uint64_t slots = s->size / (2 * s->chunk), asked = 0;
	struct rng rng = { s->seed };

	for (uint64_t i = 0; i < slots; i++) {
		/* All of them, in an order that goes up and down; a gap behind each. */
		uint64_t slot = i % 2 ? slots - 1 - i / 2 : i / 2;
		uint64_t len = s->chunk / 2 + rng_below(&rng, s->chunk / PAGE / 2) * PAGE;

		s->pos = slot * 2 * s->chunk;
		take(s, len);
		asked += len;
		if (rng_below(&rng, 2)) {
			s->pos += PAGE;
			take(s, s->chunk / 2);
			asked += s->chunk / 2;
		}
		/* The page that it begins in is there, that it ends in is one more. */
		s->pos -= 1;
		take(s, s->chunk / 4);
		asked += s->chunk / 4;
	}
	expect_disk(s, asked);
	if (ahead(s) || stat_of(s, "reads_continued") != s->continued)
		die("ahead: random: %llu reads passed for continued, %llu bytes were brought in ahead",
		    (unsigned long long)(stat_of(s, "reads_continued") - s->continued),
		    (unsigned long long)ahead(s));
}

/* FADV_SEQUENTIAL is believed from the first read on, wherever it is; not after a jump. */
static void case_first(struct stream *s)
{
	posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	s->pos = 2 * s->chunk;
	take(s, s->chunk);
	if (s->m.dir[0] && there(s) < s->pos + s->chunk / 2)
		die("ahead: first: after the first read only %llu bytes more are there",
		    (unsigned long long)(there(s) - s->pos));
	begin(s);
	s->pos = s->size / 2 + PAGE;
	take(s, s->chunk);
	if (ahead(s))
		die("ahead: first: a read after a jump looked ahead");
}

/* What a read looks ahead is bounded. */
static void case_bound(struct stream *s)
{
	uint64_t end, greatest = 0;

	while (s->pos + s->chunk < s->size) {
		take(s, s->chunk);
		end = there(s);
		if (end > s->pos + s->most)
			die("ahead: bound: %llu bytes are there behind a read, %llu are allowed",
			    (unsigned long long)(end - s->pos), (unsigned long long)s->most);
		if (end > s->pos + greatest)
			greatest = end - s->pos;
	}
	take(s, s->chunk);
	if (s->m.dir[0] && greatest < min64(s->most, s->size / 4) / 2)
		die("ahead: bound: at most %llu bytes were there behind a read, of %llu",
		    (unsigned long long)greatest, (unsigned long long)s->most);
	expect_disk(s, s->size);
}

/* Large and small reads in turn, as one stream. */
static void case_mixed(struct stream *s)
{
	struct rng rng = { s->seed };

	while (s->pos < s->size) {
		uint64_t large = s->pos + (1 + rng_below(&rng, 4)) * s->chunk;

		take_to(s, large, s->chunk);
		take_to(s, s->pos + (1 + rng_below(&rng, 60)) * SMALL, SMALL);
	}
	expect_disk(s, s->size);
	if (s->m.dir[0] && !ahead(s))
		die("ahead: mixed: nothing was brought in ahead");
}

/*
 * Small reads after large ones, with --off by a mount that was switched off: native
 * read-ahead goes on from what is there, before the reader has come to its end.
 */
static void case_handover(struct stream *s)
{
	uint64_t end;

	for (int round = 0; round < 3; round++) {
		mars_enable(&s->m, true);
		take_to(s, s->pos + 4 * s->chunk, s->chunk);
		if (s->off)
			mars_enable(&s->m, false);
		end = there(s);
		if (end == s->size)
			break;
		if (end == s->pos)
			die("ahead: handover: nothing is there behind a stream");
		take_to(s, end, SMALL);
		if (there(s) == end)
			die("ahead: handover: small reads came to the end of what was there, %llu, and nothing was under way",
			    (unsigned long long)end);
		/* Into what they brought in themselves. */
		take_to(s, end + 5 * SMALL, SMALL);
	}
	if (s->off)
		take_to(s, s->size, s->chunk);
	mars_enable(&s->m, true);
	take_to(s, s->size, s->chunk);
	expect_disk(s, s->size);
}

/* Several read one open file: each the next piece that nobody has taken yet. */
static void case_shared(struct stream *s)
{
	struct shared *sh = shared_make();
	pid_t pid[4];

	fflush(stdout);
	for (size_t i = 0; i < ARRAY_SIZE(pid); i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		while ((s->pos = s->chunk * __sync_fetch_and_add(&sh->reads, 1)) < s->size)
			take(s, s->chunk);
		_exit(0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(pid); i++)
		reap(pid[i], "a reader");
	expect_disk(s, s->size);
}

/* Gone with its lookahead under way: for scripts that take the file system away. */
static void case_leave(struct stream *s)
{
	take_to(s, 4 * s->chunk, s->chunk);
	if (s->m.dir[0] && !ahead(s))
		die("ahead: leave: nothing was brought in ahead");
}

/*
 * The block at --bad cannot be read. Reads that end before it do not notice, although
 * they have looked ahead of it. With --command the disk is well when it is asked for.
 */
static void case_failed(struct stream *s)
{
	const uint64_t granule = 128 * KIB, from = s->bad / s->chunk * s->chunk;
	ssize_t n;

	take_to(s, from, s->chunk);
	disk_settle(s->disk);
	if (s->m.dir[0] && 2 * s->chunk + ahead(s) <= s->bad)
		die("ahead: failed: the lookahead did not meet the bad block");
	if (s->command) {
		if (system(s->command))
			die("ahead: failed: '%s' failed", s->command);
		take_to(s, s->size, s->chunk);
		return;
	}
	n = pread(s->fd, s->buf, s->chunk, s->pos);
	if (n < 0 && s->bad / granule == s->pos / granule)
		n = 0;
	if (n < 0 || s->pos + n > s->bad || (s->pos + n) / granule < s->bad / granule)
		die("ahead: failed: with a bad block at %llu a read at %llu returned %zd",
		    (unsigned long long)s->bad, (unsigned long long)s->pos, n);
	data_verify(s->kind, s->buf, s->pos, n, s->seed, LAYOUT_FULL);
	/* A native read of what is good beside it. */
	s->pos = (s->bad / granule + 1) * granule;
	take(s, SMALL);
	s->pos = (s->bad / granule - 1) * granule;
	take(s, SMALL);
}

static const struct {
	const char *name;
	void (*run)(struct stream *s);
} cases[] = {
	{ "stream", case_stream }, { "alone", case_alone }, { "random", case_random },
	{ "first", case_first }, { "bound", case_bound }, { "mixed", case_mixed },
	{ "handover", case_handover }, { "shared", case_shared }, { "leave", case_leave },
	{ "failed", case_failed },
};

static void run_case(struct stream *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (s->kind && !strcmp(s->kind, cases[i].name)) {
			cases[i].run(s);
			printf("ahead: %s: right; %llu bytes brought in ahead, the disk read %llu\n",
			       s->kind, (unsigned long long)ahead(s),
			       (unsigned long long)(disk_sectors_read(s->disk) - s->sectors) * 512);
			return;
		}
	}
	die("ahead: no case is named '%s'", s->kind ? s->kind : "");
}

/*
 * --chunk   bytes of a read
 * --most    case bound: bytes that may be there behind a read
 * --extra   bytes more than the file that the disk may be read for, where memory is short
 * --random  FADV_RANDOM
 */
int cmd_ahead(int argc, char **argv)
{
	struct stream s = { .seed = 1, .chunk = 4 * MIB };
	const char *disk = NULL;
	unsigned int maj, min;
	bool advice = false;
	const struct opt opts[] = {
		{ .name = "case", .text = &s.kind },
		{ .name = "disk", .text = &disk },
		{ .name = "seed", .size = &s.seed },
		{ .name = "chunk", .size = &s.chunk },
		{ .name = "most", .size = &s.most },
		{ .name = "extra", .size = &s.extra },
		{ .name = "bad", .size = &s.bad },
		{ .name = "command", .text = &s.command },
		{ .name = "random", .flag = &advice },
		{ .name = "off", .flag = &s.off },
	};

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1 || !disk ||
	    sscanf(disk, "%u:%u", &maj, &min) != 2)
		die("usage: mread ahead FILE --case NAME --disk MAJ:MIN [--seed N --chunk S ...]");
	s.path = argv[0];
	s.disk = makedev(maj, min);
	s.fd = xopen(s.path, O_RDONLY);
	s.size = file_size(s.fd);
	s.buf = xmmap(s.chunk);
	mars_init(&s.m, s.fd);
	cache_drop(s.fd);
	if (advice)
		posix_fadvise(s.fd, 0, 0, POSIX_FADV_RANDOM);
	begin(&s);
	run_case(&s);
	return 0;
}
