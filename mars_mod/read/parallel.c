// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parallel copy: what is ready at the copy cursor is copied by the read and by
 * workers on idle CPUs (paper, section 3.3).
 *
 * The read goes ahead and makes items of some hundred KiB, of whole pages. An item
 * is offered when it is certain to be returned:
 *
 *  - its folios are up to date, contiguous, and have a reference, so none can be
 *    split, freed or taken out of the cache's hands until they are copied;
 *  - i_size, read after that, covers it. Whoever truncates the file from now on
 *    is too late for this read, as he is natively for the batch of folios that
 *    filemap_read() holds;
 *  - its part of the buffer is present and writable, by the reader's own rights
 *    (protection keys included), in plain memory: see fault_in.c;
 *  - all this holds for everything below it.
 *
 * So the bytes beyond the returned prefix stay as they were, as early_copy=off
 * and ordered promise, although a higher item may be copied first: nothing is
 * left that could end the read in between, but that another thread takes the
 * buffer away from under it (munmap, mprotect, truncation of a mapped file)
 * while the call runs. Segments of a readv() may overlap, and then the order of
 * copies matters; so one share never reaches into the next segment.
 *
 * Workers copy with page faults disabled. What they cannot do (a page swapped out
 * or made copy-on-write meanwhile), the read does, which may fault. It takes back
 * what nobody has begun, and waits for nothing but items that a worker is copying
 * at this moment. See core/protocol.c.
 *
 * Lifetimes: a worker gets at the job, the folios and the iterators, which are
 * the read's, only within a visit, and mars_crew_recall() waits for those. It
 * takes a reference on the reader's mm for each item and has dropped it by then,
 * never as the last one, because the reader itself is still inside its system
 * call. So a reader that was killed takes its mm with it when it exits, and what
 * the mm keeps busy.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "../trace.h"
#include "parallel.h"

/* Bytes of one item: as a quarter of an executor's share, between these. */
#define PIECE_LEAST ((u64)SZ_128K)
#define PIECE_MOST ((u64)SZ_512K)
/* While there is more to submit, an executor's share of one stretch. */
#define STRETCH_EACH ((loff_t)SZ_2M)
/* The workers of one stretch are kept for the next, if it comes so soon. */
#define KEEP_NS 300000ULL
/* Not worth a look at other CPUs. */
#define SHARE_LEAST ((u64)SZ_512K)
/*
 * When nobody was idle, or the buffer not fit, the next look is so much later, and as
 * far again as the read has come: in the long run that costs nothing.
 */
#define SHARE_AGAIN ((loff_t)SZ_4M)

/* Takes what is ready and contiguous from a batch; false when that ends in it. */
static bool take_ready(struct mars_piece *piece, struct folio_batch *batch, pgoff_t *index)
{
	unsigned int i, nr = folio_batch_count(batch);

	for (i = 0; i < nr; i++) {
		struct folio *folio = batch->folios[i];

		if (piece->nr == MARS_PIECE_FOLIOS || !folio_contains(folio, *index) ||
		    !folio_test_uptodate(folio))
			break;
		piece->folio[piece->nr++] = folio;
		*index = folio_next_index(folio);
	}
	if (i == nr)
		return true;
	while (i < nr)
		folio_put(batch->folios[i++]);
	return false;
}

static void put_off(struct mars_request *req, loff_t pos)
{
	req->share_from = pos + SHARE_AGAIN + req->copied;
}

static void put_folios(struct mars_piece *piece)
{
	while (piece->nr)
		folio_put(piece->folio[--piece->nr]);
}

/* Smaller towards the end, so that nobody waits long for the last one. */
static loff_t piece_end(const struct mars_share *share)
{
	u64 bytes = (share->end - share->pos) / (4 * (share->crew.nr + 1));

	bytes = clamp(bytes, PIECE_LEAST, PIECE_MOST);
	return min_t(loff_t, share->end, round_up(share->pos + bytes, PAGE_SIZE));
}

/* The folios of the next item. Returns its end; i_size is read after the check. */
static loff_t collect(struct mars_share *share, struct mars_piece *piece)
{
	struct mars_request *req = share->req;
	pgoff_t index = share->pos >> PAGE_SHIFT;
	loff_t end = piece_end(share);
	pgoff_t last = (end - 1) >> PAGE_SHIFT;
	struct folio_batch batch;
	bool more = true;

	piece->nr = 0;
	while (more && index <= last) {
		pgoff_t start = index;

		folio_batch_init(&batch);
		more = filemap_get_folios(req->mapping, &start, last, &batch) &&
		       take_ready(piece, &batch, &index);
	}
	end = min_t(loff_t, end, (loff_t)index << PAGE_SHIFT);
	end = min_t(loff_t, end, i_size_read(req->inode));
	/* Pairs with the barrier between data and i_size in the write path. */
	smp_rmb();
	return end;
}

