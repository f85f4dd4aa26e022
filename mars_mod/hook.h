/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MARS_HOOK_H
#define _MARS_HOOK_H

#include <linux/fs.h>
#include <linux/ftrace.h>
#include <linux/uio.h>

int mars_hook_init(void);
int mars_hook_arm(void);
void mars_hook_disarm(void);
const char *mars_hook_state(void);
void mars_hook_drain(void);
void mars_hook_exit(void);
void mars_unregister(struct ftrace_ops *ops, const char *what);
ssize_t mars_native_read(struct kiocb *iocb, struct iov_iter *iter, ssize_t already_read);

#endif /* _MARS_HOOK_H */
