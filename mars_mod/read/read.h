/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The staged read: one request, handed from stage to stage by read.c. Stages
 * never call each other.
 */
#ifndef _MARS_READ_H
#define _MARS_READ_H

#include <linux/blkdev.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/pagemap.h>
#include <linux/uio.h>

#include "../compat/compat.h"
#include "../mount.h"

/* Folios that one call of ->readahead gets at most. */
#define MARS_CHUNK_FOLIOS 256
/* Pages of the buffer that one step of fault-in makes present at most. */
#define MARS_FAULT_PAGES 64

/* What a step of the copy side says beside 0 and negative errnos. */
#define MARS_STOP 1	/* the read ends here: end of file, or a short native piece */
#define MARS_REISSUE 2	/* the folio at the cursor needs another read */

struct mars_share;
struct mars_relay;

/**
 * struct mars_request - one read on its way through the stages
 * @id:		number of the read, in every trace event
 * @mount:	its mount; a reference is held by the caller
 * @config:	the knobs it started with
 * @iocb:	->ki_pos is the copy cursor
 * @iter:	where the data goes
 * @mapping:	the file's page cache
 * @inode:	its owner
 * @ra:		read-ahead state that ->readahead sees; the file's own is left alone
 * @gfp:	for new folios
 * @min_order:	least folio order of the mapping
 * @max_order:	greatest folio order this read uses
 * @order:	greatest order to try now; stepped down by failures, raised by success
 * @budget:	bytes that were taken from MARS's share of memory
 * @window:	bytes that may lie between copy and submission cursor, at most @budget
 * @depth:	bytes of its range that may be in flight, or MARS_DEPTH_NONE
 * @probing:	its curve is to be learned from
 * @curve:	how fast its first bytes were there
 * @brought:	pages of its range that it brought in
 * @regrow:	file position from which a window that was made smaller may grow again
 * @batch:	bytes of the current batch
 * @end:	end of the range as last seen, bytes, exclusive
 * @next:	submission cursor: first page index not looked at yet
 * @limit:	page index after the range
 * @continues:	it goes on where the file's last read ended, and may look ahead
 * @ahead:	bytes beyond the range that it is to have under way when it returns
 * @far:	page index after those, at least @limit
 * @ra_pages:	the file's read-ahead window
 * @ahead_order: greatest order beyond the range
 * @mark:	index of the last folio that it gave a read-ahead mark; 0: none
 * @ahead_end:	page index after what it brought in beyond the range
 * @collided:	where an insertion last met somebody else's folio at once
 * @starved:	nothing is brought in at @next for now: that is the native path's
 * @hungry_for:	why
 * @vanished:	page index last found missing below @next
 * @nr_vanished: how often in a row
 * @last_pos:	end of what was last copied, for folio_mark_accessed()
 * @copied:	bytes returned so far
 * @faulted:	file position up to which the buffer was faulted in ahead
 * @fault_stop:	the buffer has something that is not faulted in ahead
 * @early:	file position up to which early copy has looked since the last sleep
 * @share:	what is shared with workers, from the first time on
 * @share_from:	file position from which it is worth asking for workers again
 * @submit_executors: how many submit at most, the read among them
 * @nr_runs:	runs that were submitted
 * @governed:	@submit_executors is the controller's
 * @wait_ns:	time that it spent submitting or asleep
 * @in_flight:	bytes of it that are submitted and not copied, as the mount knows
 * @in_flight_sum: of the mount's, at each submission
 * @in_flight_nr: submissions
 * @relay:	submitters, from the first time on that one was looked for
 * @relay_from:	page index from which it is worth looking for submitters again
 * @settled:	early_copy=off: page index up to which everything was waited for
 * @failed:	the I/O of a folio failed, and the native path had no better luck
 * @ledger:	what was copied out of order
 * @fault_page:	for mars_fault_in()
 * @waited:	page index after the folio that was last slept on
 * @runs:	what this read brought in and has not copied yet
 * @nr_folios:	folios in @folio: allocated, or inserted and locked
 * @nr_pages:	their pages
 * @workingset:	one of them was evicted not long ago
 * @folio:	the chunk between allocate and submit
 * @ready:	folios at the copy cursor, with references
 */
