// SPDX-License-Identifier: GPL-2.0-only
/*
 * The submitters: threads, one on each CPU, that call ->readahead for reads which run
 * on other CPUs.
 *
 * They are not the workers that copy (worker.c), because of what they have in their
 * hands: folios that are locked and not under I/O yet, and the page cache's
 * invalidate_lock. Whoever wants those waits for the submitter. It may sleep in
 * ->readahead, for a request or a lock of the file system, as the reader would; so it
 * can neither run with preemption off nor be SCHED_IDLE, and has the priority of any
 * ordinary task. A reader with a higher one does not call it.
 *
 *  - A read calls a submitter only when its CPU has been idle a moment ago (idle.c),
 *    and gives it something only when it is awake and looking. It sees it taken within
 *    microseconds, or takes it back and does it itself (core/handover.c). So nothing
 *    that others wait for ever lies with a thread that has yet to be scheduled.
 *  - Awake without work it stays for a moment only, and not when another task wants
 *    the CPU; then that read does not call it again.
 *  - What it has taken it finishes without the reader, who may sleep meanwhile, wait
 *    for a lock, or die. The reader waits for it once, at its end, holding nothing.
 *
 * Each thread is bound to its CPU, but not as the per-CPU threads are that go down with
 * it: those are waited for when the CPU goes offline, and one of them that needs a request
 * of a hardware queue that goes with the CPU never gets it (blk-mq has it try again until
 * it was moved to another CPU). So this one is moved then, as any task, and comes back
 * with the CPU. On PREEMPT_RT there are no submitters: a read may have a higher priority
 * than they at any moment there.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpuhotplug.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/wait_bit.h>

#include "compat/compat.h"
#include "idle.h"
#include "submitter.h"

/* An instrumented kernel needs so many times longer for whatever it does. */
#if defined(CONFIG_PROVE_LOCKING) || defined(CONFIG_KASAN)
#define SLOWNESS 50
#else
#define SLOWNESS 1
#endif
/* So long a submitter stays awake for the next piece. */
#define LINGER_NS (200000ULL * SLOWNESS)
/* So long a read looks whether what it has offered is taken. */
#define TAKE_MOST_NS (20000ULL * SLOWNESS)

/**
 * struct mars_submitter - one CPU's submitter
 * @task:	the thread, once its CPU was online
 * @handover:	where it finds its work
 * @patience:	whether it is worth calling; owned by who has reserved the handover
 * @called:	it is to wake up, and has not yet
 * @awake:	it looks for work at this moment, or has some
 * @came:	it was awake since it was reserved
 * @crowded:	since then another task wanted the CPU
 */
struct mars_submitter {
	struct task_struct *task;
	struct mars_handover handover;
	struct mars_patience patience;
	bool called;
	bool awake;
	bool came;
	bool crowded;
};

static DEFINE_PER_CPU_ALIGNED(struct mars_submitter, mars_submitter);
static int hotplug_state;	/* of our callback; 0: there are no threads */

/*
 * A read waits for a submitter as it would for a lock that the submitter holds
 * together with those that ->readahead takes; lockdep is told so.
 */
#ifdef CONFIG_LOCKDEP
static struct lock_class_key work_key;
static struct lockdep_map work_map = STATIC_LOCKDEP_MAP_INIT("mars_submitter", &work_key);

static void work_begin(void)
{
	lock_map_acquire(&work_map);
}

static void work_end(void)
{
	lock_map_release(&work_map);
}
#else
static void work_begin(void) { }
static void work_end(void) { }
#endif

static bool serve(struct mars_submitter *submitter)
{
	struct mars_task *task = mars_handover_take(&submitter->handover);

	if (!task)
		return false;
	work_begin();
	task->run(task);
	work_end();
	mars_handover_done(&submitter->handover);
	/* Pairs with prepare_to_wait_event() of the reader: DONE, then who waits for it. */
	smp_mb();
	wake_up_var(&submitter->handover.state);
	return true;
}

