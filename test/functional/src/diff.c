// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread diff DIR0 DIR1 [--seed N] [--count N] [--native] [--ops LIST]
 *                      [--plant KIND] [--share PERCENT] [--verbose]
 *
 * Runs sequences of random operations, numbered by their seeds, on a file in each
 * directory.  MARS is enabled on DIR1's mount and not on DIR0's; with --native (or
 * MREAD_NATIVE set) on neither.  A difference is shrunk to the fewest operations
 * that show it, and printed with a command that repeats it: the seed and --ops,
 * their numbers.  At least PERCENT of the sequences must have gone through MARS.
 *
 * --plant makes a difference on purpose; the program then succeeds when it finds
 * it, and shrinks it to what it takes.
 */
#include "diff.h"
#include <signal.h>

/* Seconds without a step; an operation takes well below one, in a slow guest too. */
#define HANGS 240
/* From so many sequences on, each kind of operation must have worked. */
#define ENOUGH 60

struct args {
	const char *dir[2], *ops, *plant;
	uint64_t seed, count, share;
	bool native, verbose;
};

static void watch(void *arg)
{
	struct beat *beat = arg;
	pid_t parent = getppid();
	uint64_t last = 0;
	int idle = 0;

	while (getppid() == parent) {
		sleep(1);
		idle = beat->ticks == last ? idle + 1 : 0;
		last = beat->ticks;
		if (idle < HANGS)
			continue;
		printf("diff: no end for %d s of %s\n", HANGS, beat->what);
		fflush(stdout);
		kill(parent, SIGKILL);
		_exit(1);
	}
}

/* Says in what the program hangs: it cannot itself, asleep in the kernel. */
static struct beat *watchdog(void)
{
	struct beat *beat = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (beat == MAP_FAILED)
		die("diff: mmap: %s", strerror(errno));
	spawn(watch, beat);
	return beat;
}

static void setup(struct diff *d, const struct args *args)
{
	memset(d, 0, sizeof(*d));
	d->beat = watchdog();
	d->verbose = args->verbose;
	d->plant = args->plant ? plant_parse(args->plant) : PLANT_NONE;
	d->model = xmmap(DIFF_CAP + PAGE);
	d->image = xmmap(DIFF_CAP);
	d->pool = xmmap(DIFF_POOL);
	pat_fill(d->pool, 0, DIFF_POOL, 0xD1FF);
	for (int i = 0; i < 2; i++) {
		struct side *s = &d->side[i];

		s->nr = i;
		s->arena = xmmap(DIFF_CAP + PAGE + 2 * DIFF_GUARD);
		snprintf(s->path, sizeof(s->path), "%s/diff", args->dir[i]);
		snprintf(s->copy, sizeof(s->copy), "%s/diff-copy", args->dir[i]);
	}
	if (!args->native)
		mars_init(&d->mars, xopen(args->dir[1], O_RDONLY | O_DIRECTORY));
	async_init(d);
}

/* "3,7,9": the operations that are to be run; all without a list. */
static void choose(const struct seq *seq, const char *list, bool *keep)
{
	for (unsigned int i = 0; i < DIFF_OPS; i++)
		keep[i] = !list && i < seq->nr;
	while (list && *list) {
		char *end;
		unsigned long i = strtoul(list, &end, 10);

		if (end == list || i >= seq->nr || (*end && *end != ','))
			die("diff: --ops takes numbers below %u, with commas between", seq->nr);
		keep[i] = true;
		list = *end ? end + 1 : end;
	}
}

static void where(const struct diff *d, const char *when)
{
	printf("diff: %s: %s: %s\n", when, d->failed ? op_text(d->failed) : "the files at the end",
	       d->why);
}

static void print_ops(const struct seq *seq, const bool *keep, const struct args *args)
{
	const char *sep = "";

	printf("%s\n", seq_text(seq));
	for (unsigned int i = 0; i < seq->nr; i++) {
		if (keep[i])
			printf("  %s\n", op_text(&seq->op[i]));
	}
	printf("again: mread diff %s %s%s --seed %llu --count 1 --ops ", args->dir[0],
	       args->dir[1], args->native ? " --native" : "", (unsigned long long)seq->seed);
	for (unsigned int i = 0; i < seq->nr; i++) {
		if (keep[i]) {
			printf("%s%u", sep, i);
			sep = ",";
		}
	}
	printf("\n");
}

