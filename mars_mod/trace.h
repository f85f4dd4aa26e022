/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace events: one per stage, each with the request's id, so one filter
 * follows one read. They are for people and may change; scripts that need
 * stability read the counters. Times in nanoseconds, index and nr in pages,
 * pos, count and bytes in bytes.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mars

#if !defined(_MARS_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _MARS_TRACE_H

#include <linux/fs.h>
#include <linux/tracepoint.h>

TRACE_EVENT(mars_read_start,
	TP_PROTO(u64 id, struct inode *inode, loff_t pos, size_t count),
	TP_ARGS(id, inode, pos, count),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(u64, ino)
		__field(dev_t, dev)
		__field(loff_t, pos)
		__field(size_t, count)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->ino = inode->i_ino;
		__entry->dev = inode->i_sb->s_dev;
		__entry->pos = pos;
		__entry->count = count;
	),
	TP_printk("id=%llu dev=%d:%d ino=%llu pos=%lld count=%zu",
		  __entry->id, MAJOR(__entry->dev), MINOR(__entry->dev),
		  __entry->ino, __entry->pos, __entry->count)
);

TRACE_EVENT(mars_read_end,
	TP_PROTO(u64 id, ssize_t ret, u64 ns),
	TP_ARGS(id, ret, ns),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(ssize_t, ret)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->ret = ret;
		__entry->ns = ns;
	),
	TP_printk("id=%llu ret=%zd ns=%llu", __entry->id, __entry->ret, __entry->ns)
);

/* One run of pages: all resident, or all missing. */
TRACE_EVENT(mars_classify,
	TP_PROTO(u64 id, pgoff_t index, unsigned long nr, bool missing, u64 ns),
	TP_ARGS(id, index, nr, missing, ns),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(pgoff_t, index)
		__field(unsigned long, nr)
		__field(bool, missing)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->index = index;
		__entry->nr = nr;
		__entry->missing = missing;
		__entry->ns = ns;
	),
	TP_printk("id=%llu index=%lu nr=%lu missing=%d ns=%llu", __entry->id,
		  __entry->index, __entry->nr, __entry->missing, __entry->ns)
);

TRACE_EVENT(mars_allocate,
	TP_PROTO(u64 id, pgoff_t index, unsigned long nr, unsigned int folios, u64 ns),
	TP_ARGS(id, index, nr, folios, ns),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(pgoff_t, index)
		__field(unsigned long, nr)
		__field(unsigned int, folios)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->index = index;
		__entry->nr = nr;
		__entry->folios = folios;
		__entry->ns = ns;
	),
	TP_printk("id=%llu index=%lu nr=%lu folios=%u ns=%llu", __entry->id,
		  __entry->index, __entry->nr, __entry->folios, __entry->ns)
);

/* ret: 0, or why not all of what was allocated went in. */
TRACE_EVENT(mars_insert,
	TP_PROTO(u64 id, pgoff_t index, unsigned long nr, int ret, u64 ns),
	TP_ARGS(id, index, nr, ret, ns),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(pgoff_t, index)
		__field(unsigned long, nr)
		__field(int, ret)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->index = index;
		__entry->nr = nr;
		__entry->ret = ret;
		__entry->ns = ns;
	),
	TP_printk("id=%llu index=%lu nr=%lu ret=%d ns=%llu", __entry->id,
		  __entry->index, __entry->nr, __entry->ret, __entry->ns)
);

/*
 * What a continuing read leaves under way. index: page after its own range; far: up
 * to which page it meant to go, index if it stopped early; mark: folio with its last
 * read-ahead mark; end: page after the last that it brought in. mark and end are 0 when
 * it brought in nothing.
 */
