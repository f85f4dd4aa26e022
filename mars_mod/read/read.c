// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pipeline.
 *
 *   copy cursor (ki_pos)                     submission cursor (next)
 *        |<------------- window --------------->|
 *   ...copied [ ready | under I/O | ...         ] not looked at yet...
 *
 * mars_advance() moves the submission cursor by one batch: classify, and for
 * what is missing allocate, insert, submit. mars_drain() moves the copy cursor
 * over what is ready, and sleeps only when the submission cursor cannot move.
 * The two alternate, so a device that answers at once has its data copied while
 * the CPU cache still holds it, and a slow one finds the window full of
 * requests. Both cursors are all the state there is: no reference is kept on
 * what lies between them, so reclaim and truncation are free to take it, and
 * the copy side finds out.
 *
 * A read that continues the one before it goes on submitting beyond its own end, up
 * to "far": when all of its own range is under way, in turn with the copy and instead
 * of sleeping, and what is left of it at the end. See lookahead.c.
 *
 * What the stages do not handle goes to the native path in pieces: a folio
 * whose I/O failed, a page that memory could not be had for. It returns what it
 * always returns, and so does the read.
 *
 * Locks: invalidate_lock is taken shared per chunk, around insert and submit
 * only; nothing is copied, no user memory touched and no folio waited for
 * meanwhile. Under it come the folio locks of one chunk, in index order, handed
 * to the file system before the lock is dropped; or both go to a submitter at
 * once, see relay.c.
 */
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "../hook.h"
#include "../trace.h"
#include "read.h"

/* The same page found missing this often in a row is left to the native path. */
#define MARS_VANISHED_MAX 3

static struct kmem_cache *request_cache;
static atomic64_t last_id;

static bool in_window(const struct mars_request *req)
{
	return ((u64)req->next << PAGE_SHIFT) < req->iocb->ki_pos + req->window;
}

static bool can_advance(const struct mars_request *req)
{
	if (req->config.early_copy == MARS_EARLY_COPY_off &&
	    (req->iocb->ki_pos >> PAGE_SHIFT) < req->settled)
		return false;
	return req->next < req->limit && !req->starved && !mars_runs_full(&req->runs) &&
	       in_window(req) && mars_flight_room(req);
}

static bool can_look_ahead(const struct mars_request *req)
{
	return mars_is_ahead(req) && req->next < req->far && in_window(req);
}

/* Pages that may be looked at now; only while one of the two above holds. */
static unsigned long room(const struct mars_request *req)
{
	pgoff_t edge = (req->iocb->ki_pos + req->window + PAGE_SIZE - 1) >> PAGE_SHIFT;

	return min(edge, mars_is_ahead(req) ? req->far : req->limit) - req->next;
}

/* Somebody else's folio stands where one of ours was to go. */
static void give_way(struct mars_request *req)
{
	mars_stat_add(req->mount->stats, MARS_STAT_retries, 1);
	/*
	 * The next classification sees it, unless a large folio collides with a
	 * resident one further on although its own first page is missing. So at
	 * the second collision in one place try the smallest, and if that
	 * collides too, the page at the cursor is resident now.
	 */
	if (req->collided != req->next)
		req->collided = req->next;
	else if (req->order > req->min_order)
		req->order = req->min_order;
	else
		req->next += 1UL << req->min_order;
}

/* The file became shorter than the range was planned for. */
static void meet_eof(struct mars_request *req)
{
	if (((u64)req->next << PAGE_SHIFT) < i_size_read(req->inode)) {
		req->order = req->min_order;
		return;
	}
	req->limit = min(req->limit, req->next);
	mars_lookahead_stop(req);
}

static void advance_over_chunk(struct mars_request *req, unsigned long nr)
{
	if (mars_is_ahead(req)) {
		mars_lookahead_note(req, nr);
	} else {
		mars_runs_push(&req->runs, req->next, req->next + nr);
		mars_flight_submitted(req, nr);
	}
	mars_govern_submitted(req);
	req->next += nr;
	if (req->order < req->max_order)
		req->order++;
}

/*
 * The native path serves the page at the cursor, and a batch with it. Of what is
 * looked ahead nothing has to be served.
 */
static unsigned long starve(struct mars_request *req, enum mars_reason why)
{
	if (mars_is_ahead(req)) {
		mars_lookahead_stop(req);
		return 0;
	}
	req->starved = true;
	req->hungry_for = why;
	return 0;
}