struct mars_request {
	u64 id;
	struct mars_mount *mount;
	struct mars_config config;
	struct kiocb *iocb;
	struct iov_iter *iter;
	struct address_space *mapping;
	struct inode *inode;
	struct file_ra_state ra;
	gfp_t gfp;
	unsigned int min_order;
	unsigned int max_order;
	unsigned int order;
	u64 budget;
	u64 window;
	u64 depth;
	bool probing;
	struct mars_depth_curve curve;
	u64 brought;
	loff_t regrow;
	u64 batch;
	loff_t end;
	pgoff_t next;
	pgoff_t limit;
	bool continues;
	u64 ahead;
	pgoff_t far;
	unsigned int ra_pages;
	unsigned int ahead_order;
	pgoff_t mark;
	pgoff_t ahead_end;
	pgoff_t collided;
	bool starved;
	enum mars_reason hungry_for;
	pgoff_t vanished;
	unsigned int nr_vanished;
	loff_t last_pos;
	ssize_t copied;
	loff_t faulted;
	bool fault_stop;
	loff_t early;
	struct mars_share *share;
	loff_t share_from;
	unsigned int submit_executors;
	unsigned long nr_runs;
	bool governed;
	u64 wait_ns;
	u64 in_flight;
	u64 in_flight_sum;
	u64 in_flight_nr;
	struct mars_relay *relay;
	pgoff_t relay_from;
	pgoff_t settled;
	bool failed;
	struct mars_ledger ledger;
	struct page *fault_page[MARS_FAULT_PAGES];
	pgoff_t waited;
	struct mars_runs runs;
	unsigned int nr_folios;
	unsigned long nr_pages;
	bool workingset;
	struct folio *folio[MARS_CHUNK_FOLIOS];
	struct folio_batch ready;
};

/**
 * mars_own_end() - what of the read's range was looked at
 * @req: the read
 *
 * Beyond it lies what was not looked at yet, or the lookahead, which is nothing that
 * the read copies or waits for.
 *
 * Context: Any.
 * Return: Page index.
 */
static inline pgoff_t mars_own_end(const struct mars_request *req)
{
	return min(req->next, req->limit);
}

/**
 * mars_is_ahead() - is the submission cursor beyond the read's range?
 * @req: the read
 *
 * Context: Any.
 * Return: True if so.
 */
static inline bool mars_is_ahead(const struct mars_request *req)
{
	return req->next >= req->limit;
}

/**
 * mars_is_large() - larger than the least folio of the mapping?
 * @req: the read
 * @folio: with a reference
 *
 * Context: Any.
 * Return: True if so.
 */
static inline bool mars_is_large(const struct mars_request *req, struct folio *folio)
{
	return folio_order(folio) > req->min_order;
}

/**
 * mars_in_flight() - what of the read's range is submitted and not copied
 * @req: the read
 *
 * Context: Any.
 * Return: Bytes.
 */
static inline u64 mars_in_flight(const struct mars_request *req)
{
	return mars_runs_total(&req->runs) << PAGE_SHIFT;
}

/**
 * mars_pass_mark() - the copy cursor passes a folio
 * @req: the read
 * @folio: with a reference
 *
 * A read that looks ahead has done what a read-ahead mark asks for. On a folio under
 * writeback the same bit is PG_reclaim.
 *
 * Context: Any.
 */
static inline void mars_pass_mark(const struct mars_request *req, struct folio *folio)
{
	if (req->continues && folio_test_readahead(folio) && !folio_test_writeback(folio))
		folio_clear_readahead(folio);
}

/**
 * mars_stage_end() - account a stage's time
 * @req: the read
 * @stat: the stage's counter
 * @start: ktime_get_ns() at its beginning
 *
 * Context: Any.
 * Return: The nanoseconds it took.
 */
static inline u64 mars_stage_end(struct mars_request *req, enum mars_stat stat, u64 start)
{
	u64 ns = ktime_get_ns() - start;

	mars_stat_add(req->mount->stats, stat, ns);
	return ns;
}

