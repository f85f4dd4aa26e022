// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread rdcheck FILE: random reads, each one verified byte for byte.
 *
 * From a seed it makes (offset, length, residency, buffer) by the hundred;
 * for each it prepares the page cache, reads, and checks the return value, the
 * data, the canaries around and behind them, the file position, and that the
 * counters of MARS say that MARS read it; with --loose not which of the bytes were
 * resident before, for file systems that bring in more than they are asked for.
 */
#include "mread.h"

#define MAX_PIECES 1024
#define MAX_GAP 97

enum how { HOW_PREAD, HOW_READ, HOW_PREADV, HOW_READV };

static const char * const how_names[] = { "pread", "read", "preadv", "readv" };

struct job {
	int fd;
	const char *path;
	uint64_t size, seed, min, max;
	enum layout layout;
	enum residency res;
	enum how how;
	bool near_eof, loose;
	struct rng rng;
	struct mars mars;
	uint64_t accelerated, native;
};

struct one {
	uint64_t off, len, want;
	enum residency res;
	char what[160];
};

static enum how parse_how(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(how_names); i++) {
		if (!strcmp(text, how_names[i]))
			return i;
	}
	die("mread: --how is pread, read, preadv or readv, not '%s'", text);
}

/* Offsets: anything, page aligned, or close to the end of the file. */
static void pick(struct job *j, struct one *o, unsigned int nr)
{
	struct rng *r = &j->rng;
	enum residency res = j->res;

	o->len = rng_log(r, j->min, j->max);
	if (rng_below(r, 4) == 0)
		o->len = (o->len + PAGE - 1) / PAGE * PAGE;
	if (j->near_eof)
		o->off = j->size + 8 - min64(j->size, rng_log(r, 1, 2 * o->len));
	else
		o->off = rng_below(r, j->size > o->len ? j->size - o->len + 1 : j->size);
	if (rng_below(r, 4) == 0)
		o->off = o->off / PAGE * PAGE;
	if (res == RES_MIX)
		res = rng_below(r, RES_MIX);
	o->res = res;
	o->want = o->off < j->size ? min64(o->len, j->size - o->off) : 0;
	snprintf(o->what, sizeof(o->what),
		 "read %u of %s: %s %llu bytes at %llu, file of %llu, %s", nr, j->path,
		 how_names[j->how], (unsigned long long)o->len,
		 (unsigned long long)o->off, (unsigned long long)j->size,
		 residency_name(res));
}

static void check_ret(const struct job *j, const struct one *o, ssize_t ret)
{
	bool moves = j->how == HOW_READ || j->how == HOW_READV;
	off_t pos = lseek(j->fd, 0, SEEK_CUR);
	off_t want = moves ? (off_t)(o->off + o->want) : 0;

	if (ret != (ssize_t)o->want)
		die("%s: returned %zd (%s), expected %llu", o->what, ret,
		    ret < 0 ? strerror(errno) : "short", (unsigned long long)o->want);
	if (pos != want)
		die("%s: file position is %lld afterwards, expected %lld", o->what,
		    (long long)pos, (long long)want);
}

static void read_plain(struct job *j, struct one *o)
{
	struct gbuf g;
	ssize_t ret;

	gbuf_make(&g, o->len, rng_below(&j->rng, 2) ? 0 : rng_below(&j->rng, PAGE),
		  rng_below(&j->rng, 2));
	if (j->how == HOW_READ)
		ret = read(j->fd, g.p, o->len);
	else
		ret = pread(j->fd, g.p, o->len, o->off);
	check_ret(j, o, ret);
	data_verify(o->what, g.p, o->off, ret, j->seed, j->layout);
	gbuf_verify(&g, ret, o->what);
	gbuf_free(&g);
}

/* Cuts len into pieces, some of them empty; returns how many. */
static int cut(struct rng *r, uint64_t len, size_t *piece)
{
	int nr = 0;

	while (len && nr < MAX_PIECES - 1) {
		uint64_t n = rng_log(r, 1, len);

		if (rng_below(r, 5) == 0)
			n = 0;
		else if (rng_below(r, 4) == 0)
			n = min64(len, PAGE);
		piece[nr++] = n;
		len -= n;
	}
	piece[nr++] = len;
	return nr;
}

