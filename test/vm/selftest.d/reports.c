// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the kernel complain, so that test/vm/selftest can see that the guest
 * runner notices. Loading it does what its parameter says, and then fails, so
 * that it can be loaded again.
 */
#include <linux/bug.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/string.h>

static char *what = "";
module_param(what, charp, 0444);
MODULE_PARM_DESC(what, "bug, warn, print or hang");

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
