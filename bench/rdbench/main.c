// SPDX-License-Identifier: GPL-2.0-only
/*
 * rdbench info DIR                     what is known about the file system of DIR
 * rdbench fill FILE SIZE               a file of written extents, by large direct writes
 * rdbench touch PERCENT                use that share of the free memory once
 * rdbench run OPTIONS PLAN >RESULTS    carry out a plan, see usage()
 * rdbench copy OPTIONS PLAN >RESULTS   the same with bench/kmod's device
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "rdbench.h"

void die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("rdbench: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

int read_text(const char *path, char *buf, size_t len)
{
	int fd = open(path, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, buf, len - 1);
	close(fd);
	if (n < 0)
		return -1;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

/* 0, or -1 and errno when the text was refused. */
int try_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	ssize_t n;
	int err;

	if (fd < 0)
		die("cannot open %s to write \"%s\": %s", path, text, strerror(errno));
	n = write(fd, text, strlen(text));
	err = errno;
	close(fd);
	errno = err;
	return n < 0 ? -1 : 0;
}

void write_text(const char *path, const char *text)
{
	if (try_text(path, text))
		die("%s refused \"%s\": %s (the kernel log may say more)", path, text,
		    strerror(errno));
}

uint64_t parse_size(const char *text)
{
	char *end;
	uint64_t v = strtoull(text, &end, 10);

	if (*end == 'G')
		return v << 30;
	if (*end == 'M')
		return v << 20;
	if (*end == 'K')
		return v << 10;
	if (!*end)
		return v;
	die("\"%s\" is not a size: digits and at most one of K, M, G", text);
}

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* splitmix64: the same offsets for the same seed on every machine */
uint64_t rng_next(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/*
 * fallocate would leave unwritten extents, which are read as holes: no I/O at all.
 * Direct writes, so that a simulated device without memory costs no copying.
 */
static void fill(const char *path, uint64_t size)
{
	const size_t chunk = 8 << 20;
	uint64_t off, i, seed = 1;
	uint64_t *buf;
	ssize_t n;
	int fd;

	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_DIRECT, 0600);
	if (fd < 0 && errno == EINVAL)
		fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	if (fd < 0)
		die("cannot create %s: %s", path, strerror(errno));
	buf = mmap(NULL, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buf == MAP_FAILED)
		die("no memory for a write buffer of %zu bytes", chunk);
	for (i = 0; i < chunk / sizeof(*buf); i++)
		buf[i] = rng_next(&seed);
	/* One extent map for the whole file, as large as the file system likes. */
	if (fallocate(fd, 0, 0, size) && errno != EOPNOTSUPP)
		die("cannot reserve %llu bytes for %s: %s", (unsigned long long)size, path,
		    strerror(errno));
	for (off = 0; off < size; off += n) {
		n = write(fd, buf, size - off < chunk ? size - off : chunk);
		if (n <= 0)
			die("writing %s failed at %llu of %llu bytes: %s", path,
			    (unsigned long long)off, (unsigned long long)size,
			    n ? strerror(errno) : "nothing was written");
	}
	if (fsync(fd) || close(fd))
		die("cannot bring %s to the device: %s", path, strerror(errno));
}

/*
 * An emulator gives a guest its memory when it is first touched, which would be charged
 * to whatever configuration happened to come first.
 */
static void touch(unsigned int pct)
{
	uint64_t kib = 0;
	char line[128];
	size_t len, i;
	FILE *f;
	char *p;

	f = fopen("/proc/meminfo", "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %lu kB", &kib) == 1)
			break;
	if (!kib)
		die("/proc/meminfo has no MemAvailable");
	fclose(f);
	len = kib * pct / 100 * 1024;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		die("cannot touch %zu bytes of memory", len);
	for (i = 0; i < len; i += PAGE)
		p[i] = 1;
	munmap(p, len);
}

