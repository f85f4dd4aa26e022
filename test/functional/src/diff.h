/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mread diff: the same random operations on two files, which must show the same.
 *
 * A sequence is made from its seed alone (diff_gen.c) and holds absolute numbers,
 * so that any part of it can be run again from the same start (diff_shrink.c).
 * Each operation runs on either side before the next (diff_read.c, diff_async.c,
 * diff_stream.c, diff_change.c); then what either side did is judged against the
 * other and against a model of the content in memory (diff_judge.c).
 */
#ifndef DIFF_H
#define DIFF_H

#include "mread.h"

#define DIFF_CAP (32 * MIB)	/* no operation makes a file larger, no buffer is */
#define DIFF_START (24 * MIB)	/* nor does a file begin larger than this */
#define DIFF_POOL (40 * MIB)	/* where written data come from */
#define DIFF_SLOTS 3		/* descriptors of a file, each with flags of its own */
#define DIFF_OPS 32
#define DIFF_PIECES 4
#define DIFF_SEGS 1032
#define DIFF_GUARD (16 * KIB)

/* Newer than some headers that this is compiled with. */
#define DIFF_NOWAIT 0x8
#define DIFF_HIPRI 0x1
#define DIFF_DONTCACHE 0x80

enum op_kind {
	OP_READ, OP_PREAD, OP_READV, OP_PREADV, OP_PREADV2,
	OP_URING_READ, OP_URING_READV, OP_URING_FIXED, OP_AIO_PREAD, OP_AIO_PREADV,
	OP_SPLICE, OP_SENDFILE, OP_COPY_RANGE, OP_MMAP_READ,
	OP_WRITE, OP_PWRITE, OP_APPEND, OP_MMAP_WRITE, OP_TRUNCATE,
	OP_PREALLOC, OP_PUNCH, OP_ZERO, OP_COLLAPSE, OP_INSERT,
	OP_FADVISE, OP_READAHEAD, OP_SYNC, OP_DROP_FILE, OP_DROP_ALL,
	OP_LSEEK, OP_OPEN, OP_NR
};

enum buf_kind {
	BUF_REUSED, BUF_FRESH, BUF_HUGE, BUF_SHMEM, BUF_UNMAPPED, BUF_RDONLY,
	BUF_PRIVATE, BUF_SHARED, BUF_NR
};

struct op {
	enum op_kind kind;
	unsigned int index;	/* its place in the whole sequence */
	unsigned int slot;
	int64_t off;		/* -1: at the file position, where the call can */
	uint64_t len;
	int flags;		/* RWF_*, O_*, advice, whence, MAP_*: the call's own */
	unsigned int nr;	/* pieces of an asynchronous read, or iovecs */
	bool overlap;		/* iovecs do */
	bool punt;		/* io_uring: to a worker thread at once */
	bool atime_ahead;	/* relatime then leaves it alone */
	enum buf_kind buf;
	unsigned int misalign;
	uint64_t bad_page, bad_pages;	/* of BUF_UNMAPPED and BUF_RDONLY */
	uint64_t map_off;		/* of BUF_PRIVATE and BUF_SHARED */
	uint64_t rnd;			/* data to write, cuts of iovecs */
};

struct knobs {
	uint64_t min_read_bytes, window_bytes, batch_bytes, max_folio_bytes;
	uint64_t lookahead_bytes;
	unsigned int early_copy, fault_in;
};

struct seq {
	uint64_t seed, size, data;	/* of the pool: where the content begins */
	bool sparse, cold, cold_end;
	struct knobs knobs;
	unsigned int nr;
	struct op op[DIFF_OPS];
};

/* What a buffer is made of, on one side. Offsets count from p. */
struct dbuf {
	enum buf_kind kind;
	uint8_t *map, *p;
	size_t map_len, len;
	uint64_t bad, bad_end;	/* cannot be written; both len when all of it can */
	bool bad_hidden;	/* cannot be read either */
	uint64_t file_off;	/* of p[0], in a mapping of the file */
	uint8_t canary;
};

struct outcome {
	int64_t ret[DIFF_PIECES];	/* as the system call: negative is -errno */
	int64_t begin, pos;		/* the file position before and after */
	uint64_t size;
	bool atime, mtime;		/* did they change? */
	bool skipped;			/* beyond what a file here may become */
};

struct side {
	unsigned int nr;
	char path[256], copy[256];
	int fd[DIFF_SLOTS], open_flags[DIFF_SLOTS];
	int ctl, copy_fd;
	uint8_t *arena;
	struct dbuf buf;
	struct outcome out;
};

/* A part of the buffer, and a part of the read: segments first..first+nr. */
struct seg {
	uint64_t at, len;
};

struct piece {
	int64_t off;
	unsigned int first, nr;
	uint64_t len;
};

struct plan {
	struct seg seg[DIFF_SEGS];
	struct piece piece[DIFF_PIECES];
	unsigned int nr_pieces;
	bool overlaps;			/* what is copied last stays */
	struct iovec iov[DIFF_SEGS];	/* of the side that is running */
};

enum plant {
	PLANT_NONE, PLANT_BYTE, PLANT_BOTH, PLANT_GUARD, PLANT_BEHIND, PLANT_RETURN,
	PLANT_POSITION, PLANT_ATIME, PLANT_FILE, PLANT_PAIR, PLANT_NR
};

