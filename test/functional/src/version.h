/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file whose every block of 4 KiB says which generation of which block it is
 * (version.c), so that a reader can tell what it may see while the file changes
 * from what it may not.
 */
#ifndef VERSION_H
#define VERSION_H

#include "mread.h"

#define VHISTORY 32	/* generations of a block that are remembered */
#define VSHIFTS 4096	/* layouts of a file that are remembered */

/* What the processes of a race share. */
struct vshared {
	uint32_t stop;
	uint64_t reads, overlapped, torn;	/* the readers' */
	uint64_t changes, disturbances;		/* done, the others' */
	uint32_t size_seq;	/* odd while the file is shorter than it should be */
	uint64_t low;		/* and how short it gets at most */
	uint32_t shift_begun, shift_done;
	struct {
		uint32_t first, nr;
	} shift[VSHIFTS];	/* odd layouts: @nr blocks inserted at block @first */
};

struct vfile {
	const char *path;
	uint64_t seed, size;
	uint32_t nr;		/* blocks */
	struct vshared *sh;
	/* Per block, in shared memory: generations begun and done, which are zeros. */
	uint32_t *begun, *done, *zeros;
};

/* What a reader must know of the moments before and after its read. */
struct vview {
	uint32_t *done, *begun;		/* for each block of the read */
	uint32_t shift_done, shift_begun, size_seq;
	uint64_t activity;
};

void vfile_make(struct vfile *f);
void vfile_begin(struct vfile *f, uint32_t block, uint32_t nr, bool zero);
void vfile_fill(const struct vfile *f, uint8_t *buf, uint32_t block, uint32_t nr);
void vfile_done(struct vfile *f, uint32_t block, uint32_t nr);
void vview_make(struct vview *v, uint64_t len);
void vfile_before(const struct vfile *f, struct vview *v, uint64_t off, uint64_t len);
void vfile_after(const struct vfile *f, struct vview *v, uint64_t off, uint64_t len);
uint64_t vfile_check(const struct vfile *f, const struct vview *v, const uint8_t *buf,
		     uint64_t off, uint64_t len, bool whole);

/* changers.c: who changes the file, and who only disturbs its readers */
struct vrace {
	struct vfile file;
	const char *mount;	/* the file system's, for those who work on all of it */
	int fd;			/* opened with the changer's flags */
	int aside;		/* a second file, for those who need one */
	uint8_t *buf, *map;
	struct rng rng;
};

struct changer {
	const char *name;
	int flags;		/* of open() */
	void (*change)(struct vrace *r);
};

const struct changer *changer_find(const char *name);
const struct changer *disturber_find(const char *name);
void changer_enter(struct vrace *r, const struct changer *c);

#endif /* VERSION_H */
