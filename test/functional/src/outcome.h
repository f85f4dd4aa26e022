/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One read as a program sees it, to compare a native one with one of MARS
 * (outcome.c).
 */
#ifndef OUTCOME_H
#define OUTCOME_H

#include "mread.h"

struct outcome {
	ssize_t ret, again;	/* a second read goes on where the first one stopped */
	int err, again_err;
	int64_t pos;
	uint64_t hash;		/* of the buffer and what lies around it */
	int64_t extra;		/* what the case looks at besides */
	int status;		/* how the process ended */
};

void outcome_read(struct outcome *o, int fd, uint8_t *p, size_t len);
void outcome_hash(struct outcome *o, const uint8_t *map, size_t len);
void outcome_compare(const char *what, const struct outcome *native, const struct outcome *mars);

#endif /* OUTCOME_H */