/* What the watchdog sees; shared with it. */
struct beat {
	volatile uint64_t ticks;
	char what[512];
};

struct diff {
	struct side side[2];
	uint8_t *model;
	uint64_t size;			/* of the model */
	uint8_t *pool;
	uint8_t *image;			/* of a buffer, where segments overlap */
	struct mars mars;		/* of side 1 */
	bool any;			/* early_copy=any on side 1 */
	bool verbose;
	enum plant plant;
	bool primed;			/* PLANT_PAIR: its first operation was there */
	struct beat *beat;
	struct plan plan;
	char why[512];
	const struct op *failed;	/* NULL: the files at the end */
	uint64_t nr_ops, nr_reads, done[OP_NR], worked[OP_NR];
	double took[OP_NR];		/* seconds */
};

/* Traits of a kind */
#define T_BUFFER 1u	/* reads into user memory: judged byte by byte */
#define T_CURSOR 2u	/* always at the file position */
#define T_EITHER 4u	/* at the file position when off is -1 */
#define T_VECTOR 8u
#define T_FLAGS 16u	/* takes RWF_* */
#define T_PIECES 32u	/* several requests at once */
#define T_STREAM 64u	/* read to somewhere else, then fetched into the buffer */

struct kind {
	const char *name;
	unsigned int weight, traits;
	void (*run)(struct diff *d, struct side *s, const struct op *op);
	void (*apply)(struct diff *d, const struct op *op, int64_t ret);
};

extern const struct kind diff_kinds[OP_NR];

static inline bool op_has(const struct op *op, unsigned int trait)
{
	return diff_kinds[op->kind].traits & trait;
}

static inline int op_fd(const struct side *s, const struct op *op)
{
	return s->fd[op->slot];
}

static inline bool op_direct(const struct diff *d, const struct op *op)
{
	return d->side[0].open_flags[op->slot] & O_DIRECT;
}

static inline bool op_nowait(const struct op *op)
{
	return op_has(op, T_FLAGS) && op->flags & DIFF_NOWAIT;
}

/* diff_gen.c */
void diff_gen(struct seq *seq, uint64_t seed);

/* diff_text.c */
const char *op_text(const struct op *op);
const char *seq_text(const struct seq *seq);

/* diff_buf.c */
void buf_make(struct diff *d, struct side *s, const struct op *op);
void buf_free(struct dbuf *b);
bool buf_judge(struct diff *d, const struct side *s, const struct op *op);
bool same(struct diff *d, const struct side *s, uint64_t at, const uint8_t *want,
	  uint64_t len, const char *what);
void plan_make(struct diff *d, const struct op *op);
void plan_iov(struct diff *d, struct side *s);
uint64_t piece_good(const struct diff *d, const struct dbuf *b, const struct piece *piece);
uint64_t piece_expect(const struct diff *d, const struct piece *piece);

/* diff_read.c, diff_async.c, diff_stream.c, diff_change.c: see diff_kinds */
void run_read(struct diff *d, struct side *s, const struct op *op);
void run_uring(struct diff *d, struct side *s, const struct op *op);
void run_aio(struct diff *d, struct side *s, const struct op *op);
void async_init(struct diff *d);
void run_splice(struct diff *d, struct side *s, const struct op *op);
void run_sendfile(struct diff *d, struct side *s, const struct op *op);
void run_copy_range(struct diff *d, struct side *s, const struct op *op);
void run_mmap_read(struct diff *d, struct side *s, const struct op *op);
void run_write(struct diff *d, struct side *s, const struct op *op);
void run_mmap_write(struct diff *d, struct side *s, const struct op *op);
void run_truncate(struct diff *d, struct side *s, const struct op *op);
void run_fallocate(struct diff *d, struct side *s, const struct op *op);
void run_cache(struct diff *d, struct side *s, const struct op *op);
void run_lseek(struct diff *d, struct side *s, const struct op *op);
void run_open(struct diff *d, struct side *s, const struct op *op);
void apply_read(struct diff *d, const struct op *op, int64_t ret);
void apply_write(struct diff *d, const struct op *op, int64_t ret);
void apply_truncate(struct diff *d, const struct op *op, int64_t ret);
void apply_fallocate(struct diff *d, const struct op *op, int64_t ret);
void apply_open(struct diff *d, const struct op *op, int64_t ret);
int64_t write_off(const struct diff *d, const struct side *s, const struct op *op);
int falloc_mode(const struct op *op);

/* diff_judge.c */
bool differ(struct diff *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool diff_judge(struct diff *d, const struct op *op);
bool diff_judge_files(struct diff *d, const struct seq *seq);

/* diff_plant.c: differences made on purpose */
enum plant plant_parse(const char *text);
unsigned int plant_ops(enum plant plant);
void plant_now(struct diff *d, const struct op *op);

/* diff_run.c: one sequence from its start; @keep says which operations */
bool diff_run(struct diff *d, const struct seq *seq, const bool *keep);

/* diff_knobs.c */
void knobs_set(const struct diff *d, const struct knobs *knobs);
const char *knobs_text(const struct knobs *knobs);
void knobs_gen(struct knobs *knobs, struct rng *rng);
#define EARLY_ANY 2u

/* diff_shrink.c */
bool diff_repeats(struct diff *d, const struct seq *seq, const bool *keep);
unsigned int diff_shrink(struct diff *d, const struct seq *seq, bool *keep);

#endif /* DIFF_H */
