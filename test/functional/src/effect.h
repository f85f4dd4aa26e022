/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a read does besides filling its buffer, looked at from outside: a child
 * reads when it is told to, first with the mount disabled, then through MARS.
 */
#ifndef EFFECT_H
#define EFFECT_H

#include "mread.h"

#define NATIVE 0	/* the two runs of every check */
#define MARS 1

static inline const char *run_name(int run)
{
	return run == MARS ? "with MARS" : "natively";
}

/*
 * Does this run bring in nothing beyond the range by itself? A native one does so with
 * FADV_RANDOM.
 */
static inline bool mars_exact(const struct mars *m, int run)
{
	return run == MARS && m->dir[0];
}

enum call { CALL_READ, CALL_PREAD, CALL_READV, CALL_PREADV2, CALL_NR };

extern const char * const call_names[CALL_NR];
ssize_t call_read(enum call how, int fd, uint8_t *buf, uint64_t off, uint64_t len);

/*
 * A process that reads to order. Its buffer is in memory before it is asked for the
 * first time, and between two orders it makes no call that reads.
 */
struct order {
	int file;		/* which of the reader's files */
	enum call how;
	uint64_t off, len;
	uint64_t chunk;		/* bytes a call; 0: all at once */
	int advice;		/* for the whole file, before */
};

#define READER_FILES 2

struct reader {
	pid_t pid;
	struct reader_state *state;	/* shared with the child */
	const char *path[READER_FILES];
	uint64_t most, seed;
	const char *group;		/* memory cgroup to be in, or NULL */
};

void reader_start(struct reader *r);
double reader_do(struct reader *r, const struct order *o);
void reader_begin(struct reader *r, const struct order *o);	/* the same in two halves */
double reader_end(struct reader *r);
void reader_sleeps(const struct reader *r);
void reader_stop(struct reader *r);

/* /proc/PID/io */
struct proc_io {
	uint64_t rchar, wchar, syscr, syscw, read_bytes, write_bytes, cancelled;
};

size_t proc_io(pid_t pid, struct proc_io *io);

/* taskstats.c: what delay accounting noted of a task */
struct delays {
	uint64_t blkio_count, blkio_ns, thrash_count, thrash_ns;
};

void task_delays(pid_t pid, struct delays *d);

/* What is resident of a file, once the disk has nothing more to do. */
struct view {
	uint64_t resident;	/* bytes */
	uint64_t end;		/* of the last resident page */
	uint64_t hash;		/* of which pages they are */
};

int observe(const char *path, dev_t *dev, struct mars *m);
void disk_settle(dev_t dev);
void view_take(struct view *v, int fd);

/* group.c: control groups; a value is found by its key, or is the file's all */
void group_make(char *path, size_t size, const char *parent, int run);
void group_remove(const char *path);
void group_put(const char *group, const char *file, const char *text);
bool group_try(const char *group, const char *file, const char *text);
uint64_t group_get(const char *group, const char *file, const char *line, const char *key);

#endif /* EFFECT_H */
