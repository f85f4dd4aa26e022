// SPDX-License-Identifier: GPL-2.0-only
/*
 * The workers: SCHED_IDLE threads, one on each CPU, that do items of reads which
 * run on other CPUs (paper, section 3.3).
 *
 * They are there to use CPUs that have nothing else to do, and for nothing else:
 *
 *  - A read calls a worker only when its CPU has been idle a moment ago, so on a
 *    busy machine nobody is woken, and a read pays for a look at a bounded number
 *    of CPUs. A worker that was called twice in vain is left out for 10 ms.
 *  - The scheduler runs any other task before a SCHED_IDLE one. An item is done
 *    with preemption off, because the read may have to wait for it; execution
 *    looks every 64 KiB whether somebody wants the CPU, and leaves the item then.
 *  - They run on CPUs only that idle.c allows for the reader.
 *
 * The threads are registered while the module is loaded and sleep until called,
 * which nobody does while nothing is enabled. CPU hotplug parks them: an item
 * that was begun is done or left before, one that was not is taken back by its
 * read.
 *
 * On PREEMPT_RT there are none. To adopt a reader's address space takes a lock
 * that sleeps there, so a worker could be preempted with an item in its hands.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/smpboot.h>
#include <uapi/linux/sched/types.h>

#include "compat/compat.h"
#include "idle.h"
#include "worker.h"

/* So long a worker stays awake for the next item of the read that called it. */
#define LINGER_NS 500000ULL

/**
 * struct mars_worker - one CPU's worker
 * @post:	where it finds its work
 * @patience:	whether it is worth calling; owned by who has reserved the post
 * @polling:	awake without work, and ready to begin at once
 * @came:	when a master let it go that it had come for, in nanoseconds
 * @count:	counters, by enum mars_worker_counter; written by the worker, or by
 *		who has reserved it
 */
struct mars_worker {
	struct mars_post post;
	struct mars_patience patience;
	bool polling;
	u64 came;
	u64 count[MARS_NR_WORKER_COUNTERS];
};

static DEFINE_PER_CPU_ALIGNED(struct mars_worker, mars_worker);
static DEFINE_PER_CPU(struct task_struct *, mars_worker_task);
static bool have_threads;

/*
 * A read waits for a worker's section as it would for a lock that the worker
 * holds; lockdep is told so. (Workers take no lock that a reader could hold.)
 */
#ifdef CONFIG_LOCKDEP
static struct lock_class_key section_key;
static struct lockdep_map section_map = STATIC_LOCKDEP_MAP_INIT("mars_section", &section_key);

static void section_begin(void)
{
	lock_map_acquire(&section_map);
}

static void section_end(void)
{
	lock_map_release(&section_map);
}
#else
static void section_begin(void) { }
static void section_end(void) { }
#endif

static void count(struct mars_worker *worker, enum mars_worker_counter counter, u64 n)
{
	WRITE_ONCE(worker->count[counter], worker->count[counter] + n);
}

/**
 * mars_workers_want_cpu() - does another task want this CPU?
 *
 * Lazy preemption marks the task with a bit of its own, which need_resched()
 * leaves to the next tick.
 *
 * Context: A worker's section.
 * Return: True if so; then what is being done is to be left.
 */
bool mars_workers_want_cpu(void)
{
#ifdef TIF_NEED_RESCHED_LAZY
	if (test_thread_flag(TIF_NEED_RESCHED_LAZY))
		return true;
#endif
	return need_resched();
}

static bool worked(enum mars_visit what)
{
	return what == MARS_VISIT_FINISHED || what == MARS_VISIT_LEFT;
}

/* The section: whoever finds the post RUNNING knows that this is on a CPU. */
static enum mars_visit visit(struct mars_worker *worker)
{
	enum mars_visit what;
	u64 start;

	preempt_disable();
	section_begin();
	start = local_clock();
	what = mars_visit(&worker->post);
	if (worked(what)) {
		count(worker, MARS_WORKER_items, 1);
		count(worker, MARS_WORKER_left, what == MARS_VISIT_LEFT);
		count(worker, MARS_WORKER_run_ns, local_clock() - start);
	}
	section_end();
	preempt_enable();
	return what;
}

