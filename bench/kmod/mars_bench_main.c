// SPDX-License-Identifier: GPL-2.0-only
/*
 * mars_bench: what copying and faulting in cost by themselves.
 *
 * A read of /dev/mars-bench goes through mars_fault_in() and mars_copy(), the
 * functions that a read through MARS goes through, from folios made for this one
 * read: up to date, in no page cache, with no device behind them. It times the
 * two apart, which inside a real read they are not.
 *
 * The functions come from the shipping sources (see Kbuild), which this module
 * links as they are; nothing of them is repeated here, and nothing was put into
 * mars.ko for the sake of a measurement. What they expect of a read that the
 * pipeline would have set up is set up by hand: a range all of which is under
 * way, a file of that size, folios in order in the batch of ready ones.
 *
 * Parameters, writable between reads:
 *   order         size of the folios, log2 of pages
 *   fault_in      fault the buffer in before copying, as during a wait
 * and what the last read took, in nanoseconds:
 *   fault_in_ns copy_ns
 *
 * One read at a time. Each 8 bytes of what is read are their own offset.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "read/read.h"

static uint order;
module_param(order, uint, 0644);
MODULE_PARM_DESC(order, "log2 of the pages of a folio");

static bool fault_in = true;
module_param(fault_in, bool, 0644);
MODULE_PARM_DESC(fault_in, "fault the buffer in before the copy");

static ulong fault_in_ns;
module_param(fault_in_ns, ulong, 0444);
MODULE_PARM_DESC(fault_in_ns, "what fault-in took in the last read");

static ulong copy_ns;
module_param(copy_ns, ulong, 0444);
MODULE_PARM_DESC(copy_ns, "what copying took in the last read");

static DEFINE_MUTEX(one_read);
/* Where the functions under test count; nobody looks. */
static struct mars_mount bench_mount;
/* What they ask of a file: its size, and whether it is mapped writable. */
static struct inode bench_inode;
static struct address_space bench_mapping;

static void fill(struct folio *folio, loff_t pos)
{
	u64 *word = folio_address(folio);
	size_t i;

	for (i = 0; i < folio_size(folio) / sizeof(*word); i++)
		word[i] = pos + i * sizeof(*word);
}

static void free_folios(struct folio **folios, size_t nr)
{
	while (nr)
		folio_put(folios[--nr]);
	kvfree(folios);
}

static struct folio **make_folios(size_t nr, unsigned int each)
{
	struct folio **folios = kvcalloc(nr, sizeof(*folios), GFP_KERNEL);
	size_t i;

	if (!folios)
		return NULL;
	for (i = 0; i < nr; i++) {
		folios[i] = mars_filemap_alloc_folio(GFP_KERNEL, each);
		if (!folios[i]) {
			free_folios(folios, i);
			return NULL;
		}
		folios[i]->index = i << each;
		fill(folios[i], folio_pos(folios[i]));
		folio_mark_uptodate(folios[i]);
		cond_resched();
	}
	return folios;
}

/* All of the buffer, piece by piece, as the wait would. */
static int time_fault_in(struct mars_request *req)
{
	u64 start = ktime_get_ns();
	loff_t pos = 0;
	size_t len;

	if (!fault_in)
		return 0;
	do {
		len = mars_fault_in(req, pos);
		pos += len;
		cond_resched();
	} while (len);
	fault_in_ns = ktime_get_ns() - start;
	/* It stopped half-way: what was timed is not what it was to be. */
	return pos == req->end ? 0 : -EAGAIN;
}

static int time_copy(struct mars_request *req, struct folio **folios, size_t nr)
{
	u64 start = ktime_get_ns();
	size_t i = 0;
	int err = 0;

	while (i < nr && !err) {
		folio_batch_init(&req->ready);
		while (i < nr && folio_batch_add(&req->ready, folios[i++]))
			;
		err = mars_copy(req);
	}
	copy_ns = ktime_get_ns() - start;
	return err;
}

static ssize_t run(struct mars_request *req, size_t bytes, unsigned int each)
{
	size_t nr = bytes >> PAGE_SHIFT >> each;
	struct folio **folios = make_folios(nr, each);
	ssize_t err;

	if (!folios)
		return -ENOMEM;
	err = time_fault_in(req);
	if (!err)
		err = time_copy(req, folios, nr);
	free_folios(folios, nr);
	if (!err && iov_iter_count(req->iter))
		err = -EIO;
	return err ?: bytes;
}

static ssize_t bench_read_iter(struct kiocb *iocb, struct iov_iter *iter)
{
	unsigned int each = READ_ONCE(order);
	size_t bytes = iov_iter_count(iter);
	struct kiocb inner = { .ki_filp = iocb->ki_filp };
	struct mars_request *req;
	ssize_t ret;

	if (each > MAX_PAGECACHE_ORDER || !bytes ||
	    !IS_ALIGNED(bytes, PAGE_SIZE << each))
		return -EINVAL;
	req = kvzalloc(sizeof(*req), GFP_KERNEL);
	if (!req)
		return -ENOMEM;
	mutex_lock(&one_read);
	fault_in_ns = 0;
	copy_ns = 0;
	i_size_write(&bench_inode, bytes);
	req->mount = &bench_mount;
	req->config.fault_in = true;
	req->iocb = &inner;
	req->iter = iter;
	req->mapping = &bench_mapping;
	req->inode = &bench_inode;
	req->end = bytes;
	req->next = bytes >> PAGE_SHIFT;
	req->limit = req->next;
	ret = run(req, bytes, each);
	mutex_unlock(&one_read);
	kvfree(req);
	return ret;
}

static const struct file_operations bench_fops = {
	.owner = THIS_MODULE,
	.read_iter = bench_read_iter,
};

static struct miscdevice bench_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "mars-bench",
	.fops = &bench_fops,
	.mode = 0400,
};

static int __init mars_bench_init(void)
{
	int err;

	bench_mount.stats = alloc_percpu(struct mars_stats);
	if (!bench_mount.stats)
		return -ENOMEM;
	err = misc_register(&bench_device);
	if (err)
		free_percpu(bench_mount.stats);
	return err;
}

static void __exit mars_bench_exit(void)
{
	misc_deregister(&bench_device);
	free_percpu(bench_mount.stats);
}

module_init(mars_bench_init);
module_exit(mars_bench_exit);
MODULE_DESCRIPTION("Times MARS's copy and fault-in apart, without a device or a page cache");
MODULE_LICENSE("GPL");
