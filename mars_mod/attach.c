// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attach, detach, and the end of a file system.
 *
 * While anything is attached, a second ftrace_ops (without IPMODIFY: it only
 * watches) sits on generic_shutdown_super(), through which every super block
 * ends. Its callback cannot sleep; it takes the mount out of the table and
 * queues the rest. Until that has run the directory of the old entry exists,
 * so attaching a device number that is on its way out waits for the queue.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ftrace.h>
#include <linux/namei.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "compat/compat.h"
#include "hook.h"
#include "mount.h"

/* File systems whose page cache MARS is known to fill as they expect. */
static const char * const accelerated[] = { "xfs", "ext4", "btrfs", "f2fs" };

static DEFINE_MUTEX(attach_mutex);
static struct workqueue_struct *gone_queue;
static bool watching;

static void notrace mars_shutdown_entry(unsigned long ip, unsigned long parent_ip,
					struct ftrace_ops *op, struct ftrace_regs *fregs)
{
	const struct super_block *sb = (void *)mars_fregs_argument(fregs, 0);
	struct mars_mount *mount;
	int bit;

	bit = ftrace_test_recursion_trylock(ip, parent_ip);
	if (bit < 0)
		return;
	mount = mars_mount_mark_gone(sb);
	if (mount)
		queue_work(gone_queue, &mount->gone_work);
	ftrace_test_recursion_unlock(bit);
}

static struct ftrace_ops mars_shutdown_ops = {
	.func = mars_shutdown_entry,
	.flags = FTRACE_OPS_FL_PERMANENT | MARS_FTRACE_OPS_REGS,
};

static int watch_shutdowns(void)
{
	int err;

	lockdep_assert_held(&attach_mutex);
	if (watching)
		return 0;
	err = register_ftrace_function(&mars_shutdown_ops);
	if (err)
		pr_warn("cannot watch generic_shutdown_super (error %d), so an unmount would go unnoticed; nothing attached%s\n",
			err, err == -EBUSY ? "; is kernel.ftrace_enabled 0?" : "");
	watching = !err;
	return err;
}

/* Takes the callback away when nothing is attached that could go. */
static void unwatch_if_empty(void)
{
	lockdep_assert_held(&attach_mutex);
	if (watching && !mars_mount_first()) {
		mars_unregister(&mars_shutdown_ops, "generic_shutdown_super");
		watching = false;
	}
}

static void remove_entry(struct mars_mount *mount)
{
	lockdep_assert_held(&attach_mutex);
	mars_mount_unlink(mount);
	unwatch_if_empty();
	kobject_del(&mount->kobj);
	mars_mount_put(mount);
}

/**
 * mars_mount_gone() - remove the entry of a file system that was shut down
 * @work: &mars_mount.gone_work
 *
 * Context: Workqueue worker.
 */
void mars_mount_gone(struct work_struct *work)
{
	struct mars_mount *mount = container_of(work, struct mars_mount, gone_work);

	mutex_lock(&attach_mutex);
	pr_info("%s (%s on %s) was unmounted: detached\n", kobject_name(&mount->kobj),
		mount->fstype, mount->path);
	remove_entry(mount);
	mutex_unlock(&attach_mutex);
}

static bool is_accelerated(const struct super_block *sb)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(accelerated); i++) {
		if (!strcmp(sb->s_type->name, accelerated[i]))
			return true;
	}
	return false;
}

static int check_sb(const struct super_block *sb, const char *name)
{
	if (is_accelerated(sb))
		return 0;
	if (!strcmp(sb->s_type->name, "overlay"))
		pr_warn("%s is on an overlay, which keeps no file data; attach the file system of its lower directory\n",
			name);
	else
		pr_warn("%s is on %s, which MARS does not accelerate (it does xfs, ext4, btrfs and f2fs)\n",
			name, sb->s_type->name);
	return -EOPNOTSUPP;
}

/* Where the file system that holds @path is mounted; NULL without memory. */
static char *mount_point(const struct path *path)
{
	struct path root = { .mnt = path->mnt, .dentry = path->mnt->mnt_root };
	char *page = (char *)__get_free_page(GFP_KERNEL);
	char *name, *copy = NULL;

	if (!page)
		return NULL;
	name = d_path(&root, page, PAGE_SIZE);
	if (!IS_ERR(name))
		copy = kstrdup(name, GFP_KERNEL);
	free_page((unsigned long)page);
	return copy;
}

