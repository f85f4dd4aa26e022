// SPDX-License-Identifier: GPL-2.0-only
/*
 * Relay: parallel submission. The read allocates and inserts, then gives the run to a
 * submitter on an idle CPU, which calls ->readahead for it, and goes on with the next.
 *
 * What is given is one contiguous run of locked folios, and with it the read's hold on
 * invalidate_lock, taken before the first of them was inserted. The submitter takes no
 * such lock itself: a truncation that waits for the lock could be before it, and wait
 * for its folios in turn. So whoever has unsubmitted folios already has the lock, and
 * needs nothing from the other executors of the read to get rid of both. The read gives
 * a run only to a submitter that takes it at once; what is not taken it submits itself,
 * and what is taken does not depend on the read any more. It waits for its submitters at
 * its end, with no lock and no unsubmitted folio.
 *
 * When ->readahead leaves folios, the submitter unlocks those, as the read would; that
 * was its last run in this read. The copy cursor comes to the first of them and has it
 * read by the native path; those before it are under I/O and are only waited for.
 *
 * In the reader's name: folios are charged, and allocated by its policy, before; what
 * ->readahead allocates is charged to its memory cgroup; bios belong to its block
 * cgroup, have its I/O priority and REQ_RAHEAD; what was read counts in its
 * /proc/PID/io. What cannot be done for another task is not given away: a run with
 * folios that were evicted not long ago, whose submission is a memory stall of the
 * reader; and nothing once the block layer throttles the reader, see bring_in(). The
 * first run of each read is its own, so that is noticed.
 *
 * Lookahead is submitted by the read: how long that takes says when it is enough.
 */
#include <linux/cgroup.h>
#include <linux/ioprio.h>
#include <linux/kthread.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/task_io_accounting_ops.h>

#include "../submitter.h"
#include "../trace.h"
#include "read.h"

/* When nobody was idle, the next look is so many bytes later. */
#define RELAY_AGAIN ((pgoff_t)SZ_8M >> PAGE_SHIFT)

/**
 * struct mars_submission - a run that a submitter has, or had
 * @task:	what it is given
 * @req:	the read
 * @ra:		read-ahead state for this call of ->readahead alone
 * @index:	first page
 * @nr:		pages
 * @out:	the submitter has it
 * @left:	pages that ->readahead left
 * @blocks:	read in its name, in units of 512 bytes
 * @ns:		how long it took
 * @alien:	it went out without the reader's I/O priority
 */
struct mars_submission {
	struct mars_task task;
	struct mars_request *req;
	struct file_ra_state ra;
	pgoff_t index;
	unsigned long nr;
	bool out;
	unsigned long left;
	u64 blocks;
	u64 ns;
	bool alien;
};

/**
 * struct mars_relay - the submitters of a read
 * @set:	which
 * @memcg:	the reader's memory cgroup, with a reference
 * @blkcg:	its block cgroup, with a reference; NULL without such
 * @ioprio:	its I/O priority
 * @stopped:	nothing more is given away
 * @submission:	one for each submitter
 */
struct mars_relay {
	struct mars_submitters set;
	struct mem_cgroup *memcg;
	struct cgroup_subsys_state *blkcg;
	int ioprio;
	bool stopped;
	struct mars_submission submission[MARS_EXECUTORS_MAX - 1];
};

static struct cgroup_subsys_state *get_blkcg(void)
{
#ifdef CONFIG_BLK_CGROUP
	return task_get_css(current, io_cgrp_id);
#else
	return NULL;
#endif
}

/* The reader's lock is the submitter's from now on, and lockdep is told so. */
static void lock_leaves(struct address_space *mapping)
{
	rwsem_release(&mapping->invalidate_lock.dep_map, _THIS_IP_);
}

static void lock_arrives(struct address_space *mapping)
{
	rwsem_acquire_read(&mapping->invalidate_lock.dep_map, 0, 1, _THIS_IP_);
}

/* By a submitter. */
static void submit_run(struct mars_task *task)
{
	struct mars_submission *submission = container_of(task, struct mars_submission, task);
	struct mars_request *req = submission->req;
	struct mars_relay *relay = req->relay;
	u64 start = ktime_get_ns(), blocks = task_io_get_inblock(current);
	struct mem_cgroup *before = set_active_memcg(relay->memcg);
	struct blk_plug plug;
	unsigned int nofs;

	lock_arrives(req->mapping);
	kthread_associate_blkcg(relay->blkcg);
	/* Fails without memory for an I/O context. */
	submission->alien = get_current_ioprio() != relay->ioprio &&
			    set_task_ioprio(current, relay->ioprio);
	nofs = memalloc_nofs_save();
	blk_start_plug(&plug);
	submission->left = mars_start_io(req, &submission->ra, submission->index,
					 submission->nr, false);
	blk_finish_plug(&plug);
	memalloc_nofs_restore(nofs);
	filemap_invalidate_unlock_shared(req->mapping);
	kthread_associate_blkcg(NULL);
	set_active_memcg(before);
	submission->blocks = task_io_get_inblock(current) - blocks;
	submission->ns = ktime_get_ns() - start;
	trace_mars_relay(req->id, submission->index, submission->nr, submission->ns);
}

