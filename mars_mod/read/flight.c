// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flight: depth=auto. How many bytes of its range a read may have between being
 * submitted and being copied, inside its window; core/depth.c finds out, for each mount,
 * from reads that show it how fast their first bytes were there.
 *
 * What was resident before does not count, nor does the lookahead, which is to last for
 * as long as the program computes between two reads, not for as long as the device takes.
 */
#include "../trace.h"
#include "read.h"

/*
 * A read has some batches in any case: one that the device works at, one that is copied
 * and one to follow. Workers are worth calling for larger pieces only.
 */
#define FLIGHT_BATCHES 4
#define FLIGHT_BATCHES_SHARED 16

static u64 least(const struct mars_config *config)
{
	bool shared = config->copy_executors > 1;

	return config->batch_bytes * (shared ? FLIGHT_BATCHES_SHARED : FLIGHT_BATCHES);
}

/**
 * mars_flight_begin() - how deep is this read to go?
 * @req: the read; @depth and @probing are filled in
 * @length: bytes that it will read
 *
 * With early_copy=off all that is under way is waited for before any of it is copied, so
 * the device stands still between two windows: those cannot be large enough.
 *
 * Context: Any.
 */
void mars_flight_begin(struct mars_request *req, u64 length)
{
	struct mars_governor *governor = &req->mount->governor;
	u64 limit;

	req->depth = MARS_DEPTH_NONE;
	if (req->config.depth == MARS_DEPTH_fixed ||
	    req->config.early_copy == MARS_EARLY_COPY_off)
		return;
	spin_lock(&governor->lock);
	limit = mars_depth_limit(&governor->depth, length, ktime_get_ns(), &req->probing);
	spin_unlock(&governor->lock);
	req->depth = max(limit, least(&req->config));
}

/**
 * mars_flight_room() - may more of its range be submitted?
 * @req: the read
 *
 * Context: Any.
 * Return: True if so, as far as the depth is concerned.
 */
bool mars_flight_room(const struct mars_request *req)
{
	return req->depth == MARS_DEPTH_NONE || mars_in_flight(req) < req->depth;
}

/**
 * mars_flight_submitted() - pages of the read's range were submitted
 * @req: the read
 * @nr: pages
 *
 * Context: Any.
 */
void mars_flight_submitted(struct mars_request *req, unsigned long nr)
{
	if (!req->brought)
		mars_depth_begin(&req->curve, ktime_get_ns());
	req->brought += nr;
}

/**
 * mars_flight_copied() - the copy cursor has moved
 * @req: the read
 *
 * Context: Any.
 */
void mars_flight_copied(struct mars_request *req)
{
	if (req->probing && req->brought)
		mars_depth_reach(&req->curve, (req->brought << PAGE_SHIFT) - mars_in_flight(req),
				 ktime_get_ns());
}

/**
 * mars_flight_end() - the read is over, and may have shown something
 * @req: the read
 *
 * Context: Any.
 */
void mars_flight_end(struct mars_request *req)
{
	struct mars_governor *governor = &req->mount->governor;
	bool learned;
	u64 limit;

	if (!req->probing || req->failed)
		return;
	spin_lock(&governor->lock);
	learned = mars_depth_learn(&governor->depth, &req->curve, ktime_get_ns());
	limit = governor->depth.limit;
	spin_unlock(&governor->lock);
	if (!learned)
		return;
	mars_stat_add(req->mount->stats, MARS_STAT_reads_learned, 1);
	trace_mars_depth(req->id, req->brought << PAGE_SHIFT, limit);
}