static int add_entry(const struct path *path)
{
	struct super_block *sb = path->dentry->d_sb;
	struct mars_mount *mount;
	char *where;
	int err;

	lockdep_assert_held(&attach_mutex);
	where = mount_point(path);
	if (!where)
		return -ENOMEM;
	mount = mars_mount_create(sb, where);
	if (!mount)
		return -ENOMEM;
	err = watch_shutdowns();
	if (!err)
		err = mars_sysfs_add_mount(mount);
	if (err) {
		mars_mount_put(mount);
		unwatch_if_empty();
		return err;
	}
	/* The path keeps the super block active until after this. */
	mars_mount_link(mount);
	return 0;
}

static int look_up(const char *name, const char *verb, struct path *path)
{
	int err = kern_path(name, LOOKUP_FOLLOW, path);

	if (err)
		pr_warn("cannot %s %s: the path cannot be looked up (error %d)\n", verb, name, err);
	return err;
}

/**
 * mars_attach() - attach the file system that holds a path
 * @name: path, looked up in the caller's name space
 *
 * The new entry is not enabled.
 *
 * Context: May sleep. Takes attach_mutex.
 * Return: 0, -ENOENT and the like when there is no such path, -EOPNOTSUPP for a
 * file system that is not accelerated, -EEXIST when it is attached already,
 * -EBUSY when ftrace is off, -ENOMEM.
 */
int mars_attach(const char *name)
{
	struct mars_mount *mount;
	struct path path;
	int err;

	err = look_up(name, "attach", &path);
	if (err)
		return err;
	err = check_sb(path.dentry->d_sb, name);
	if (err)
		goto put;
	mutex_lock(&attach_mutex);
	mount = mars_mount_lookup_dev(path.dentry->d_sb->s_dev);
	while (mount && !READ_ONCE(mount->sb)) {
		mutex_unlock(&attach_mutex);
		flush_workqueue(gone_queue);
		mutex_lock(&attach_mutex);
		mount = mars_mount_lookup_dev(path.dentry->d_sb->s_dev);
	}
	err = mount ? -EEXIST : add_entry(&path);
	mutex_unlock(&attach_mutex);
	if (err == -EEXIST)
		pr_warn("%s is attached already, as mounts/%u:%u\n", name,
			MAJOR(path.dentry->d_sb->s_dev), MINOR(path.dentry->d_sb->s_dev));
put:
	path_put(&path);
	return err;
}

/**
 * mars_detach() - detach the file system that holds a path
 * @name: path, looked up in the caller's name space
 *
 * Reads that are inside go on to their end.
 *
 * Context: May sleep. Takes attach_mutex.
 * Return: 0, -ENOENT when there is no such path or its file system is not
 * attached, or another error of the path's lookup.
 */
int mars_detach(const char *name)
{
	struct mars_mount *mount;
	struct path path;
	int err;

	err = look_up(name, "detach", &path);
	if (err)
		return err;
	mutex_lock(&attach_mutex);
	mount = mars_mount_lookup_dev(path.dentry->d_sb->s_dev);
	if (mount && READ_ONCE(mount->sb) == path.dentry->d_sb) {
		remove_entry(mount);
	} else {
		pr_warn("cannot detach %s: its file system is not attached\n", name);
		err = -ENOENT;
	}
	mutex_unlock(&attach_mutex);
	path_put(&path);
	return err;
}

/**
 * mars_attach_init() - get ready to attach
 *
 * Context: May sleep. Module init.
 * Return: 0, -ENOMEM, or -EINVAL when generic_shutdown_super cannot be traced.
 */
int mars_attach_init(void)
{
	int err;

	gone_queue = alloc_workqueue("mars_gone", WQ_UNBOUND, 0);
	if (!gone_queue)
		return -ENOMEM;
	err = ftrace_set_filter_ip(&mars_shutdown_ops, (unsigned long)generic_shutdown_super, 0, 1);
	if (err) {
		pr_err("generic_shutdown_super cannot be traced on this kernel: error %d; MARS cannot be used here\n",
		       err);
		destroy_workqueue(gone_queue);
	}
	return err;
}

/**
 * mars_attach_exit() - detach everything
 *
 * Context: May sleep. Module exit; nothing can be attached any more.
 */
void mars_attach_exit(void)
{
	struct mars_mount *mount;

	/*
	 * The hook first: once shutdowns are not watched any more, a new super
	 * block could have the address of an old one that is still in the table.
	 */
	mars_set_enabled(false);
	mutex_lock(&attach_mutex);
	if (watching)
		mars_unregister(&mars_shutdown_ops, "generic_shutdown_super");
	watching = false;
	mutex_unlock(&attach_mutex);
	/* No more callbacks, so the queue runs dry and the list holds what lives. */
	destroy_workqueue(gone_queue);
	mutex_lock(&attach_mutex);
	while ((mount = mars_mount_first()))
		remove_entry(mount);
	mutex_unlock(&attach_mutex);
	ftrace_free_filter(&mars_shutdown_ops);
}
