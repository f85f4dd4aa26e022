/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What mars_mod/core/ offers: pure C, no kernel headers, no locks, no
 * allocation. Everything here runs in any context.
 */
#ifndef _MARS_CORE_H
#define _MARS_CORE_H

#include <mars/port.h>

/* core/knobs.c */

enum mars_early_copy {
#define MARS_EARLY_COPY(word) MARS_EARLY_COPY_##word,
#include <mars/knobs.def>
#undef MARS_EARLY_COPY
};

/**
 * struct mars_config - one mount's knobs, published whole
 *
 * One u64 per line of knobs.def. A configuration is never changed in place: a
 * read copies the one it starts with.
 */
struct mars_config {
#define MARS_KNOB(name, kind, dflt, least, greatest) u64 name;
#include <mars/knobs.def>
#undef MARS_KNOB
};

enum mars_knob {
#define MARS_KNOB(name, kind, dflt, least, greatest) MARS_KNOB_##name,
#include <mars/knobs.def>
#undef MARS_KNOB
	MARS_NR_KNOBS
};

void mars_config_init(struct mars_config *config);
u64 mars_config_get(const struct mars_config *config, enum mars_knob knob);
const char *mars_config_set(struct mars_config *config, enum mars_knob knob, u64 value);
int mars_parse_size(const char *text, size_t len, u64 *value);
int mars_parse_switch(const char *text, size_t len, u64 *value);
int mars_knob_parse(enum mars_knob knob, const char *text, size_t len, u64 *value);
const char *mars_knob_word(enum mars_knob knob, u64 value);

/* core/verdict.c */

enum mars_reason {
	MARS_ACCELERATE = -1,
#define MARS_REASON(name) MARS_NATIVE_##name,
#include <mars/reasons.def>
#undef MARS_REASON
	MARS_NR_REASONS
};

/**
 * struct mars_facts - what the hook knows of a read
 * @count:		bytes asked for
 * @pos:		file position in bytes
 * @isize:		file size in bytes at the moment of the call
 * @min_read_bytes:	the mount's knob
 * @bad_flags:		a kiocb flag outside the allow list, or already_read
 * @bad_iter:		not a user iovec or ubuf that may be faulted in
 * @bad_context:	the task may not fault or reclaim
 * @bad_file:		the file's cache is not one that MARS fills
 */
struct mars_facts {
	u64 count;
	s64 pos;
	s64 isize;
	u64 min_read_bytes;
	bool bad_flags;
	bool bad_iter;
	bool bad_context;
	bool bad_file;
};

enum mars_reason mars_verdict(const struct mars_facts *facts);

/* core/plan.c */

/* No window is smaller: less than a batch or two would be no pipeline. */
#define MARS_WINDOW_LEAST (1024ULL * 1024)

unsigned int mars_plan_order(u64 index, u64 nr, unsigned int min_order, unsigned int max_order);
unsigned int mars_plan_step_down(unsigned int order, unsigned int min_order);
u64 mars_plan_batch(u64 previous, u64 batch_bytes);
unsigned int mars_plan_max_order(u64 max_folio_bytes, unsigned int page_shift,
				 unsigned int min_order, unsigned int max_order);
u64 mars_plan_window(u64 wanted, u64 share, u64 group, u64 available);

/* core/runs.c */

/* Outstanding runs a read may have; a read that has more waits for the oldest. */
#define MARS_RUNS_MAX 128

/**
 * struct mars_run - a range, [start, end)
 * @start:	first page index, or file position in bytes
 * @end:	the one after the last
 */
struct mars_run {
	u64 start;
	u64 end;
};

/**
 * struct mars_runs - the outstanding runs of one read, ascending, disjoint
 * @head:	slot of the lowest run
 * @nr:		runs held
 * @slot:	ring of runs
 */
struct mars_runs {
	u32 head;
	u32 nr;
	struct mars_run slot[MARS_RUNS_MAX];
};

void mars_runs_init(struct mars_runs *runs);
bool mars_runs_full(const struct mars_runs *runs);
bool mars_runs_push(struct mars_runs *runs, u64 start, u64 end);
void mars_runs_retire(struct mars_runs *runs, u64 index);
void mars_runs_rewind(struct mars_runs *runs, u64 index);
bool mars_runs_contain(const struct mars_runs *runs, u64 index);
bool mars_runs_last(const struct mars_runs *runs, u64 *index);

/* core/ledger.c */

/* Pieces copied out of order that a read may have; more are copied in order. */
#define MARS_LEDGER_MAX 64

/**
 * struct mars_ledger - what was copied ahead of the copy cursor
 * @nr:		pieces held
 * @piece:	[start, end) in file positions; ascending, disjoint, not adjacent
 */
struct mars_ledger {
	u32 nr;
	struct mars_run piece[MARS_LEDGER_MAX];
};

void mars_ledger_init(struct mars_ledger *ledger);
bool mars_ledger_record(struct mars_ledger *ledger, u64 start, u64 end);
bool mars_ledger_full(const struct mars_ledger *ledger);
u64 mars_ledger_covered(const struct mars_ledger *ledger, u64 pos);
u64 mars_ledger_next(const struct mars_ledger *ledger, u64 pos);
void mars_ledger_retire(struct mars_ledger *ledger, u64 pos);

/* core/parallelism.c */

/* Beyond these a figure counts as the limit; products then fit in 128 bits. */
#define MARS_COST_SPEED_MAX 0x1000000000000ULL	/* bytes a second */
#define MARS_COST_DISPATCH_MAX 0x100000000ULL	/* nanoseconds */
#define MARS_COST_GAIN_MAX 1000ULL
#define MARS_COST_CAP_MAX 16384U
#define MARS_COST_ALPHA_MAX 8000U

/**
 * struct mars_cost - what one kind of work costs on this machine
 * @bytes_per_second:	what one executor does; S in the formulas
 * @dispatch_ns:	what the master pays for each further executor; D
 * @gain:		least gain that a further one is worth, in thousandths; r
 * @cap:		from here on another executor only gets in the others' way
 */
struct mars_cost {
	u64 bytes_per_second;
	u64 dispatch_ns;
	u64 gain;
	unsigned int cap;
};

unsigned int mars_parallel_max(u64 bytes, const struct mars_cost *cost);
u64 mars_parallel_least(const struct mars_cost *cost);
unsigned int mars_parallel_n(unsigned int n_max, unsigned int cpus,
			     unsigned int available, unsigned int alpha);

#endif /* _MARS_CORE_H */
