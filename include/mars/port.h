/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one kernel/user switch. The files in mars_mod/core/ include this and
 * nothing else from outside, so the unit tests compile the shipping source.
 */
#ifndef _MARS_PORT_H
#define _MARS_PORT_H

#ifdef __KERNEL__

#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

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

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

#endif /* __KERNEL__ */

/* Multiplied, added and compared only: dividing it takes a library. */
#define mars_u128 unsigned __int128

#endif /* _MARS_PORT_H */
