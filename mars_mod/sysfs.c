// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/fs/mars: show and store, and nothing else. A store parses, hands the
 * value to mount.c, attach.c or read/budget.c, and returns what they say; they
 * validate and publish. The files are documented in sysfs-abi/.
 *
 *   /sys/fs/mars/
 *     version hook enabled memory_bytes memory_used attach detach
 *     defaults/<knob>
 *     workers/			sysfs_workers.c
 *     mounts/<major:minor>/
 *       path fstype enabled submit_degree depth_bytes <knob>...
 *       stats/<counter>
 */
#include <linux/completion.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include <mars/version.h>

#include "hook.h"
#include "mount.h"
#include "read/read.h"
#include "sysfs.h"

static struct mars_mount *to_mount(struct kobject *kobj)
{
	return container_of(kobj, struct mars_mount, kobj);
}

static ssize_t mars_attr_show(struct kobject *kobj, struct attribute *attr, char *buf)
{
	struct mars_attr *a = container_of(attr, struct mars_attr, attr);

	return a->show ? a->show(kobj, a->id, buf) : -EACCES;
}

static ssize_t mars_attr_store(struct kobject *kobj, struct attribute *attr,
			       const char *buf, size_t len)
{
	struct mars_attr *a = container_of(attr, struct mars_attr, attr);
	int err = a->store ? a->store(kobj, a->id, buf, len) : -EACCES;

	return err ?: len;
}

static const struct sysfs_ops mars_sysfs_ops = {
	.show = mars_attr_show,
	.store = mars_attr_store,
};

/* /sys/fs/mars/ */

static ssize_t version_show(struct kobject *kobj, int id, char *buf)
{
	return sysfs_emit(buf, "%s\n", MARS_VERSION);
}

static ssize_t hook_show(struct kobject *kobj, int id, char *buf)
{
	ssize_t len;

	mutex_lock(&mars_mutex);
	len = sysfs_emit(buf, "%s\n", mars_hook_state());
	mutex_unlock(&mars_mutex);
	return len;
}

static ssize_t enabled_show(struct kobject *kobj, int id, char *buf)
{
	ssize_t len;

	mutex_lock(&mars_mutex);
	len = sysfs_emit(buf, "%d\n", mars_enabled());
	mutex_unlock(&mars_mutex);
	return len;
}

static int enabled_store(struct kobject *kobj, int id, const char *buf, size_t len)
{
	u64 on;
	int err = mars_parse_switch(buf, len, &on);

	return err ?: mars_set_enabled(on);
}

static ssize_t memory_bytes_show(struct kobject *kobj, int id, char *buf)
{
	return sysfs_emit(buf, "%llu\n", mars_memory_limit());
}

static int memory_bytes_store(struct kobject *kobj, int id, const char *buf, size_t len)
{
	u64 bytes;
	int err = mars_parse_size(buf, len, &bytes);

	return err ?: mars_set_memory_limit(bytes);
}

static ssize_t memory_used_show(struct kobject *kobj, int id, char *buf)
{
	return sysfs_emit(buf, "%llu\n", mars_budget_used());
}

static int with_path(const char *buf, size_t len, int (*apply)(const char *path))
{
	char *path;
	int err;

	if (len && buf[len - 1] == '\n')
		len--;
	if (!len || strnlen(buf, len) != len)
		return -EINVAL;
	path = kstrndup(buf, len, GFP_KERNEL);
	if (!path)
		return -ENOMEM;
	err = apply(path);
	kfree(path);
	return err;
}

static int attach_store(struct kobject *kobj, int id, const char *buf, size_t len)
{
	return with_path(buf, len, mars_attach);
}

static int detach_store(struct kobject *kobj, int id, const char *buf, size_t len)
{
	return with_path(buf, len, mars_detach);
}

MARS_ATTR(version_attr, "version", 0444, 0, version_show, NULL);
MARS_ATTR(hook_attr, "hook", 0444, 0, hook_show, NULL);
MARS_ATTR(enabled_attr, "enabled", 0644, 0, enabled_show, enabled_store);
MARS_ATTR(memory_bytes_attr, "memory_bytes", 0644, 0, memory_bytes_show, memory_bytes_store);
MARS_ATTR(memory_used_attr, "memory_used", 0444, 0, memory_used_show, NULL);
MARS_ATTR(attach_attr, "attach", 0200, 0, NULL, attach_store);
MARS_ATTR(detach_attr, "detach", 0200, 0, NULL, detach_store);