static void submitter_run(struct mars_submitter *submitter)
{
	u64 until = ktime_get_ns() + LINGER_NS;

	WRITE_ONCE(submitter->called, false);
	WRITE_ONCE(submitter->came, true);
	WRITE_ONCE(submitter->awake, true);
	do {
		if (serve(submitter))
			until = ktime_get_ns() + LINGER_NS;
		cpu_relax();
		if (mars_workers_want_cpu()) {
			WRITE_ONCE(submitter->crowded, true);
			break;
		}
	} while (ktime_get_ns() < until && !kthread_should_stop());
	WRITE_ONCE(submitter->awake, false);
}

static int submitter_main(void *data)
{
	struct mars_submitter *submitter = data;

	for (;;) {
		/* Pairs with mars_submitter_call(): asleep, then whether it was called. */
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		if (READ_ONCE(submitter->called) || mars_handover_offered(&submitter->handover)) {
			__set_current_state(TASK_RUNNING);
			submitter_run(submitter);
		} else {
			schedule();
		}
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/* A CPU is online; its thread is made, or comes back. */
static int submitter_online(unsigned int cpu)
{
	struct mars_submitter *submitter = per_cpu_ptr(&mars_submitter, cpu);
	struct task_struct *task = submitter->task;

	if (task)
		return set_cpus_allowed_ptr(task, cpumask_of(cpu));
	task = kthread_create_on_node(submitter_main, submitter, cpu_to_node(cpu),
				      "mars_submit/%u", cpu);
	if (IS_ERR(task))
		return PTR_ERR(task);
	kthread_bind(task, cpu);
	wake_up_process(task);
	WRITE_ONCE(submitter->task, task);
	return 0;
}

/* One that is free and was not called in vain lately. */
static bool willing(int cpu)
{
	struct mars_submitter *submitter = per_cpu_ptr(&mars_submitter, cpu);

	return mars_load_acquire(&submitter->handover.state) == MARS_HANDOVER_FREE &&
	       READ_ONCE(submitter->task) &&
	       !mars_patience_over(&submitter->patience, ktime_get_ns());
}

static bool at_hand(int cpu, u64 now)
{
	return READ_ONCE(per_cpu_ptr(&mars_submitter, cpu)->awake);
}

/**
 * mars_submitters_gather() - reserve submitters for a read, and wake them
 * @set: filled in
 * @executors: how many executors there are to be at most, the reader among them
 *
 * Context: The reader; may be preempted. No folio of it is locked.
 * Return: Submitters reserved, to be let go with mars_submitters_release(); 0 on a
 * busy machine, and for a reader of higher priority than they have.
 */
unsigned int mars_submitters_gather(struct mars_submitters *set, unsigned int executors)
{
	struct mars_submitter *submitter;
	struct mars_scan scan;
	unsigned int i;

	set->nr = 0;
	executors = min_t(unsigned int, executors, MARS_EXECUTORS_MAX);
	if (!hotplug_state || executors < 2 || current->normal_prio < DEFAULT_PRIO)
		return 0;
	mars_scan_idle(&scan, willing, at_hand);
	for (i = 0; i < scan.nr && set->nr + 1 < executors; i++) {
		submitter = per_cpu_ptr(&mars_submitter, scan.cpu[i]);
		if (!mars_handover_reserve(&submitter->handover))
			continue;
		WRITE_ONCE(submitter->came, READ_ONCE(submitter->awake));
		WRITE_ONCE(submitter->crowded, false);
		set->cpu[set->nr++] = scan.cpu[i];
		mars_submitter_call(scan.cpu[i]);
	}
	return set->nr;
}

/**
 * mars_submitter_at_hand() - would it take something at this moment?
 * @cpu: of a reserved submitter, without work
 *
 * Context: The reader.
 * Return: True if so.
 */
bool mars_submitter_at_hand(int cpu)
{
	return at_hand(cpu, 0);
}

/**
 * mars_submitter_call() - wake a submitter, unless its CPU has other things to do
 * @cpu: of a reserved submitter
 *
 * Context: The reader.
 */
void mars_submitter_call(int cpu)
{
	struct mars_submitter *submitter = per_cpu_ptr(&mars_submitter, cpu);

	if (READ_ONCE(submitter->awake) || READ_ONCE(submitter->called) ||
	    READ_ONCE(submitter->crowded))
		return;
	WRITE_ONCE(submitter->called, true);
	/* Called, then woken: pairs with set_current_state() of the thread. */
	wake_up_process(submitter->task);
}

/**
 * mars_submitter_give() - give a submitter something to do
 * @cpu: of a reserved submitter, without work and at hand
 * @task: what; the submitter's until mars_submitter_collect() or _wait()
 *
 * Context: The reader; may be preempted, and does not sleep.
 * Return: False when it did not take it at once, so that it is for the reader.
 */
bool mars_submitter_give(int cpu, struct mars_task *task)
{
	struct mars_submitter *submitter = per_cpu_ptr(&mars_submitter, cpu);
	u64 until = ktime_get_ns() + TAKE_MOST_NS;

	mars_handover_offer(&submitter->handover, task);
	while (mars_handover_offered(&submitter->handover) && ktime_get_ns() < until)
		cpu_relax();
	return !mars_handover_withdraw(&submitter->handover);
}

/**
 * mars_submitter_collect() - is it through with what it was given?
 * @cpu: of a submitter with work
 *
 * Context: The reader.
 * Return: True, once, when it is.
 */
bool mars_submitter_collect(int cpu)
{
	return mars_handover_collect(&per_cpu_ptr(&mars_submitter, cpu)->handover);
}

/**
 * mars_submitter_wait() - wait until it is through
 * @cpu: of a submitter with work
 *
 * Not interruptible, as ->readahead is not.
 *
 * Context: The reader. Sleeps. No lock held that ->readahead could want.
 */
void mars_submitter_wait(int cpu)
{
	struct mars_submitter *submitter = per_cpu_ptr(&mars_submitter, cpu);

	work_begin();
	work_end();
	wait_var_event(&submitter->handover.state,
		       mars_handover_collect(&submitter->handover));
}

/**
 * mars_submitters_release() - let submitters go
 * @set: the read's; none has work
 *
 * Context: The reader.
 */
void mars_submitters_release(struct mars_submitters *set)
{
	unsigned int i;

	for (i = 0; i < set->nr; i++) {
		struct mars_submitter *submitter = per_cpu_ptr(&mars_submitter, set->cpu[i]);

		mars_patience_note(&submitter->patience, READ_ONCE(submitter->came),
				   ktime_get_ns());
		mars_handover_free(&submitter->handover);
	}
	set->nr = 0;
}

static void end_threads(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct mars_submitter *submitter = per_cpu_ptr(&mars_submitter, cpu);

		if (submitter->task)
			kthread_stop(submitter->task);
		submitter->task = NULL;
	}
}

/**
 * mars_submitters_init() - start the threads, asleep
 *
 * Context: May sleep. Module init.
 * Return: 0 or -ENOMEM and the like.
 */
int mars_submitters_init(void)
{
	int state;

	if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
		pr_info("PREEMPT_RT: each read submits its I/O by itself\n");
		return 0;
	}
	state = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "fs/mars:online", submitter_online, NULL);
	if (state < 0) {
		end_threads();
		return state;
	}
	hotplug_state = state;
	return 0;
}

/**
 * mars_submitters_exit() - end the threads
 *
 * Context: May sleep. Module exit; no read is inside.
 */
void mars_submitters_exit(void)
{
	if (!hotplug_state)
		return;
	cpuhp_remove_state(hotplug_state);
	end_threads();
}
