// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hook: calls of filemap_read() arrive here while at least one mount is
 * enabled.
 *
 * An ftrace_ops with IPMODIFY looks at each call at the function's entry. When
 * the verdict is "accelerate" it rewrites the instruction pointer, so that the
 * call runs mars_filemap_read() with the same arguments and returns from there
 * to its caller. Otherwise nothing is changed and the native function runs. It
 * is armed only while something is enabled: an idle module costs nothing.
 *
 * MARS itself calls filemap_read() for whatever it leaves to the native path.
 * Those calls pass through the same entry; iocb->private, which no buffered
 * read uses, carries a token that sends them on to the native body. (The
 * return address would not do: a tail call or the function graph tracer hides
 * it.)
 *
 * Unloading: a read may sleep for seconds inside mars_filemap_read(), and
 * RCU-tasks does not wait for sleepers. So a reference on mars_inflight is
 * taken in the callback, before the first possible sleep, and dropped at the
 * end of mars_filemap_read(). mars_hook_drain() disarms (after which every
 * task that will come has its reference), kills the reference, waits for it to
 * reach zero, and then waits one RCU-tasks period for the few instructions
 * between the last put and the return.
 *
 * Locks: everything but the callback and mars_filemap_read() runs under
 * mars_mutex. The callback takes no lock; it is guarded against recursion,
 * which disables preemption, and reads the table of mounts under RCU.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/anon_inodes.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/ftrace.h>
#include <linux/module.h>
#include <linux/percpu-refcount.h>
#include <linux/uaccess.h>

#include "compat/compat.h"
#include "hook.h"
#include "mount.h"
#include "read/read.h"

/* ki_flags of a plain synchronous buffered read; anything else goes native. */
#define MARS_IOCB_ALLOWED (IOCB_APPEND | IOCB_DSYNC | IOCB_SYNC | IOCB_AIO_RW)

/* What iocb->private points at in calls that MARS makes itself. */
static char mars_native_token;
static char mars_selftest_token;

static bool mars_hook_armed;
static const char *mars_hook_word = "disarmed";
static bool mars_selftest_reached;

static struct percpu_ref mars_inflight;
static DECLARE_COMPLETION(mars_drained);

/**
 * mars_native_read() - the kernel's own filemap_read(), whatever is armed
 * @iocb: as for filemap_read(); ->private is borrowed for the call
 * @iter: as for filemap_read()
 * @already_read: as for filemap_read()
 *
 * Context: May sleep, may fault in user memory. No lock of MARS is held.
 * Return: As filemap_read().
 */
ssize_t mars_native_read(struct kiocb *iocb, struct iov_iter *iter, ssize_t already_read)
{
	void *private = iocb->private;
	ssize_t ret;

	iocb->private = &mars_native_token;
	ret = filemap_read(iocb, iter, already_read);
	iocb->private = private;
	return ret;
}

/* The replacement; comes with a reference on mars_inflight. */
static ssize_t mars_filemap_read(struct kiocb *iocb, struct iov_iter *iter, ssize_t already_read)
{
	struct mars_mount *mount;
	ssize_t ret = 0;

	if (iocb->private == &mars_selftest_token) {
		WRITE_ONCE(mars_selftest_reached, true);
		goto out;
	}
	mount = mars_mount_get(file_inode(iocb->ki_filp)->i_sb);
	if (mount) {
		ret = mars_read(mount, iocb, iter);
		mars_mount_put(mount);
	} else {
		ret = mars_native_read(iocb, iter, already_read);
	}
out:
	percpu_ref_put(&mars_inflight);
	return ret;
}

static bool mars_bad_context(void)
{
	return (current->flags & (PF_KTHREAD | PF_MEMALLOC | PF_MEMALLOC_NOFS |
				  PF_MEMALLOC_NOIO)) || pagefault_disabled();
}

static bool mars_bad_file(struct file *file, struct inode *inode)
{
	struct address_space *mapping = file->f_mapping;

	return mapping->host != inode || !S_ISREG(inode->i_mode) || IS_DAX(inode) ||
	       IS_SWAPFILE(inode) || !mapping->a_ops->readahead || !file->f_ra.ra_pages;
}

