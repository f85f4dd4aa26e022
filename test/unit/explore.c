// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "explore.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define STACK_BYTES 16384
/* Steps that the first task may need by itself; more is a loop without an end. */
#define ALONE_STEPS 1000
/* It may go round once for each task that left its section since it looked. */
#define ALONE_SPINS (EXPLORE_TASKS - 1)

struct task {
	ucontext_t context;
	unsigned char stack[STACK_BYTES] __attribute__((aligned(64)));
	bool done;
};

static struct {
	const struct explore *what;
	struct task task[EXPLORE_TASKS];
	ucontext_t search;
	int current;
	bool in_task, spun, choosing, chosen;
	const char *wrong;
	struct explored found;
} x;

int explore_current(void)
{
	return x.current;
}

void explore_wrong(const char *what)
{
	if (!x.wrong)
		x.wrong = what;
}

void explore_yield(void)
{
	if (!x.in_task)
		return;
	swapcontext(&x.task[x.current].context, &x.search);
}

void explore_spin(void)
{
	x.spun = true;
	explore_yield();
}

bool explore_choose(void)
{
	x.choosing = true;
	explore_yield();
	return x.chosen;
}

static void task_main(int nr)
{
	x.what->task[nr]();
	x.task[nr].done = true;
	for (;;)
		explore_yield();
}

/* One step of a task: to the next point where it gives way. */
static void step(int nr, bool chosen)
{
	x.current = nr;
	x.in_task = true;
	x.spun = false;
	x.choosing = false;
	x.chosen = chosen;
	swapcontext(&x.search, &x.task[nr].context);
	x.in_task = false;
}

/* What of a task belongs to the state: registers, and the stack that is in use. */
struct saved_task {
	greg_t regs[NGREG];
	bool done;
	size_t used;
	unsigned char stack[];
};

struct saved {
	struct saved *next;
	bool choosing[EXPLORE_TASKS];
	int turn, answer;	/* what is to be tried next from here */
	size_t len;
	unsigned char bytes[];
};

static size_t used_of(const struct task *t)
{
	uintptr_t sp = t->context.uc_mcontext.gregs[REG_RSP];

	return t->done ? 0 : (uintptr_t)t->stack + STACK_BYTES - sp;
}

static size_t task_bytes(const struct task *t)
{
	return (sizeof(struct saved_task) + used_of(t) + 15) & ~15UL;
}

static bool waits_for_choice[EXPLORE_TASKS];

static struct saved *save(void)
{
	size_t len = (x.what->size + 15) & ~15UL, at = len;
	struct saved *s;
	int i;

	for (i = 0; i < EXPLORE_TASKS; i++)
		len += task_bytes(&x.task[i]);
	s = calloc(1, sizeof(*s) + len);
	if (!s)
		abort();
	s->len = len;
	memcpy(s->choosing, waits_for_choice, sizeof(s->choosing));
	memcpy(s->bytes, x.what->shared, x.what->size);
	for (i = 0; i < EXPLORE_TASKS; i++) {
		struct saved_task *t = (void *)(s->bytes + at);

		t->done = x.task[i].done;
		t->used = used_of(&x.task[i]);
		if (!t->done) {
			memcpy(t->regs, x.task[i].context.uc_mcontext.gregs, sizeof(t->regs));
			memcpy(t->stack, x.task[i].stack + STACK_BYTES - t->used, t->used);
		}
		at += task_bytes(&x.task[i]);
	}
	return s;
}

static void restore(const struct saved *s)
{
	size_t at = (x.what->size + 15) & ~15UL;
	int i;

	memcpy(x.what->shared, s->bytes, x.what->size);
	memcpy(waits_for_choice, s->choosing, sizeof(s->choosing));
	for (i = 0; i < EXPLORE_TASKS; i++) {
		const struct saved_task *t = (const void *)(s->bytes + at);

		x.task[i].done = t->done;
		if (!t->done) {
			memcpy(x.task[i].context.uc_mcontext.gregs, t->regs, sizeof(t->regs));
			memcpy(x.task[i].stack + STACK_BYTES - t->used, t->stack, t->used);
		}
		at += (sizeof(*t) + t->used + 15) & ~15UL;
	}
}

/* The states seen, by a hash of 128 bits: two different ones will not meet. */
struct key {
	uint64_t a, b;
};

