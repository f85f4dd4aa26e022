// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attached super blocks: the table, switching on and off, configurations.
 *
 * A mount here is a super block, since the page cache belongs to it. MARS holds
 * no reference on it: umount works at any moment, and attach.c learns of it.
 *
 * Locks, outermost first:
 *   attach_mutex (attach.c)  attach, detach, the removal of gone entries;
 *			      held while sysfs directories come and go
 *   mars_mutex		      enabled flags, configurations, the hook's state;
 *			      taken by the files of a mount, so never held while
 *			      a mount's directory is removed
 *   table_lock		      the list and the table; taken with preemption off
 *			      by the callback in attach.c, hence raw
 *
 * Lifetimes: the list owns one reference on a mount's kobject, each running
 * read another one. The hook and mars_mount_get() find mounts in the table
 * under RCU; the structure is freed after a grace period.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "hook.h"
#include "mount.h"

struct hlist_head mars_table[MARS_TABLE_SIZE];
unsigned long mars_filter;
DEFINE_MUTEX(mars_mutex); /* see above */

static DEFINE_RAW_SPINLOCK(table_lock);
static LIST_HEAD(mount_list);

static bool global_enabled = true;
static struct mars_config defaults;
static bool defaults_ready;
static atomic_t mounts_alive;

static void table_add(struct mars_mount *mount, const struct super_block *sb)
{
	unsigned int slot = mars_table_slot(sb);

	lockdep_assert_held(&table_lock);
	hlist_add_head_rcu(&mount->armed, &mars_table[slot]);
	WRITE_ONCE(mars_filter, mars_filter | 1UL << slot);
}

static void table_del(struct mars_mount *mount)
{
	unsigned long filter = 0;
	unsigned int i;

	lockdep_assert_held(&table_lock);
	hlist_del_init_rcu(&mount->armed);
	for (i = 0; i < MARS_TABLE_SIZE; i++)
		filter |= hlist_empty(&mars_table[i]) ? 0 : 1UL << i;
	WRITE_ONCE(mars_filter, filter);
}

/**
 * mars_table_add() - let the hook see a mount
 * @mount: not in the table
 * @sb: super block whose bucket it goes to
 *
 * Context: Any but from within the table's lock.
 */
void mars_table_add(struct mars_mount *mount, const struct super_block *sb)
{
	raw_spin_lock(&table_lock);
	table_add(mount, sb);
	raw_spin_unlock(&table_lock);
}

/**
 * mars_table_del() - undo mars_table_add()
 * @mount: in the table or not; free it after an RCU grace period only
 *
 * Context: Any but from within the table's lock.
 */
void mars_table_del(struct mars_mount *mount)
{
	raw_spin_lock(&table_lock);
	table_del(mount);
	raw_spin_unlock(&table_lock);
}

/**
 * mars_mount_get() - the enabled mount of a super block, with a reference
 * @sb: super block, compared only
 *
 * Context: Any.
 * Return: The mount, to be given back with mars_mount_put(), or NULL.
 */
struct mars_mount *mars_mount_get(const struct super_block *sb)
{
	struct mars_mount *mount;

	rcu_read_lock();
	mount = mars_mount_find(sb);
	if (mount && !kobject_get_unless_zero(&mount->kobj))
		mount = NULL;
	rcu_read_unlock();
	return mount;
}

/**
 * mars_mount_put() - give back a reference of mars_mount_get()
 * @mount: the mount
 *
 * Context: May sleep.
 */
void mars_mount_put(struct mars_mount *mount)
{
	kobject_put(&mount->kobj);
}

static bool any_armed(void)
{
	return READ_ONCE(mars_filter);
}

/**
 * mars_mount_enable() - switch a mount on or off
 * @mount: the mount
 * @on: which
 *
 * Context: May sleep. Takes mars_mutex.
 * Return: 0, -ENODEV when the file system is gone, or why the hook cannot be
 * armed (mars_hook_arm()); on error nothing is changed.
 */
int mars_mount_enable(struct mars_mount *mount, bool on)
{
	int err = 0;

	mutex_lock(&mars_mutex);
	if (on && global_enabled)
		err = mars_hook_arm();
	if (err)
		goto out;
	raw_spin_lock(&table_lock);
	if (!mount->sb) {
		err = -ENODEV;
	} else if (on && !mount->enabled) {
		table_add(mount, mount->sb);
		mount->enabled = true;
	} else if (!on && mount->enabled) {
		table_del(mount);
		mount->enabled = false;
	}
	raw_spin_unlock(&table_lock);
	if (!any_armed())
		mars_hook_disarm();
out:
	mutex_unlock(&mars_mutex);
	return err;
}

