// SPDX-License-Identifier: GPL-2.0-only
/*
 * A second program beside the one that is timed: it reads cold requests at random places of
 * the file's second half, as large as the sample says, one after another.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rdbench.h"

/* Shared with it. */
static struct beside {
	volatile bool stop;
	volatile uint64_t reads;
	volatile double seconds;	/* that those took */
} *shared;

static pid_t pid;
static uint64_t reads_before;
static double seconds_before;

static void read_on(const struct sample *s, const char *path, uint64_t from, uint64_t to)
{
	uint64_t places = (to - from - s->beside) / PAGE, rng = s->seed ^ 0xbe51de;
	struct sample mine = { .size = s->beside };
	unsigned char *buf = buffer_map(&mine);
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		die("cannot open %s: %s", path, strerror(errno));
	memset(buf, 1, s->beside);
	while (!shared->stop) {
		uint64_t off = from + rng_next(&rng) % places * PAGE, done = 0;
		double start = now();

		while (done < s->beside) {
			ssize_t n = pread(fd, buf + done, s->beside - done, off + done);

			if (n <= 0)
				die("pread beside the sample: %s", n ? strerror(errno) : "short");
			done += n;
		}
		shared->seconds += now() - start;
		shared->reads++;
		posix_fadvise(fd, off / PAGE * PAGE, s->beside, POSIX_FADV_DONTNEED);
	}
	_exit(0);
}

/* Returns once it is at it: its first read is over. */
void beside_start(const struct sample *s, const char *path, uint64_t from, uint64_t to)
{
	if (to < from + 2 * s->beside)
		die("%s is too small for requests of %llu bytes beside the sample's", path,
		    (unsigned long long)s->beside);
	if (!shared)
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("no memory: %s", strerror(errno));
	memset(shared, 0, sizeof(*shared));
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		read_on(s, path, from, to);
	}
	while (!shared->reads) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			die("the program beside the sample has ended");
		usleep(1000);
	}
	reads_before = shared->reads;
	seconds_before = shared->seconds;
}

/* What it has done since then, to the end of the read that it is in. */
void beside_stop(const struct sample *s, struct result *res)
{
	int status;

	shared->stop = true;
	if (waitpid(pid, &status, 0) != pid || status)
		die("the program beside the sample has failed");
	res->beside_bytes = (shared->reads - reads_before) * s->beside;
	res->beside_seconds = shared->seconds - seconds_before;
}
