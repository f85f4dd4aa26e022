// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stands before the ->readahead of one file: it can be made late when another thread
 * than the reader calls it, and refuse what lies behind its first folio. No file system
 * does either when a test wants it to.
 *
 *   path=	the file; its page cache has the methods below until this is removed
 *   late_ms	a kernel thread sleeps so long first, with its folios locked
 *   refuse	the next so many calls by kernel threads start the I/O of one folio only
 *   threads	calls by kernel threads
 *   refused	pages that were not submitted
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/namei.h>
#include <linux/pagemap.h>

static char *path;
module_param(path, charp, 0444);
static unsigned int late_ms;
module_param(late_ms, uint, 0644);
static atomic_t refuse;
static atomic_t inside;
static unsigned long threads, refused;
module_param(threads, ulong, 0644);
module_param(refused, ulong, 0644);

static int refuse_set(const char *text, const struct kernel_param *kp)
{
	int n, err = kstrtoint(text, 0, &n);

	if (!err)
		atomic_set(&refuse, n);
	return err;
}

static int refuse_get(char *buf, const struct kernel_param *kp)
{
	return sprintf(buf, "%d\n", atomic_read(&refuse));
}

static const struct kernel_param_ops refuse_ops = { .set = refuse_set, .get = refuse_get };
module_param_cb(refuse, &refuse_ops, NULL, 0644);

static struct inode *inode;
static const struct address_space_operations *original;
static struct address_space_operations replaced;

static unsigned int first_folio(struct readahead_control *ractl)
{
	struct folio *folio = xa_load(&ractl->mapping->i_pages, readahead_index(ractl));

	return folio_nr_pages(folio);
}

static void test_readahead(struct readahead_control *ractl)
{
	unsigned int all = readahead_count(ractl), some = all;

	atomic_inc(&inside);
	if (current->flags & PF_KTHREAD) {
		threads++;
		if (late_ms)
			msleep(late_ms);
		if (atomic_dec_if_positive(&refuse) >= 0)
			some = min(all, first_folio(ractl));
	}
	ractl->_nr_pages = some;
	original->readahead(ractl);
	while (readahead_folio(ractl))
		pr_err("mars_test_readahead: the file system left a folio\n");
	ractl->_nr_pages = all - some;
	refused += all - some;
	atomic_dec(&inside);
}

static int __init mars_test_readahead_init(void)
{
	struct path at;
	int err = path ? kern_path(path, LOOKUP_FOLLOW, &at) : -EINVAL;

	if (err)
		return err;
	inode = igrab(d_inode(at.dentry));
	path_put(&at);
	if (!inode)
		return -ENOENT;
	original = inode->i_mapping->a_ops;
	replaced = *original;
	replaced.readahead = test_readahead;
	WRITE_ONCE(inode->i_mapping->a_ops, &replaced);
	return 0;
}

/* Whoever removes it sees to it that nobody begins to read meanwhile. */
static void __exit mars_test_readahead_exit(void)
{
	WRITE_ONCE(inode->i_mapping->a_ops, original);
	while (atomic_read(&inside))
		msleep(20);
	msleep(100);
	iput(inode);
}

module_init(mars_test_readahead_init);
module_exit(mars_test_readahead_exit);
MODULE_DESCRIPTION("Test: a ->readahead that is late, or refuses");
MODULE_LICENSE("GPL");
