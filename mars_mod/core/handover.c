// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handover: how a read gives a piece of work that others wait for to another thread, so
 * that at any moment exactly one of the two is to do it, and that one is awake.
 *
 *	FREE -> RESERVED	a read reserves the thread
 *	RESERVED -> OFFERED	it has a piece for it
 *	OFFERED -> TAKEN	the thread has seen it, and does it
 *	OFFERED -> RESERVED	the read takes it back, and does it itself
 *	TAKEN -> DONE		the thread is through
 *	DONE -> RESERVED	the read has seen that
 *	RESERVED -> FREE	the read lets the thread go
 *
 * The read leaves OFFERED in no other way than by seeing it TAKEN or taking it back, and
 * does nothing else meanwhile. So a thread that does not come costs the read a moment,
 * and nobody ever waits for a piece that lies there untouched.
 *
 * Ordering, in pairs: (A) the piece is written before OFFERED is stored, and read after
 * TAKEN was exchanged for it. (B) what came of it is written before DONE is stored, and
 * read after RESERVED was exchanged for that.
 */
#include <mars/core.h>

/**
 * mars_handover_reserve() - take a thread for a read
 * @handover: the thread's
 *
 * Context: The reader.
 * Return: False when another read has it.
 */
bool mars_handover_reserve(struct mars_handover *handover)
{
	return mars_cmpxchg(&handover->state, MARS_HANDOVER_FREE, MARS_HANDOVER_RESERVED);
}

/**
 * mars_handover_offer() - there is a piece of work
 * @handover: reserved by this read
 * @work: it
 *
 * Context: The reader, which sees it taken or takes it back before all else.
 */
void mars_handover_offer(struct mars_handover *handover, void *work)
{
	handover->work = work;
	/* (A), pairs with mars_handover_take(). */
	mars_store_release(&handover->state, MARS_HANDOVER_OFFERED);
}

/**
 * mars_handover_offered() - does nobody do it yet?
 * @handover: after mars_handover_offer()
 *
 * Context: The reader.
 * Return: False when the thread has taken it.
 */
bool mars_handover_offered(struct mars_handover *handover)
{
	return mars_load_acquire(&handover->state) == MARS_HANDOVER_OFFERED;
}

/**
 * mars_handover_withdraw() - take a piece back
 * @handover: after mars_handover_offer()
 *
 * Context: The reader.
 * Return: False when the thread has taken it.
 */
bool mars_handover_withdraw(struct mars_handover *handover)
{
	return mars_cmpxchg(&handover->state, MARS_HANDOVER_OFFERED, MARS_HANDOVER_RESERVED);
}

/**
 * mars_handover_take() - see whether there is something to do
 * @handover: the thread's own
 *
 * Context: The thread.
 * Return: The work, which is the thread's until mars_handover_done(), or NULL.
 */
void *mars_handover_take(struct mars_handover *handover)
{
	/* Mostly there is nothing, and polling should leave the cache line alone. */
	if (mars_load_acquire(&handover->state) != MARS_HANDOVER_OFFERED)
		return NULL;
	/* Success: (A), pairs with mars_handover_offer(). */
	if (!mars_cmpxchg(&handover->state, MARS_HANDOVER_OFFERED, MARS_HANDOVER_TAKEN))
		return NULL;
	return handover->work;
}

/**
 * mars_handover_done() - the work is done, and the read's again
 * @handover: the thread's own
 *
 * Context: The thread.
 */
void mars_handover_done(struct mars_handover *handover)
{
	/* (B), pairs with mars_handover_collect(). */
	mars_store_release(&handover->state, MARS_HANDOVER_DONE);
}

/**
 * mars_handover_collect() - is the work done?
 * @handover: with a piece that was taken
 *
 * Context: The reader.
 * Return: True, once, when it is.
 */
bool mars_handover_collect(struct mars_handover *handover)
{
	/* Success: (B), pairs with mars_handover_done(). */
	return mars_cmpxchg(&handover->state, MARS_HANDOVER_DONE, MARS_HANDOVER_RESERVED);
}

/**
 * mars_handover_free() - let a thread go
 * @handover: reserved by this read; nothing is offered or taken
 *
 * Context: The reader.
 */
void mars_handover_free(struct mars_handover *handover)
{
	mars_store_release(&handover->state, MARS_HANDOVER_FREE);
}
