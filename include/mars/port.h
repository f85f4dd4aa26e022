/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one kernel/user switch. The files in mars_mod/core/ include this and
 * nothing else from outside, so the unit tests compile the shipping source.
 */
#ifndef _MARS_PORT_H
#define _MARS_PORT_H

#ifdef __KERNEL__

#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/types.h>

#include <asm/barrier.h>
#include <asm/processor.h>

/* The atomics that protocol.c is made of. All are full 32 or 64 bit accesses. */
#define mars_load_acquire(p) smp_load_acquire(p)
/* Barriers say at each use what they pair with. */
#define mars_store_release(p, v) smp_store_release(p, v)
/* True when @from was there and @to is now; fully ordered then. */
#define mars_cmpxchg(p, from, to) (cmpxchg(p, from, to) == (from))
/* Only a master spins, and may sleep: others than it want its CPU, too. */
#define mars_relax() do { cpu_relax(); cond_resched(); } while (0)

#else /* user space: the unit tests */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* A test can put something of its own between the accesses: see test_protocol.c. */
#ifndef mars_step
#define mars_step() do { } while (0)
#define mars_relax() do { } while (0)
#endif

#define mars_load_acquire(p) ({ mars_step(); __atomic_load_n(p, __ATOMIC_ACQUIRE); })
#define mars_store_release(p, v) \
	do { mars_step(); __atomic_store_n(p, v, __ATOMIC_RELEASE); } while (0)
#define mars_cmpxchg(p, from, to) ({ \
	__typeof__(*(p)) mars_was = (from); \
	mars_step(); \
	__atomic_compare_exchange_n(p, &mars_was, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE); \
})

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

#endif /* __KERNEL__ */

/* Multiplied, added and compared only: dividing it takes a library. */
#define mars_u128 unsigned __int128

#endif /* _MARS_PORT_H */
