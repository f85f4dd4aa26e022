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
 *  - They run on CPUs only that the reader may run on, that are housekeeping ones
 *    (isolcpus=, nohz_full=) and in workers/cpus; the reader's NUMA node first.
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
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/isolation.h>
#include <linux/smpboot.h>
#include <linux/topology.h>
#include <uapi/linux/sched/types.h>

#include "compat/compat.h"
#include "worker.h"

/*
 * Candidates of one read, and CPUs that it looks at for them, once for each distance;
 * on a larger machine some idle ones stay unseen.
 */
#define SCAN_MAX 64
#define SCAN_LOOKS 256
/*
 * Between two looks at a CPU's idle time, which is kept in microseconds. When the
 * second comes much later (the reader was preempted), it says nothing of now.
 */
#define SCAN_APART_NS 2500
#define SCAN_APART_MOST_NS 50000
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

/* What workers/cpus says; bits are read without the lock. */
static struct cpumask worker_cpus;
static DEFINE_MUTEX(worker_mutex);	/* changes of worker_cpus */

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

/* May work go there at all? */
static bool allowed(int cpu)
{
	return cpumask_test_cpu(cpu, &worker_cpus) &&
	       cpumask_test_cpu(cpu, housekeeping_cpumask(HK_TYPE_DOMAIN)) &&
	       cpumask_test_cpu(cpu, housekeeping_cpumask(HK_TYPE_TICK));
}

/* One that is free and was not in vain lately. */
static bool willing(int cpu)
{
	struct mars_worker *worker = per_cpu_ptr(&mars_worker, cpu);

	return mars_load_acquire(&worker->post.state) == MARS_POST_FREE &&
	       READ_ONCE(per_cpu(mars_worker_task, cpu)) &&
	       !mars_patience_over(&worker->patience, ktime_get_ns());
}

/**
 * struct scan - what a read sees of the other CPUs
 * @cpus:	those that it may use, its own among them
 * @nr:		candidates
 * @cpu:	the candidates
 * @idle:	their idle time at the first look
 */
struct scan {
	unsigned int cpus;
	unsigned int nr;
	int cpu[SCAN_MAX];
	u64 idle[SCAN_MAX];
};

/* In which order CPUs are asked: another core of the node, the same core, far away. */
enum distance { OTHER_CORE, SAME_CORE, OTHER_NODE, NR_DISTANCES };

static enum distance distance(int self, int cpu)
{
	if (cpu_to_node(cpu) != cpu_to_node(self))
		return OTHER_NODE;
	return cpumask_test_cpu(cpu, topology_sibling_cpumask(self)) ? SAME_CORE : OTHER_CORE;
}

/* Candidates at a distance, from the CPU after the reader's own on. */
static void scan_cpus(struct scan *scan, int self, enum distance at)
{
	int cpu, looked = 0;

	for_each_cpu_wrap(cpu, current->cpus_ptr, self) {
		if (scan->cpus > SCAN_MAX || looked++ > SCAN_LOOKS)
			return;
		if (cpu == self || !cpu_online(cpu) || distance(self, cpu) != at || !allowed(cpu))
			continue;
		scan->cpus++;
		if (scan->nr < SCAN_MAX && willing(cpu)) {
			scan->cpu[scan->nr] = cpu;
			scan->idle[scan->nr++] = mars_cpu_idle_ns(cpu);
		}
	}
}

/*
 * Where idle time moves with the tick only, a CPU that went idle after the last
 * tick looks busy. One whose worker did come a moment ago was idle then.
 */
static bool just_came(const struct mars_worker *worker, u64 now)
{
	return MARS_IDLE_TIME_LAGS && now < READ_ONCE(worker->came) + 2 * TICK_NSEC;
}

/* Leaves those whose idle time advances, or whose worker is awake anyway. */
static void keep_idle(struct scan *scan, u64 first_look)
{
	u64 last_look = ktime_get_ns(), now;
	unsigned int i, nr = 0;
	bool in_time;

	while (ktime_get_ns() < last_look + SCAN_APART_NS)
		cpu_relax();
	now = ktime_get_ns();
	in_time = now < first_look + SCAN_APART_MOST_NS;
	for (i = 0; i < scan->nr; i++) {
		int cpu = scan->cpu[i];
		struct mars_worker *worker = per_cpu_ptr(&mars_worker, cpu);

		if ((in_time && mars_cpu_idle_ns(cpu) > scan->idle[i]) ||
		    READ_ONCE(worker->polling) || just_came(worker, now))
			scan->cpu[nr++] = cpu;
	}
	scan->nr = nr;
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
	struct scan scan = { .cpus = 1 };
	u64 start = ktime_get_ns();
	struct mars_cost cost;
	enum distance at;
	unsigned int most, n, i;
	int self = raw_smp_processor_id();

	crew->nr = 0;
	crew->called = false;
	mars_workers_cost(&cost);
	most = executors == MARS_AUTO ? mars_parallel_max(bytes, &cost) :
					min_t(u64, executors, MARS_EXECUTORS_MAX);
	if (most < 2 || !have_threads)
		return 0;
	rcu_read_lock();	/* the housekeeping masks may be replaced */
	for (at = OTHER_CORE; at < NR_DISTANCES; at++)
		scan_cpus(&scan, self, at);
	rcu_read_unlock();
	if (!scan.nr)
		return 0;
	keep_idle(&scan, start);
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
 * mars_workers_get_cpus() - CPUs that workers may be called on
 * @cpus: filled in
 *
 * Context: May sleep.
 */
void mars_workers_get_cpus(struct cpumask *cpus)
{
	mutex_lock(&worker_mutex);
	cpumask_copy(cpus, &worker_cpus);
	mutex_unlock(&worker_mutex);
}

/**
 * mars_workers_set_cpus() - change that; reads under way keep the workers they have
 * @cpus: the new ones
 *
 * Context: May sleep.
 */
void mars_workers_set_cpus(const struct cpumask *cpus)
{
	mutex_lock(&worker_mutex);
	cpumask_and(&worker_cpus, cpus, cpu_possible_mask);
	mutex_unlock(&worker_mutex);
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

	cpumask_copy(&worker_cpus, cpu_possible_mask);
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