static void info(const char *dir, const char *data_dev)
{
	struct target t;

	target_find(&t, dir, data_dev);
	printf("dev=%s\nfstype=%s\nsource=%s\nra_path=%s\nra_default=%s\nstat_path=%s\n",
	       t.dev, t.fstype, t.source, t.ra_path, target_ra_default(&t), t.stat_path);
}

static void usage(void)
{
	fputs("usage: rdbench info DIR [DATA-DEVICE]\n"
	      "       rdbench fill FILE SIZE\n"
	      "       rdbench touch PERCENT\n"
	      "       rdbench run [-d DATA-DEVICE] [-m MODULE.ko|loaded|none] [-o OTHER-DIR]\n"
	      "                   [-b SECONDS] [-n ROUNDS] [-f] FILE PLAN\n"
	      "       rdbench copy [-b SECONDS] [-n ROUNDS] DEVICE PLAN\n"
	      "  -d  the device whose sectors are counted, when it is not the mount's own\n"
	      "  -m  where mars.ko is; \"loaded\": it is in the kernel and stays there\n"
	      "  -o  a directory on a second file system, for mars=other\n"
	      "  -b  begin no further round after so many seconds, but do -n of them\n"
	      "  -f  make the file cold with fadvise, not by dropping every cache\n", stderr);
	exit(2);
}

struct options {
	const char *data, *module, *other;
	double budget;
	int need;
	bool whole_machine;
};

static void parse_options(struct options *o, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "d:m:o:b:n:f")) != -1) {
		if (c == 'd')
			o->data = optarg;
		else if (c == 'm')
			o->module = optarg;
		else if (c == 'o')
			o->other = optarg;
		else if (c == 'b')
			o->budget = atof(optarg);
		else if (c == 'n')
			o->need = atoi(optarg);
		else if (c == 'f')
			o->whole_machine = false;
		else
			usage();
	}
	if (argc - optind != 2)
		usage();
}

static void cmd_run(int argc, char **argv)
{
	struct options o = { .module = "none", .whole_machine = true };
	struct target here, other;
	char dir[STR_MAX], *slash;
	const char *file;
	int fd;

	parse_options(&o, argc, argv);
	file = argv[optind];
	fd = open(file, O_RDONLY);
	if (fd < 0)
		die("cannot open %s: %s", file, strerror(errno));
	snprintf(dir, sizeof(dir), "%s", file);
	slash = strrchr(dir, '/');
	if (!slash)
		die("give the file with its directory: %s", file);
	*slash = '\0';
	target_find(&here, dir, o.data);
	if (o.other)
		target_find(&other, o.other, NULL);
	target_ra_default(&here);
	mars_setup(o.module, &here, o.other ? &other : NULL);
	cold_setup(fd, file, o.whole_machine);
	sample_setup(file);
	plan_run(argv[optind + 1], &here, o.budget, o.need);
	mars_restore();
	target_set_ra(&here, target_ra_default(&here));
}

/* No file system is involved, so nothing is attached, made cold or set. */
static void cmd_copy(int argc, char **argv)
{
	struct options o = { .module = "none" };

	parse_options(&o, argc, argv);
	copy_setup(argv[optind]);
	plan_run(argv[optind + 1], NULL, o.budget, o.need);
}

int main(int argc, char **argv)
{
	if (argc >= 3 && !strcmp(argv[1], "info"))
		info(argv[2], argc > 3 ? argv[3] : NULL);
	else if (argc == 4 && !strcmp(argv[1], "fill"))
		fill(argv[2], parse_size(argv[3]));
	else if (argc == 3 && !strcmp(argv[1], "touch"))
		touch(atoi(argv[2]));
	else if (argc >= 2 && !strcmp(argv[1], "run"))
		cmd_run(argc - 1, argv + 1);
	else if (argc >= 2 && !strcmp(argv[1], "copy"))
		cmd_copy(argc - 1, argv + 1);
	else
		usage();
	return 0;
}
