// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads a file into a program's buffer from where the kernel must not enter a
 * file system to free memory. Nothing that user space can do by itself reads so.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

struct request {
	u64 fd, buf, len, pos;
};

static ssize_t context_write(struct file *file, const char __user *text, size_t len,
			     loff_t *ppos)
{
	struct request request;
	struct iov_iter iter;
	struct file *target;
	unsigned int nofs;
	ssize_t ret;
	loff_t pos;

	if (len != sizeof(request) || copy_from_user(&request, text, len))
		return -EINVAL;
	target = fget(request.fd);
	if (!target)
		return -EBADF;
	pos = request.pos;
	iov_iter_ubuf(&iter, READ, u64_to_user_ptr(request.buf), request.len);
	nofs = memalloc_nofs_save();
	ret = vfs_iter_read(target, &iter, &pos, 0);
	memalloc_nofs_restore(nofs);
	fput(target);
	return ret;
}

static const struct file_operations context_fops = {
	.owner = THIS_MODULE,
	.write = context_write,
};

static struct miscdevice context_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "mars_test_context",
	.fops = &context_fops,
};

module_misc_device(context_device);
MODULE_DESCRIPTION("Test: a read in a NOFS scope");
MODULE_LICENSE("GPL");
