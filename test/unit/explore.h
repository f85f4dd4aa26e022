/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Explores every interleaving of a few tasks that run shipping code.
 *
 * A task is a coroutine, which gives way before every access to shared memory
 * (explore_yield(), called from mars_step()). Between two such points nobody
 * else can tell what it does. The state of the whole is the shared memory, the
 * live part of each task's stack and its registers; the search saves and
 * restores all three, so a task can be continued from any state any number of
 * times, and a state that was seen before is not continued again.
 *
 * Memory is sequentially consistent here: this looks for wrong transitions. That
 * the barriers suffice is argued in protocol.c and tried in test_protocol_race.c.
 */
#ifndef EXPLORE_H
#define EXPLORE_H

#include <stdbool.h>
#include <stddef.h>

#define EXPLORE_TASKS 3

/**
 * struct explore - what to explore
 * @task:	the tasks; the first one's end is the end of the execution
 * @shared:	memory that belongs to the state; zeroed at the beginning
 * @size:	its bytes
 * @check:	called in each state; says what is wrong, or NULL
 * @alone:	may the first task be expected to end without the others now?
 */
struct explore {
	void (*task[EXPLORE_TASKS])(void);
	void *shared;
	size_t size;
	const char *(*check)(void);
	bool (*alone)(void);
};

/**
 * struct explored - what was found
 * @states:	different ones
 * @ends:	in which the first task had ended
 * @wrong:	the first thing that was wrong, or NULL
 */
struct explored {
	unsigned long states;
	unsigned long ends;
	const char *wrong;
};

struct explored explore_run(const struct explore *what);

/* For the tasks: */
void explore_yield(void);
void explore_spin(void);	/* within a loop that waits for another task */
bool explore_choose(void);	/* both answers are explored */
void explore_wrong(const char *what);
int explore_current(void);

#endif /* EXPLORE_H */
