// SPDX-License-Identifier: GPL-2.0-only
/*
 * Entry point of mread, and what all its commands share.
 */
#include "mread.h"
#include <stdarg.h>

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "mkfile", cmd_mkfile },
	{ "rdcheck", cmd_rdcheck },
	{ "fpos", cmd_fpos },
	{ "badbuf", cmd_badbuf },
	{ "selfmap", cmd_selfmap },
	{ "truncrace", cmd_truncrace },
	{ "appendrace", cmd_appendrace },
	{ "punchrace", cmd_punchrace },
	{ "readers", cmd_readers },
	{ "bigread", cmd_bigread },
	{ "loopread", cmd_loopread },
	{ "side", cmd_side },
	{ "flags", cmd_flags },
	{ "physical", cmd_physical },
	{ "ioerror", cmd_ioerror },
	{ "bufrace", cmd_bufrace },
	{ "execrace", cmd_execrace },
	{ "killrace", cmd_killrace },
	{ "resident", cmd_resident },
	{ "drop", cmd_drop },
	{ "put", cmd_put },
	{ "refuse", cmd_refuse },
	{ "vrace", cmd_vrace },
	{ "address", cmd_address },
	{ "mid", cmd_mid },
	{ "nothing", cmd_nothing },
	{ "badblocks", cmd_badblocks },
	{ "findblock", cmd_findblock },
	{ "flaky", cmd_flaky },
	{ "points", cmd_points },
	{ "reason", cmd_reason },
	{ "diff", cmd_diff },
	{ "ahead", cmd_ahead },
	{ "procio", cmd_procio },
	{ "rastate", cmd_rastate },
	{ "advice", cmd_advice },
	{ "workingset", cmd_workingset },
	{ "blkcg", cmd_blkcg },
	{ "watch", cmd_watch },
	{ "straits", cmd_straits },
	{ "stall", cmd_stall },
};

void die(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

uint64_t parse_size(const char *text)
{
	char *end;
	uint64_t v;

	errno = 0;
	v = strtoull(text, &end, 0);
	switch (*end) {
	case 'G':
		v *= KIB;
		/* fall through */
	case 'M':
		v *= KIB;
		/* fall through */
	case 'K':
		v *= KIB;
		end++;
		break;
	}
	if (errno || end == text || *end)
		die("mread: '%s' is not a size", text);
	return v;
}

int xopen(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd < 0)
		die("open %s: %s", path, strerror(errno));
	return fd;
}

void *xmmap(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap of %zu bytes: %s", len, strerror(errno));
	return p;
}

uint64_t file_size(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		die("fstat: %s", strerror(errno));
	return st.st_size;
}

double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

uint64_t rng_next(struct rng *rng)
{
	uint64_t z = (rng->state += 0x9E3779B97F4A7C15ULL);

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
	return z ^ (z >> 31);
}

uint64_t rng_below(struct rng *rng, uint64_t bound)
{
	return bound ? rng_next(rng) % bound : 0;
}

/* Every power of two between lo and hi is as likely as the next. */
uint64_t rng_log(struct rng *rng, uint64_t lo, uint64_t hi)
{
	int lo_bits = 63 - __builtin_clzll(lo | 1);
	int hi_bits = 63 - __builtin_clzll(hi | 1);
	int bits = lo_bits + rng_below(rng, hi_bits - lo_bits + 1);
	uint64_t v = (1ULL << bits) + rng_below(rng, 1ULL << bits);

	if (v < lo)
		return lo;
	return min64(v, hi);
}

static bool take_opt(const struct opt *o, int argc, char **argv, int *i)
{
	if (o->flag) {
		*o->flag = true;
		return true;
	}
	if (++*i >= argc)
		die("mread: option --%s needs a value", o->name);
	if (o->size)
		*o->size = parse_size(argv[*i]);
	else
		*o->text = argv[*i];
	return true;
}

/* Returns the number of plain arguments, moved to the front of argv. */
int parse_opts(int argc, char **argv, const struct opt *opts, size_t nr)
{
	int plain = 0;

	for (int i = 1; i < argc; i++) {
		bool known = false;

		if (strncmp(argv[i], "--", 2)) {
			argv[plain++] = argv[i];
			continue;
		}
		for (size_t k = 0; k < nr && !known; k++) {
			if (!strcmp(argv[i] + 2, opts[k].name))
				known = take_opt(&opts[k], argc, argv, &i);
		}
		if (!known)
			die("mread: unknown option %s", argv[i]);
	}
	return plain;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(commands); i++) {
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	}
	fprintf(stderr, "usage: mread COMMAND ...; COMMAND is one of:\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(stderr, "  %s\n", commands[i].name);
	return 2;
}
