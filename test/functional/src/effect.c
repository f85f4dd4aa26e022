// SPDX-License-Identifier: GPL-2.0-only
/*
 * A reader that can be looked at, and ways of looking.
 */
#include "effect.h"
#include <sys/sysmacros.h>
#include <sys/wait.h>

#define PATIENCE 300	/* seconds, for what takes one */

const char * const call_names[CALL_NR] = {
	[CALL_READ] = "read", [CALL_PREAD] = "pread",
	[CALL_READV] = "readv", [CALL_PREADV2] = "preadv2",
};

ssize_t call_read(enum call how, int fd, uint8_t *buf, uint64_t off, uint64_t len)
{
	struct iovec iov[3] = {
		{ buf, len / 3 }, { buf + len / 3, len / 5 },
		{ buf + len / 3 + len / 5, len - len / 3 - len / 5 },
	};

	if ((how == CALL_READ || how == CALL_READV) && lseek(fd, off, SEEK_SET) < 0)
		die("lseek: %s", strerror(errno));
	switch (how) {
	case CALL_READ:
		return read(fd, buf, len);
	case CALL_READV:
		return readv(fd, iov, ARRAY_SIZE(iov));
	case CALL_PREADV2:
		return preadv2(fd, iov, ARRAY_SIZE(iov), off, 0);
	default:
		return pread(fd, buf, len, off);
	}
}

enum turn { TURN_IDLE, TURN_READ, TURN_QUIT };

struct reader_state {
	volatile enum turn turn;
	struct order order;
	double seconds;
};

static void obey(const struct reader *r, struct reader_state *s, const int *fd, uint8_t *buf)
{
	const struct order *o = &s->order;
	uint64_t chunk = o->chunk ? o->chunk : o->len;
	double start;

	posix_fadvise(fd[o->file], 0, 0, o->advice);
	s->seconds = 0;
	for (uint64_t at = o->off; at < o->off + o->len; at += chunk) {
		uint64_t want = min64(chunk, o->off + o->len - at);
		ssize_t n;

		start = now_s();
		n = call_read(o->how, fd[o->file], buf, at, want);
		s->seconds += now_s() - start;
		if (n != (ssize_t)want)
			die("%s of %llu bytes at %llu of %s returned %zd (%s)",
			    call_names[o->how], (unsigned long long)want, (unsigned long long)at,
			    r->path[o->file], n, n < 0 ? strerror(errno) : "short");
		data_verify(call_names[o->how], buf, at, n, r->seed, LAYOUT_FULL);
	}
}

static void reader_main(void *arg)
{
	struct reader *r = arg;
	struct reader_state *s = r->state;
	int fd[READER_FILES];
	uint8_t *buf;

	if (r->group)
		group_put(r->group, "cgroup.procs", "0");
	for (int i = 0; i < READER_FILES; i++)
		fd[i] = r->path[i] ? xopen(r->path[i], O_RDONLY) : -1;
	buf = xmmap(r->most);
	memset(buf, 1, r->most);
	for (s->turn = TURN_IDLE; s->turn != TURN_QUIT; usleep(1000)) {
		if (s->turn != TURN_READ)
			continue;
		obey(r, s, fd, buf);
		s->turn = TURN_IDLE;
	}
}

/* Until it has done what it was told. It may fail, and then says so itself. */
static void reader_wait(struct reader *r)
{
	double end = now_s() + PATIENCE;
	int status;

	while (r->state->turn != TURN_IDLE) {
		if (waitpid(r->pid, &status, WNOHANG) == r->pid)
			die("the reader ended with wait status %#x", status);
		if (now_s() > end)
			die("the reader did not come back in %d s", PATIENCE);
		usleep(1000);
	}
}

void reader_start(struct reader *r)
{
	r->state = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r->state == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	r->state->turn = TURN_READ;	/* until it is ready */
	r->state->order.len = 0;
	r->pid = spawn(reader_main, r);
	reader_wait(r);
}

