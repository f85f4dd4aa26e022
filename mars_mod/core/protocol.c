// SPDX-License-Identifier: GPL-2.0-only
/*
 * Protocol: how a read (the master) and workers on other CPUs share its work
 * (paper, section 3.3), so that the master can finish alone at any moment.
 *
 * Work is cut into items, which stand in a job, a ring that belongs to one read.
 * A worker has a post, which is there as long as the module is, so it can look
 * at it however late it comes; it looks at a job only from within a visit, which
 * the master waits for before the job goes away.
 *
 * A post:	FREE -> RESERVED -> PENDING <-> RUNNING
 *		            ^ master  |  ^ worker: a visit
 *		                      v  | master calls
 *		                    ASLEEP
 *	RESERVED, PENDING and ASLEEP -> RESERVED -> FREE: the master, when its job
 *	is done.
 *
 * An item:	UNFINISHED -> PARTIAL		   a worker claims it
 *		UNFINISHED -> CANCELED_BY_MASTER   the master takes it back
 *		PARTIAL -> FINISHED, CANCELED	   the worker is through, or left it:
 *						   ->cursor says where
 *		CANCELED, CANCELED_BY_MASTER -> FINISHED   the master, from ->cursor on
 *
 * A visit is one item, and one section that nobody preempts: claim, execute,
 * publish, leave. So whatever is PARTIAL or RUNNING has a CPU at this moment and
 * ends soon, and those are the only states that the master ever waits for.
 *
 * Ordering, in pairs: (A) an item's fields are written before UNFINISHED is
 * stored, and read after PARTIAL was exchanged for it. (B) cursor and data are
 * written before FINISHED or CANCELED is stored, and read after that was loaded.
 * (C) a post's job is written before PENDING is stored, and read after RUNNING
 * was exchanged for it. (D) everything of a visit is done before PENDING is
 * stored again, and the job goes away after the master has exchanged RESERVED for
 * that.
 */
#include <mars/core.h>

/**
 * mars_job_init() - a job without items
 * @job: the job
 * @execute: what a worker does to an item: moves ->cursor up to ->end, or not as
 *	     far. Preemption is off; it may not sleep, and leaves off when another
 *	     task wants the CPU.
 *
 * Context: Any.
 */
void mars_job_init(struct mars_job *job,
		   void (*execute)(struct mars_job *job, struct mars_item *item))
{
	u32 i;

	job->head = 0;
	job->tail = 0;
	job->stop = ~0ULL;
	job->err = 0;
	job->execute = execute;
	for (i = 0; i < MARS_JOB_ITEMS; i++)
		job->item[i].state = MARS_ITEM_FINISHED;
}

static struct mars_item *item_at(struct mars_job *job, u32 index)
{
	return &job->item[index % MARS_JOB_ITEMS];
}

/**
 * mars_job_number() - which slot of its job's ring an item is in
 * @job: the job
 * @item: of this job
 *
 * Context: Any.
 * Return: From 0 to MARS_JOB_ITEMS - 1.
 */
u32 mars_job_number(const struct mars_job *job, const struct mars_item *item)
{
	return item - job->item;
}

/**
 * mars_job_room() - the slot that the next item will have
 * @job: the job
 *
 * Context: The master.
 * Return: The slot's number, or MARS_JOB_ITEMS when the ring is full.
 */
u32 mars_job_room(const struct mars_job *job)
{
	return job->head - job->tail < MARS_JOB_ITEMS ? job->head % MARS_JOB_ITEMS :
							MARS_JOB_ITEMS;
}

/**
 * mars_job_add() - offer an item
 * @job: a job with room
 * @start: its first byte, as a file position
 * @end: the one after its last
 *
 * Context: The master.
 */
void mars_job_add(struct mars_job *job, u64 start, u64 end)
{
	struct mars_item *item = item_at(job, job->head);

	item->start = start;
	item->cursor = start;
	item->end = end;
	/* (A), pairs with claim(). */
	mars_store_release(&item->state, MARS_ITEM_UNFINISHED);
	mars_store_release(&job->head, job->head + 1);
}

/*
 * The lowest item that nobody has begun is the worker's now. The ring may turn
 * meanwhile; then what is claimed is a later item, whose fields are read after.
 */
static struct mars_item *claim(struct mars_job *job)
{
	/* In this order: what lies between them is never more than the ring. */
	u32 head = mars_load_acquire(&job->head);
	u32 index = mars_load_acquire(&job->tail);