/* The submitter is through: account for it, as the read's own submission does. */
static void account(struct mars_relay *relay, struct mars_submission *submission)
{
	struct mars_request *req = submission->req;

	submission->out = false;
	relay->stopped |= submission->left || submission->alien;
	task_io_account_read(submission->blocks << 9);
	mars_stat_add(req->mount->stats, MARS_STAT_relay_ns, submission->ns);
}

static void collect(struct mars_relay *relay)
{
	unsigned int i;

	for (i = 0; i < relay->set.nr; i++) {
		if (relay->submission[i].out && mars_submitter_collect(relay->set.cpu[i]))
			account(relay, &relay->submission[i]);
	}
}

static struct mars_relay *new_relay(void)
{
	struct mars_relay *relay = kvzalloc(sizeof(*relay), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);

	if (!relay)
		return NULL;
	relay->memcg = get_mem_cgroup_from_mm(current->mm);
	relay->blkcg = get_blkcg();
	relay->ioprio = get_current_ioprio();
	return relay;
}

/* Is this a read, and a place in it, that submitters are called for? */
static bool wanted(const struct mars_request *req, unsigned long nr)
{
	return req->submit_executors > 1 && req->nr_runs && !mars_is_ahead(req) &&
	       ((u64)nr << PAGE_SHIFT) >= req->config.submit_min_bytes;
}

/**
 * mars_relay_prepare() - see to it that a submitter is there, if one is to be had
 * @req: the read
 * @nr: pages that are missing from the submission cursor on
 *
 * Context: May sleep. No lock held, no unsubmitted folio.
 */
void mars_relay_prepare(struct mars_request *req, unsigned long nr)
{
	struct mars_relay *relay = req->relay;
	unsigned int i;

	if (!wanted(req, nr))
		return;
	if (!relay || !relay->set.nr) {
		if (req->next < req->relay_from)
			return;
		req->relay_from = req->next + RELAY_AGAIN;
		if (!relay)
			relay = new_relay();
		req->relay = relay;
		if (!relay || !mars_submitters_gather(&relay->set, req->submit_executors))
			return;
	}
	collect(relay);
	for (i = 0; i < relay->set.nr && !relay->stopped; i++) {
		if (!relay->submission[i].out)
			mars_submitter_call(relay->set.cpu[i]);
	}
}

static bool give(struct mars_request *req, unsigned int i)
{
	struct mars_relay *relay = req->relay;
	struct mars_submission *submission = &relay->submission[i];

	submission->task.run = submit_run;
	submission->req = req;
	submission->ra = req->ra;
	submission->index = req->next;
	submission->nr = req->nr_pages;
	submission->out = true;
	lock_leaves(req->mapping);
	if (mars_submitter_give(relay->set.cpu[i], &submission->task))
		return true;
	lock_arrives(req->mapping);
	submission->out = false;
	mars_stat_add(req->mount->stats, MARS_STAT_relays_back, 1);
	return false;
}

/**
 * mars_relay() - give the inserted run to a submitter
 * @req: the read; if it is given, the run is the submitter's and @folio is empty
 *
 * Context: invalidate_lock held shared, which the submitter releases. Does not sleep.
 * Return: False when it is for mars_submit(), which the caller does now.
 */
bool mars_relay(struct mars_request *req)
{
	struct mars_relay *relay = req->relay;
	u64 bytes = (u64)req->nr_pages << PAGE_SHIFT, start = ktime_get_ns();
	unsigned int i;

	if (!relay || relay->stopped || req->workingset || !wanted(req, req->nr_pages))
		return false;
	for (i = 0; i < relay->set.nr; i++) {
		if (relay->submission[i].out || !mars_submitter_at_hand(relay->set.cpu[i]))
			continue;
		if (!give(req, i))
			continue;
		req->wait_ns += ktime_get_ns() - start;
		req->nr_folios = 0;
		req->nr_pages = 0;
		mars_stat_add(req->mount->stats, MARS_STAT_relays, 1);
		mars_stat_add(req->mount->stats, MARS_STAT_bytes_relayed, bytes);
		mars_stat_add(req->mount->stats, MARS_STAT_bytes_submitted, bytes);
		return true;
	}
	req->wait_ns += ktime_get_ns() - start;
	return false;
}

/**
 * mars_relay_end() - wait for the submitters of a read, and let them go
 * @req: the read
 *
 * Context: Sleeps, not killable: as long as ->readahead takes. No lock of MARS held, no
 * unsubmitted folio.
 */
void mars_relay_end(struct mars_request *req)
{
	struct mars_relay *relay = req->relay;
	unsigned int i;

	if (!relay)
		return;
	for (i = 0; i < relay->set.nr; i++) {
		if (!relay->submission[i].out)
			continue;
		mars_submitter_wait(relay->set.cpu[i]);
		account(relay, &relay->submission[i]);
	}
	mars_submitters_release(&relay->set);
	mem_cgroup_put(relay->memcg);
	if (relay->blkcg)
		css_put(relay->blkcg);
	kvfree(relay);
	req->relay = NULL;
}
