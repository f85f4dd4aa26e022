/* SPDX-License-Identifier: GPL-2.0-only */
/* The one place where the version stands; dkms.conf and CHANGELOG are checked against it. */
#ifndef _MARS_VERSION_H
#define _MARS_VERSION_H

#define MARS_VERSION "0.1.0"

#endif /* _MARS_VERSION_H */
