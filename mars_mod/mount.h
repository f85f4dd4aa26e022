/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attached super blocks. See mount.c for locks and lifetimes.
 */
#ifndef _MARS_MOUNT_H
#define _MARS_MOUNT_H

#include <linux/fs.h>
#include <linux/kobject.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <mars/core.h>

#include "stats.h"

/**
 * struct mars_config_rcu - a configuration as it is allocated
 * @config:	the knobs
 * @rcu:	defers kfree() until no read copies it any more
 */
struct mars_config_rcu {
	struct mars_config config;
	struct rcu_head rcu;
};

/**
 * struct mars_governor - what submit_executors=auto and depth=auto know of a mount
 * @lock:	guards @controller and @depth
 * @controller:	finds the number of executors
 * @depth:	finds how much in flight is enough
 * @in_flight:	bytes that governed reads have submitted and not copied
 */
struct mars_governor {
	spinlock_t lock;	/* guards the next two */
	struct mars_controller controller;
	struct mars_depth depth;
	atomic64_t in_flight;
};

/**
 * struct mars_mount - one attached super block
 * @kobj:	/sys/fs/mars/mounts/<major:minor>; owns the structure
 * @armed:	in the table that the hook looks in, while enabled; table lock
 * @list:	in the list of all attached; table lock
 * @sb:		identity, compared and never followed; NULL once shut down
 * @dev:	device number of @sb, which is the entry's name
 * @enabled:	what the file "enabled" says; mars_mutex
 * @config:	current knobs; written under mars_mutex, read under RCU
 * @stats:	per-CPU counters
 * @governor:	of submission
 * @gone_work:	removes the entry after the file system was shut down
 * @rcu:	defers the end until every reader of the table is done
 * @fstype:	name of the file system's type, kept from attach
 * @path:	where the file system was mounted when it was attached
 */
struct mars_mount {
	struct kobject kobj;
	struct hlist_node armed;
	struct list_head list;
	struct super_block *sb;
	dev_t dev;
	bool enabled;
	struct mars_config __rcu *config;
	struct mars_stats __percpu *stats;
	struct mars_governor governor;
	struct work_struct gone_work;
	struct rcu_head rcu;
	char *fstype;
	char *path;
};

/* As many buckets as a word has bits: mars_filter has one for each. */
#define MARS_TABLE_SIZE BITS_PER_LONG

extern struct hlist_head mars_table[MARS_TABLE_SIZE];
/* Bit n: bucket n is not empty. The hook looks here before anything else. */
extern unsigned long mars_filter;
/* Enabled flags, configurations, the hook's state: see mount.c. */
extern struct mutex mars_mutex;

/**
 * mars_table_slot() - number of the bucket of a super block
 * @sb: super block
 *
 * A super block is an allocation of one to two KiB, so the bits above those
 * tell them apart, and cheaper than a real hash: this runs in every read.
 *
 * Context: Any.
 * Return: The number.
 */
static __always_inline unsigned int mars_table_slot(const struct super_block *sb)
{
	return ((unsigned long)sb >> 11) % MARS_TABLE_SIZE;
}

/**
 * mars_may_be_enabled() - could this super block be in the table?
 * @sb: super block
 *
 * Context: Any.
 * Return: False when it is not there; true may be wrong.
 */
static __always_inline bool mars_may_be_enabled(const struct super_block *sb)
{
	return READ_ONCE(mars_filter) & (1UL << mars_table_slot(sb));
}

/**
 * mars_mount_find() - the enabled mount of a super block
 * @sb: super block, alive
 *
 * Context: RCU read lock held, or preemption disabled.
 * Return: The mount, valid within that section, or NULL.
 */
static __always_inline struct mars_mount *mars_mount_find(const struct super_block *sb)
{
	struct mars_mount *mount;

	hlist_for_each_entry_rcu_notrace(mount, &mars_table[mars_table_slot(sb)], armed) {
		if (READ_ONCE(mount->sb) == sb && mount->dev == sb->s_dev)
			return mount;
	}
	return NULL;
}

void mars_table_add(struct mars_mount *mount, const struct super_block *sb);
void mars_table_del(struct mars_mount *mount);
struct mars_mount *mars_mount_get(const struct super_block *sb);
void mars_mount_put(struct mars_mount *mount);
int mars_mount_enable(struct mars_mount *mount, bool on);
int mars_mount_set_knob(struct mars_mount *mount, enum mars_knob knob, u64 value);
u64 mars_mount_knob(struct mars_mount *mount, enum mars_knob knob);
int mars_set_default(enum mars_knob knob, u64 value);
u64 mars_default(enum mars_knob knob);
int mars_set_enabled(bool on);
bool mars_enabled(void);
struct mars_mount *mars_mount_create(struct super_block *sb, char *path);
void mars_mount_link(struct mars_mount *mount);
void mars_mount_unlink(struct mars_mount *mount);
struct mars_mount *mars_mount_lookup_dev(dev_t dev);
struct mars_mount *mars_mount_mark_gone(const struct super_block *sb);
struct mars_mount *mars_mount_first(void);
void mars_mount_wait_all_released(void);
void mars_mount_release(struct kobject *kobj);

/* read/govern.c */

void mars_governor_init(struct mars_governor *governor);

/* attach.c: attach, detach, and the end of a file system */

int mars_attach(const char *path);
int mars_detach(const char *path);
void mars_mount_gone(struct work_struct *work);
int mars_attach_init(void);
void mars_attach_exit(void);

/* sysfs.c */

extern const struct kobj_type mars_mount_ktype;
int mars_sysfs_init(void);
void mars_sysfs_close(void);
void mars_sysfs_exit(void);
int mars_sysfs_add_mount(struct mars_mount *mount);

#endif /* _MARS_MOUNT_H */