/* Nothing that a worker does is worth another task's wait. */
static void give_way(void)
{
	/* With lazy preemption cond_resched() would go on until the next tick. */
	if (mars_workers_want_cpu())
		schedule();
	else
		cpu_relax();
}

/*
 * Called. Items of one read follow each other closely, so between two of them the
 * worker stays awake for a moment; it is preemptible then.
 */
static void worker_run(unsigned int cpu)
{
	struct mars_worker *worker = per_cpu_ptr(&mars_worker, cpu);
	u64 poll_ns = mars_workers_value(MARS_WORKER_poll_us) * NSEC_PER_USEC;
	u64 linger_ns = max(poll_ns, LINGER_NS);
	u64 until = ktime_get_ns() + linger_ns;
	enum mars_visit before, what = MARS_VISIT_IDLE;

	do {
		before = what;
		what = visit(worker);
		if (what == MARS_VISIT_FINISHED || (what == MARS_VISIT_IDLE &&
						    before == MARS_VISIT_UNWANTED))
			until = ktime_get_ns() + linger_ns;
		else if (what == MARS_VISIT_UNWANTED && before != what)
			until = ktime_get_ns() + poll_ns;
		WRITE_ONCE(worker->polling, what == MARS_VISIT_UNWANTED);
		give_way();
	} while (ktime_get_ns() < until && !kthread_should_park());
	WRITE_ONCE(worker->polling, false);
	mars_post_doze(&worker->post);
}

static int worker_should_run(unsigned int cpu)
{
	return mars_load_acquire(&per_cpu_ptr(&mars_worker, cpu)->post.state) == MARS_POST_PENDING;
}

static void worker_setup(unsigned int cpu)
{
	struct sched_attr attr = { .size = sizeof(attr), .sched_policy = SCHED_IDLE };
	int err = sched_setattr_nocheck(current, &attr);

	if (err)
		pr_warn("the worker of CPU %u cannot become SCHED_IDLE (error %d); to do without workers write 1 to copy_executors of each mount\n",
			cpu, err);
}

static struct smp_hotplug_thread worker_threads = {
	.store = &mars_worker_task,
	.setup = worker_setup,
	.thread_should_run = worker_should_run,
	.thread_fn = worker_run,
	.thread_comm = "mars_copy/%u",
};

/* One that is free and was not in vain lately. */
static bool willing(int cpu)
{
	struct mars_worker *worker = per_cpu_ptr(&mars_worker, cpu);

	return mars_load_acquire(&worker->post.state) == MARS_POST_FREE &&
	       READ_ONCE(per_cpu(mars_worker_task, cpu)) &&
	       !mars_patience_over(&worker->patience, ktime_get_ns());
}

/*
 * Awake anyway; or, where idle time moves with the tick only and a CPU that went
 * idle after the last tick looks busy, one whose worker did come a moment ago.
 */
static bool at_hand(int cpu, u64 now)
{
	struct mars_worker *worker = per_cpu_ptr(&mars_worker, cpu);

	return READ_ONCE(worker->polling) ||
	       (MARS_IDLE_TIME_LAGS && now < READ_ONCE(worker->came) + 2 * TICK_NSEC);
}

/**
 * mars_crew_gather() - reserve workers for a read
 * @crew: filled in
 * @bytes: what there is to do
 * @executors: the mount's knob: how many at most, or MARS_AUTO
 *
 * Context: The reader; may be preempted.
 * Return: Workers reserved, to be given back with mars_crew_recall(); mostly 0 on
 * a busy machine.
 */
