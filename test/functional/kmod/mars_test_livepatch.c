// SPDX-License-Identifier: GPL-2.0-only
/*
 * A live patch of filemap_read, as a distribution might ship one. What it puts
 * in place reads correctly, page by page and without read-ahead, so that the
 * system can live with it for the length of a test.
 */
#include <linux/fs.h>
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/uio.h>

static ssize_t copy_from_cache(struct kiocb *iocb, struct iov_iter *iter)
{
	struct address_space *mapping = iocb->ki_filp->f_mapping;
	loff_t pos = iocb->ki_pos, left = i_size_read(mapping->host) - pos;
	size_t in_page = offset_in_page(pos), want, copied;
	struct folio *folio;

	if (left <= 0)
		return 0;
	folio = read_mapping_folio(mapping, pos >> PAGE_SHIFT, iocb->ki_filp);
	if (IS_ERR(folio))
		return PTR_ERR(folio);
	want = min_t(loff_t, min_t(size_t, PAGE_SIZE - in_page, iov_iter_count(iter)), left);
	copied = copy_page_to_iter(folio_file_page(folio, pos >> PAGE_SHIFT), in_page, want, iter);
	folio_put(folio);
	iocb->ki_pos += copied;
	return copied == want ? copied : -EFAULT;
}

static ssize_t patched_filemap_read(struct kiocb *iocb, struct iov_iter *iter,
				    ssize_t already_read)
{
	ssize_t ret = 1;

	while (iov_iter_count(iter) && ret > 0) {
		ret = copy_from_cache(iocb, iter);
		if (ret > 0)
			already_read += ret;
		cond_resched();
	}
	return already_read ?: ret;
}

static struct klp_func funcs[] = {
	{
		.old_name = "filemap_read",
		.new_func = patched_filemap_read,
	},
	{ }
};

static struct klp_object objs[] = {
	{ .funcs = funcs },	/* no name: the kernel itself */
	{ }
};

static struct klp_patch patch = {
	.mod = THIS_MODULE,
	.objs = objs,
};

static int __init mars_test_livepatch_init(void)
{
	return klp_enable_patch(&patch);
}

static void __exit mars_test_livepatch_exit(void)
{
}

module_init(mars_test_livepatch_init);
module_exit(mars_test_livepatch_exit);
MODULE_DESCRIPTION("Test: a live patch of filemap_read");
MODULE_LICENSE("GPL");
MODULE_INFO(livepatch, "Y");
