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

enum mars_depth_choice {
#define MARS_DEPTH(word) MARS_DEPTH_##word,
#include <mars/knobs.def>
#undef MARS_DEPTH
};

/* The value of a knob of kind "count" or "auto_size" that says auto. */
#define MARS_AUTO (~0ULL)

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
int mars_parse_number(const char *text, size_t len, u64 *value);
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
u64 mars_plan_batch_end(u64 next, u64 pages);
unsigned int mars_plan_max_order(u64 max_folio_bytes, unsigned int page_shift,
				 unsigned int min_order, unsigned int max_order);
u64 mars_plan_window(u64 wanted, u64 share, u64 group, u64 available);

/* core/lookahead.c */

bool mars_continues(s64 pos, s64 prev_pos, bool random, bool sequential);
u64 mars_lookahead_want(u64 knob, u64 window, u64 length, u64 ahead);
u64 mars_lookahead_share(u64 limit, u64 left);
u64 mars_lookahead_fit(u64 want, u64 asked, u64 granted);
u64 mars_lookahead_edge(u64 limit, u64 edge, u64 eof, unsigned int min_order, unsigned int order);

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
u64 mars_runs_total(const struct mars_runs *runs);
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

/* core/protocol.c */

enum mars_item_state {
	MARS_ITEM_FINISHED,
	MARS_ITEM_UNFINISHED,
	MARS_ITEM_PARTIAL,
	MARS_ITEM_CANCELED,
	MARS_ITEM_CANCELED_BY_MASTER,
};

/**
 * struct mars_item - a piece of work
 * @state:	enum mars_item_state
 * @start:	first byte, as a file position
 * @cursor:	the first that is not done
 * @end:	the one after the last
 */
struct mars_item {
	u32 state;
	u64 start;
	u64 cursor;
	u64 end;
};

/* Items that a read may have offered and not accounted yet: a power of two. */
#ifndef MARS_JOB_ITEMS
#define MARS_JOB_ITEMS 16
#endif

/**
 * struct mars_job - what a read shares with its workers
 * @head:	number of the next item to be added; written by the master
 * @tail:	number of the lowest item that is not reaped; written by the master
 * @stop:	the master begins no item that starts here or above
 * @err:	why; 0 while it has had no error
 * @execute:	what a worker does to an item
 * @item:	ring of items
 */
struct mars_job {
	u32 head;
	u32 tail;
	u64 stop;
	int err;
	void (*execute)(struct mars_job *job, struct mars_item *item);
	struct mars_item item[MARS_JOB_ITEMS];
};

enum mars_post_state {
	MARS_POST_FREE,
	MARS_POST_RESERVED,
	MARS_POST_PENDING,
	MARS_POST_RUNNING,
	MARS_POST_ASLEEP,
};

/**
 * struct mars_post - where a worker finds its work
 * @state:	enum mars_post_state
 * @came:	the worker has been at the job since it was reserved
 * @job:	what to work at
 */
struct mars_post {
	u32 state;
	bool came;
	struct mars_job *job;
};

enum mars_visit {
	MARS_VISIT_UNWANTED,
	MARS_VISIT_IDLE,
	MARS_VISIT_FINISHED,
	MARS_VISIT_LEFT,
};

void mars_job_init(struct mars_job *job,
		   void (*execute)(struct mars_job *job, struct mars_item *item));
u32 mars_job_number(const struct mars_job *job, const struct mars_item *item);
u32 mars_job_room(const struct mars_job *job);
void mars_job_add(struct mars_job *job, u64 start, u64 end);
enum mars_visit mars_visit(struct mars_post *post);
struct mars_item *mars_job_next(struct mars_job *job);
void mars_item_close(struct mars_item *item);
struct mars_item *mars_job_reap(struct mars_job *job);
bool mars_job_await(struct mars_job *job);
bool mars_job_help(struct mars_job *job,
		   int (*run)(struct mars_job *job, struct mars_item *item));
int mars_job_finish(struct mars_job *job,
		    int (*run)(struct mars_job *job, struct mars_item *item));
bool mars_post_reserve(struct mars_post *post);
bool mars_post_call(struct mars_post *post, struct mars_job *job);
bool mars_post_doze(struct mars_post *post);
bool mars_post_recall(struct mars_post *post);
void mars_post_free(struct mars_post *post);

/* A worker that came late this often in a row is not called for so long. */
#define MARS_PATIENCE_LATE 2
#define MARS_PATIENCE_PAUSE_NS 10000000ULL

/**
 * struct mars_patience - whether it is worth calling a worker
 * @late:	times in a row that it did not come before all was done
 * @until:	not to be called before this time in nanoseconds
 */
struct mars_patience {
	u32 late;
	u64 until;
};

void mars_patience_note(struct mars_patience *patience, bool came, u64 now);
bool mars_patience_over(const struct mars_patience *patience, u64 now);

/* core/handover.c */

enum mars_handover_state {
	MARS_HANDOVER_FREE,
	MARS_HANDOVER_RESERVED,
	MARS_HANDOVER_OFFERED,
	MARS_HANDOVER_TAKEN,
	MARS_HANDOVER_DONE,
};