/* Is the buffer there, from @share->pos up to @end? */
static bool make_present(struct mars_share *share, loff_t end)
{
	struct iov_iter at = share->ahead;
	loff_t pos = share->pos;

	while (pos < end) {
		unsigned long addr;
		size_t len;

		addr = mars_iter_segment(&at, &len);
		len = mars_make_present(share->req, addr, min_t(size_t, len, end - pos));
		if (!len)
			return false;
		pos += len;
		iov_iter_advance(&at, len);
		cond_resched();
	}
	return true;
}

/* As filemap_read(): a folio is marked once, also over several reads of it. */
static bool is_new(const struct mars_share *share, struct folio *folio)
{
	loff_t before = share->pos > share->start ? share->pos : share->req->last_pos;

	return !before || !folio_contains(folio, (before - 1) >> PAGE_SHIFT);
}

/* The next item; false when there is none, now or as far as this stretch goes. */
static bool offer(struct mars_share *share)
{
	struct mars_request *req = share->req;
	struct mars_piece *piece = &share->piece[mars_job_room(&share->job)];
	loff_t end = collect(share, piece);

	if (end <= share->pos || !make_present(share, end)) {
		if (end > share->pos)
			put_off(req, share->pos);
		put_folios(piece);
		return false;
	}
	piece->iter = share->ahead;
	piece->by_worker = 0;
	piece->mark_first = is_new(share, piece->folio[0]);
	mars_job_add(&share->job, share->pos, end);
	iov_iter_advance(&share->ahead, end - share->pos);
	share->pos = end;
	mars_crew_call(&share->crew, &share->job);
	return true;
}

/* An item at the copy cursor is finished: account it as mars_copy() does. */
static void commit(struct mars_share *share, struct mars_item *item)
{
	struct mars_request *req = share->req;
	struct mars_piece *piece = mars_piece(share, item);
	u64 bytes = item->cursor - item->start;
	enum mars_stat stat;
	unsigned int i;

	for (i = 0; i < piece->nr && !share->short_of; i++) {
		struct folio *folio = piece->folio[i];
		u64 begin = max_t(u64, item->start, folio_pos(folio));
		u64 end = min_t(u64, item->cursor, folio_pos(folio) + folio_size(folio));

		if (end <= begin)
			break;
		mars_pass_mark(req, folio);
		stat = mars_origin(req, begin >> PAGE_SHIFT);
		mars_stat_add(req->mount->stats, stat, end - begin);
		mars_runs_retire(&req->runs, end >> PAGE_SHIFT);
	}
	put_folios(piece);
	if (share->short_of)
		return;
	share->short_of = item->cursor < item->end;
	iov_iter_advance(req->iter, bytes);
	req->iocb->ki_pos += bytes;
	req->last_pos = req->iocb->ki_pos;
	req->copied += bytes;
	mars_stat_add(req->mount->stats, MARS_STAT_bytes_parallel, piece->by_worker);
	mars_ledger_retire(&req->ledger, req->iocb->ki_pos);
}

static void commit_finished(struct mars_share *share)
{
	struct mars_item *item;

	while ((item = mars_job_reap(&share->job)))
		commit(share, item);
}

/*
 * Items are offered as long as there are any and the ring has room, and only then
 * the read copies as well. What goes into an item, above all the faults of a fresh
 * buffer, nobody but the read can do; so it does that first, as far ahead of the
 * workers as it gets.
 */
static void offer_all(struct mars_share *share)
{
	struct mars_job *job = &share->job;

	while (share->pos < share->end && !job->err && !READ_ONCE(share->unfit) &&
	       !fatal_signal_pending(current)) {
		commit_finished(share);
		if (mars_job_room(job) == MARS_JOB_ITEMS) {
			if (!mars_job_help(job, mars_reader_execute))
				mars_job_await(job);
			continue;
		}
		if (!offer(share))
			break;
		cond_resched();
	}
}

static bool page_is_ready(struct mars_request *req, loff_t pos)
{
	struct folio *folio = mars_get_folio(req, pos >> PAGE_SHIFT);
	bool ready = folio && folio_test_uptodate(folio);

	if (folio)
		folio_put(folio);
	return ready;
}

/* A guess at how much is ready before @edge, from a few looks; 0: too little. */
static u64 ready_bytes(struct mars_request *req, loff_t edge)
{
	loff_t pos = req->iocb->ki_pos;
	u64 bytes = SHARE_LEAST;

	if (edge - pos < SHARE_LEAST || !page_is_ready(req, pos + SHARE_LEAST - 1))
		return 0;
	if (page_is_ready(req, edge - 1))
		return edge - pos;
	while (bytes * 2 < edge - pos && page_is_ready(req, pos + bytes * 2 - 1))
		bytes *= 2;
	return bytes;
}

