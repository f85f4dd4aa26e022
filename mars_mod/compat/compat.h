/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernels, and nothing else. One function per difference,
 * named for what it does; the comment says which kernels differ. probe.sh
 * looks the declarations up, the compiler checks them again here.
 */
#ifndef _MARS_COMPAT_H
#define _MARS_COMPAT_H

#include <linux/ftrace.h>
#include <linux/kernel_stat.h>
#include <linux/pagemap.h>
#include <linux/sched.h>
#include <linux/tick.h>
#include <linux/uio.h>

/* 7.x renamed the header of struct folio_batch. */
#ifdef MARS_HAVE_FOLIO_BATCH_H
#include <linux/folio_batch.h>
#else
#include <linux/pagevec.h>
#endif

/* Of no meaning to a read; stable series got it at different times. */
#ifndef IOCB_AIO_RW
#define IOCB_AIO_RW 0
#endif

#ifndef CONFIG_64BIT
#error "MARS needs a 64-bit kernel: its counters and page indices are 64 bits wide"
#endif

/**
 * mars_filemap_alloc_folio() - allocate a folio for a page cache
 * @gfp: allocation flags
 * @order: log2 of the pages
 *
 * 7.x takes a memory policy too; NULL is the task's own.
 *
 * Context: May sleep, as @gfp says.
 * Return: The folio, or NULL.
 */
static inline struct folio *mars_filemap_alloc_folio(gfp_t gfp, unsigned int order)
{
#ifdef MARS_FILEMAP_ALLOC_HAS_POLICY
	return filemap_alloc_folio(gfp, order, NULL);
#else
	return filemap_alloc_folio(gfp, order);
#endif
}

/**
 * mars_mapping_min_order() - least folio order of a page cache
 * @mapping: the page cache
 *
 * Before 6.12 every mapping takes single pages.
 *
 * Context: Any.
 * Return: The order.
 */
static inline unsigned int mars_mapping_min_order(struct address_space *mapping)
{
#ifdef MARS_MAPPING_HAS_ORDERS
	return mapping_min_folio_order(mapping);
#else
	return 0;
#endif
}

/**
 * mars_mapping_max_order() - greatest folio order of a page cache
 * @mapping: the page cache
 *
 * Before 6.12 there is one bit; the kernel's own limit applies.
 *
 * Context: Any.
 * Return: The order; 0 for a mapping without large folios.
 */
static inline unsigned int mars_mapping_max_order(struct address_space *mapping)
{
#ifdef MARS_MAPPING_HAS_ORDERS
	return mapping_max_folio_order(mapping);
#else
	return mapping_large_folio_support(mapping) ? MAX_PAGECACHE_ORDER : 0;
#endif
}

/*
 * As kernel/livepatch/patch.c: with DYNAMIC_FTRACE_WITH_ARGS the instruction
 * pointer can be changed without a full register dump, and arm64 refuses
 * SAVE_REGS then.
 */
#ifdef CONFIG_HAVE_DYNAMIC_FTRACE_WITH_ARGS
#define MARS_FTRACE_OPS_REGS 0
#else
#define MARS_FTRACE_OPS_REGS FTRACE_OPS_FL_SAVE_REGS
#endif

/**
 * mars_fregs_argument() - integer argument of the traced function
 * @fregs: what ftrace handed to the callback
 * @n: which argument, from 0
 *
 * 6.1 has no getter, but plain pt_regs.
 *
 * Context: An ftrace callback.
 * Return: The argument's value.
 */
static __always_inline unsigned long mars_fregs_argument(struct ftrace_regs *fregs, unsigned int n)
{
#ifdef MARS_FREGS_HAS_ARGUMENT
	return ftrace_regs_get_argument(fregs, n);
#else
	return regs_get_kernel_argument(&fregs->regs, n);
#endif
}

/**
 * mars_fregs_set_ip() - let the traced function's call arrive elsewhere
 * @fregs: what ftrace handed to the callback
 * @ip: address to continue at
 *
 * 6.6 renamed the setter.
 *
 * Context: An ftrace callback of an ops with FTRACE_OPS_FL_IPMODIFY.
 */
static __always_inline void mars_fregs_set_ip(struct ftrace_regs *fregs, unsigned long ip)
{
#ifdef MARS_FREGS_HAS_SET_IP
	ftrace_regs_set_instruction_pointer(fregs, ip);
#else
	ftrace_instruction_pointer_set(fregs, ip);
#endif
}

/**
 * mars_iter_segment() - the user memory at an iterator's position
 * @iter: a user-backed iterator
 * @len: set to the bytes of this segment from there on
 *
 * 6.1 has no accessors for an iovec.
 *
 * Context: Any.
 * Return: The address.
 */
static inline unsigned long mars_iter_segment(const struct iov_iter *iter, size_t *len)
{
	if (iter_is_ubuf(iter)) {
		*len = iter->count;
		return (unsigned long)iter->ubuf + iter->iov_offset;
	}
#ifdef iter_iov_addr
	*len = min(iter_iov_len(iter), iter->count);
	return (unsigned long)iter_iov_addr(iter);
#else
	*len = min(iter->iov->iov_len - iter->iov_offset, iter->count);
	return (unsigned long)iter->iov->iov_base + iter->iov_offset;
#endif
}

/**
 * mars_filled_on_demand() - does somebody fill this file's ranges as they are read?
 * @file: an open file
 *
 * With a pre-content watch (fanotify) what was not asked for yet is not there yet, so
 * nothing may be read ahead. Not before 6.14; stable series have the macro as 0.
 *
 * Context: Any.
 * Return: True if so.
 */
static inline bool mars_filled_on_demand(const struct file *file)
{
#ifdef FMODE_FSNOTIFY_HSM
	return FMODE_FSNOTIFY_HSM(file->f_mode);
#else
	return false;
#endif
}

/**
 * mars_throttled() - does the block layer want this task to slow down?
 *
 * blkcg_schedule_throttle() leaves the disk there for the way back to user
 * space. It was the request queue before 6.2.
 *
 * Context: Task.
 * Return: True if it has to pay before it goes on.
 */
static inline bool mars_throttled(void)
{
#if !defined(CONFIG_BLK_CGROUP)
	return false;
#elif defined(MARS_THROTTLE_IS_QUEUE)
	return current->throttle_queue;
#else
	return current->throttle_disk;
#endif
}

#ifdef MARS_HAVE_KCPUSTAT_IDLE
#define MARS_IDLE_TIME_LAGS true
#else
#define MARS_IDLE_TIME_LAGS false
#endif

/**
 * mars_cpu_idle_ns() - time that a CPU has been idle, waiting for I/O or not
 * @cpu: an online CPU
 *
 * It advances while the CPU is idle, in steps of a microsecond or less; but 7.x,
 * which has moved it from the tick's accounting to that of the scheduler, moves it
 * with the tick as long as an idle CPU's tick has not been stopped.
 *
 * Context: Any.
 * Return: Nanoseconds since some moment; stands still where it is not kept.
 */
static inline u64 mars_cpu_idle_ns(int cpu)
{
#ifdef MARS_HAVE_KCPUSTAT_IDLE
	return kcpustat_field_idle(cpu) + kcpustat_field_iowait(cpu);
#else
	u64 idle = get_cpu_idle_time_us(cpu, NULL);

	return idle == -1ULL ? 0 : (idle + get_cpu_iowait_time_us(cpu, NULL)) * NSEC_PER_USEC;
#endif
}

#endif /* _MARS_COMPAT_H */