/**
 * mars_charge_may_sleep() - is this task above memory.high?
 *
 * Then the next charge may sleep for seconds in reclaim; with the read's folios
 * locked, others would sleep with it. So they are submitted first.
 *
 * Context: Task.
 * Return: True if so.
 */
static inline bool mars_charge_may_sleep(void)
{
#ifdef CONFIG_MEMCG
	return current->memcg_nr_pages_over_high;
#else
	return false;
#endif
}

/* read.c */
ssize_t mars_read(struct mars_mount *mount, struct kiocb *iocb, struct iov_iter *iter);
int mars_read_init(void);
void mars_read_exit(void);

/* budget.c */
u64 mars_budget_take(u64 own, u64 most, u64 *ahead);
void mars_budget_give(u64 window);
u64 mars_budget_used(void);
u64 mars_memory_limit(void);
int mars_set_memory_limit(u64 bytes);
void mars_budget_init(void);

/* classify.c */
unsigned long mars_classify(struct mars_request *req, unsigned long max, bool *missing);
unsigned int mars_collect(struct mars_request *req);
void mars_put_ready(struct mars_request *req, unsigned int keep);
struct folio *mars_get_folio(struct mars_request *req, pgoff_t index);
struct folio *mars_next_folio(struct mars_request *req, pgoff_t *index);

/* allocate.c */
void mars_allocate(struct mars_request *req, unsigned long nr);

/* insert.c: invalidate_lock held shared, NOFS scope */
int mars_insert(struct mars_request *req);

/* submit.c: invalidate_lock held shared, NOFS scope */
unsigned long mars_start_io(struct mars_request *req, struct file_ra_state *ra, pgoff_t index,
			    unsigned long nr, bool workingset);
void mars_submit(struct mars_request *req);

/* govern.c */
void mars_govern_begin(struct mars_request *req);
void mars_govern_submitted(struct mars_request *req);
void mars_govern_end(struct mars_request *req, u64 ns);

/* flight.c */
void mars_flight_begin(struct mars_request *req, u64 length);
bool mars_flight_room(const struct mars_request *req);
void mars_flight_submitted(struct mars_request *req, unsigned long nr);
void mars_flight_copied(struct mars_request *req);
void mars_flight_end(struct mars_request *req);

/* relay.c */
void mars_relay_prepare(struct mars_request *req, unsigned long nr);
bool mars_relay(struct mars_request *req);
void mars_relay_end(struct mars_request *req);

/* native.c */
int mars_native_piece(struct mars_request *req, size_t bytes, enum mars_reason reason);
int mars_reissue(struct mars_request *req, struct folio *folio);

/* mask.c, wait.c */
int mars_await(struct mars_request *req, struct folio *head);
int mars_settle(struct mars_request *req);
int mars_wait(struct mars_request *req, struct folio *folio);
void mars_drop_failed(struct mars_request *req);

/* fault_in.c */
size_t mars_make_present(struct mars_request *req, unsigned long addr, size_t len);
size_t mars_fault_in(struct mars_request *req, loff_t pos);

/* copy.c */
int mars_copy(struct mars_request *req);
size_t mars_copy_early(struct mars_request *req, struct folio *folio, loff_t pos);
bool mars_outstanding(struct mars_request *req);
enum mars_stat mars_origin(struct mars_request *req, pgoff_t index);

/* lookahead.c */
void mars_lookahead_plan(struct mars_request *req, u64 length, u64 behind);
void mars_lookahead_range(struct mars_request *req);
void mars_lookahead_stop(struct mars_request *req);
void mars_lookahead_mark(struct mars_request *req, struct folio *folio);
void mars_lookahead_note(struct mars_request *req, unsigned long nr);
void mars_lookahead_leave(struct mars_request *req);

/* parallel.c */
int mars_share(struct mars_request *req);
void mars_share_release(struct mars_request *req);
void mars_share_free(struct mars_request *req);

#endif /* _MARS_READ_H */