/* Brings in missing pages from the cursor on, at most @nr. Returns how many. */
static unsigned long bring_in(struct mars_request *req, unsigned long nr)
{
	bool given = false;
	unsigned int nofs;
	int err;

	if (WARN_ON_ONCE(!IS_ALIGNED(req->next, 1UL << req->min_order)))
		return starve(req, MARS_NATIVE_nomem);
	if (mars_throttled())
		return starve(req, MARS_NATIVE_throttled);
	if (mars_is_ahead(req) && mars_charge_may_sleep())
		return starve(req, MARS_NATIVE_nomem);
	mars_allocate(req, nr);
	if (!req->nr_folios)
		return starve(req, MARS_NATIVE_nomem);
	mars_relay_prepare(req, req->nr_pages);
	filemap_invalidate_lock_shared(req->mapping);
	nofs = memalloc_nofs_save();
	err = mars_insert(req);
	nr = req->nr_pages;
	if (nr)
		given = mars_relay(req);
	if (nr && !given)
		mars_submit(req);
	memalloc_nofs_restore(nofs);
	/* What was given away took the lock with it. */
	if (!given)
		filemap_invalidate_unlock_shared(req->mapping);

	if (nr)
		advance_over_chunk(req, nr);
	else if (err == -EEXIST)
		give_way(req);
	else if (err == -ENODATA)
		meet_eof(req);
	else if (err == -ENOMEM && req->order > req->min_order)
		req->order = req->min_order;
	else
		starve(req, MARS_NATIVE_nomem);
	return nr;
}

static bool can_submit(const struct mars_request *req)
{
	return can_advance(req) || can_look_ahead(req);
}

/*
 * One plug per batch. A caller's own plug (a batch of aio requests) is flushed
 * first and opened again after: within it ours would be no plug at all, and
 * putting it aside with requests inside could use up the tags we wait for.
 */
static void mars_advance(struct mars_request *req)
{
	struct blk_plug *outer = current->plug;
	unsigned short outer_ios = outer ? outer->nr_ios : 0;
	unsigned long switches = current->nvcsw;
	struct blk_plug plug;
	unsigned long batch, budget, nr;
	bool missing;

	if (!can_submit(req))
		return;
	req->batch = mars_plan_batch(req->batch, req->config.batch_bytes);
	batch = mars_plan_batch_end(req->next, req->batch >> PAGE_SHIFT) - req->next;
	budget = batch;
	if (outer)
		blk_finish_plug(outer);
	blk_start_plug(&plug);
	while (budget && can_submit(req) && !fatal_signal_pending(current)) {
		nr = mars_classify(req, min(room(req), budget), &missing);
		if (missing)
			budget -= min(budget, bring_in(req, nr));
		else
			req->next = round_up(req->next + nr, 1UL << req->min_order);
		cond_resched();
	}
	blk_finish_plug(&plug);
	if (outer) {
		blk_start_plug(outer);
		outer->nr_ios = outer_ios;
	}
	mars_stat_add(req->mount->stats, MARS_STAT_batches, budget < batch);
	/* It slept: for a request, or for memory. There is no more to be had ahead. */
	if (mars_is_ahead(req) && current->nvcsw != switches)
		mars_lookahead_stop(req);
}

/*
 * The page at the copy cursor is not resident. Either the submission cursor has
 * not got there, or the folio was truncated or reclaimed since: then go back
 * for it, with a smaller window, for what is gone before it is copied was read
 * for nothing.
 */
static int head_missing(struct mars_request *req)
{
	pgoff_t index = req->iocb->ki_pos >> PAGE_SHIFT;

	if (index >= req->next)
		return req->starved ? mars_native_piece(req, req->batch, req->hungry_for) : 0;
	mars_stat_add(req->mount->stats, MARS_STAT_retries, 1);
	req->nr_vanished = req->vanished == index ? req->nr_vanished + 1 : 1;
	req->vanished = index;
	if (req->nr_vanished > MARS_VANISHED_MAX)
		return mars_native_piece(req, PAGE_SIZE << req->min_order, MARS_NATIVE_vanished);
	req->window = max(req->window / 2, MARS_WINDOW_LEAST);
	req->regrow = req->iocb->ki_pos + req->window;
	req->probing = false;
	mars_lookahead_stop(req);
	req->next = round_down(index, 1UL << req->min_order);
	/* early_copy=off: what is brought in again is waited for again. */
	req->settled = min(req->settled, req->next);
	mars_runs_rewind(&req->runs, req->next);
	req->starved = false;
	return 0;
}

