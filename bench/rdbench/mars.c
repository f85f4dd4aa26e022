// SPDX-License-Identifier: GPL-2.0-only
/* MARS in the state that a sample asks for: loaded or not, enabled here or elsewhere. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rdbench.h"

#define ROOT "/sys/fs/mars"

/* A knob that some sample changed, and what it was before. */
struct changed {
	char name[64], was[64], is[64];
};

static struct {
	const char *module;
	const struct target *here, *other;
	bool loaded, here_on, other_on, ours;
	bool found_attached, found_on;	/* what the user had, given back at the end */
	struct changed knobs[64];
	int nr_knobs;
} m;

static bool has_module(void)
{
	return strcmp(m.module, "none");
}

static void mount_path(char *buf, size_t len, const struct target *t, const char *file)
{
	snprintf(buf, len, ROOT "/mounts/%s/%s", t->dev, file);
}

/* Returns whether it was attached before; *on becomes what "enabled" says. */
static bool attach(const struct target *t, bool *on)
{
	char path[STR_MAX], text[16];
	bool before;

	mount_path(path, sizeof(path), t, "enabled");
	before = !access(path, F_OK);
	if (!before)
		write_text(ROOT "/attach", t->dir);
	if (read_text(path, text, sizeof(text)))
		die("%s was attached but %s did not appear", t->dir, path);
	*on = !strcmp(text, "1");
	return before;
}

static void enable(const struct target *t, bool on, bool *is)
{
	char path[STR_MAX];

	if (on == *is)
		return;
	mount_path(path, sizeof(path), t, "enabled");
	write_text(path, on ? "1" : "0");
	*is = on;
}

static void load(void)
{
	int fd;

	if (m.loaded)
		return;
	if (!has_module())
		die("the plan wants MARS but no module was given (-m)");
	if (m.ours) {
		fd = open(m.module, O_RDONLY);
		if (fd < 0)
			die("cannot open %s: %s", m.module, strerror(errno));
		if (syscall(SYS_finit_module, fd, "", 0))
			die("cannot load %s: %s (the kernel log may say more)", m.module,
			    strerror(errno));
		close(fd);
	}
	m.loaded = true;
	m.nr_knobs = 0;
	m.found_attached = attach(m.here, &m.here_on);
	m.found_on = m.here_on;
	if (m.other)
		attach(m.other, &m.other_on);
}

static void unload(void)
{
	if (!m.loaded)
		return;
	if (!m.ours)
		die("the plan wants MARS absent but it was loaded by somebody else");
	enable(m.here, false, &m.here_on);
	if (m.other)
		enable(m.other, false, &m.other_on);
	if (syscall(SYS_delete_module, "mars", 0))
		die("cannot unload mars: %s", strerror(errno));
	m.loaded = false;
}

void mars_setup(const char *module, const struct target *here, const struct target *other)
{
	m.module = module;
	m.here = here;
	m.other = other;
	m.ours = strcmp(module, "loaded");
	if (m.ours && !access(ROOT, F_OK) && has_module())
		die("mars is loaded already: unload it, or run with -m loaded");
}

static void put_knob(struct changed *k, const char *value, bool must)
{
	char path[STR_MAX];

	if (!strcmp(k->is, value))
		return;
	mount_path(path, sizeof(path), m.here, k->name);
	if (must)
		write_text(path, value);
	else if (try_text(path, value))
		return;
	snprintf(k->is, sizeof(k->is), "%s", value);
}

static struct changed *find_knob(const char *name)
{
	char path[STR_MAX];
	struct changed *k;
	int i;

	for (i = 0; i < m.nr_knobs; i++)
		if (!strcmp(m.knobs[i].name, name))
			return &m.knobs[i];
	if (m.nr_knobs == (int)ARRAY_SIZE(m.knobs))
		die("too many knobs in one plan");
	k = &m.knobs[m.nr_knobs++];
	snprintf(k->name, sizeof(k->name), "%s", name);
	mount_path(path, sizeof(path), m.here, name);
	if (read_text(path, k->was, sizeof(k->was)))
		die("this MARS has no knob %s (%s)", name, path);
	strcpy(k->is, k->was);
	return k;
}

static void put_knobs(const struct sample *s, bool must)
{
	int i, j;

	for (i = 0; i < m.nr_knobs; i++) {
		const char *value = m.knobs[i].was;

		for (j = 0; j < s->nr_knobs; j++)
			if (!strcmp(m.knobs[i].name, s->knobs[j].name))
				value = s->knobs[j].value;
		put_knob(&m.knobs[i], value, must);
	}
}

/*
 * Rules tie knobs to each other (a batch is no larger than the window): what is refused
 * at first may be right when the others are set.
 */
static void set_knobs(const struct sample *s)
{
	int j;

	for (j = 0; j < s->nr_knobs; j++)
		find_knob(s->knobs[j].name);
	put_knobs(s, false);
	put_knobs(s, true);
}

void mars_set(const struct sample *s)
{
	if (s->mars == MARS_ABSENT) {
		unload();
		return;
	}
	load();
	if (s->mars == MARS_OTHER && !m.other)
		die("the plan wants MARS on another mount: give one with -o");
	/* Off first, then on: never both for the sake of one sample. */
	if (s->mars != MARS_ON)
		enable(m.here, false, &m.here_on);
	if (m.other)
		enable(m.other, s->mars == MARS_OTHER, &m.other_on);
	if (s->mars == MARS_ON) {
		set_knobs(s);
		enable(m.here, true, &m.here_on);
	}
}

void mars_stats(long long value[NR_COUNTERS])
{
	/* In the order of the columns that plan.c prints. */
	static const char *const names[NR_COUNTERS] = {
		"reads", "bytes_missed", "bytes", "bytes_masked", "bytes_out_of_order",
		"bytes_faulted_in",
	};
	char path[STR_MAX], file[96], text[64];
	int i;

	for (i = 0; i < NR_COUNTERS; i++) {
		value[i] = 0;
		if (!m.loaded)
			continue;
		snprintf(file, sizeof(file), "stats/%s", names[i]);
		mount_path(path, sizeof(path), m.here, file);
		if (read_text(path, text, sizeof(text)))
			die("this MARS has no counter %s (%s)", names[i], path);
		value[i] = atoll(text);
	}
}

void mars_restore(void)
{
	struct sample none = { .mars = MARS_OFF };

	if (!m.loaded)
		return;
	set_knobs(&none);
	if (m.ours) {
		unload();
		return;
	}
	enable(m.here, m.found_on, &m.here_on);
	if (!m.found_attached)
		write_text(ROOT "/detach", m.here->dir);
}