static struct attribute *root_attrs[] = {
	&version_attr.attr,
	&hook_attr.attr,
	&enabled_attr.attr,
	&memory_bytes_attr.attr,
	&memory_used_attr.attr,
	&attach_attr.attr,
	&detach_attr.attr,
	NULL
};

static const struct attribute_group root_group = { .attrs = root_attrs };

/* /sys/fs/mars/defaults/ */

static ssize_t emit_knob(char *buf, enum mars_knob knob, u64 value)
{
	const char *word = mars_knob_word(knob, value);

	return word ? sysfs_emit(buf, "%s\n", word) : sysfs_emit(buf, "%llu\n", value);
}

static ssize_t default_show(struct kobject *kobj, int id, char *buf)
{
	return emit_knob(buf, id, mars_default(id));
}

static int default_store(struct kobject *kobj, int id, const char *buf, size_t len)
{
	u64 value;
	int err = mars_knob_parse(id, buf, len, &value);

	return err ?: mars_set_default(id, value);
}

#define MARS_KNOB(knob, kind, dflt, least, greatest) \
	MARS_ATTR(default_##knob##_attr, #knob, 0644, MARS_KNOB_##knob, \
		  default_show, default_store);
#include <mars/knobs.def>
#undef MARS_KNOB

static struct attribute *defaults_attrs[] = {
#define MARS_KNOB(knob, kind, dflt, least, greatest) &default_##knob##_attr.attr,
#include <mars/knobs.def>
#undef MARS_KNOB
	NULL
};

static const struct attribute_group defaults_group = {
	.name = "defaults",
	.attrs = defaults_attrs,
};

/* /sys/fs/mars/mounts/<major:minor>/ */

static ssize_t path_show(struct kobject *kobj, int id, char *buf)
{
	return sysfs_emit(buf, "%s\n", to_mount(kobj)->path);
}

static ssize_t fstype_show(struct kobject *kobj, int id, char *buf)
{
	return sysfs_emit(buf, "%s\n", to_mount(kobj)->fstype);
}

static ssize_t mount_enabled_show(struct kobject *kobj, int id, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(to_mount(kobj)->enabled));
}

static int mount_enabled_store(struct kobject *kobj, int id, const char *buf, size_t len)
{
	u64 on;
	int err = mars_parse_switch(buf, len, &on);

	return err ?: mars_mount_enable(to_mount(kobj), on);
}

static ssize_t knob_show(struct kobject *kobj, int id, char *buf)
{
	return emit_knob(buf, id, mars_mount_knob(to_mount(kobj), id));
}

static int knob_store(struct kobject *kobj, int id, const char *buf, size_t len)
{
	u64 value;
	int err = mars_knob_parse(id, buf, len, &value);

	return err ?: mars_mount_set_knob(to_mount(kobj), id, value);
}

static ssize_t submit_degree_show(struct kobject *kobj, int id, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(to_mount(kobj)->governor.controller.degree));
}

static ssize_t depth_bytes_show(struct kobject *kobj, int id, char *buf)
{
	struct mars_mount *mount = to_mount(kobj);
	u64 limit = READ_ONCE(mount->governor.depth.limit);
	u64 window = mars_mount_knob(mount, MARS_KNOB_window_bytes);

	return sysfs_emit(buf, "%llu\n", min(limit, window));
}