/* A difference was found. Returns how many operations are left of it. */
static unsigned int report(struct diff *d, const struct seq *seq, bool *keep,
			   const struct args *args)
{
	unsigned int left;

	printf("diff: seed %llu shows a difference\n", (unsigned long long)seq->seed);
	where(d, "found");
	d->verbose = false;
	if (!diff_repeats(d, seq, keep)) {
		print_ops(seq, keep, args);
		printf("diff: it did not come again: it hangs on timing, so nothing could be left out\n");
		return DIFF_OPS;
	}
	left = diff_shrink(d, seq, keep);
	if (diff_repeats(d, seq, keep))
		where(d, "shrunk");
	print_ops(seq, keep, args);
	return left;
}

static uint64_t mars_reads(const struct diff *d)
{
	return d->mars.dir[0] ? mars_stat(&d->mars, "reads") : 0;
}

static void check_kinds(const struct diff *d, uint64_t sequences)
{
	for (int i = 0; i < OP_NR; i++) {
		if (d->verbose)
			printf("%s: %llu of %llu worked, %.1f s\n", diff_kinds[i].name,
			       (unsigned long long)d->worked[i], (unsigned long long)d->done[i],
			       d->took[i]);
		if (sequences >= ENOUGH && !d->worked[i])
			die("diff: %s was tried %llu times and never worked, so nothing is known of it",
			    diff_kinds[i].name, (unsigned long long)d->done[i]);
	}
}

static void run_all(struct diff *d, const struct args *args)
{
	uint64_t accelerated = 0, first = mars_reads(d), before = first, now;
	static struct seq seq;
	bool keep[DIFF_OPS];

	for (uint64_t i = 0; i < args->count; i++) {
		diff_gen(&seq, args->seed + i);
		choose(&seq, args->ops, keep);
		if (d->verbose)
			printf("%s\n", seq_text(&seq));
		if (diff_run(d, &seq, keep)) {
			char why[sizeof(d->why)];

			memcpy(why, d->why, sizeof(why));
			report(d, &seq, keep, args);
			die("diff: the two sides differ at seed %llu: %s",
			    (unsigned long long)seq.seed, why);
		}
		now = mars_reads(d);
		accelerated += now > before;
		before = now;
	}
	check_kinds(d, args->count);
	if (d->mars.dir[0] && !args->ops && accelerated * 100 < args->share * args->count)
		die("diff: only %llu of %llu sequences went through MARS, wanted %llu %%",
		    (unsigned long long)accelerated, (unsigned long long)args->count,
		    (unsigned long long)args->share);
	printf("diff: %llu sequences, %llu operations, %llu of them reads: no difference; %llu reads of %llu sequences went through MARS\n",
	       (unsigned long long)args->count, (unsigned long long)d->nr_ops,
	       (unsigned long long)d->nr_reads, (unsigned long long)(before - first),
	       (unsigned long long)accelerated);
}

/* The first sequence that the planted difference shows in is enough. */
static void run_planted(struct diff *d, const struct args *args)
{
	static struct seq seq;
	bool keep[DIFF_OPS];
	unsigned int left, most = plant_ops(d->plant);

	for (uint64_t i = 0; i < args->count; i++) {
		diff_gen(&seq, args->seed + i);
		choose(&seq, args->ops, keep);
		if (!diff_run(d, &seq, keep))
			continue;
		left = report(d, &seq, keep, args);
		if (left > most)
			die("diff: the planted difference '%s' was shrunk to %u operations, it takes %u at most",
			    args->plant, left, most);
		printf("diff: the planted difference '%s' was found and shrunk to %u of %u operations\n",
		       args->plant, left, seq.nr);
		return;
	}
	die("diff: the planted difference '%s' was not found in %llu sequences", args->plant,
	    (unsigned long long)args->count);
}

int cmd_diff(int argc, char **argv)
{
	struct args args = { .seed = 1, .count = 100, .share = 75 };
	const struct opt opts[] = {
		{ .name = "seed", .size = &args.seed },
		{ .name = "count", .size = &args.count },
		{ .name = "share", .size = &args.share },
		{ .name = "native", .flag = &args.native },
		{ .name = "verbose", .flag = &args.verbose },
		{ .name = "ops", .text = &args.ops },
		{ .name = "plant", .text = &args.plant },
	};
	static struct diff d;

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 2)
		die("usage: mread diff DIR0 DIR1 [--seed N --count N --native --ops LIST --plant KIND --share PERCENT --verbose]");
	args.dir[0] = argv[0];
	args.dir[1] = argv[1];
	args.native |= !!getenv("MREAD_NATIVE");
	setup(&d, &args);
	if (d.plant != PLANT_NONE)
		run_planted(&d, &args);
	else
		run_all(&d, &args);
	return 0;
}
