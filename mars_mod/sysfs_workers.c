// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/fs/mars/workers/: show and store, as in sysfs.c.
 */
#include <linux/cpumask.h>
#include <linux/ctype.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "idle.h"
#include "sysfs.h"
#include "worker.h"

static ssize_t value_show(struct kobject *kobj, int id, char *buf)
{
	return sysfs_emit(buf, "%llu\n", mars_workers_value(id));
}

static int value_store(struct kobject *kobj, int id, const char *buf, size_t len)
{
	u64 value;
	int err = mars_parse_number(buf, len, &value);

	return err ?: mars_workers_set_value(id, value);
}

static ssize_t cpus_show(struct kobject *kobj, int id, char *buf)
{
	cpumask_var_t cpus;
	ssize_t len;

	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	mars_workers_get_cpus(cpus);
	len = sysfs_emit(buf, "%*pbl\n", cpumask_pr_args(cpus));
	free_cpumask_var(cpus);
	return len;
}

/* As cpulist_parse(), without the blanks and the empty entries that it takes. */
static int cpus_store(struct kobject *kobj, int id, const char *buf, size_t len)
{
	cpumask_var_t cpus;
	int err = 0;

	if (len && buf[len - 1] == '\n')
		len--;
	if (!len || !isdigit(buf[0]) || !isdigit(buf[len - 1]) ||
	    strspn(buf, "0123456789,-") != len)
		return -EINVAL;
	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	err = cpulist_parse(buf, cpus);
	if (!err && !cpumask_intersects(cpus, cpu_possible_mask))
		err = -ERANGE;
	if (!err)
		mars_workers_set_cpus(cpus);
	free_cpumask_var(cpus);
	return err == -EOVERFLOW ? -ERANGE : err;
}

static int calibrate_store(struct kobject *kobj, int id, const char *buf, size_t len)
{
	u64 on;
	int err = mars_parse_switch(buf, len, &on);

	if (err)
		return err;
	return on ? mars_calibrate() : -EINVAL;
}

static ssize_t least_show(struct kobject *kobj, int id, char *buf)
{
	return sysfs_emit(buf, "%llu\n", mars_workers_least_bytes());
}

static ssize_t counter_show(struct kobject *kobj, int id, char *buf)
{
	return sysfs_emit(buf, "%llu\n", mars_workers_counter(id));
}

#define WORKER_VALUE(name) \
	MARS_ATTR(name##_attr, #name, 0644, MARS_WORKER_##name, value_show, value_store)

WORKER_VALUE(poll_us);
WORKER_VALUE(alpha);
WORKER_VALUE(gain);
WORKER_VALUE(copy_bytes_per_second);
WORKER_VALUE(copy_dispatch_ns);
WORKER_VALUE(copy_cap);
MARS_ATTR(cpus_attr, "cpus", 0644, 0, cpus_show, cpus_store);
MARS_ATTR(calibrate_attr, "calibrate", 0200, 0, NULL, calibrate_store);
MARS_ATTR(least_attr, "copy_least_bytes", 0444, 0, least_show, NULL);
#define MARS_WORKER_COUNTER(name) \
	MARS_ATTR(name##_attr, #name, 0444, MARS_WORKER_##name, counter_show, NULL);
#include <mars/workers.def>
#undef MARS_WORKER_COUNTER

static struct attribute *workers_attrs[] = {
	&poll_us_attr.attr,
	&cpus_attr.attr,
	&alpha_attr.attr,
	&gain_attr.attr,
	&calibrate_attr.attr,
	&copy_bytes_per_second_attr.attr,
	&copy_dispatch_ns_attr.attr,
	&copy_cap_attr.attr,
	&least_attr.attr,
#define MARS_WORKER_COUNTER(name) &name##_attr.attr,
#include <mars/workers.def>
#undef MARS_WORKER_COUNTER
	NULL
};

const struct attribute_group mars_workers_group = {
	.name = "workers",
	.attrs = workers_attrs,
};
