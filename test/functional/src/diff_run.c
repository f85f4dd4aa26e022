// SPDX-License-Identifier: GPL-2.0-only
/*
 * One sequence: two new files with the same content, then the operations, each on
 * both before the next.
 */
#include "diff.h"

/* Far in the past: relatime moves it. Ahead of now: it does not. */
#define TIME_PAST 1000000000
#define TIME_AHEAD 2100000000

static const int slot_flags[DIFF_SLOTS] = { O_RDWR, O_RDONLY, O_RDWR };

static void fill_model(struct diff *d, const struct seq *seq)
{
	struct rng rng = { seq->seed };
	uint64_t unit = 256 * KIB;

	d->size = seq->size;
	memcpy(d->model, d->pool + seq->data, d->size);
	for (uint64_t at = 0; seq->sparse && at < d->size; at += unit) {
		if (rng_below(&rng, 10) < 4)
			memset(d->model + at, 0, min64(unit, d->size - at));
	}
}

/* What the model has as zeros in whole units becomes holes. */
static void fill_file(const struct diff *d, const struct side *s)
{
	uint64_t unit = 256 * KIB;

	if (ftruncate(s->ctl, d->size))
		die("diff: %s: %s", s->path, strerror(errno));
	for (uint64_t at = 0; at < d->size; at += unit) {
		uint64_t n = min64(unit, d->size - at);

		if (zero_check(d->model + at, n) == n)
			continue;
		if (pwrite(s->ctl, d->model + at, n, at) != (ssize_t)n)
			die("diff: writing %s: %s", s->path, strerror(errno));
	}
}

static void start_side(const struct diff *d, struct side *s, bool cold)
{
	unlink(s->path);
	s->ctl = xopen(s->path, O_RDWR | O_CREAT | O_TRUNC);
	s->copy_fd = xopen(s->copy, O_RDWR | O_CREAT | O_TRUNC);
	for (int i = 0; i < DIFF_SLOTS; i++) {
		s->open_flags[i] = slot_flags[i];
		s->fd[i] = xopen(s->path, slot_flags[i]);
	}
	fill_file(d, s);
	if (cold && (fdatasync(s->ctl) || posix_fadvise(s->ctl, 0, 0, POSIX_FADV_DONTNEED)))
		die("diff: flushing %s: %s", s->path, strerror(errno));
}

static void end_side(struct side *s)
{
	for (int i = 0; i < DIFF_SLOTS; i++)
		close(s->fd[i]);
	close(s->ctl);
	close(s->copy_fd);
	unlink(s->path);
	unlink(s->copy);
}

/* Known times before each operation, so that what it does to them shows. */
static struct timespec set_times(const struct side *s, bool ahead)
{
	struct timespec times[2] = {
		{ .tv_sec = ahead ? TIME_AHEAD : TIME_PAST }, { .tv_sec = TIME_PAST },
	};

	if (futimens(s->ctl, times))
		die("diff: setting the times of %s: %s", s->path, strerror(errno));
	return times[0];
}

static void run_side(struct diff *d, struct side *s, const struct op *op)
{
	struct timespec atime;
	struct stat st;

	if (op_has(op, T_BUFFER)) {
		buf_make(d, s, op);
		plan_iov(d, s);
	}
	atime = set_times(s, op->atime_ahead);
	diff_kinds[op->kind].run(d, s, op);
	if (fstat(s->ctl, &st))
		die("diff: fstat of %s: %s", s->path, strerror(errno));
	s->out.size = st.st_size;
	s->out.atime = st.st_atim.tv_sec != atime.tv_sec || st.st_atim.tv_nsec;
	s->out.mtime = st.st_mtim.tv_sec != TIME_PAST || st.st_mtim.tv_nsec;
	s->out.pos = lseek(op_fd(s, op), 0, SEEK_CUR);
}

static bool one_op(struct diff *d, const struct op *op)
{
	double begin = now_s();
	bool bad, first;

	for (int i = 0; i < 2; i++) {
		struct side *s = &d->side[i];

		memset(&s->out, 0, sizeof(s->out));
		s->out.begin = lseek(op_fd(s, op), 0, SEEK_CUR);
	}
	plan_make(d, op);
	/* In turn one or the other is first: so it meets I/O that it has just begun. */
	first = op->index & 1;
	run_side(d, &d->side[first], op);
	run_side(d, &d->side[!first], op);
	plant_now(d, op);
	bad = diff_judge(d, op);
	/* They may differ after what is judged loosely. */
	if (d->side[0].out.pos != d->side[1].out.pos)
		lseek(op_fd(&d->side[1], op), d->side[0].out.pos, SEEK_SET);
	buf_free(&d->side[0].buf);
	buf_free(&d->side[1].buf);
	d->took[op->kind] += now_s() - begin;
	return bad;
}

/* Returns whether a difference was found: d->why and d->failed say which. */
bool diff_run(struct diff *d, const struct seq *seq, const bool *keep)
{
	bool bad = false;

	d->why[0] = 0;
	d->failed = NULL;
	d->primed = false;
	d->any = d->mars.dir[0] && seq->knobs.early_copy == EARLY_ANY;
	d->beat->ticks++;
	snprintf(d->beat->what, sizeof(d->beat->what), "the start of %s", seq_text(seq));
	knobs_set(d, &seq->knobs);
	fill_model(d, seq);
	start_side(d, &d->side[0], seq->cold);
	start_side(d, &d->side[1], seq->cold);
	for (unsigned int i = 0; i < seq->nr && !bad; i++) {
		if (!keep[i])
			continue;
		d->beat->ticks++;
		snprintf(d->beat->what, sizeof(d->beat->what), "seed %llu %s",
			 (unsigned long long)seq->seed, op_text(&seq->op[i]));
		if (d->verbose)
			printf("  %s\n", op_text(&seq->op[i]));
		bad = one_op(d, &seq->op[i]);
		if (bad)
			d->failed = &seq->op[i];
	}
	if (!bad)
		bad = diff_judge_files(d, seq);
	end_side(&d->side[0]);
	end_side(&d->side[1]);
	return bad;
}
