// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which CPUs have nothing else to do: looked at by a read that would call a thread
 * there. Only CPUs that the reader may run on, that are housekeeping ones (isolcpus=,
 * nohz_full=) and in workers/cpus; the reader's NUMA node first.
 */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/smp.h>
#include <linux/topology.h>

#include "compat/compat.h"
#include "idle.h"

/* CPUs that one read looks at, once for each distance. */
#define SCAN_LOOKS 256
/*
 * Between two looks at a CPU's idle time, which is kept in microseconds. When the
 * second comes much later (the reader was preempted), it says nothing of now.
 */
#define SCAN_APART_NS 2500
#define SCAN_APART_MOST_NS 50000

/* What workers/cpus says; bits are read without the lock. */
static struct cpumask worker_cpus;
static DEFINE_MUTEX(worker_mutex);	/* changes of worker_cpus */

/* May work go there at all? */
static bool allowed(int cpu)
{
	return cpumask_test_cpu(cpu, &worker_cpus) &&
	       cpumask_test_cpu(cpu, housekeeping_cpumask(HK_TYPE_DOMAIN)) &&
	       cpumask_test_cpu(cpu, housekeeping_cpumask(HK_TYPE_TICK));
}

/* In which order CPUs are asked: another core of the node, the same core, far away. */
enum distance { OTHER_CORE, SAME_CORE, OTHER_NODE, NR_DISTANCES };

static enum distance distance(int self, int cpu)
{
	if (cpu_to_node(cpu) != cpu_to_node(self))
		return OTHER_NODE;
	return cpumask_test_cpu(cpu, topology_sibling_cpumask(self)) ? SAME_CORE : OTHER_CORE;
}

/* Candidates at a distance, from the CPU after the reader's own on. */
static void scan_cpus(struct mars_scan *scan, int self, enum distance at,
		      bool (*willing)(int cpu))
{
	int cpu, looked = 0;

	for_each_cpu_wrap(cpu, current->cpus_ptr, self) {
		if (scan->cpus > MARS_SCAN_MAX || looked++ > SCAN_LOOKS)
			return;
		if (cpu == self || !cpu_online(cpu) || distance(self, cpu) != at || !allowed(cpu))
			continue;
		scan->cpus++;
		if (scan->nr < MARS_SCAN_MAX && willing(cpu)) {
			scan->cpu[scan->nr] = cpu;
			scan->idle[scan->nr++] = mars_cpu_idle_ns(cpu);
		}
	}
}

/* Leaves those whose idle time advances, or whose thread is there anyway. */
static void keep_idle(struct mars_scan *scan, u64 first_look,
		      bool (*at_hand)(int cpu, u64 now))
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

		if ((in_time && mars_cpu_idle_ns(cpu) > scan->idle[i]) || at_hand(cpu, now))
			scan->cpu[nr++] = cpu;
	}
	scan->nr = nr;
}

/**
 * mars_scan_idle() - look for CPUs that are idle now
 * @scan: filled in
 * @willing: may the thread of that CPU be called?
 * @at_hand: is it awake, or known by other means to come at once?
 *
 * Context: The reader; may be preempted. Takes some microseconds.
 */
void mars_scan_idle(struct mars_scan *scan, bool (*willing)(int cpu),
		    bool (*at_hand)(int cpu, u64 now))
{
	int self = raw_smp_processor_id();
	u64 start = ktime_get_ns();
	enum distance at;

	scan->cpus = 1;
	scan->nr = 0;
	rcu_read_lock();	/* the housekeeping masks may be replaced */
	for (at = OTHER_CORE; at < NR_DISTANCES; at++)
		scan_cpus(scan, self, at, willing);
	rcu_read_unlock();
	if (scan->nr)
		keep_idle(scan, start, at_hand);
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
 * mars_idle_init() - allow every CPU
 *
 * Context: Module init.
 */
void mars_idle_init(void)
{
	cpumask_copy(&worker_cpus, cpu_possible_mask);
}
