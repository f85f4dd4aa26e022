// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread badbuf FILE [--seed N]: buffers that cannot be written in full.
 *
 * Every case runs twice, once natively (the mount's enabled=0) and once through
 * MARS, cold and warm; result, errno, position and data must be the same.
 */
#include "mread.h"
#include <limits.h>

#define READ_LEN (8 * MIB)
#define FILE_OFF (3 * MIB + 777)

static const struct bad {
	const char *what;
	size_t misalign;	/* of the buffer in its first page */
	size_t first, end;	/* pages of the mapping that are bad */
	int prot;		/* PROT_NONE stands for "not mapped at all" */
} cases[] = {
	{ "one unmapped page in the middle", 0, 800, 801, PROT_NONE },
	{ "the same, odd buffer address", 1235, 801, 802, PROT_NONE },
	{ "unmapped behind a large folio's edge", 0, 512, 513, PROT_NONE },
	{ "first page unmapped", 100, 0, 1, PROT_NONE },
	{ "second page unmapped", 100, 1, 2, PROT_NONE },
	{ "last page unmapped", 0, READ_LEN / PAGE - 1, READ_LEN / PAGE, PROT_NONE },
	{ "one read-only page in the middle", 0, 700, 701, PROT_READ },
	{ "all of it read-only", 0, 0, READ_LEN / PAGE, PROT_READ },
	{ "all of it unmapped", 0, 0, READ_LEN / PAGE, PROT_NONE },
};

struct outcome {
	ssize_t ret, second;
	int err, second_err;
	off_t pos;
};

static uint8_t *bad_buffer(const struct bad *c)
{
	uint8_t *map = xmmap(READ_LEN + 2 * PAGE);
	uint8_t *bad = map + c->first * PAGE;
	size_t len = (c->end - c->first) * PAGE;

	if (c->prot == PROT_NONE ? munmap(bad, len) : mprotect(bad, len, c->prot))
		die("badbuf: preparing the buffer: %s", strerror(errno));
	return map;
}

/* One read(), then a second that starts at the bad page: that is -EFAULT. */
static void attempt(int fd, const struct bad *c, uint64_t seed, struct outcome *o)
{
	uint8_t *map = bad_buffer(c), *p = map + c->misalign;

	memset(o, 0, sizeof(*o));
	if (lseek(fd, FILE_OFF, SEEK_SET) < 0)
		die("lseek: %s", strerror(errno));
	o->ret = read(fd, p, READ_LEN);
	o->err = o->ret < 0 ? errno : 0;
	if (o->ret > 0) {
		data_verify(c->what, p, FILE_OFF, o->ret, seed, LAYOUT_FULL);
		o->second = read(fd, p + o->ret, READ_LEN - o->ret);
		o->second_err = o->second < 0 ? errno : 0;
	}
	o->pos = lseek(fd, 0, SEEK_CUR);
	munmap(map, READ_LEN + 2 * PAGE);
}

/* The prefix ends at the bad page, for a copy that stops where it faults. */
static void check_native(const struct bad *c, const struct outcome *o)
{
	size_t good = c->first * PAGE > c->misalign ?
		      c->first * PAGE - c->misalign : 0;

	if (good ? o->ret != (ssize_t)good : o->ret != -1 || o->err != EFAULT)
		die("badbuf: %s: the native read returned %zd (errno %d), this test expected %zd",
		    c->what, o->ret, o->err, good ? (ssize_t)good : -1);
	if (good && (o->second != -1 || o->second_err != EFAULT))
		die("badbuf: %s: reading on natively returned %zd (errno %d), this test expected EFAULT",
		    c->what, o->second, o->second_err);
}

static void one_case(int fd, const struct mars *m, const struct bad *c,
		     uint64_t seed, bool cold)
{
	struct outcome native, mars;
	struct counters before, after;
	struct rng rng = { 1 };
	enum residency res = cold ? RES_COLD : RES_WARM;

	mars_enable(m, false);
	cache_set(fd, FILE_OFF, READ_LEN, res, &rng);
	attempt(fd, c, seed, &native);
	check_native(c, &native);
	mars_enable(m, true);
	cache_set(fd, FILE_OFF, READ_LEN, res, &rng);
	mars_read(m, &before);
	attempt(fd, c, seed, &mars);
	mars_read(m, &after);
	if (memcmp(&native, &mars, sizeof(native)))
		die("badbuf: %s, %s: native ret %zd errno %d, then %zd errno %d, position %lld; MARS ret %zd errno %d, then %zd errno %d, position %lld",
		    c->what, cold ? "cold" : "warm", native.ret, native.err,
		    native.second, native.second_err, (long long)native.pos,
		    mars.ret, mars.err, mars.second, mars.second_err,
		    (long long)mars.pos);
	if (m->dir[0] && after.v[C_READS] == before.v[C_READS])
		die("badbuf: %s: MARS did not do the read", c->what);
}

/* The same by iovec: a bad piece between two good ones, and after an empty one. */
static void one_vec(int fd, const struct mars *m, uint64_t seed, bool on)
{
	uint8_t *good = xmmap(READ_LEN), *bad = xmmap(READ_LEN);
	struct iovec iov[] = {
		{ good, 2 * MIB + 5 }, { NULL, 0 }, { bad, MIB },
		{ good + 4 * MIB, MIB },
	};
	ssize_t ret;

	munmap(bad, READ_LEN);
	mars_enable(m, on);
	cache_drop(fd);
	ret = preadv(fd, iov, ARRAY_SIZE(iov), FILE_OFF);
	if (ret != (ssize_t)iov[0].iov_len)
		die("badbuf: preadv with a bad third piece returned %zd (%s), expected %zu, %s",
		    ret, ret < 0 ? strerror(errno) : "", iov[0].iov_len,
		    on ? "MARS enabled" : "native");
	data_verify("badbuf: preadv", good, FILE_OFF, ret, seed, LAYOUT_FULL);
	if (zero_check(good + 4 * MIB, MIB) != MIB)
		die("badbuf: preadv wrote into the piece behind the bad one");
	munmap(good, READ_LEN);
}

int cmd_badbuf(int argc, char **argv)
{
	uint64_t seed = 1;
	const struct opt opts[] = { { .name = "seed", .size = &seed } };
	struct mars mars;
	int fd;

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1)
		die("usage: mread badbuf FILE [--seed N]");
	fd = xopen(argv[0], O_RDONLY);
	mars_init(&mars, fd);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		one_case(fd, &mars, &cases[i], seed, true);
		one_case(fd, &mars, &cases[i], seed, false);
	}
	one_vec(fd, &mars, seed, false);
	one_vec(fd, &mars, seed, true);
	printf("badbuf: %zu buffers, cold and warm, the same as natively\n",
	       ARRAY_SIZE(cases) + 1);
	return 0;
}