void reader_begin(struct reader *r, const struct order *o)
{
	if ((o->chunk ? o->chunk : o->len) > r->most)
		die("the reader's buffer is too small");
	r->state->order = *o;
	__sync_synchronize();
	r->state->turn = TURN_READ;
}

/* Returns the seconds that the calls took. */
double reader_end(struct reader *r)
{
	reader_wait(r);
	return r->state->seconds;
}

double reader_do(struct reader *r, const struct order *o)
{
	reader_begin(r, o);
	return reader_end(r);
}

/* Until it is in the middle of a read, asleep. */
void reader_sleeps(const struct reader *r)
{
	double end = now_s() + PATIENCE;

	while (!process_sleeps(r->pid)) {
		if (now_s() > end)
			die("the reader does not sleep within %d s", PATIENCE);
		usleep(1000);
	}
}

void reader_stop(struct reader *r)
{
	reader_wait(r);
	r->state->turn = TURN_QUIT;
	reap(r->pid, "the reader");
	munmap(r->state, PAGE);
}

static uint64_t field(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	if (!at)
		die("/proc/PID/io has no %s", key);
	return strtoull(at + strlen(key), NULL, 10);
}

/* One read() of the counters; returns its length, which counts for a task's own. */
size_t proc_io(pid_t pid, struct proc_io *io)
{
	char path[64], text[1024];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/io", pid);
	fd = xopen(path, O_RDONLY);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		die("%s: %s", path, strerror(errno));
	text[n] = 0;
	io->rchar = field(text, "rchar: ");
	io->wchar = field(text, "wchar: ");
	io->syscr = field(text, "syscr: ");
	io->syscw = field(text, "syscw: ");
	io->read_bytes = field(text, "\nread_bytes: ");
	io->write_bytes = field(text, "\nwrite_bytes: ");
	io->cancelled = field(text, "cancelled_write_bytes: ");
	return n;
}

/* Opens the file that is looked at from outside; MARS is off for now. */
int observe(const char *path, dev_t *dev, struct mars *m)
{
	int fd = xopen(path, O_RDONLY);
	struct stat st;

	fstat(fd, &st);
	*dev = st.st_dev;
	mars_init(m, fd);
	mars_enable(m, false);
	return fd;
}

static unsigned int in_flight(dev_t dev)
{
	unsigned int reads, writes;
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/inflight", major(dev), minor(dev));
	f = fopen(path, "r");
	if (!f || fscanf(f, "%u %u", &reads, &writes) != 2)
		die("%s: cannot read it", path);
	fclose(f);
	return reads + writes;
}

/*
 * Until no request is under way: read-ahead goes on when its reader has returned. What
 * is queued and not with the driver yet is not counted, so it must have stayed quiet.
 */
void disk_settle(dev_t dev)
{
	double end = now_s() + PATIENCE;
	uint64_t sectors = 0;

	for (int quiet = 0; quiet < 4; usleep(5000)) {
		uint64_t now = disk_sectors_read(dev);

		quiet = !in_flight(dev) && now == sectors ? quiet + 1 : 0;
		sectors = now;
		if (now_s() > end)
			die("the disk does not come to rest in %d s", PATIENCE);
	}
}

void view_take(struct view *v, int fd)
{
	uint64_t nr = (file_size(fd) + PAGE - 1) / PAGE;
	unsigned char *vec = malloc(nr);
	void *map = mmap(NULL, nr * PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED || !vec || mincore(map, nr * PAGE, vec))
		die("mincore: %s", strerror(errno));
	memset(v, 0, sizeof(*v));
	for (uint64_t i = 0; i < nr; i++) {
		v->hash = (v->hash ^ (vec[i] & 1)) * 0x9E3779B97F4A7C15ULL;
		v->hash ^= v->hash >> 31;
		if (!(vec[i] & 1))
			continue;
		v->resident += PAGE;
		v->end = (i + 1) * PAGE;
	}
	munmap(map, nr * PAGE);
	free(vec);
}