TRACE_EVENT(mars_lookahead,
	TP_PROTO(u64 id, pgoff_t index, pgoff_t far, pgoff_t mark, pgoff_t end),
	TP_ARGS(id, index, far, mark, end),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(pgoff_t, index)
		__field(pgoff_t, far)
		__field(pgoff_t, mark)
		__field(pgoff_t, end)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->index = index;
		__entry->far = far;
		__entry->mark = mark;
		__entry->end = end;
	),
	TP_printk("id=%llu index=%lu far=%lu mark=%lu end=%lu", __entry->id,
		  __entry->index, __entry->far, __entry->mark, __entry->end)
);

DECLARE_EVENT_CLASS(mars_span,
	TP_PROTO(u64 id, pgoff_t index, unsigned long nr, u64 ns),
	TP_ARGS(id, index, nr, ns),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(pgoff_t, index)
		__field(unsigned long, nr)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->index = index;
		__entry->nr = nr;
		__entry->ns = ns;
	),
	TP_printk("id=%llu index=%lu nr=%lu ns=%llu", __entry->id,
		  __entry->index, __entry->nr, __entry->ns)
);

DEFINE_EVENT(mars_span, mars_submit,
	TP_PROTO(u64 id, pgoff_t index, unsigned long nr, u64 ns),
	TP_ARGS(id, index, nr, ns));

/* By a submitter, for the read. */
DEFINE_EVENT(mars_span, mars_relay,
	TP_PROTO(u64 id, pgoff_t index, unsigned long nr, u64 ns),
	TP_ARGS(id, index, nr, ns));

/* The folio that was slept on. */
DEFINE_EVENT(mars_span, mars_wait,
	TP_PROTO(u64 id, pgoff_t index, unsigned long nr, u64 ns),
	TP_ARGS(id, index, nr, ns));

/* What a read that brought in so many bytes has shown: the limit of the next. */
TRACE_EVENT(mars_depth,
	TP_PROTO(u64 id, u64 bytes, u64 limit),
	TP_ARGS(id, bytes, limit),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(u64, bytes)
		__field(u64, limit)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->bytes = bytes;
		__entry->limit = limit;
	),
	TP_printk("id=%llu bytes=%llu limit=%llu", __entry->id, __entry->bytes, __entry->limit)
);

DECLARE_EVENT_CLASS(mars_bytes,
	TP_PROTO(u64 id, loff_t pos, size_t bytes, u64 ns),
	TP_ARGS(id, pos, bytes, ns),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(loff_t, pos)
		__field(size_t, bytes)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->pos = pos;
		__entry->bytes = bytes;
		__entry->ns = ns;
	),
	TP_printk("id=%llu pos=%lld bytes=%zu ns=%llu", __entry->id,
		  __entry->pos, __entry->bytes, __entry->ns)
);

DEFINE_EVENT(mars_bytes, mars_copy,
	TP_PROTO(u64 id, loff_t pos, size_t bytes, u64 ns),
	TP_ARGS(id, pos, bytes, ns));

/* Copied out of order: early_copy=any. */
DEFINE_EVENT(mars_bytes, mars_early_copy,
	TP_PROTO(u64 id, loff_t pos, size_t bytes, u64 ns),
	TP_ARGS(id, pos, bytes, ns));

/* A stretch copied together with workers; executors: those and the read. */
TRACE_EVENT(mars_share,
	TP_PROTO(u64 id, loff_t pos, size_t bytes, unsigned int executors, u64 ns),
	TP_ARGS(id, pos, bytes, executors, ns),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(loff_t, pos)
		__field(size_t, bytes)
		__field(unsigned int, executors)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->pos = pos;
		__entry->bytes = bytes;
		__entry->executors = executors;
		__entry->ns = ns;
	),
	TP_printk("id=%llu pos=%lld bytes=%zu executors=%u ns=%llu", __entry->id,
		  __entry->pos, __entry->bytes, __entry->executors, __entry->ns)
);

/* pos: the file position whose byte goes to the buffer's page. */
DEFINE_EVENT(mars_bytes, mars_fault_in,
	TP_PROTO(u64 id, loff_t pos, size_t bytes, u64 ns),
	TP_ARGS(id, pos, bytes, ns));

#endif /* _MARS_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
