/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mread: one statically linked program with every guest-side check that a shell
 * cannot do.  Each command lives in a file of its own and prints one line that
 * says what it checked, or what was wrong, on which bytes.
 *
 * All file data follow a known pattern (pattern.c), so any byte at any offset
 * can be verified without a second copy.
 */
#ifndef MREAD_H
#define MREAD_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define KIB 1024ULL
#define MIB (1024 * KIB)
#define PAGE 4096ULL

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static inline uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* mread.c: errors end the program with status 1 and one line on stderr */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
uint64_t parse_size(const char *text);
int xopen(const char *path, int flags);
void *xmmap(size_t len);
uint64_t file_size(int fd);
double now_s(void);

struct rng {
	uint64_t state;
};

uint64_t rng_next(struct rng *rng);
uint64_t rng_below(struct rng *rng, uint64_t bound);
uint64_t rng_log(struct rng *rng, uint64_t lo, uint64_t hi);

/* mread.c: "--name value" options, the same way for every command */
struct opt {
	const char *name;
	const char **text;	/* one of the three is set */
	uint64_t *size;
	bool *flag;
};

int parse_opts(int argc, char **argv, const struct opt *opts, size_t nr);

/* pattern.c */
enum layout { LAYOUT_FULL, LAYOUT_SPARSE };

enum layout parse_layout(const char *text);
void pat_fill(void *buf, uint64_t off, size_t len, uint64_t seed);
size_t pat_check(const void *buf, uint64_t off, size_t len, uint64_t seed);
size_t zero_check(const void *buf, size_t len);
size_t data_check(const void *buf, uint64_t off, size_t len, uint64_t seed,
		  enum layout layout);
uint8_t data_byte(uint64_t off, uint64_t seed, enum layout layout);
void data_verify(const char *what, const void *buf, uint64_t off, size_t len,
		 uint64_t seed, enum layout layout);

enum unit_class { UNIT_DATA, UNIT_HOLE, UNIT_UNWRITTEN, UNIT_ODD };

#define UNIT (64 * KIB)
#define ODD_FIRST 1234ULL
#define ODD_END 50001ULL

enum unit_class unit_class(uint64_t unit, uint64_t seed);

/* buffer.c: a user buffer with canaries around and, unless fresh, inside */
#define CANARY 0xCA9A51ULL	/* the seed of what surrounds the data */

struct gbuf {
	uint8_t *map;
	size_t map_len;
	uint8_t *p;
	size_t len;
	bool fresh;
};

void gbuf_make(struct gbuf *g, size_t len, size_t misalign, bool fresh);
void gbuf_verify(const struct gbuf *g, size_t written, const char *what);
void gbuf_free(struct gbuf *g);

/* cache.c: put the page cache into a known state, and prove that it is */
enum residency { RES_COLD, RES_WARM, RES_PREFIX, RES_SUFFIX, RES_SCATTER, RES_MIX };

enum residency parse_residency(const char *text);
const char *residency_name(enum residency res);
void cache_drop(int fd);
void cache_set(int fd, uint64_t off, uint64_t len, enum residency res,
	       struct rng *rng);
uint64_t cache_resident(int fd, uint64_t off, uint64_t len);

/* mars.c: the counters of the mount that holds a file */
struct mars {
	char dir[128];		/* empty: native run, nothing to check */
	uint64_t min_read_bytes;
};

enum counter {
	C_READS, C_BYTES, C_HIT, C_MISSED, C_WAITED, C_NATIVE, C_SMALL, C_NR
};

struct counters {
	uint64_t v[C_NR];
};

void mars_init(struct mars *m, int fd);
void mars_read(const struct mars *m, struct counters *c);
void mars_put(const struct mars *m, const char *knob, const char *text);
void mars_enable(const struct mars *m, bool on);
#define ANY UINT64_MAX	/* mars_expect(): this counter may do what it likes */
uint64_t mars_stat(const struct mars *m, const char *name);
void mars_expect(const struct mars *m, const struct counters *before,
		 uint64_t nr_reads, uint64_t bytes, uint64_t small,
		 const char *what);
void mars_expect_sets(const struct mars *m, const struct counters *before,
		      uint64_t hit, uint64_t missed, const char *what);
uint64_t disk_sectors_read(dev_t dev);

/* race.c: children that run until told to stop */
struct shared {
	volatile int stop;
	volatile uint64_t reads;
	volatile uint64_t changes;
	volatile uint64_t low;	/* smallest size the file ever had */
};

struct shared *shared_make(void);
pid_t spawn(void (*fn)(void *arg), void *arg);
void reap(pid_t pid, const char *who);
char process_state(pid_t pid);
bool process_sleeps(pid_t pid);

/* ioerror.c */
uint64_t file_sector(int fd, uint64_t off);

#define COMMAND(name) int cmd_##name(int argc, char **argv)
COMMAND(mkfile);
COMMAND(rdcheck);
COMMAND(fpos);
COMMAND(badbuf);
COMMAND(selfmap);
COMMAND(truncrace);
COMMAND(appendrace);
COMMAND(punchrace);
COMMAND(readers);
COMMAND(bigread);
COMMAND(loopread);
COMMAND(side);
COMMAND(flags);
COMMAND(physical);
COMMAND(ioerror);
COMMAND(bufrace);
COMMAND(execrace);
COMMAND(killrace);
COMMAND(resident);
COMMAND(drop);
COMMAND(put);
COMMAND(refuse);
COMMAND(vrace);
COMMAND(address);
COMMAND(mid);
COMMAND(nothing);
COMMAND(badblocks);
COMMAND(findblock);
COMMAND(flaky);
COMMAND(points);
COMMAND(reason);
COMMAND(diff);
COMMAND(ahead);
COMMAND(procio);
COMMAND(rastate);
COMMAND(advice);
COMMAND(workingset);
COMMAND(blkcg);
COMMAND(watch);
COMMAND(straits);
COMMAND(stall);

#endif /* MREAD_H */