/* How far a share may go: what is under way, one segment, up to what is copied. */
static loff_t share_edge(struct mars_request *req)
{
	loff_t pos = req->iocb->ki_pos;
	size_t len;

	mars_iter_segment(req->iter, &len);
	if (mars_ledger_covered(&req->ledger, pos) > pos)
		return pos;
	return min3(min_t(loff_t, req->end, (loff_t)req->next << PAGE_SHIFT), pos + (loff_t)len,
		    (loff_t)min_t(u64, mars_ledger_next(&req->ledger, pos), S64_MAX));
}

/* Room for items, once it is known that somebody is there to do them. */
static struct mars_share *get_share(struct mars_request *req, const struct mars_crew *crew)
{
	struct mars_share *share = req->share;

	if (!share)
		share = kvmalloc(sizeof(*share), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!share)
		return NULL;
	mars_job_init(&share->job, mars_worker_execute);
	share->req = req;
	share->mm = current->mm;
	share->crew = *crew;
	share->unfit = false;
	req->share = share;
	return share;
}

/* Is it memory that workers may write to? They should not be woken in vain. */
static bool is_fit(struct mars_request *req)
{
	size_t len;
	unsigned long addr = mars_iter_segment(req->iter, &len);

	return mars_make_present(req, addr, 1);
}

/* The workers of the stretch before, or others, or NULL. */
static struct mars_share *gather(struct mars_request *req, u64 bytes)
{
	struct mars_share *share = req->share;
	struct mars_crew crew;

	if (share && share->crew.nr && ktime_get_ns() < share->kept + KEEP_NS)
		return share;
	mars_share_release(req);
	if (!is_fit(req) || !mars_crew_gather(&crew, bytes, req->config.copy_executors))
		return NULL;
	share = get_share(req, &crew);
	if (!share)
		mars_crew_recall(&crew);
	return share;
}

static void begin(struct mars_share *share, loff_t edge)
{
	struct mars_request *req = share->req;

	share->pos = req->iocb->ki_pos;
	share->end = edge;
	/* The device must not run dry meanwhile. */
	if (req->next < req->far)
		share->end = min(edge, share->pos + STRETCH_EACH * (share->crew.nr + 1));
	share->ahead = *req->iter;
	share->start = share->pos;
	share->short_of = false;
	/* They come while the first item is put together. */
	mars_crew_call(&share->crew, &share->job);
}

static void account(struct mars_share *share, loff_t pos, u64 start)
{
	struct mars_request *req = share->req;
	u64 moved = req->iocb->ki_pos - pos;

	mars_stat_add(req->mount->stats, MARS_STAT_shares, moved > 0);
	if (moved && mars_outstanding(req))
		mars_stat_add(req->mount->stats, MARS_STAT_bytes_masked, moved);
	trace_mars_share(req->id, pos, moved, share->crew.nr + 1,
			 mars_stage_end(req, MARS_STAT_copy_ns, start));
}

/**
 * mars_share() - copy what is ready at the copy cursor, with workers
 * @req: the read
 *
 * The workers stay with the read, for what will be ready soon, until
 * mars_share_release().
 *
 * Context: May sleep and fault. No lock held, no unsubmitted folio.
 * Return: 0 when nothing was done and it is for mars_copy(); -EAGAIN when the
 * copy cursor has moved; -EFAULT.
 */
int mars_share(struct mars_request *req)
{
	loff_t pos = req->iocb->ki_pos, edge;
	struct mars_share *share;
	u64 start, bytes;
	int err;

	if (req->config.copy_executors < 2 || pos < req->share_from)
		return 0;
	edge = share_edge(req);
	bytes = ready_bytes(req, edge);
	if (!bytes)
		return 0;
	start = ktime_get_ns();
	share = gather(req, bytes);
	if (!share) {
		put_off(req, pos);
		return 0;
	}
	begin(share, edge);
	offer_all(share);
	err = mars_job_finish(&share->job, mars_reader_execute);
	commit_finished(share);
	share->kept = ktime_get_ns();
	if (READ_ONCE(share->unfit))
		put_off(req, req->iocb->ki_pos);
	account(share, pos, start);
	if (req->share_from > req->iocb->ki_pos)
		mars_share_release(req);
	if (err)
		return err;
	return req->iocb->ki_pos > pos ? -EAGAIN : 0;
}

/**
 * mars_share_release() - let the workers go, before the read sleeps or ends
 * @req: the read
 *
 * Context: May sleep. No item is open.
 */
void mars_share_release(struct mars_request *req)
{
	struct mars_share *share = req->share;

	if (!share || !share->crew.nr)
		return;
	/* Called for nothing, they were not late. */
	share->crew.called = share->job.head;
	mars_crew_recall(&share->crew);
}

/**
 * mars_share_free() - the read is over
 * @req: the read
 *
 * Context: May sleep.
 */
void mars_share_free(struct mars_request *req)
{
	mars_share_release(req);
	kvfree(req->share);
}