/* Copies from the collected folios; sleeps on the first if there is no more to submit. */
static int drain_ready(struct mars_request *req)
{
	struct folio *folio = req->ready.folios[0];
	bool off = req->config.early_copy == MARS_EARLY_COPY_off;
	int err;

	if (off && can_advance(req))
		return -EAGAIN;
	if (!folio_test_uptodate(folio) && can_submit(req))
		return -EAGAIN;
	/*
	 * After a sleep the cursor is looked up again, as filemap_get_pages() does:
	 * what was collected before may have been replaced. Nor does anything but the
	 * folio that is slept on have a reference meanwhile, so that others can have it.
	 */
	if (off && req->settled < mars_own_end(req)) {
		mars_put_ready(req, 0);
		return mars_settle(req);
	}
	if (!folio_test_uptodate(folio)) {
		mars_put_ready(req, 1);
		err = mars_await(req, folio);
		return err == MARS_REISSUE ? mars_reissue(req, folio) : err;
	}
	err = mars_share(req);
	return err ?: mars_copy(req);
}

/* Moves the copy cursor by about a batch. */
static int mars_drain(struct mars_request *req)
{
	loff_t enough = req->iocb->ki_pos + req->batch;
	int err = 0;

	while (!err && req->iocb->ki_pos < min(req->end, enough)) {
		if (fatal_signal_pending(current))
			return -EINTR;
		if (!mars_collect(req))
			return head_missing(req);
		err = drain_ready(req);
		mars_put_ready(req, 0);
	}
	return err == -EAGAIN ? 0 : err;
}

/* The range as it is now: the file may have grown or shrunk since. */
static void set_range(struct mars_request *req)
{
	pgoff_t align = 1UL << req->min_order;

	req->end = min_t(loff_t, i_size_read(req->inode),
			 req->iocb->ki_pos + iov_iter_count(req->iter));
	req->limit = round_up(DIV_ROUND_UP(req->end, PAGE_SIZE), align);
	mars_lookahead_range(req);
	req->next = max_t(pgoff_t, req->next, round_down(req->iocb->ki_pos >> PAGE_SHIFT, align));
	req->starved = false;
}

/* insert lowers @limit when the file becomes shorter, so both bound the range. */
static bool unfinished(const struct mars_request *req)
{
	loff_t pos = req->iocb->ki_pos;

	return pos < req->end && (pos >> PAGE_SHIFT) < req->limit;
}

/* A stretch that was shared is longer than a batch: the device must not wait for it. */
static void keep_pace(struct mars_request *req, loff_t moved)
{
	for (; moved > (loff_t)req->batch && can_submit(req); moved -= req->batch)
		mars_advance(req);
}

/* A window of which nothing vanished may be followed by a larger one. */
static void grow_window(struct mars_request *req)
{
	if (req->window >= req->budget || req->iocb->ki_pos < req->regrow)
		return;
	req->window = min(req->window * 2, req->budget);
	req->regrow = req->iocb->ki_pos + req->window;
}

/* What the copy left no time for. Nobody waits here for I/O, see mars_advance(). */
static void look_ahead(struct mars_request *req)
{
	while (can_look_ahead(req) && !fatal_signal_pending(current))
		mars_advance(req);
}

static int mars_run(struct mars_request *req)
{
	loff_t pos;
	int err = 0;

	do {
		set_range(req);
		while (unfinished(req)) {
			cond_resched();
			if (fatal_signal_pending(current))
				return -EINTR;
			mars_advance(req);
			pos = req->iocb->ki_pos;
			err = mars_drain(req);
			if (err)
				break;
			mars_flight_copied(req);
			grow_window(req);
			keep_pace(req, req->iocb->ki_pos - pos);
		}
	} while (!err && iov_iter_count(req->iter) &&
		 req->iocb->ki_pos < i_size_read(req->inode));
	if (!err && !req->failed)
		look_ahead(req);
	return err < 0 ? err : 0;
}

/* What is not set here begins as 0. */
static void request_init(struct mars_request *req, struct mars_mount *mount,
			 struct kiocb *iocb, struct iov_iter *iter)
{
	struct address_space *mapping = iocb->ki_filp->f_mapping;

