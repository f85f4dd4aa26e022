// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every kind of operation: how often, how it is judged, who does it, and what a
 * success does to the model.
 */
#include "diff.h"

#define VECTOR (T_BUFFER | T_VECTOR)
#define ASYNC (T_BUFFER | T_FLAGS)
#define URING (ASYNC | T_EITHER)
#define STREAM (T_BUFFER | T_STREAM | T_EITHER)

const struct kind diff_kinds[OP_NR] = {
	[OP_READ] = { "read", 60, T_BUFFER | T_CURSOR, run_read, apply_read },
	[OP_PREAD] = { "pread", 70, T_BUFFER, run_read, apply_read },
	[OP_READV] = { "readv", 40, VECTOR | T_CURSOR, run_read, apply_read },
	[OP_PREADV] = { "preadv", 40, VECTOR, run_read, apply_read },
	[OP_PREADV2] = { "preadv2", 80, VECTOR | T_FLAGS | T_EITHER, run_read, apply_read },
	[OP_URING_READ] = { "uring-read", 40, URING | T_PIECES, run_uring, apply_read },
	[OP_URING_READV] = { "uring-readv", 30, URING | T_VECTOR, run_uring, apply_read },
	[OP_URING_FIXED] = { "uring-read-fixed", 20, URING | T_PIECES, run_uring, apply_read },
	[OP_AIO_PREAD] = { "aio-pread", 30, ASYNC | T_PIECES, run_aio, apply_read },
	[OP_AIO_PREADV] = { "aio-preadv", 20, ASYNC | T_VECTOR, run_aio, apply_read },
	[OP_SPLICE] = { "splice", 10, STREAM, run_splice, NULL },
	[OP_SENDFILE] = { "sendfile", 10, STREAM, run_sendfile, NULL },
	[OP_COPY_RANGE] = { "copy_file_range", 10, STREAM, run_copy_range, NULL },
	[OP_MMAP_READ] = { "mmap-read", 15, T_BUFFER | T_STREAM, run_mmap_read, NULL },
	[OP_WRITE] = { "write", 20, T_CURSOR, run_write, apply_write },
	[OP_PWRITE] = { "pwrite", 35, 0, run_write, apply_write },
	[OP_APPEND] = { "append", 20, 0, run_write, apply_write },
	[OP_MMAP_WRITE] = { "mmap-write", 20, 0, run_mmap_write, apply_write },
	[OP_TRUNCATE] = { "truncate", 45, 0, run_truncate, apply_truncate },
	[OP_PREALLOC] = { "fallocate", 12, 0, run_fallocate, apply_fallocate },
	[OP_PUNCH] = { "punch", 20, 0, run_fallocate, apply_fallocate },
	[OP_ZERO] = { "zero", 15, 0, run_fallocate, apply_fallocate },
	[OP_COLLAPSE] = { "collapse", 12, 0, run_fallocate, apply_fallocate },
	[OP_INSERT] = { "insert", 12, 0, run_fallocate, apply_fallocate },
	[OP_FADVISE] = { "fadvise", 45, 0, run_cache, NULL },
	[OP_READAHEAD] = { "readahead", 15, 0, run_cache, NULL },
	[OP_SYNC] = { "fdatasync", 10, 0, run_cache, NULL },
	[OP_DROP_FILE] = { "drop-file", 70, 0, run_cache, NULL },
	[OP_DROP_ALL] = { "drop-all", 8, 0, run_cache, NULL },
	[OP_LSEEK] = { "lseek", 15, 0, run_lseek, NULL },
	[OP_OPEN] = { "open", 35, 0, run_open, apply_open },
};