MARS_ATTR(path_attr, "path", 0444, 0, path_show, NULL);
MARS_ATTR(fstype_attr, "fstype", 0444, 0, fstype_show, NULL);
MARS_ATTR(submit_degree_attr, "submit_degree", 0444, 0, submit_degree_show, NULL);
MARS_ATTR(depth_bytes_attr, "depth_bytes", 0444, 0, depth_bytes_show, NULL);
MARS_ATTR(mount_enabled_attr, "enabled", 0644, 0, mount_enabled_show, mount_enabled_store);
#define MARS_KNOB(knob, kind, dflt, least, greatest) \
	MARS_ATTR(knob##_attr, #knob, 0644, MARS_KNOB_##knob, knob_show, knob_store);
#include <mars/knobs.def>
#undef MARS_KNOB

static struct attribute *mount_attrs[] = {
	&path_attr.attr,
	&fstype_attr.attr,
	&mount_enabled_attr.attr,
	&submit_degree_attr.attr,
	&depth_bytes_attr.attr,
#define MARS_KNOB(knob, kind, dflt, least, greatest) &knob##_attr.attr,
#include <mars/knobs.def>
#undef MARS_KNOB
	NULL
};

static const struct attribute_group mount_group = { .attrs = mount_attrs };

/* /sys/fs/mars/mounts/<major:minor>/stats/ */

static ssize_t stat_show(struct kobject *kobj, int id, char *buf)
{
	return sysfs_emit(buf, "%llu\n", mars_stat_sum(to_mount(kobj)->stats, id));
}

#define MARS_STAT(stat) \
	MARS_ATTR(stat_##stat##_attr, #stat, 0444, MARS_STAT_##stat, stat_show, NULL);
#include <mars/stats.def>
#undef MARS_STAT
#define MARS_REASON(reason) \
	MARS_ATTR(native_##reason##_attr, "native_" #reason, 0444, \
		  MARS_STAT_NATIVE + MARS_NATIVE_##reason, stat_show, NULL);
#include <mars/reasons.def>
#undef MARS_REASON

static struct attribute *stats_attrs[] = {
#define MARS_STAT(stat) &stat_##stat##_attr.attr,
#include <mars/stats.def>
#undef MARS_STAT
#define MARS_REASON(reason) &native_##reason##_attr.attr,
#include <mars/reasons.def>
#undef MARS_REASON
	NULL
};

static const struct attribute_group stats_group = {
	.name = "stats",
	.attrs = stats_attrs,
};

static const struct attribute_group *mount_groups[] = {
	&mount_group,
	&stats_group,
	NULL
};

const struct kobj_type mars_mount_ktype = {
	.release = mars_mount_release,
	.sysfs_ops = &mars_sysfs_ops,
	.default_groups = mount_groups,
};

/* The release may run later, from a work of its own (DEBUG_KOBJECT_RELEASE). */
static DECLARE_COMPLETION(root_released);

static void root_release(struct kobject *kobj)
{
	kfree(kobj);
	complete(&root_released);
}

static const struct kobj_type root_ktype = {
	.release = root_release,
	.sysfs_ops = &mars_sysfs_ops,
};

static struct kobject *root_kobj;
static struct kobject *mounts_kobj;

/**
 * mars_sysfs_add_mount() - make a mount's directory
 * @mount: the mount
 *
 * Context: May sleep. No other entry has the same device number.
 * Return: 0 or a negative errno; the reference stays the caller's.
 */
int mars_sysfs_add_mount(struct mars_mount *mount)
{
	return kobject_add(&mount->kobj, mounts_kobj, "%u:%u",
			   MAJOR(mount->dev), MINOR(mount->dev));
}

/**
 * mars_sysfs_init() - make /sys/fs/mars, the last step of module init
 *
 * Context: May sleep.
 * Return: 0 or -ENOMEM and the like.
 */
int mars_sysfs_init(void)
{
	int err = -ENOMEM;

	root_kobj = kzalloc(sizeof(*root_kobj), GFP_KERNEL);
	if (!root_kobj)
		return -ENOMEM;
	err = kobject_init_and_add(root_kobj, &root_ktype, fs_kobj, "mars");
	if (err)
		goto put_root;
	err = -ENOMEM;
	mounts_kobj = kobject_create_and_add("mounts", root_kobj);
	if (!mounts_kobj)
		goto put_root;
	err = sysfs_create_group(root_kobj, &defaults_group);
	if (err)
		goto put_mounts;
	err = sysfs_create_group(root_kobj, &mars_workers_group);
	if (err)
		goto remove_defaults;
	/* From here on people can attach. */
	err = sysfs_create_group(root_kobj, &root_group);
	if (err)
		goto remove_workers;
	return 0;

remove_workers:
	sysfs_remove_group(root_kobj, &mars_workers_group);
remove_defaults:
	sysfs_remove_group(root_kobj, &defaults_group);
put_mounts:
	kobject_put(mounts_kobj);
put_root:
	kobject_put(root_kobj);
	wait_for_completion(&root_released);
	return err;
}

/**
 * mars_sysfs_close() - take away the files through which things begin
 *
 * Context: May sleep. Waits for writers of those files.
 */
void mars_sysfs_close(void)
{
	sysfs_remove_group(root_kobj, &root_group);
	sysfs_remove_group(root_kobj, &mars_workers_group);
	sysfs_remove_group(root_kobj, &defaults_group);
}

/**
 * mars_sysfs_exit() - remove /sys/fs/mars
 *
 * Context: May sleep. After every mount's entry was removed.
 */
void mars_sysfs_exit(void)
{
	kobject_put(mounts_kobj);
	kobject_put(root_kobj);
	wait_for_completion(&root_released);
}
