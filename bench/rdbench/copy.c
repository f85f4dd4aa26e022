// SPDX-License-Identifier: GPL-2.0-only
/*
 * op=copy: reads of bench/kmod's device, which times fault-in and copy apart. The knobs
 * are its parameters. Every word that arrives is compared with what was to arrive.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rdbench.h"

#define PARAMETERS "/sys/module/mars_bench/parameters/"

static const char *device;

void copy_setup(const char *path)
{
	device = path;
	if (access(PARAMETERS, F_OK))
		die("%s does not exist: load mars_bench.ko (bench/kmod) first", PARAMETERS);
}

static double parameter_ns(const char *name)
{
	char path[STR_MAX], text[64];

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	if (read_text(path, text, sizeof(text)))
		die("cannot read %s: %s", path, strerror(errno));
	return atoll(text) / 1e9;
}

static void verify(const uint64_t *buf, uint64_t bytes)
{
	uint64_t i;

	for (i = 0; i < bytes / sizeof(*buf); i++)
		if (buf[i] != i * sizeof(*buf))
			die("%s: byte %llu of %llu is wrong: 0x%llx", device,
			    (unsigned long long)(i * sizeof(*buf)), (unsigned long long)bytes,
			    (unsigned long long)buf[i]);
}

void copy_run(const struct sample *s, struct result *res)
{
	void *buf = s->fresh ? buffer_map(s) : buffer_reused(s);
	char path[STR_MAX];
	ssize_t n;
	int fd, i;

	for (i = 0; i < s->nr_knobs; i++) {
		snprintf(path, sizeof(path), PARAMETERS "%s", s->knobs[i].name);
		write_text(path, s->knobs[i].value);
	}
	fd = open(device, O_RDONLY);
	if (fd < 0)
		die("cannot open %s: %s", device, strerror(errno));
	n = read(fd, buf, s->size);
	if (n != (ssize_t)s->size)
		die("%s: read of %llu bytes: %s", device, (unsigned long long)s->size,
		    n < 0 ? strerror(errno) : "it was short");
	close(fd);
	verify(buf, s->size);
	if (s->fresh)
		munmap(buf, s->size);
	res->bytes = s->size;
	res->reads = 1;
	res->resident_pages = s->size / PAGE;
	res->device = (struct device){ -1, -1, -1 };
	res->fault_in = parameter_ns("fault_in_ns");
	res->seconds = parameter_ns("copy_ns");
}