	for (; (s32)(head - index) > 0; index++) {
		struct mars_item *item = item_at(job, index);

		/* Success: (A), pairs with mars_job_add(). */
		if (mars_load_acquire(&item->state) == MARS_ITEM_UNFINISHED &&
		    mars_cmpxchg(&item->state, MARS_ITEM_UNFINISHED, MARS_ITEM_PARTIAL))
			return item;
	}
	return NULL;
}

/**
 * mars_visit() - a worker sees whether there is something for it, and does it
 * @post: the worker's
 *
 * Context: A worker. Preemption off from before the call to after it.
 * Return: MARS_VISIT_UNWANTED when nobody called, MARS_VISIT_IDLE when there is no
 * item at the moment, MARS_VISIT_FINISHED, or MARS_VISIT_LEFT.
 */
enum mars_visit mars_visit(struct mars_post *post)
{
	enum mars_visit what = MARS_VISIT_IDLE;
	struct mars_item *item;
	struct mars_job *job;

	/* Success: (C), pairs with mars_post_call(). */
	if (!mars_cmpxchg(&post->state, MARS_POST_PENDING, MARS_POST_RUNNING))
		return MARS_VISIT_UNWANTED;
	job = post->job;
	post->came = true;
	item = claim(job);
	if (item) {
		job->execute(job, item);
		what = item->cursor == item->end ? MARS_VISIT_FINISHED : MARS_VISIT_LEFT;
		/* (B), pairs with mars_job_next() and mars_job_reap(). */
		mars_store_release(&item->state, what == MARS_VISIT_FINISHED ?
				   MARS_ITEM_FINISHED : MARS_ITEM_CANCELED);
	}
	/* (D), pairs with mars_post_recall(). */
	mars_store_release(&post->state, MARS_POST_PENDING);
	return what;
}

/**
 * mars_job_next() - what the master can do itself
 * @job: the job
 *
 * The lowest item that nobody has begun, which is taken back, or that a worker
 * left. It is executed from ->cursor on and then closed.
 *
 * Context: The master.
 * Return: The item, or NULL: every one is finished, or a worker is at it.
 */
struct mars_item *mars_job_next(struct mars_job *job)
{
	u32 index;

	for (index = job->tail; index != job->head; index++) {
		struct mars_item *item = item_at(job, index);
		/* (B), pairs with mars_visit(). */
		u32 state = mars_load_acquire(&item->state);

		if (state == MARS_ITEM_CANCELED)
			return item;
		if (state == MARS_ITEM_UNFINISHED &&
		    mars_cmpxchg(&item->state, MARS_ITEM_UNFINISHED,
				 MARS_ITEM_CANCELED_BY_MASTER))
			return item;
	}
	return NULL;
}

/**
 * mars_item_close() - the master is through with an item
 * @item: from mars_job_next(); ->cursor says how far it got
 *
 * Context: The master.
 */
void mars_item_close(struct mars_item *item)
{
	mars_store_release(&item->state, MARS_ITEM_FINISHED);
}

/**
 * mars_job_reap() - take the lowest item off the ring, when it is finished
 * @job: the job
 *
 * Context: The master.
 * Return: The item, valid until the next mars_job_add(), or NULL.
 */
struct mars_item *mars_job_reap(struct mars_job *job)
{
	struct mars_item *item = item_at(job, job->tail);

	/* (B), pairs with mars_visit(). */
	if (job->tail == job->head ||
	    mars_load_acquire(&item->state) != MARS_ITEM_FINISHED)
		return NULL;
	mars_store_release(&job->tail, job->tail + 1);
	return item;
}

/**
 * mars_job_await() - wait until no worker is at the lowest open item
 * @job: the job
 *
 * Whoever is at it runs, see above, so this is short. It may have been left
 * unfinished: what there is to do then, mars_job_next() says.
 *
 * Context: The master. Spins, and reschedules.
 * Return: False when every item is finished.
 */
bool mars_job_await(struct mars_job *job)
{
	u32 index;

	for (index = job->tail; index != job->head; index++) {
		struct mars_item *item = item_at(job, index);

		if (mars_load_acquire(&item->state) == MARS_ITEM_FINISHED)
			continue;
		while (mars_load_acquire(&item->state) == MARS_ITEM_PARTIAL)
			mars_relax();
		return true;
	}
	return false;
}