static enum mars_reason mars_gate(struct mars_mount *mount, struct kiocb *iocb,
				  struct iov_iter *iter, ssize_t already_read)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	struct mars_facts facts = {
		.count = iov_iter_count(iter),
		.pos = iocb->ki_pos,
		.isize = i_size_read(inode),
		.min_read_bytes = rcu_dereference(mount->config)->min_read_bytes,
		.bad_flags = (iocb->ki_flags & ~MARS_IOCB_ALLOWED) || already_read,
		.bad_iter = !user_backed_iter(iter) || iter->nofault || iov_iter_rw(iter) != READ,
		.bad_context = mars_bad_context(),
		.bad_file = mars_bad_file(iocb->ki_filp, inode),
	};

	return mars_verdict(&facts);
}

static noinline void notrace mars_hook_decide(unsigned long ip, unsigned long parent_ip,
					      struct ftrace_regs *fregs, struct kiocb *iocb)
{
	struct iov_iter *iter = (struct iov_iter *)mars_fregs_argument(fregs, 1);
	ssize_t already_read = (ssize_t)mars_fregs_argument(fregs, 2);
	enum mars_reason verdict = MARS_ACCELERATE;
	struct mars_mount *mount = NULL;
	int bit;

	/* In a recursion the native body runs, which is always right. */
	bit = ftrace_test_recursion_trylock(ip, parent_ip);
	if (bit < 0)
		return;
	rcu_read_lock();
	if (iocb->private == &mars_native_token)
		goto out;
	if (iocb->private != &mars_selftest_token) {
		mount = mars_mount_find(file_inode(iocb->ki_filp)->i_sb);
		if (!mount)
			goto out;
		verdict = mars_gate(mount, iocb, iter, already_read);
	}
	if (verdict != MARS_ACCELERATE)
		mars_stat_native(mount->stats, verdict);
	else if (percpu_ref_tryget_live(&mars_inflight))
		mars_fregs_set_ip(fregs, (unsigned long)mars_filemap_read);
out:
	rcu_read_unlock();
	ftrace_test_recursion_unlock(bit);
}

/*
 * Reads that are too short whatever else they are: by far the most, so they get
 * by without the recursion guard. Nothing is called here that could be traced,
 * and RCU waits for sections with preemption off.
 */
static __always_inline bool mars_is_short(const struct kiocb *iocb,
					  const struct super_block *sb, size_t count)
{
	struct mars_mount *mount;
	bool is_short = false;

	preempt_disable_notrace();
	mount = mars_mount_find(sb);
	if (!mount || count < rcu_dereference_raw(mount->config)->min_read_bytes) {
		is_short = true;
		if (mount && iocb->private != &mars_native_token)
			mars_stat_native(mount->stats, MARS_NATIVE_small);
	}
	preempt_enable_notrace();
	return is_short;
}

/* A function of its own, so that the common way out saves no register for it. */
static noinline void notrace mars_hook_look(unsigned long ip, unsigned long parent_ip,
					    struct ftrace_regs *fregs, struct kiocb *iocb)
{
	const struct super_block *sb = file_inode(iocb->ki_filp)->i_sb;
	const struct iov_iter *iter = (void *)mars_fregs_argument(fregs, 1);

	if (iocb->private != &mars_selftest_token &&
	    mars_is_short(iocb, sb, iov_iter_count(iter)))
		return;
	mars_hook_decide(ip, parent_ip, fregs, iocb);
}

/*
 * Cheapest first: one bit, which a read on any other file system finds clear,
 * ends it with a handful of instructions. (The self-test puts something into the
 * bucket that it uses.)
 */
static void notrace mars_hook_entry(unsigned long ip, unsigned long parent_ip,
				    struct ftrace_ops *op, struct ftrace_regs *fregs)
{
	struct kiocb *iocb = (struct kiocb *)mars_fregs_argument(fregs, 0);

