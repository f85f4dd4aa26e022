/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What parallel.c, which makes items, and piece.c, which copies them, share.
 */
#ifndef _MARS_PARALLEL_H
#define _MARS_PARALLEL_H

#include <linux/uio.h>

#include "../worker.h"
#include "read.h"

/* Folios of one item at most: all pieces together fit 32 KiB. */
#define MARS_PIECE_FOLIOS 240

/**
 * struct mars_piece - what an item of the same number is made of
 * @iter:	where the byte at the item's cursor goes
 * @by_worker:	bytes that a worker copied
 * @mark_first:	the first folio is to be marked accessed
 * @nr:		folios
 * @folio:	with a reference each
 */
struct mars_piece {
	struct iov_iter iter;
	u64 by_worker;
	bool mark_first;
	unsigned int nr;
	struct folio *folio[MARS_PIECE_FOLIOS];
};

/**
 * struct mars_share - what a read shares with workers
 * @job:	the items; slot n is piece n
 * @req:	the read
 * @mm:		the reader's, whose memory the copies go to
 * @crew:	the workers
 * @kept:	when the last stretch ended, in nanoseconds
 * @start:	file position at which this stretch began
 * @pos:	file position up to which items were offered
 * @end:	file position that this stretch goes up to
 * @ahead:	the read's iterator, at @pos
 * @short_of:	an item was not copied whole: nothing above it is returned
 * @unfit:	a worker could not copy a byte of what the reader can
 * @piece:	ring of pieces
 */
struct mars_share {
	struct mars_job job;
	struct mars_request *req;
	struct mm_struct *mm;
	struct mars_crew crew;
	u64 kept;
	loff_t start;
	loff_t pos;
	loff_t end;
	struct iov_iter ahead;
	bool short_of;
	bool unfit;
	struct mars_piece piece[MARS_JOB_ITEMS];
};

static inline struct mars_piece *mars_piece(struct mars_share *share, const struct mars_item *item)
{
	return &share->piece[mars_job_number(&share->job, item)];
}

/* piece.c */
void mars_worker_execute(struct mars_job *job, struct mars_item *item);
int mars_reader_execute(struct mars_job *job, struct mars_item *item);

#endif /* _MARS_PARALLEL_H */