/**
 * mars_job_help() - the master does an item itself, if there is one to do
 * @job: the job
 * @run: as ->execute, but says an error. From that item on no further one is
 *	 begun; those below it still are.
 *
 * Context: The master.
 * Return: False when mars_job_next() had none.
 */
bool mars_job_help(struct mars_job *job,
		   int (*run)(struct mars_job *job, struct mars_item *item))
{
	struct mars_item *item = mars_job_next(job);

	if (!item)
		return false;
	if (item->start < job->stop) {
		int err = run(job, item);

		if (err) {
			job->stop = item->start;
			job->err = err;
		}
	}
	mars_item_close(item);
	return true;
}

/**
 * mars_job_finish() - until every item is finished
 * @job: the job
 * @run: as for mars_job_help()
 *
 * Context: The master.
 * Return: 0, or the error of the lowest item that had one.
 */
int mars_job_finish(struct mars_job *job,
		    int (*run)(struct mars_job *job, struct mars_item *item))
{
	do {
		while (mars_job_help(job, run))
			;
	} while (mars_job_await(job));
	return job->err;
}

/**
 * mars_post_reserve() - take a worker for a job
 * @post: the worker's
 *
 * Context: Whoever wants to be its master.
 * Return: False when it has one.
 */
bool mars_post_reserve(struct mars_post *post)
{
	if (!mars_cmpxchg(&post->state, MARS_POST_FREE, MARS_POST_RESERVED))
		return false;
	post->came = false;
	return true;
}

/**
 * mars_post_call() - there is something to do
 * @post: reserved by this master
 * @job: its job
 *
 * Context: The master.
 * Return: True when the worker has to be woken.
 */
bool mars_post_call(struct mars_post *post, struct mars_job *job)
{
	u32 state = mars_load_acquire(&post->state);

	if (state == MARS_POST_ASLEEP)
		return mars_cmpxchg(&post->state, MARS_POST_ASLEEP, MARS_POST_PENDING);
	if (state != MARS_POST_RESERVED)
		return false;
	post->job = job;
	/* (C), pairs with mars_visit(). */
	mars_store_release(&post->state, MARS_POST_PENDING);
	return true;
}

/**
 * mars_post_doze() - a worker that found nothing for long enough goes to sleep
 * @post: the worker's
 *
 * An item that was added a moment ago may stay unseen until the next call; the
 * master takes it back, so nothing is lost but time.
 *
 * Context: A worker.
 * Return: False when it is not called at all any more.
 */
bool mars_post_doze(struct mars_post *post)
{
	return mars_cmpxchg(&post->state, MARS_POST_PENDING, MARS_POST_ASLEEP);
}

/**
 * mars_post_recall() - no visit from now on: the job may go away
 * @post: reserved by this master
 *
 * Waits for a visit, which runs and finds nothing left to claim.
 *
 * Context: The master, every item finished. Spins, and reschedules.
 * Return: True if the worker came since it was reserved.
 */
bool mars_post_recall(struct mars_post *post)
{
	for (;;) {
		u32 state = mars_load_acquire(&post->state);

		/* Success: (D), pairs with mars_visit(). */
		if (state != MARS_POST_RUNNING &&
		    mars_cmpxchg(&post->state, state, MARS_POST_RESERVED))
			return post->came;
		mars_relax();
	}
}

/**
 * mars_post_free() - let a worker go
 * @post: after mars_post_recall(), or never called
 *
 * Context: The master.
 */
void mars_post_free(struct mars_post *post)
{
	mars_store_release(&post->state, MARS_POST_FREE);
}

/**
 * mars_patience_note() - remember whether a worker that was called came in time
 * @patience: the worker's, changed by whoever has it reserved
 * @came: did it come before the master had done everything?
 * @now: the time in nanoseconds
 *
 * Context: Any.
 */
void mars_patience_note(struct mars_patience *patience, bool came, u64 now)
{
	if (came) {
		patience->late = 0;
	} else if (++patience->late >= MARS_PATIENCE_LATE) {
		patience->late = 0;
		mars_store_release(&patience->until, now + MARS_PATIENCE_PAUSE_NS);
	}
}

/**
 * mars_patience_over() - is a worker left out for the moment?
 * @patience: the worker's
 * @now: the time in nanoseconds
 *
 * Context: Any.
 * Return: True if so.
 */
bool mars_patience_over(const struct mars_patience *patience, u64 now)
{
	return now < mars_load_acquire(&patience->until);
}