	if (unlikely(mars_may_be_enabled(file_inode(iocb->ki_filp)->i_sb)))
		mars_hook_look(ip, parent_ip, fregs, iocb);
}

static struct ftrace_ops mars_read_ops = {
	.func = mars_hook_entry,
	.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT | MARS_FTRACE_OPS_REGS,
};

static const struct file_operations mars_selftest_fops = {
	.owner = THIS_MODULE,
};

/* Makes the self-test's bucket not empty; no super block has its ->sb. */
static struct mars_mount mars_selftest_entry;

/*
 * One call of filemap_read() on an empty file that only this function can see.
 * Natively it returns 0 without touching anything, so a hook that does not
 * fire is found out without harm.
 */
static int mars_hook_selftest(void)
{
	struct iov_iter iter;
	struct kiocb iocb;
	struct kvec vec;
	struct file *file;
	char byte;

	file = anon_inode_getfile("[mars]", &mars_selftest_fops, NULL, O_RDONLY);
	if (IS_ERR(file))
		return PTR_ERR(file);
	file->f_flags |= O_NOATIME;
	vec = (struct kvec){ .iov_base = &byte, .iov_len = 1 };
	iov_iter_kvec(&iter, READ, &vec, 1, 1);
	init_sync_kiocb(&iocb, file);
	iocb.private = &mars_selftest_token;
	WRITE_ONCE(mars_selftest_reached, false);
	mars_table_add(&mars_selftest_entry, file_inode(file)->i_sb);
	filemap_read(&iocb, &iter, 0);
	mars_table_del(&mars_selftest_entry);
	fput(file);
	return READ_ONCE(mars_selftest_reached) ? 0 : -ENXIO;
}

/* -EAGAIN: a BPF trampoline on the same function is being changed right now. */
static int mars_hook_register(void)
{
	int tries, err = -EAGAIN;

	for (tries = 0; tries < 50 && err == -EAGAIN; tries++) {
		if (tries)
			msleep(20);
		err = register_ftrace_function(&mars_read_ops);
	}
	return err;
}

/**
 * mars_unregister() - take an ftrace callback away, or never let the module go
 * @ops: what was registered
 * @what: the traced function's name, for the message
 *
 * ftrace refuses only after it found the kernel's text other than it left it
 * (ftrace_bug()) and switched itself off. The call into this module then stays
 * where it is, so the module has to.
 *
 * Context: May sleep. Does not return when that happens during rmmod.
 */
void mars_unregister(struct ftrace_ops *ops, const char *what)
{
	int err = unregister_ftrace_function(ops);

	if (!err)
		return;
	pr_crit("cannot unhook %s (error %d): ftrace is out of order on this kernel, so MARS can never be unloaded; reboot when you can\n",
		what, err);
	if (try_module_get(THIS_MODULE))
		return;
	for (;;)
		schedule_timeout_idle(3600 * HZ);
}

static void mars_hook_explain(int err)
{
	switch (err) {
	case -EBUSY:
		pr_warn("cannot hook filemap_read: a live patch or kprobe owns it, or kernel.ftrace_enabled is 0; remove that first, then enable again\n");
		break;
	case -EAGAIN:
		pr_warn("cannot hook filemap_read: a BPF program on it was busy for a second; enable again\n");
		break;
	case -ENXIO:
		pr_warn("hooked filemap_read, but the self-test did not reach MARS; reads stay native on this kernel\n");
		break;
	default:
		pr_warn("cannot hook filemap_read: error %d; reads stay native\n", err);
	}
}

/**
 * mars_hook_arm() - let calls of filemap_read() arrive at the hook
 *
 * Proves with a read of its own that the hook fires; disarms if it does not.
 *
 * Context: May sleep. mars_mutex held.
 * Return: 0 (also when armed already), -EBUSY when something else owns the
 * function, -EAGAIN when a BPF trampoline stays busy, -ENXIO when the hook
 * does not fire, or what ftrace returns.
 */
