/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of /sys/fs/mars have in common.
 */
#ifndef _MARS_SYSFS_H
#define _MARS_SYSFS_H

#include <linux/sysfs.h>

/**
 * struct mars_attr - one file
 * @attr:	name and mode
 * @id:		knob, counter or value, for the files that are made from a list
 * @show:	value as text, one line
 * @store:	parse and apply; NULL for a read-only file
 */
struct mars_attr {
	struct attribute attr;
	int id;
	ssize_t (*show)(struct kobject *kobj, int id, char *buf);
	int (*store)(struct kobject *kobj, int id, const char *buf, size_t len);
};

#define MARS_ATTR(var, file, perm, nr, show_fn, store_fn) \
	static struct mars_attr var = { \
		.attr = { .name = file, .mode = perm }, \
		.id = nr, .show = show_fn, .store = store_fn, \
	}

/* sysfs_workers.c */
extern const struct attribute_group mars_workers_group;

#endif /* _MARS_SYSFS_H */