/**
 * mars_set_enabled() - the switch for everything
 * @on: which
 *
 * Context: May sleep. Takes mars_mutex.
 * Return: 0, or why the hook cannot be armed; then nothing is changed.
 */
int mars_set_enabled(bool on)
{
	int err = 0;

	mutex_lock(&mars_mutex);
	if (!on)
		mars_hook_disarm();
	else if (any_armed())
		err = mars_hook_arm();
	if (!err)
		global_enabled = on;
	mutex_unlock(&mars_mutex);
	return err;
}

/**
 * mars_enabled() - is the switch for everything on?
 *
 * Context: mars_mutex held.
 * Return: True if so.
 */
bool mars_enabled(void)
{
	lockdep_assert_held(&mars_mutex);
	return global_enabled;
}

static struct mars_config *mount_config(struct mars_mount *mount)
{
	return rcu_dereference_protected(mount->config, lockdep_is_held(&mars_mutex));
}

/**
 * mars_mount_set_knob() - publish a configuration with one knob changed
 * @mount: the mount
 * @knob: which knob
 * @value: new value in the knob's unit
 *
 * Reads that are under way keep the configuration they started with.
 *
 * Context: May sleep. Takes mars_mutex.
 * Return: 0, -EINVAL when the whole would not be valid (the log says why; the
 * old one stays), -ENOMEM.
 */
int mars_mount_set_knob(struct mars_mount *mount, enum mars_knob knob, u64 value)
{
	struct mars_config *old, *next;
	struct mars_config_rcu *box;
	const char *why;

	box = kmalloc(sizeof(*box), GFP_KERNEL);
	if (!box)
		return -ENOMEM;
	next = &box->config;
	mutex_lock(&mars_mutex);
	old = mount_config(mount);
	*next = *old;
	why = mars_config_set(next, knob, value);
	if (!why)
		rcu_assign_pointer(mount->config, next);
	mutex_unlock(&mars_mutex);
	if (why) {
		pr_warn("%s: value %llu refused: %s\n", kobject_name(&mount->kobj), value, why);
		kfree(box);
		return -EINVAL;
	}
	kfree_rcu(container_of(old, struct mars_config_rcu, config), rcu);
	return 0;
}

/**
 * mars_mount_knob() - value of a mount's knob
 * @mount: the mount
 * @knob: which knob
 *
 * Context: Any.
 * Return: The value in the knob's unit.
 */
u64 mars_mount_knob(struct mars_mount *mount, enum mars_knob knob)
{
	u64 value;

	rcu_read_lock();
	value = mars_config_get(rcu_dereference(mount->config), knob);
	rcu_read_unlock();
	return value;
}

static struct mars_config *defaults_locked(void)
{
	lockdep_assert_held(&mars_mutex);
	if (!defaults_ready)
		mars_config_init(&defaults);
	defaults_ready = true;
	return &defaults;
}

/**
 * mars_set_default() - change what a newly attached mount starts with
 * @knob: which knob
 * @value: new value in the knob's unit
 *
 * Context: May sleep. Takes mars_mutex.
 * Return: 0 or -EINVAL (the log says why; nothing is changed).
 */
int mars_set_default(enum mars_knob knob, u64 value)
{
	const char *why;

	mutex_lock(&mars_mutex);
	why = mars_config_set(defaults_locked(), knob, value);
	mutex_unlock(&mars_mutex);
	if (why)
		pr_warn("defaults: value %llu refused: %s\n", value, why);
	return why ? -EINVAL : 0;
}

/**
 * mars_default() - what a newly attached mount starts with
 * @knob: which knob
 *
 * Context: May sleep. Takes mars_mutex.
 * Return: The value in the knob's unit.
 */
u64 mars_default(enum mars_knob knob)
{
	u64 value;

	mutex_lock(&mars_mutex);
	value = mars_config_get(defaults_locked(), knob);
	mutex_unlock(&mars_mutex);
	return value;
}

static void mount_free_rcu(struct rcu_head *rcu)
{
	struct mars_mount *mount = container_of(rcu, struct mars_mount, rcu);
	struct mars_config *config = rcu_dereference_protected(mount->config, true);

	if (config)
		kfree(container_of(config, struct mars_config_rcu, config));
	free_percpu(mount->stats);
	kfree(mount->fstype);
	kfree(mount->path);
	kfree(mount);
	if (atomic_dec_and_test(&mounts_alive))
		wake_up_var(&mounts_alive);
}

/**
 * mars_mount_release() - the last reference on a mount was dropped
 * @kobj: the mount's kobject
 *
 * Context: Any that may free memory.
 */
void mars_mount_release(struct kobject *kobj)
{
	struct mars_mount *mount = container_of(kobj, struct mars_mount, kobj);

	call_rcu(&mount->rcu, mount_free_rcu);
}

