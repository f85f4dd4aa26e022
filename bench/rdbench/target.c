// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which read_ahead_kb counts and which device's sectors. The read-ahead setting that a
 * file obeys is that of its superblock's backing device: for XFS with a realtime device
 * that is the *metadata* device's, for btrfs one of its own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rdbench.h"

static char ra_default[32];

/* The superblock's device number: stat() shows another one on btrfs, mountinfo does not. */
static void find_mount(struct target *t)
{
	unsigned long long want;
	char line[4096];
	struct statx sx;
	FILE *f;

	if (statx(AT_FDCWD, t->dir, 0, STATX_BASIC_STATS | STATX_MNT_ID, &sx))
		die("cannot stat %s: %s", t->dir, strerror(errno));
	want = sx.stx_mnt_id;
	f = fopen("/proc/self/mountinfo", "r");
	while (f && fgets(line, sizeof(line), f)) {
		char *tail = strstr(line, " - ");
		unsigned long long id;

		if (tail && sscanf(line, "%llu %*d %31s", &id, t->dev) == 2 && id == want &&
		    sscanf(tail, " - %31s %255s", t->fstype, t->source) == 2) {
			fclose(f);
			return;
		}
	}
	die("/proc/self/mountinfo does not show the mount that holds %s", t->dir);
}

static void find_btrfs_bdi(struct target *t)
{
	char pattern[PATH_MAX], real[PATH_MAX];
	glob_t g;

	if (!realpath(t->source, real))
		return;
	snprintf(pattern, sizeof(pattern), "/sys/fs/btrfs/*/devices/%s", basename(real));
	if (!glob(pattern, 0, NULL, &g)) {
		snprintf(t->ra_path, sizeof(t->ra_path), "%.*s/bdi/read_ahead_kb",
			 (int)(strstr(g.gl_pathv[0], "/devices/") - g.gl_pathv[0]),
			 g.gl_pathv[0]);
		globfree(&g);
	}
}

static void find_data_device(struct target *t, const char *data_dev)
{
	char real[PATH_MAX];

	if (!data_dev)
		data_dev = t->source;
	if (realpath(data_dev, real))
		snprintf(t->stat_path, sizeof(t->stat_path), "/sys/class/block/%.200s/stat",
			 basename(real));
	if (access(t->stat_path, R_OK))
		t->stat_path[0] = '\0';
}

void target_find(struct target *t, const char *dir, const char *data_dev)
{
	memset(t, 0, sizeof(*t));
	snprintf(t->dir, sizeof(t->dir), "%s", dir);
	find_mount(t);
	if (!strcmp(t->fstype, "btrfs"))
		find_btrfs_bdi(t);
	else
		snprintf(t->ra_path, sizeof(t->ra_path), "/sys/class/bdi/%s/read_ahead_kb",
			 t->dev);
	if (access(t->ra_path, R_OK))
		t->ra_path[0] = '\0';
	find_data_device(t, data_dev);
}

/* The first call must come before anything was set: it is what "default" means. */
const char *target_ra_default(const struct target *t)
{
	if (!ra_default[0] && (!t->ra_path[0] ||
			       read_text(t->ra_path, ra_default, sizeof(ra_default))))
		strcpy(ra_default, "unknown");
	return ra_default;
}

void target_set_ra(const struct target *t, const char *value)
{
	static char current[32];
	const char *def = target_ra_default(t);

	if (!strcmp(value, "default"))
		value = def;
	if (!current[0])
		strcpy(current, def);
	if (!strcmp(value, current))
		return;
	if (!t->ra_path[0])
		die("%s (%s): no read_ahead_kb was found for this mount", t->dir, t->fstype);
	write_text(t->ra_path, value);
	snprintf(current, sizeof(current), "%s", value);
}

/*
 * Read-ahead may still be under way when the last read returns; what it brings in belongs
 * to the sample, and must not reach into the next one.
 */
void target_device(const struct target *t, struct device *device)
{
	struct device found = { 0 };
	unsigned long long in_flight = 1;
	char text[512];
	int i;

	*device = (struct device){ -1, -1, -1 };
	if (!t->stat_path[0])
		return;
	for (i = 0; i < 2000 && in_flight; i++) {
		if (i)
			usleep(1000);
		if (read_text(t->stat_path, text, sizeof(text)) ||
		    sscanf(text, "%lld %*u %lld %lld %*u %*u %*u %*u %llu", &found.requests,
			   &found.sectors, &found.ms, &in_flight) != 4)
			return;
	}
	if (!in_flight)
		*device = found;
}