static struct {
	struct key *slot;
	size_t size, used;
} seen;

static struct key hash(const struct saved *s)
{
	struct key k = { 0x9E3779B97F4A7C15ULL, 0xC2B2AE3D27D4EB4FULL };
	size_t i;

	for (i = 0; i < s->len; i += 8) {
		uint64_t word;

		memcpy(&word, s->bytes + i, 8);
		k.a = (k.a ^ word) * 0xFF51AFD7ED558CCDULL;
		k.a ^= k.a >> 29;
		k.b = (k.b + word) * 0xC4CEB9FE1A85EC53ULL;
		k.b ^= k.b >> 31;
	}
	for (i = 0; i < EXPLORE_TASKS; i++)
		k.a = (k.a ^ s->choosing[i]) * 0xFF51AFD7ED558CCDULL;
	return k;
}

static bool seen_before(struct key k)
{
	size_t i;

	if (seen.used * 2 >= seen.size) {
		struct key *old = seen.slot;
		size_t n = seen.size;

		seen.size = n ? n * 4 : 1 << 16;
		seen.slot = calloc(seen.size, sizeof(k));
		if (!seen.slot)
			abort();
		seen.used = 0;
		for (i = 0; i < n; i++)
			if (old[i].a | old[i].b)
				seen_before(old[i]);
		free(old);
	}
	for (i = k.a % seen.size; seen.slot[i].a | seen.slot[i].b; i = (i + 1) % seen.size)
		if (seen.slot[i].a == k.a && seen.slot[i].b == k.b)
			return true;
	seen.slot[i] = k;
	seen.used++;
	return false;
}

/* The others stand still for ever: does the first task end, and without spinning? */
static void try_alone(const struct saved *from)
{
	unsigned int steps, spins = 0;

	for (steps = 0; !x.task[0].done && steps < ALONE_STEPS && !x.wrong; steps++) {
		step(0, false);
		spins += x.spun;
		if (spins > ALONE_SPINS)
			explore_wrong("the master waits although no worker runs");
	}
	if (!x.task[0].done)
		explore_wrong("the master does not come to an end by itself");
	restore(from);
}

/* Into a new state: judged, and kept for later unless it is known or the last. */
static struct saved *arrive(struct saved *below)
{
	const char *wrong = x.wrong ? x.wrong : x.what->check();
	struct saved *s;

	if (wrong) {
		x.found.wrong = wrong;
		return below;
	}
	s = save();
	if (seen_before(hash(s))) {
		free(s);
		return below;
	}
	x.found.states++;
	x.found.ends += x.task[0].done;
	if (!x.task[0].done && x.what->alone()) {
		try_alone(s);
		x.found.wrong = x.wrong;
	}
	s->next = below;
	return s;
}

static void begin_task(struct task *t, int nr)
{
	getcontext(&t->context);
	t->context.uc_stack.ss_sp = t->stack;
	t->context.uc_stack.ss_size = STACK_BYTES;
	makecontext(&t->context, (void (*)(void))task_main, 1, nr);
}

static void begin(const struct explore *what)
{
	int i;

	memset(&x, 0, sizeof(x));
	memset(waits_for_choice, 0, sizeof(waits_for_choice));
	memset(what->shared, 0, what->size);
	free(seen.slot);
	memset(&seen, 0, sizeof(seen));
	x.what = what;
	for (i = 0; i < EXPLORE_TASKS; i++)
		begin_task(&x.task[i], i);
}

/* Depth first: the newest state, its next task, and of a choice both answers. */
struct explored explore_run(const struct explore *what)
{
	struct saved *top;

	begin(what);
	top = arrive(NULL);
	while (top && !x.found.wrong) {
		struct saved *s = top;
		int nr = s->turn;

		if (nr == EXPLORE_TASKS) {
			top = s->next;
			free(s);
			continue;
		}
		restore(s);
		if (x.task[nr].done) {
			s->turn++;
			continue;
		}
		step(nr, s->answer);
		if (s->choosing[nr] && !s->answer) {
			s->answer = 1;
		} else {
			s->answer = 0;
			s->turn++;
		}
		waits_for_choice[nr] = x.choosing;
		top = arrive(top);
	}
	while (top) {
		struct saved *s = top;

		top = s->next;
		free(s);
	}
	return x.found;
}