int mars_hook_arm(void)
{
	int err;

	lockdep_assert_held(&mars_mutex);
	if (mars_hook_armed)
		return 0;
	err = mars_hook_register();
	if (!err) {
		err = mars_hook_selftest();
		if (err)
			mars_unregister(&mars_read_ops, "filemap_read");
	}
	if (err) {
		mars_hook_word = err == -EBUSY ? "busy" : "failed";
		mars_hook_explain(err);
		return err;
	}
	mars_hook_armed = true;
	mars_hook_word = "armed";
	return 0;
}

/**
 * mars_hook_disarm() - let calls of filemap_read() go native again
 *
 * Reads that are inside go on; none is waited for.
 *
 * Context: May sleep. mars_mutex held.
 */
void mars_hook_disarm(void)
{
	lockdep_assert_held(&mars_mutex);
	if (!mars_hook_armed)
		return;
	mars_unregister(&mars_read_ops, "filemap_read");
	mars_hook_armed = false;
	mars_hook_word = "disarmed";
}

/**
 * mars_hook_state() - the hook's state in one word
 *
 * Context: mars_mutex held.
 * Return: "disarmed", "armed", "busy" (somebody else owns filemap_read),
 * "failed", or "yielded" (stepped aside for a live patch).
 */
const char *mars_hook_state(void)
{
	lockdep_assert_held(&mars_mutex);
	return mars_hook_word;
}

/*
 * A live patch must never fail because of MARS: IPMODIFY has one owner per
 * function. The notifier runs before the patch's init, which registers it.
 */
static int mars_module_event(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *mod = data;

	if (event != MODULE_STATE_COMING || !is_livepatch_module(mod))
		return NOTIFY_DONE;
	mutex_lock(&mars_mutex);
	if (mars_hook_armed) {
		mars_hook_disarm();
		mars_hook_word = "yielded";
		pr_notice("live patch %s is being loaded: hook removed, reads go native; to accelerate again write 1 to /sys/fs/mars/enabled\n",
			  mod->name);
	}
	mutex_unlock(&mars_mutex);
	return NOTIFY_OK;
}

static struct notifier_block mars_module_nb = {
	.notifier_call = mars_module_event,
};

static void mars_inflight_release(struct percpu_ref *ref)
{
	complete(&mars_drained);
}

/**
 * mars_hook_init() - prepare the hook, disarmed
 *
 * Context: May sleep. Module init.
 * Return: 0, -ENOMEM, or -EINVAL when filemap_read cannot be traced.
 */
int mars_hook_init(void)
{
	int err;

	err = percpu_ref_init(&mars_inflight, mars_inflight_release, 0, GFP_KERNEL);
	if (err)
		return err;
	err = ftrace_set_filter_ip(&mars_read_ops, (unsigned long)filemap_read, 0, 1);
	if (err) {
		pr_err("filemap_read cannot be traced on this kernel: error %d; MARS cannot be used here\n",
		       err);
		goto free_ref;
	}
	err = register_module_notifier(&mars_module_nb);
	if (err)
		goto free_filter;
	return 0;

free_filter:
	ftrace_free_filter(&mars_read_ops);
free_ref:
	percpu_ref_exit(&mars_inflight);
	return err;
}

/**
 * mars_hook_drain() - wait until no read is inside MARS any more
 *
 * Waits as long as the slowest device takes, and says so now and then.
 *
 * Context: May sleep. Disarmed for good; mars_mutex not held.
 */
void mars_hook_drain(void)
{
	percpu_ref_kill(&mars_inflight);
	while (!wait_for_completion_timeout(&mars_drained, 30 * HZ))
		pr_info("unloading waits for reads that are still inside; new reads go native meanwhile\n");
	/* From the last put to the return: a few instructions that never sleep. */
	synchronize_rcu_tasks();
}

/**
 * mars_hook_exit() - undo mars_hook_init()
 *
 * Context: May sleep. After mars_hook_drain().
 */
void mars_hook_exit(void)
{
	unregister_module_notifier(&mars_module_nb);
	ftrace_free_filter(&mars_read_ops);
	percpu_ref_exit(&mars_inflight);
}
