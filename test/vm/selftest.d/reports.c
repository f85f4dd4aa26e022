// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the kernel complain, so that test/vm/selftest can see that the guest
 * runner notices. Loading it does what its parameter says, and then fails, so
 * that it can be loaded again.
 */
#include <linux/bug.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

static char *what = "";
module_param(what, charp, 0444);
MODULE_PARM_DESC(what, "bug, warn, print or hang; abba, atomic, leak or freed");

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static DEFINE_SPINLOCK(spin);

/* Two locks in one order, and in the other. */
static void lock_abba(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static void sleep_in_atomic(void)
{
	spin_lock(&spin);
	might_sleep();
	spin_unlock(&spin);
}

static void leak(void)
{
	/* Several: a stale pointer on some stack may hide one. */
	int i;

	for (i = 0; i < 16; i++) {
		void *p = kzalloc(100, GFP_KERNEL);

		OPTIMIZER_HIDE_VAR(p);
	}
}

static void use_freed(void)
{
	char *p = kzalloc(100, GFP_KERNEL);

	if (!p)
		return;
	kfree(p);
	OPTIMIZER_HIDE_VAR(p);
	pr_info("freed memory holds %d\n", READ_ONCE(p[5]));
}

static int __init reports_init(void)
{
	if (!strcmp(what, "bug")) {
		BUG();
	} else if (!strcmp(what, "warn")) {
		WARN(1, "planted by the self-test\n");
	} else if (!strcmp(what, "print")) {
		pr_err("BUG: planted line of the self-test\n");
	} else if (!strcmp(what, "hang")) {
		/* Uninterruptible, which is what a lost wake-up looks like. */
		set_current_state(TASK_UNINTERRUPTIBLE);
		schedule_timeout(300 * HZ);
	} else if (!strcmp(what, "abba")) {
		lock_abba();
	} else if (!strcmp(what, "atomic")) {
		sleep_in_atomic();
	} else if (!strcmp(what, "leak")) {
		leak();
	} else if (!strcmp(what, "freed")) {
		use_freed();
	} else {
		return -EINVAL;
	}
	return -ECANCELED;
}

static void __exit reports_exit(void)
{
}

module_init(reports_init);
module_exit(reports_exit);

MODULE_DESCRIPTION("Kernel reports for the guest runner's self-test");
MODULE_LICENSE("GPL");
