// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread mid FILE --case NAME --stop COMMAND --go COMMAND
 *	[--act COMMAND --back COMMAND --aside FILE]
 *
 * What can happen to a process while its read sleeps for the disk, natively and
 * through MARS. The first part of what is read is in memory, the disk behind the
 * rest is stopped; once the reader sleeps, somebody acts, and the disk goes on.
 * With nothing left to chance the two reads must end the same way.
 */
#include "outcome.h"
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define LEN (16 * MIB)
#define OFF (2 * MIB)
#define WARM (4 * MIB)	/* of what is read */
#define PATIENCE 300	/* seconds, for what takes one */

struct scene {
	struct outcome o;
	volatile int act, acted;	/* 1 when it is time, and when it was done */
};

struct mid {
	const struct mid_case *kind;
	struct scene *sc;
	const char *path, *stop, *go, *act, *back, *aside;
	uint64_t seed;
	uint8_t *p;		/* in the child */
	uint8_t *tail;		/* the parent's, shared: the rest of the buffer */
	int tail_fd;		/* of a file, or -1 */
	pid_t child;
};

struct mid_case {
	const char *name;
	void (*thread)(struct mid *m);	/* by a thread of the reader's */
	void (*parent)(struct mid *m);
	int ends;	/* the reader is gone before the disk goes on: its status */
	bool shares;	/* the rest of the buffer is memory shared with the parent */
};

static void run(const char *command)
{
	int status = system(command);

	if (status)
		die("mid: '%s' ended with wait status %#x", command, status);
}

static void must(int failed, const char *what)
{
	if (failed)
		die("mid: %s: %s", what, strerror(errno));
}

/* Polls every 10 ms; says what it was that did not come. */
static void wait_until(bool (*done)(struct mid *m), struct mid *m, const char *what)
{
	double end = now_s() + PATIENCE;

	while (!done(m)) {
		if (now_s() > end)
			die("mid: %s: waited %d s for %s", m->kind->name, PATIENCE, what);
		usleep(10000);
	}
}

static void in_munmap(struct mid *m)
{
	must(munmap(m->p + 8 * MIB, PAGE), "munmap");
}

static void in_munmap_rest(struct mid *m)
{
	must(munmap(m->p + MIB, LEN - MIB), "munmap");
}

static void in_mprotect_none(struct mid *m)
{
	must(mprotect(m->p + 8 * MIB, MIB, PROT_NONE), "mprotect");
}

static void in_mprotect_read(struct mid *m)
{
	must(mprotect(m->p + WARM + 4 * PAGE, MIB, PROT_READ), "mprotect");
}

/* Takes away what was copied already, and what was not. */
static void in_dontneed(struct mid *m)
{
	must(madvise(m->p, 8 * MIB, MADV_DONTNEED), "madvise");
}