/**
 * mars_mount_create() - make an entry for a super block, linked to nothing yet
 * @sb: super block; the caller keeps it active for the call
 * @path: where it is mounted; the mount owns the string from now on, also when
 *	  this fails
 *
 * Context: May sleep. Takes mars_mutex.
 * Return: The mount with one reference, or NULL when memory is short.
 */
struct mars_mount *mars_mount_create(struct super_block *sb, char *path)
{
	struct mars_config_rcu *box = kmalloc(sizeof(*box), GFP_KERNEL);
	struct mars_mount *mount = kzalloc(sizeof(*mount), GFP_KERNEL);

	if (!box || !mount) {
		kfree(box);
		kfree(mount);
		kfree(path);
		return NULL;
	}
	atomic_inc(&mounts_alive);
	kobject_init(&mount->kobj, &mars_mount_ktype);
	mount->sb = sb;
	mount->dev = sb->s_dev;
	mount->path = path;
	INIT_HLIST_NODE(&mount->armed);
	INIT_LIST_HEAD(&mount->list);
	INIT_WORK(&mount->gone_work, mars_mount_gone);
	mars_governor_init(&mount->governor);
	mutex_lock(&mars_mutex);
	box->config = *defaults_locked();
	mutex_unlock(&mars_mutex);
	rcu_assign_pointer(mount->config, &box->config);
	mount->stats = alloc_percpu(struct mars_stats);
	mount->fstype = kstrdup(sb->s_type->name, GFP_KERNEL);
	if (!mount->stats || !mount->fstype) {
		kobject_put(&mount->kobj);
		return NULL;
	}
	return mount;
}

/**
 * mars_mount_link() - put a mount into the list, which takes over its reference
 * @mount: the mount
 *
 * Context: Any.
 */
void mars_mount_link(struct mars_mount *mount)
{
	raw_spin_lock(&table_lock);
	list_add_tail(&mount->list, &mount_list);
	raw_spin_unlock(&table_lock);
}

/**
 * mars_mount_unlink() - take a mount out of list and table
 * @mount: the mount; the list's reference is the caller's now
 *
 * The hook is disarmed when nothing enabled is left.
 *
 * Context: May sleep. Takes mars_mutex.
 */
void mars_mount_unlink(struct mars_mount *mount)
{
	mutex_lock(&mars_mutex);
	raw_spin_lock(&table_lock);
	list_del_init(&mount->list);
	table_del(mount);
	mount->enabled = false;
	WRITE_ONCE(mount->sb, NULL);
	raw_spin_unlock(&table_lock);
	if (!any_armed())
		mars_hook_disarm();
	mutex_unlock(&mars_mutex);
}

/**
 * mars_mount_lookup_dev() - the attached mount of a device number
 * @dev: device number of a super block
 *
 * Context: attach_mutex held, which keeps the mount in the list.
 * Return: The mount, one whose file system is gone included, or NULL.
 */
struct mars_mount *mars_mount_lookup_dev(dev_t dev)
{
	struct mars_mount *mount, *found = NULL;

	raw_spin_lock(&table_lock);
	list_for_each_entry(mount, &mount_list, list) {
		if (mount->dev == dev)
			found = mount;
	}
	raw_spin_unlock(&table_lock);
	return found;
}

/**
 * mars_mount_first() - any attached mount
 *
 * Context: attach_mutex held.
 * Return: A mount, or NULL when nothing is attached.
 */
struct mars_mount *mars_mount_first(void)
{
	struct mars_mount *mount;

	raw_spin_lock(&table_lock);
	mount = list_first_entry_or_null(&mount_list, struct mars_mount, list);
	raw_spin_unlock(&table_lock);
	return mount;
}

/**
 * mars_mount_mark_gone() - a super block is being shut down: forget it
 * @sb: super block, compared only
 *
 * No read is inside: each holds an open file of the super block. The entry
 * stays in the list until its work has removed the directory.
 *
 * Context: Atomic.
 * Return: The mount whose removal is to be queued, or NULL.
 */
struct mars_mount *mars_mount_mark_gone(const struct super_block *sb)
{
	struct mars_mount *mount, *found = NULL;

	raw_spin_lock(&table_lock);
	list_for_each_entry(mount, &mount_list, list) {
		if (mount->sb == sb)
			found = mount;
	}
	if (found) {
		table_del(found);
		WRITE_ONCE(found->sb, NULL);
	}
	raw_spin_unlock(&table_lock);
	return found;
}

/**
 * mars_mount_wait_all_released() - wait until every mount's memory is free
 *
 * Context: May sleep. Module exit, after the list was emptied.
 */
void mars_mount_wait_all_released(void)
{
	wait_var_event(&mounts_alive, !atomic_read(&mounts_alive));
	/* The callback that woke us may still be on its way out. */
	rcu_barrier();
}
