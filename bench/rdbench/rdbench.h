/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rdbench: takes a plan of timed reads, one line a sample, and carries it out.
 * It decides nothing: which configuration, which size, which order are the
 * plan's business (bench/run writes it), so that a new suite needs no change here.
 */
#ifndef RDBENCH_H
#define RDBENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGE 4096ULL
#define MAX_KNOBS 16
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define STR_MAX 256

/* Where the file lives and which sysfs files belong to it. */
struct target {
	char dir[STR_MAX];
	char dev[32];		/* major:minor of the superblock */
	char fstype[32];
	char source[STR_MAX];
	char ra_path[STR_MAX];	/* read_ahead_kb that this mount obeys, or "" */
	char stat_path[STR_MAX];/* stat of the device that holds the data, or "" */
};

enum mars_state {
	MARS_ABSENT,	/* module not loaded */
	MARS_OFF,	/* loaded and attached here, nothing enabled */
	MARS_OTHER,	/* enabled for another mount, not for this one */
	MARS_ON,	/* enabled for this mount */
};

/* Where the part of a range lies that is cached beforehand. */
enum layout {
	LAYOUT_SCATTERED,	/* blocks of hit_run bytes, drawn at random */
	LAYOUT_PREFIX,		/* in one piece, at the beginning of each request */
	LAYOUT_SUFFIX,		/* in one piece, at the end of each request */
};

struct knob {
	char name[64];
	char value[64];
};

struct sample {
	long id;
	char ra[32];		/* "default" or KiB */
	enum mars_state mars;
	bool sequential;
	bool fresh;		/* a new buffer for each read */
	bool small_pages;	/* which gets no huge pages */
	char op[16];		/* pread, odirect, willneed, random, mmap; copy */
	uint64_t size, total, seed;
	unsigned int hit_pct;
	enum layout layout;
	uint64_t hit_run;
	uint64_t beside;	/* size of another program's requests meanwhile; 0: none */
	struct knob knobs[MAX_KNOBS];
	int nr_knobs;
};

struct range {
	uint64_t off, len;
};

/* Counters of MARS whose gain over a sample is reported; see mars.c. */
#define NR_COUNTERS 6

/* Counts of a device since it was made; -1: not known. */
struct device {
	long long sectors;	/* read */
	long long requests;	/* of those reads */
	long long ms;		/* that all those requests took together */
};

struct result {
	uint64_t bytes, reads;
	double seconds;
	struct device device;	/* what the device did; -1: not known */
	uint64_t resident_pages;
	long long mars[NR_COUNTERS];
	double fault_in;	/* op=copy only: seconds, apart from the others */
	uint64_t beside_bytes;	/* what the other program read ... */
	double beside_seconds;	/* ... in this time */
};

/* main.c */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
int read_text(const char *path, char *buf, size_t len);
int try_text(const char *path, const char *text);
void write_text(const char *path, const char *text);
uint64_t parse_size(const char *text);
double now(void);
uint64_t rng_next(uint64_t *state);

/* target.c */
void target_find(struct target *t, const char *dir, const char *data_dev);
void target_set_ra(const struct target *t, const char *value);
const char *target_ra_default(const struct target *t);
void target_device(const struct target *t, struct device *device);

/* mars.c */
void mars_setup(const char *module, const struct target *here, const struct target *other);
void mars_set(const struct sample *s);
void mars_stats(long long value[NR_COUNTERS]);
void mars_restore(void);

/* cold.c */
void cold_setup(int fd, const char *path, bool whole_machine);
void cold_prepare(const struct sample *s, const struct range *r, size_t nr);
uint64_t cold_resident(const struct range *r, size_t nr);

/* plan.c: without a target only samples of op=copy */
void plan_run(const char *plan, const struct target *t, double budget, int need);

/* sample.c */
void sample_setup(const char *path);
void sample_run(const struct sample *s, const struct target *t, struct result *res);
void *buffer_map(const struct sample *s);
void *buffer_reused(const struct sample *s);

/* beside.c */
void beside_start(const struct sample *s, const char *path, uint64_t from, uint64_t to);
void beside_stop(const struct sample *s, struct result *res);

/* copy.c */
void copy_setup(const char *path);
void copy_run(const struct sample *s, struct result *res);

#endif