static void in_mremap(struct mid *m)
{
	void *to = xmmap(MIB);

	if (mremap(m->p + 9 * MIB, MIB, MIB, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		die("mid: mremap: %s", strerror(errno));
}

/* A file in the place of a piece of the buffer: what was read of it goes there. */
static void in_remap(struct mid *m)
{
	int fd = memfd_create("mread", MFD_CLOEXEC);

	must(fd < 0 || ftruncate(fd, MIB), "memfd");
	if (mmap(m->p + 6 * MIB, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
	    MAP_FAILED)
		die("mid: mmap: %s", strerror(errno));
	close(fd);
}

/* The new process has what was copied up to now, and nothing that comes later. */
static void in_fork(struct mid *m)
{
	pid_t pid = fork();
	int status;

	must(pid < 0, "fork");
	if (!pid) {
		struct outcome o = { 0 };

		usleep(1000);
		outcome_hash(&o, m->p, LEN);
		m->sc->o.extra = o.hash;
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		die("mid: the forked process: wait status %#x", status);
}

static void in_exec(struct mid *m)
{
	m->sc->acted = 1;
	execl("/proc/self/exe", "mread", "nothing", NULL);
	die("mid: exec: %s", strerror(errno));
}

static void in_exit(struct mid *m)
{
	m->sc->acted = 1;
	_exit(7);
}

static void by_kill(struct mid *m)
{
	must(kill(m->child, SIGKILL), "kill");
}

static void by_handled_signal(struct mid *m)
{
	must(kill(m->child, SIGUSR1), "kill");
}

static void by_stop(struct mid *m)
{
	must(kill(m->child, SIGSTOP), "kill");
}

static void by_command(struct mid *m)
{
	run(m->act);
}

#define LIVES (-1)

static const struct mid_case cases[] = {
	{ "munmap", in_munmap, NULL, LIVES, false },
	{ "munmap-rest", in_munmap_rest, NULL, LIVES, false },
	{ "mprotect-none", in_mprotect_none, NULL, LIVES, false },
	{ "mprotect-read", in_mprotect_read, NULL, LIVES, false },
	{ "dontneed", in_dontneed, NULL, LIVES, false },
	{ "mremap", in_mremap, NULL, LIVES, false },
	{ "remap", in_remap, NULL, LIVES, false },
	{ "fork", in_fork, NULL, LIVES, false },
	{ "exec", in_exec, NULL, 0, false },
	{ "exit", in_exit, NULL, 7 << 8, false },
	{ "kill", NULL, by_kill, SIGKILL, true },
	{ "handled", NULL, by_handled_signal, LIVES, false },
	{ "stop", NULL, by_stop, LIVES, false },
	{ "command", NULL, by_command, LIVES, false },
};

static void *actor(void *arg)
{
	struct mid *m = arg;

	while (!m->sc->act)
		usleep(1000);
	if (m->kind->thread)
		m->kind->thread(m);
	m->sc->acted = 1;
	return NULL;
}

static void nothing(int sig)
{
	(void)sig;
}

/* The reader. Its first thread reads, so that its state is that of the process. */
static void child(struct mid *m)
{
	struct sigaction action = { .sa_handler = nothing, .sa_flags = SA_RESTART };
	int fd = xopen(m->path, O_RDONLY);
	pthread_t thread;
	struct gbuf g;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGUSR1, &action, NULL);
	gbuf_make(&g, LEN, 0, false);
	m->p = g.p;
	if (m->kind->shares && mremap(m->tail, LEN - WARM, LEN - WARM,
				      MREMAP_MAYMOVE | MREMAP_FIXED, m->p + WARM) == MAP_FAILED)
		die("mid: mremap: %s", strerror(errno));
	if (lseek(fd, OFF, SEEK_SET) < 0)
		die("lseek: %s", strerror(errno));
	if (pthread_create(&thread, NULL, actor, m))
		die("mid: pthread_create");
	outcome_read(&m->sc->o, fd, m->p, LEN);
	pthread_join(thread, NULL);
	outcome_hash(&m->sc->o, g.map, g.map_len);
	_exit(0);
}

static bool sleeps(struct mid *m)
{
	return process_sleeps(m->child);
}

static bool is_acted(struct mid *m)
{
	return m->sc->acted;
}

static bool is_stopped(struct mid *m)
{
	return process_state(m->child) == 'T';
}

static bool is_gone(struct mid *m)
{
	return waitpid(m->child, &m->sc->o.status, WNOHANG) == m->child;
}

static void act(struct mid *m)
{
	m->sc->act = 1;
	if (m->kind->parent)
		m->kind->parent(m);
	else
		wait_until(is_acted, m, "what was to happen");
	if (m->kind->ends != LIVES)
		wait_until(is_gone, m, "the reader's end, which needs no disk");
}

/* A cold file but for the first part; small reads, which are native. */
static void lay_cache(const struct mid *m)
{
	static uint8_t buf[64 * KIB];
	int fd = xopen(m->path, O_RDONLY);

	cache_drop(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (uint64_t at = 0; at < WARM; at += sizeof(buf)) {
		if (pread(fd, buf, sizeof(buf), OFF + at) != (ssize_t)sizeof(buf))
			die("mid: %s: %s", m->path, strerror(errno));
	}
	if (cache_resident(fd, OFF, LEN) != WARM)
		die("mid: %llu bytes are in memory, wanted %llu",
		    (unsigned long long)cache_resident(fd, OFF, LEN), WARM);
	close(fd);
}

/* Memory, or a file, of which a write through a mapping can be seen. */
static void make_tail(struct mid *m)
{
	m->tail_fd = -1;
	if (m->aside) {
		m->tail_fd = xopen(m->aside, O_RDWR | O_CREAT | O_TRUNC);
		must(ftruncate(m->tail_fd, LEN - WARM) || fsync(m->tail_fd), m->aside);
	}
	m->tail = mmap(NULL, LEN - WARM, PROT_READ | PROT_WRITE,
		       MAP_SHARED | (m->aside ? 0 : MAP_ANONYMOUS), m->tail_fd, 0);
	must(m->tail == MAP_FAILED, "mmap");
}

static int64_t tail_mtime(const struct mid *m)
{
	struct stat st = { 0 };

	must(m->tail_fd >= 0 && fstat(m->tail_fd, &st), "fstat");
	return st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec;
}

static void attempt(struct mid *m, struct outcome *o)
{
	int64_t mtime;

	memset(m->sc, 0, sizeof(*m->sc));
	make_tail(m);
	mtime = tail_mtime(m);
	lay_cache(m);
	run(m->stop);
	m->child = fork();
	if (m->child < 0)
		die("mid: fork: %s", strerror(errno));
	if (!m->child)
		child(m);
	wait_until(sleeps, m, "the reader to sleep for the disk");
	act(m);
	run(m->go);
	if (m->kind->parent == by_stop) {
		wait_until(is_stopped, m, "the reader to stop");
		must(kill(m->child, SIGCONT), "kill");
	}
	if (m->kind->ends == LIVES)
		wait_until(is_gone, m, "the reader's end");
	if (m->sc->o.status != (m->kind->ends == LIVES ? 0 : m->kind->ends))
		die("mid: %s: the reader ended with wait status %#x", m->kind->name,
		    m->sc->o.status);
	if (m->back)
		run(m->back);
	if (m->kind->shares) {
		outcome_hash(&m->sc->o, m->tail, LEN - WARM);
		m->sc->o.extra = tail_mtime(m) != mtime;
	}
	munmap(m->tail, LEN - WARM);
	if (m->tail_fd >= 0)
		close(m->tail_fd);
	*o = m->sc->o;
}

static void parse(struct mid *m, int argc, char **argv)
{
	const char *name = NULL;
	const struct opt opts[] = {
		{ .name = "case", .text = &name },
		{ .name = "stop", .text = &m->stop },
		{ .name = "go", .text = &m->go },
		{ .name = "act", .text = &m->act },
		{ .name = "back", .text = &m->back },
		{ .name = "aside", .text = &m->aside },
		{ .name = "seed", .size = &m->seed },
	};

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1 || !name || !m->stop || !m->go)
		die("usage: mread mid FILE --case NAME --stop COMMAND --go COMMAND [--act COMMAND --back COMMAND --aside FILE --seed N]");
	m->path = argv[0];
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!strcmp(name, cases[i].name))
			m->kind = &cases[i];
	}
	if (!m->kind || (m->kind->parent == by_command && !m->act))
		die("mid: there is no case '%s', or it lacks --act", name);
}

int cmd_mid(int argc, char **argv)
{
	struct mid m = { .seed = 1 };
	struct outcome native, through;
	struct mars mars;
	char what[64];
	uint64_t missed = 0;

	parse(&m, argc, argv);
	m.sc = mmap(NULL, sizeof(*m.sc), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(m.sc == MAP_FAILED, "mmap");
	mars_init(&mars, xopen(m.path, O_RDONLY));
	snprintf(what, sizeof(what), "mid: %s", m.kind->name);
	mars_enable(&mars, false);
	attempt(&m, &native);
	mars_enable(&mars, true);
	if (mars.dir[0])
		missed = mars_stat(&mars, "bytes_submitted");
	attempt(&m, &through);
	outcome_compare(what, &native, &through);
	if (mars.dir[0] && mars_stat(&mars, "bytes_submitted") == missed)
		die("%s: MARS did not do the read", what);
	return 0;
}

/* mread nothing: what an exec in the middle of a read runs */
int cmd_nothing(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return 0;
}