/**
 * struct mars_handover - where a read puts a piece of work for another thread
 * @state:	enum mars_handover_state
 * @work:	what is to be done
 */
struct mars_handover {
	u32 state;
	void *work;
};

bool mars_handover_reserve(struct mars_handover *handover);
void mars_handover_offer(struct mars_handover *handover, void *work);
bool mars_handover_offered(struct mars_handover *handover);
bool mars_handover_withdraw(struct mars_handover *handover);
void *mars_handover_take(struct mars_handover *handover);
void mars_handover_done(struct mars_handover *handover);
bool mars_handover_collect(struct mars_handover *handover);
void mars_handover_free(struct mars_handover *handover);

/* core/controller.c */

/* A read of fewer bytes that were missing says nothing about how to submit. */
#define MARS_SAMPLE_LEAST 0x100000ULL
/* Longer counts as this: it was stopped, or the machine slept. */
#define MARS_SAMPLE_NS_MOST 100000000000ULL
#define MARS_CONTROLLER_PAIRS 15

/**
 * struct mars_sample - one read, as the controller sees it
 * @degree:	what mars_controller_degree() said for it
 * @bytes:	that it submitted
 * @wait_ns:	time that it spent submitting or asleep
 * @whole_ns:	all its time
 * @in_flight:	mean of the mount's bytes submitted and not copied meanwhile
 */
struct mars_sample {
	unsigned int degree;
	u64 bytes;
	u64 wait_ns;
	u64 whole_ns;
	u64 in_flight;
};

/**
 * struct mars_epoch - reads put together; sums at first, then figures a MiB
 * @bytes:	that they submitted
 * @wait:	time spent submitting or asleep
 * @whole:	all time
 * @in_flight:	mean bytes
 */
struct mars_epoch {
	u64 bytes;
	u64 wait;
	u64 whole;
	u64 in_flight;
};

/**
 * struct mars_controller - how many executors submit
 * @degree:	in use
 * @trial:	on trial; @degree while there is no trial
 * @most:	how many a read could have at last
 * @second:	this epoch is one of @trial
 * @reads:	of this epoch
 * @epoch:	this epoch
 * @before:	the last one of @degree in this trial
 * @tried:	the last one of @trial
 * @nr_pairs:	comparisons in this trial
 * @gain:	what @trial saved in each, in thousandths
 * @unlike:	comparisons that came to nothing
 * @direction:	1: the next trial is of more executors, -1: of fewer
 * @lost:	trials lost in a row
 * @epochs:	since it was settled
 * @rest:	epochs to stay settled
 * @next_rest:	the next time
 * @usual:	nanoseconds a MiB since it was settled
 * @strange:	epochs in a row that were much unlike that
 */
struct mars_controller {
	u32 degree;
	u32 trial;
	u32 most;
	bool second;
	u32 reads;
	struct mars_epoch epoch;
	struct mars_epoch before;
	struct mars_epoch tried;
	u32 nr_pairs;
	int gain[MARS_CONTROLLER_PAIRS];
	u32 unlike;
	int direction;
	u32 lost;
	u32 epochs;
	u32 rest;
	u32 next_rest;
	u64 usual;
	u32 strange;
};

void mars_controller_init(struct mars_controller *controller);
unsigned int mars_controller_degree(struct mars_controller *controller, unsigned int most);
void mars_controller_note(struct mars_controller *controller, const struct mars_sample *sample);

/* core/depth.c */

/* Points of a curve, from 1 MiB to 1 GiB. */
#define MARS_DEPTH_POINTS 21
/* Knees of which the greatest counts. */
#define MARS_DEPTH_KNEES 8
/* No limit. */
#define MARS_DEPTH_NONE (~0ULL)

/**
 * struct mars_depth_curve - how fast a read's first bytes were there
 * @begin:	when the first were submitted, in nanoseconds
 * @nr:		points reached
 * @after:	nanoseconds that the first mars_depth_point() bytes took
 */
struct mars_depth_curve {
	u64 begin;
	u32 nr;
	u64 after[MARS_DEPTH_POINTS];
};

/**
 * struct mars_depth - how much the reads of a mount should have in flight
 * @limit:	bytes, or MARS_DEPTH_NONE
 * @knee:	ring of the last knees, in bytes
 * @nr:		knees ever put there
 * @unbent:	the last curve went on without a bend
 * @reads:	that were limited since then
 * @learned:	when that was, in nanoseconds
 */
struct mars_depth {
	u64 limit;
	u64 knee[MARS_DEPTH_KNEES];
	u32 nr;
	bool unbent;
	u32 reads;
	u64 learned;
};

u64 mars_depth_point(u32 nth);
void mars_depth_begin(struct mars_depth_curve *curve, u64 now);
void mars_depth_reach(struct mars_depth_curve *curve, u64 bytes, u64 now);
u64 mars_depth_knee(const struct mars_depth_curve *curve, bool *bent);
void mars_depth_init(struct mars_depth *depth);
u64 mars_depth_limit(struct mars_depth *depth, u64 length, u64 now, bool *probe);
bool mars_depth_learn(struct mars_depth *depth, const struct mars_depth_curve *curve, u64 now);

#endif /* _MARS_CORE_H */