/* The pieces lie apart in one buffer: the gaps must keep their canary. */
static void read_vec(struct job *j, struct one *o)
{
	static struct iovec iov[MAX_PIECES];
	static size_t piece[MAX_PIECES];
	uint64_t at = 0, left;
	struct gbuf g;
	ssize_t ret;
	int nr;

	nr = cut(&j->rng, o->len, piece);
	gbuf_make(&g, o->len + nr * MAX_GAP, rng_below(&j->rng, PAGE), false);
	for (int i = 0; i < nr; i++) {
		at += rng_below(&j->rng, MAX_GAP);
		iov[i].iov_base = g.p + at;
		iov[i].iov_len = piece[i];
		at += piece[i];
	}
	if (j->how == HOW_READV)
		ret = readv(j->fd, iov, nr);
	else
		ret = preadv(j->fd, iov, nr, o->off);
	check_ret(j, o, ret);

	left = ret;
	for (int i = 0; i < nr; i++) {
		uint64_t n = min64(left, piece[i]);

		data_verify(o->what, iov[i].iov_base, o->off + ret - left, n,
			    j->seed, j->layout);
		/* Put the canary back, so that what remains can be checked. */
		pat_fill(iov[i].iov_base, (uint8_t *)iov[i].iov_base - g.map, n,
			 CANARY);
		left -= n;
	}
	gbuf_verify(&g, 0, o->what);
	gbuf_free(&g);
}

static void one_read(struct job *j, unsigned int nr)
{
	bool moves = j->how == HOW_READ || j->how == HOW_READV;
	struct counters before;
	uint64_t resident;
	struct one o;
	bool mars;

	pick(j, &o, nr);
	cache_set(j->fd, o.off, o.len, o.res, &j->rng);
	resident = cache_resident(j->fd, o.off, o.len);
	if (lseek(j->fd, moves ? o.off : 0, SEEK_SET) < 0)
		die("lseek: %s", strerror(errno));
	mars_read(&j->mars, &before);
	if (j->how == HOW_PREAD || j->how == HOW_READ)
		read_plain(j, &o);
	else
		read_vec(j, &o);
	mars = o.want >= j->mars.min_read_bytes;
	mars_expect(&j->mars, &before, mars, mars ? o.want : 0,
		    !o.want ? ANY : !mars, o.what);
	if (mars && !j->loose)
		mars_expect_sets(&j->mars, &before, resident, o.want - resident, o.what);
	j->accelerated += mars;
	j->native += !mars;
}

int cmd_rdcheck(int argc, char **argv)
{
	const char *layout = "full", *res = "mix", *how = "pread";
	struct job j = { .seed = 1, .min = 1, .max = 300 * MIB };
	uint64_t count = 10, rng = 1, seconds = 0;
	const struct opt opts[] = {
		{ .name = "seed", .size = &j.seed },
		{ .name = "layout", .text = &layout },
		{ .name = "res", .text = &res },
		{ .name = "how", .text = &how },
		{ .name = "count", .size = &count },
		{ .name = "min", .size = &j.min },
		{ .name = "max", .size = &j.max },
		{ .name = "rng", .size = &rng },
		{ .name = "near-eof", .flag = &j.near_eof },
		{ .name = "loose", .flag = &j.loose },
		{ .name = "seconds", .size = &seconds },
	};
	double start = now_s();
	uint64_t nr = 0;

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1)
		die("usage: mread rdcheck FILE [--seed N --layout L --res R --how H --count N --min S --max S --rng N --near-eof --loose --seconds N]");
	j.path = argv[0];
	j.layout = parse_layout(layout);
	j.res = parse_residency(res);
	j.how = parse_how(how);
	j.rng.state = rng;
	j.fd = xopen(j.path, O_RDONLY);
	j.size = file_size(j.fd);
	mars_init(&j.mars, j.fd);
	while (nr < count || (seconds && now_s() - start < seconds))
		one_read(&j, nr++);
	if (j.mars.dir[0] && !j.accelerated && j.max >= j.mars.min_read_bytes)
		die("rdcheck: none of %llu reads was large enough for MARS: choose other sizes",
		    (unsigned long long)nr);
	printf("rdcheck: %llu reads right, %llu of them through MARS, %.1f s\n",
	       (unsigned long long)nr, (unsigned long long)j.accelerated,
	       now_s() - start);
	return 0;
}
