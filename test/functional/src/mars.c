// SPDX-License-Identifier: GPL-2.0-only
/*
 * What MARS says about the mount that holds a file.  With MREAD_NATIVE set in the
 * environment nothing is expected of MARS: the same tests then show what the
 * kernel does by itself, and that the tests are right about it.
 */
#include "mread.h"
#include <sys/sysmacros.h>

static const char * const counter_files[C_NR] = {
	[C_READS] = "reads", [C_BYTES] = "bytes", [C_HIT] = "bytes_hit",
	[C_MISSED] = "bytes_missed", [C_WAITED] = "bytes_waited",
	[C_NATIVE] = "bytes_native", [C_SMALL] = "native_small",
};

static uint64_t read_number(const char *path)
{
	char text[64] = "", *end;
	int fd = xopen(path, O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	uint64_t v;

	close(fd);
	v = strtoull(text, &end, 10);
	if (n <= 0 || end == text || (*end && *end != '\n'))
		die("%s holds '%s', not a number", path, text);
	return v;
}

/*
 * The number of the file system that a file is on, as in /proc/self/mountinfo: what
 * stat() tells is another on btrfs, where each subvolume has one.
 */
static void mount_number(int fd, unsigned int *maj, unsigned int *min)
{
	unsigned long long id;
	struct statx st;
	char line[4096];
	FILE *f;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) || !(st.stx_mask & STATX_MNT_ID))
		die("statx tells no mount: %s", strerror(errno));
	f = fopen("/proc/self/mountinfo", "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llu %*u %u:%u", &id, maj, min) == 3 && id == st.stx_mnt_id) {
			fclose(f);
			return;
		}
	}
	die("/proc/self/mountinfo has no mount %llu", (unsigned long long)st.stx_mnt_id);
}

void mars_init(struct mars *m, int fd)
{
	unsigned int maj, min;
	char path[256];

	m->dir[0] = 0;
	m->min_read_bytes = UINT64_MAX;
	if (getenv("MREAD_NATIVE"))
		return;
	mount_number(fd, &maj, &min);
	snprintf(m->dir, sizeof(m->dir), "/sys/fs/mars/mounts/%u:%u", maj, min);
	snprintf(path, sizeof(path), "%s/min_read_bytes", m->dir);
	m->min_read_bytes = read_number(path);
}

uint64_t mars_stat(const struct mars *m, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/stats/%s", m->dir, name);
	return read_number(path);
}

void mars_read(const struct mars *m, struct counters *c)
{
	memset(c, 0, sizeof(*c));
	for (int i = 0; m->dir[0] && i < C_NR; i++)
		c->v[i] = mars_stat(m, counter_files[i]);
}

void mars_put(const struct mars *m, const char *knob, const char *text)
{
	char path[256];
	int fd;

	if (!m->dir[0])
		return;
	snprintf(path, sizeof(path), "%s/%s", m->dir, knob);
	fd = xopen(path, O_WRONLY);
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die("%s does not take '%s': %s", path, text, strerror(errno));
	close(fd);
}

void mars_enable(const struct mars *m, bool on)
{
	mars_put(m, "enabled", on ? "1" : "0");
}

static void expect(const char *what, const char *name, uint64_t got, uint64_t want)
{
	if (got != want)
		die("%s: counter %s rose by %llu, expected %llu", what, name,
		    (unsigned long long)got, (unsigned long long)want);
}

/*
 * The counters must show exactly these reads, and account for every byte that
 * they returned: it was a hit, missed, waited for, or given to the native path.
 */
void mars_expect(const struct mars *m, const struct counters *before,
		 uint64_t nr_reads, uint64_t bytes, uint64_t small,
		 const char *what)
{
	struct counters now;
	uint64_t d[C_NR], sum;

	if (!m->dir[0])
		return;
	mars_read(m, &now);
	for (int i = 0; i < C_NR; i++)
		d[i] = now.v[i] - before->v[i];
	expect(what, "reads", d[C_READS], nr_reads);
	expect(what, "bytes", d[C_BYTES], bytes);
	if (small != ANY)
		expect(what, "native_small", d[C_SMALL], small);
	sum = d[C_HIT] + d[C_MISSED] + d[C_WAITED] + d[C_NATIVE];
	expect(what, "bytes_hit + bytes_missed + bytes_waited + bytes_native", sum, bytes);
}

/* For a single reader: what mincore() said before decides hit and missed. */
void mars_expect_sets(const struct mars *m, const struct counters *before,
		      uint64_t hit, uint64_t missed, const char *what)
{
	struct counters now;

	if (!m->dir[0])
		return;
	mars_read(m, &now);
	expect(what, "bytes_hit", now.v[C_HIT] - before->v[C_HIT], hit);
	expect(what, "bytes_missed", now.v[C_MISSED] - before->v[C_MISSED], missed);
	expect(what, "bytes_waited", now.v[C_WAITED] - before->v[C_WAITED], 0);
	expect(what, "bytes_native", now.v[C_NATIVE] - before->v[C_NATIVE], 0);
}

/*
 * mread put FILE TEXT: one write() of exactly TEXT, for sysfs.  The exit status is
 * the errno, 0 when all of it was taken; a shell would hide both.
 */
int cmd_put(int argc, char **argv)
{
	size_t len;
	ssize_t n;
	int fd;

	if (argc != 3)
		die("usage: mread put FILE TEXT");
	len = strlen(argv[2]);
	fd = open(argv[1], O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		die("open %s: %s", argv[1], strerror(errno));
	n = write(fd, argv[2], len);
	if (n < 0)
		return errno;
	return n == (ssize_t)len ? 0 : 255;
}

static void read_text(const char *path, char *text, size_t size)
{
	int fd = xopen(path, O_RDONLY);
	ssize_t n = read(fd, text, size - 1);

	close(fd);
	text[n > 0 ? n : 0] = 0;
}

/* What a file says; nothing, if it can only be written. */
static void say_text(const char *path, char *buf, size_t len)
{
	struct stat st;

	buf[0] = 0;
	if (stat(path, &st))
		die("%s: %s", path, strerror(errno));
	if (st.st_mode & 0444)
		read_text(path, buf, len);
}

/*
 * mread refuse FILE TEXT...: writes each TEXT, which must be refused as bad
 * input, and looks whether the file says the same as before.
 */
int cmd_refuse(int argc, char **argv)
{
	char before[256], after[256];

	if (argc < 3)
		die("usage: mread refuse FILE TEXT...");
	say_text(argv[1], before, sizeof(before));
	for (int i = 2; i < argc; i++) {
		int fd = xopen(argv[1], O_WRONLY);
		ssize_t n = write(fd, argv[i], strlen(argv[i]));

		if (n >= 0)
			die("%s took '%s'", argv[1], argv[i]);
		if (errno != EINVAL && errno != ERANGE)
			die("%s refused '%s' with: %s", argv[1], argv[i], strerror(errno));
		close(fd);
		say_text(argv[1], after, sizeof(after));
		if (strcmp(before, after))
			die("%s refused '%s' but went from %s to %s", argv[1], argv[i],
			    before, after);
	}
	return 0;
}

uint64_t disk_sectors_read(dev_t dev)
{
	unsigned long long ios, merges, sectors;
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/stat", major(dev),
		 minor(dev));
	f = fopen(path, "r");
	if (!f || fscanf(f, "%llu %llu %llu", &ios, &merges, &sectors) != 3)
		die("%s: cannot read the disk's counters", path);
	fclose(f);
	return sectors;
}