unsigned int mars_crew_gather(struct mars_crew *crew, u64 bytes, u64 executors)
{
	struct mars_scan scan;
	struct mars_cost cost;
	unsigned int most, n, i;

	crew->nr = 0;
	crew->called = false;
	mars_workers_cost(&cost);
	most = executors == MARS_AUTO ? mars_parallel_max(bytes, &cost) :
					min_t(u64, executors, MARS_EXECUTORS_MAX);
	if (most < 2 || !have_threads)
		return 0;
	mars_scan_idle(&scan, willing, at_hand);
	if (!scan.nr)
		return 0;
	n = executors == MARS_AUTO ?
	    mars_parallel_n(most, scan.cpus, scan.nr, mars_workers_value(MARS_WORKER_alpha)) :
	    min(most, scan.nr + 1);
	for (i = 0; i < scan.nr && crew->nr + 1 < n; i++) {
		if (mars_post_reserve(&per_cpu_ptr(&mars_worker, scan.cpu[i])->post))
			crew->cpu[crew->nr++] = scan.cpu[i];
	}
	return crew->nr;
}

/**
 * mars_crew_call() - tell the workers that there is something to do
 * @crew: the read's
 * @job: the read's
 *
 * Context: The reader.
 */
void mars_crew_call(struct mars_crew *crew, struct mars_job *job)
{
	unsigned int i;

	crew->called = true;
	for (i = 0; i < crew->nr; i++) {
		/* Wakes before it looks: pairs with set_current_state() of the thread. */
		if (mars_post_call(&per_cpu(mars_worker, crew->cpu[i]).post, job))
			wake_up_process(per_cpu(mars_worker_task, crew->cpu[i]));
	}
}

static void note(struct mars_worker *worker, bool came)
{
	u64 until = worker->patience.until, now = ktime_get_ns();

	mars_patience_note(&worker->patience, came, now);
	WRITE_ONCE(worker->came, came ? now : 0);
	count(worker, MARS_WORKER_calls, 1);
	count(worker, MARS_WORKER_late, !came);
	count(worker, MARS_WORKER_pauses, worker->patience.until != until);
}

/**
 * mars_crew_recall() - let the workers go; afterwards none of them touches the job
 * @crew: the read's; every item is finished
 *
 * Context: The reader. Waits for sections that are running.
 */
void mars_crew_recall(struct mars_crew *crew)
{
	unsigned int i;

	section_begin();
	section_end();
	for (i = 0; i < crew->nr; i++) {
		struct mars_worker *worker = per_cpu_ptr(&mars_worker, crew->cpu[i]);
		bool came = mars_post_recall(&worker->post);

		if (crew->called)
			note(worker, came);
		mars_post_free(&worker->post);
	}
	crew->nr = 0;
}

/**
 * mars_have_workers() - are there threads at all?
 *
 * Context: Any.
 * Return: False on PREEMPT_RT.
 */
bool mars_have_workers(void)
{
	return have_threads;
}

/**
 * mars_workers_counter() - sum of a counter over all workers
 * @counter: which
 *
 * Context: Any.
 * Return: The sum.
 */
u64 mars_workers_counter(enum mars_worker_counter counter)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(mars_worker, cpu).count[counter]);
	return sum;
}

/**
 * mars_workers_init() - start the threads, asleep, and measure what a copy costs
 *
 * Context: May sleep. Module init.
 * Return: 0 or -ENOMEM.
 */
int mars_workers_init(void)
{
	int err;

	if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
		pr_info("PREEMPT_RT: each read copies by itself, without workers\n");
		return 0;
	}
	err = smpboot_register_percpu_thread(&worker_threads);
	if (err)
		return err;
	have_threads = true;
	mars_calibrate();
	return 0;
}

/**
 * mars_workers_exit() - end the threads
 *
 * Context: May sleep. Module exit; no read is inside.
 */
void mars_workers_exit(void)
{
	struct task_struct *task;
	int cpu;

	if (!have_threads)
		return;
	/* To end they have to run, one after the other, on busy CPUs as well. */
	for_each_possible_cpu(cpu) {
		task = per_cpu(mars_worker_task, cpu);
		if (task)
			sched_set_normal(task, 0);
	}
	smpboot_unregister_percpu_thread(&worker_threads);
}
