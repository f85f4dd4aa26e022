// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kprobe with a post handler at the entry of filemap_read. Kprobes implement
 * that with an ftrace_ops that may modify the instruction pointer, of which a
 * function can have one: either this or the hook of MARS.
 */
#include <linux/kprobes.h>
#include <linux/module.h>

static void nothing(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe probe = {
	.symbol_name = "filemap_read",
	.post_handler = nothing,
};

static int __init mars_test_kprobe_init(void)
{
	return register_kprobe(&probe);
}

static void __exit mars_test_kprobe_exit(void)
{
	unregister_kprobe(&probe);
}

module_init(mars_test_kprobe_init);
module_exit(mars_test_kprobe_exit);
MODULE_DESCRIPTION("Test: a kprobe that owns filemap_read");
MODULE_LICENSE("GPL");
