// SPDX-License-Identifier: GPL-2.0-only
/*
 * MARS, the Multi-stage Accelerated Read Stack: module init and its mirror.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/rcupdate.h>

#include <mars/version.h>

#include "hook.h"
#include "idle.h"
#include "mount.h"
#include "read/read.h"
#include "submitter.h"
#include "worker.h"

static int __init mars_init(void)
{
	int err;

	mars_idle_init();
	err = mars_read_init();
	if (err)
		return err;
	err = mars_workers_init();
	if (err)
		goto exit_read;
	err = mars_submitters_init();
	if (err)
		goto exit_workers;
	err = mars_hook_init();
	if (err)
		goto exit_submitters;
	err = mars_attach_init();
	if (err)
		goto exit_hook;
	err = mars_sysfs_init();
	if (err)
		goto exit_attach;
	pr_info("version %s: nothing is accelerated until a mount is attached and enabled in /sys/fs/mars\n",
		MARS_VERSION);
	return 0;

exit_attach:
	mars_attach_exit();
exit_hook:
	mars_hook_exit();
exit_submitters:
	mars_submitters_exit();
exit_workers:
	mars_workers_exit();
exit_read:
	mars_read_exit();
	return err;
}

/*
 * No new attachment (sysfs_close), no new read (attach_exit unlinks every
 * mount, which disarms the hook), no read inside (hook_drain), no reference on
 * a mount (wait_all_released); then nothing can reach the module's code.
 */
static void __exit mars_exit(void)
{
	mars_sysfs_close();
	mars_attach_exit();
	mars_sysfs_exit();
	mars_hook_drain();
	mars_mount_wait_all_released();
	mars_hook_exit();
	mars_submitters_exit();
	mars_workers_exit();
	mars_read_exit();
}

module_init(mars_init);
module_exit(mars_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("The MARS maintainers");
MODULE_DESCRIPTION("Multi-stage accelerated reads: large buffered reads through a staged page-cache pipeline");
MODULE_VERSION(MARS_VERSION);