	req->id = atomic64_inc_return(&last_id);
	req->mount = mount;
	rcu_read_lock();
	req->config = *rcu_dereference(mount->config);
	rcu_read_unlock();
	req->iocb = iocb;
	req->iter = iter;
	req->mapping = mapping;
	req->inode = mapping->host;
	file_ra_state_init(&req->ra, mapping);
	req->gfp = readahead_gfp_mask(mapping);
	req->min_order = mars_mapping_min_order(mapping);
	req->max_order = mars_plan_max_order(req->config.max_folio_bytes, PAGE_SHIFT,
					     req->min_order, mars_mapping_max_order(mapping));
	req->order = req->max_order;
	req->collided = ULONG_MAX;
	req->last_pos = iocb->ki_filp->f_ra.prev_pos;
	mars_govern_begin(req);
	mars_ledger_init(&req->ledger);
	mars_runs_init(&req->runs);
}

/* No more than there is to read: a huge buffer at the end of a file asks for little. */
static bool take_budget(struct mars_request *req)
{
	u64 left = max_t(loff_t, i_size_read(req->inode) - req->iocb->ki_pos, 0);
	u64 length = min_t(u64, iov_iter_count(req->iter), left);

	mars_lookahead_plan(req, length, left - length);
	req->budget = mars_budget_take(length, req->config.window_bytes, &req->ahead);
	req->window = req->budget;
	mars_flight_begin(req, length);
	return req->budget;
}

/**
 * mars_read() - serve one read through the stages
 * @mount: its mount; the caller holds a reference
 * @iocb: as for filemap_read(), with a verdict of MARS_ACCELERATE
 * @iter: as for filemap_read(): plain user memory
 *
 * Context: May sleep, may fault in user memory; the file system may hold its
 * inode lock shared, as around filemap_read().
 * Return: As filemap_read(): the bytes copied, else 0 at the end of the file,
 * -EIO, -EFAULT, -EINTR or -ENOMEM. ->ki_pos and @iter moved by the bytes.
 */
ssize_t mars_read(struct mars_mount *mount, struct kiocb *iocb, struct iov_iter *iter)
{
	struct file *file = iocb->ki_filp;
	u64 start = ktime_get_ns();
	struct mars_request *req;
	ssize_t ret;

	req = kmem_cache_zalloc(request_cache, GFP_KERNEL | __GFP_NOWARN);
	if (!req) {
		mars_stat_native(mount->stats, MARS_NATIVE_nomem);
		return mars_native_read(iocb, iter, 0);
	}
	request_init(req, mount, iocb, iter);
	if (!take_budget(req)) {
		kmem_cache_free(request_cache, req);
		mars_stat_native(mount->stats, MARS_NATIVE_memory);
		return mars_native_read(iocb, iter, 0);
	}
	iov_iter_truncate(iter, file_inode(file)->i_sb->s_maxbytes - iocb->ki_pos);
	trace_mars_read_start(req->id, req->inode, iocb->ki_pos, iov_iter_count(iter));
	ret = mars_run(req);
	mars_relay_end(req);
	if (req->failed)
		mars_drop_failed(req);
	ret = req->copied ?: ret;

	file_accessed(file);
	file->f_ra.prev_pos = req->last_pos;
	mars_lookahead_leave(req);
	mars_stat_add(mount->stats, MARS_STAT_reads, 1);
	mars_stat_add(mount->stats, MARS_STAT_bytes, req->copied);
	mars_govern_end(req, ktime_get_ns() - start);
	mars_flight_end(req);
	trace_mars_read_end(req->id, ret, ktime_get_ns() - start);
	mars_share_free(req);
	mars_budget_give(req->budget);
	kmem_cache_free(request_cache, req);
	return ret;
}

/**
 * mars_read_init() - get ready to read
 *
 * Context: May sleep. Module init.
 * Return: 0 or -ENOMEM.
 */
int mars_read_init(void)
{
	mars_budget_init();
	request_cache = KMEM_CACHE(mars_request, 0);
	return request_cache ? 0 : -ENOMEM;
}

/**
 * mars_read_exit() - undo mars_read_init()
 *
 * Context: May sleep. Module exit; no read is inside.
 */
void mars_read_exit(void)
{
	kmem_cache_destroy(request_cache);
}
