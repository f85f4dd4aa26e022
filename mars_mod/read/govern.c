// SPDX-License-Identifier: GPL-2.0-only
/*
 * Govern: submit_executors=auto. Each read asks the mount's controller
 * (core/controller.c) how many executors may submit its I/O, and tells it at its end how
 * long it took. The super block's device is not always the one that does the I/O, so
 * what is told are the read's own times, and what reads of the mount have in flight:
 * submitted and not copied yet.
 */
#include <linux/cpumask.h>

#include "../worker.h"
#include "read.h"

/**
 * mars_govern_begin() - how many executors is this read to have?
 * @req: the read; @submit_executors is filled in
 *
 * Context: Any.
 */
void mars_govern_begin(struct mars_request *req)
{
	struct mars_governor *governor = &req->mount->governor;
	unsigned int most = min_t(unsigned int, num_online_cpus(), MARS_EXECUTORS_MAX);

	req->submit_executors = req->config.submit_executors;
	req->governed = req->config.submit_executors == MARS_AUTO;
	if (!req->governed)
		return;
	spin_lock(&governor->lock);
	req->submit_executors = mars_controller_degree(&governor->controller, most);
	spin_unlock(&governor->lock);
}

static void set_in_flight(struct mars_request *req, u64 bytes)
{
	atomic64_add(bytes - req->in_flight, &req->mount->governor.in_flight);
	req->in_flight = bytes;
}

/**
 * mars_govern_submitted() - a run of the read was submitted
 * @req: the read
 *
 * Context: Any.
 */
void mars_govern_submitted(struct mars_request *req)
{
	req->nr_runs++;
	if (!req->governed || mars_is_ahead(req))
		return;
	set_in_flight(req, mars_in_flight(req));
	req->in_flight_sum += atomic64_read(&req->mount->governor.in_flight);
	req->in_flight_nr++;
}

/**
 * mars_govern_end() - the read is over
 * @req: the read
 * @ns: how long it took
 *
 * Context: Any.
 */
void mars_govern_end(struct mars_request *req, u64 ns)
{
	struct mars_governor *governor = &req->mount->governor;
	struct mars_sample sample = {
		.degree = req->submit_executors,
		.bytes = req->brought << PAGE_SHIFT,
		.wait_ns = req->wait_ns,
		.whole_ns = ns,
	};

	if (!req->governed)
		return;
	set_in_flight(req, 0);
	if (!req->in_flight_nr || req->failed)
		return;
	sample.in_flight = req->in_flight_sum / req->in_flight_nr;
	spin_lock(&governor->lock);
	mars_controller_note(&governor->controller, &sample);
	spin_unlock(&governor->lock);
}

/**
 * mars_governor_init() - nothing is known of the device
 * @governor: a mount's
 *
 * Context: Any.
 */
void mars_governor_init(struct mars_governor *governor)
{
	spin_lock_init(&governor->lock);
	atomic64_set(&governor->in_flight, 0);
	mars_controller_init(&governor->controller);
	mars_depth_init(&governor->depth);
}
