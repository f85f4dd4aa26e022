// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread address FILE --case NAME [--aside FILE] [--seed N]
 *
 * Buffers of every kind, each read into natively and through MARS, cold, warm and
 * over the end of the file: return value, errno, position, the buffer with what
 * lies around it, and what else there is to see must be the same.
 */
#include "outcome.h"
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define LEN (8 * MIB)
#define OFF (3 * MIB + 512)
#define HUGE_PAGE (2 * MIB)

struct kind;

struct buffer {
	const struct kind *kind;
	uint8_t *map, *p;	/* LEN bytes at p, guards before and behind */
	size_t map_len;
	const char *aside;	/* a file of another file system than the one read */
	int fd;
	struct timespec mtime;
	pthread_t handler;
	volatile int64_t faults, stop;
};

struct kind {
	const char *name;
	void (*make)(struct buffer *b);
	void (*look)(struct buffer *b, struct outcome *o);
	bool blind;		/* its content cannot be compared */
};

#define GUARD (64 * KIB)

static void plain(struct buffer *b, size_t align)
{
	b->map_len = LEN + 2 * GUARD + 2 * align;
	b->map = xmmap(b->map_len);
	b->p = b->map + GUARD;
	if (align)
		b->p = (uint8_t *)(((uintptr_t)b->p + align - 1) / align * align);
	pat_fill(b->map, 0, b->map_len, CANARY);
}

/* Replaces a piece of the buffer. */
static void put_map(uint8_t *at, size_t len, int prot, int flags, int fd, const char *what)
{
	if (mmap(at, len, prot, flags | MAP_FIXED, fd, 0) == MAP_FAILED)
		die("address: mapping %s: %s", what, strerror(errno));
}

#define RW (PROT_READ | PROT_WRITE)

static void make_protnone(struct buffer *b)
{
	plain(b, 0);
	if (mprotect(b->p + 5 * MIB + PAGE, PAGE, PROT_NONE))
		die("address: mprotect: %s", strerror(errno));
}

static void make_thp(struct buffer *b)
{
	plain(b, HUGE_PAGE);
	put_map(b->p, LEN, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, "huge pages");
	madvise(b->p, LEN, MADV_HUGEPAGE);
}

/* From 2 MiB on a file of hugetlbfs. */
static void make_hugetlb(struct buffer *b)
{
	plain(b, HUGE_PAGE);
	put_map(b->p + 2 * MIB, LEN - 2 * MIB, RW,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, "huge pages (vm.nr_hugepages)");
}

/* The same, but there are no pages for it: the third page is a bus error. */
static void make_hugetlb_none(struct buffer *b)
{
	plain(b, HUGE_PAGE);
	put_map(b->p + 2 * MIB, LEN - 2 * MIB, RW,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, "huge pages");
}

static void make_memfd(struct buffer *b, size_t size)
{
	plain(b, 0);
	b->fd = memfd_create("mread", MFD_CLOEXEC);
	if (b->fd < 0 || ftruncate(b->fd, size))
		die("address: memfd: %s", strerror(errno));
	put_map(b->p + MIB, LEN - MIB, RW, MAP_SHARED, b->fd, "a memfd");
}

static void make_shmem(struct buffer *b)
{
	make_memfd(b, LEN);
}

static void make_shmem_short(struct buffer *b)
{
	make_memfd(b, 3 * MIB + 100);
}

static void map_file(struct buffer *b, size_t size, int flags)
{
	struct stat st;

	plain(b, 0);
	b->fd = xopen(b->aside, O_RDWR);
	if (ftruncate(b->fd, 0) || ftruncate(b->fd, size) || fsync(b->fd))
		die("address: %s: %s", b->aside, strerror(errno));
	put_map(b->p + 5 * MIB, LEN - 5 * MIB, RW, flags, b->fd, b->aside);
	usleep(20000);	/* so that the clock of mtime has moved on */
	fstat(b->fd, &st);
	b->mtime = st.st_mtim;
}

static void make_filemap(struct buffer *b)
{
	map_file(b, LEN, MAP_SHARED);
}

static void make_filemap_short(struct buffer *b)
{
	map_file(b, MIB, MAP_SHARED);
}

static void make_filemap_private(struct buffer *b)
{
	map_file(b, LEN, MAP_PRIVATE);
}

/* Did the write through the mapping show in the file's times? */
static void look_filemap(struct buffer *b, struct outcome *o)
{
	struct stat st;

	fstat(b->fd, &st);
	o->extra = st.st_mtim.tv_sec != b->mtime.tv_sec ||
		   st.st_mtim.tv_nsec != b->mtime.tv_nsec;
}

/* 128 KiB of the physical address space where nothing is, as of a device. */
static void make_device(struct buffer *b)
{
	int fd = open("/dev/mem", O_RDWR | O_SYNC);

	plain(b, 0);
	if (fd < 0 || mmap(b->p + 2 * MIB, 128 * KIB, RW, MAP_SHARED | MAP_FIXED, fd,
			   0xA0000) == MAP_FAILED) {
		printf("this kernel does not map /dev/mem: %s\n", strerror(errno));
		exit(77);
	}
	close(fd);
}

static void make_pkey(struct buffer *b, unsigned int rights)
{
	int key = pkey_alloc(0, rights);

	plain(b, 0);
	if (key < 0) {
		printf("this CPU or kernel has no protection keys: %s\n", strerror(errno));
		exit(77);
	}
	if (pkey_mprotect(b->p + 4 * MIB, MIB, RW, key))
		die("address: pkey_mprotect: %s", strerror(errno));
	b->fd = -1 - key;
}

static void make_pkey_access(struct buffer *b)
{
	make_pkey(b, PKEY_DISABLE_ACCESS);
}

static void make_pkey_write(struct buffer *b)
{
	make_pkey(b, PKEY_DISABLE_WRITE);
}

static void look_pkey(struct buffer *b, struct outcome *o)
{
	pkey_free(-1 - b->fd);
	b->fd = -1;
	o->extra = 0;
}

/* Answers each fault with a page that can be told from others, and counts. */
static void *uffd_handler(void *arg)
{
	static uint8_t page[PAGE] __attribute__((aligned(4096)));
	struct buffer *b = arg;
	struct pollfd poll_fd = { .fd = b->fd, .events = POLLIN };
	struct uffd_msg msg;

	memset(page, 0x77, sizeof(page));
	while (!b->stop) {
		struct uffdio_copy copy = { .src = (uintptr_t)page, .len = PAGE };

		if (poll(&poll_fd, 1, 20) <= 0 || read(b->fd, &msg, sizeof(msg)) != sizeof(msg))
			continue;
		if (msg.event != UFFD_EVENT_PAGEFAULT)
			die("address: userfaultfd event %u", msg.event);
		b->faults++;
		copy.dst = msg.arg.pagefault.address / PAGE * PAGE;
		if (ioctl(b->fd, UFFDIO_COPY, &copy) && errno != EEXIST)
			die("address: UFFDIO_COPY: %s", strerror(errno));
	}
	return NULL;
}

/* From 1 MiB on every page is asked of the handler, but only when it is needed. */
static void make_uffd(struct buffer *b)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	plain(b, 0);
	put_map(b->p + MIB, LEN - MIB, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, "anonymous memory");
	madvise(b->p + MIB, LEN - MIB, MADV_NOHUGEPAGE);
	b->fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (b->fd < 0) {
		printf("this kernel has no userfaultfd: %s\n", strerror(errno));
		exit(77);
	}
	reg.range.start = (uintptr_t)b->p + MIB;
	reg.range.len = LEN - MIB;
	if (ioctl(b->fd, UFFDIO_API, &api) || ioctl(b->fd, UFFDIO_REGISTER, &reg))
		die("address: userfaultfd: %s", strerror(errno));
	b->faults = 0;
	b->stop = 0;
	if (pthread_create(&b->handler, NULL, uffd_handler, b))
		die("address: pthread_create");
}

static void look_uffd(struct buffer *b, struct outcome *o)
{
	struct uffdio_range range = { (uintptr_t)b->p + MIB, LEN - MIB };

	o->extra = b->faults;
	b->stop = 1;
	pthread_join(b->handler, NULL);
	ioctl(b->fd, UFFDIO_UNREGISTER, &range);
}

static const struct kind kinds[] = {
	{ "protnone", make_protnone, NULL, false },
	{ "thp", make_thp, NULL, false },
	{ "hugetlb", make_hugetlb, NULL, false },
	{ "hugetlb-none", make_hugetlb_none, NULL, false },
	{ "shmem", make_shmem, NULL, false },
	{ "shmem-short", make_shmem_short, NULL, false },
	{ "filemap", make_filemap, look_filemap, false },
	{ "filemap-short", make_filemap_short, look_filemap, false },
	{ "filemap-private", make_filemap_private, look_filemap, false },
	{ "device", make_device, NULL, true },
	{ "pkey-access", make_pkey_access, look_pkey, false },
	{ "pkey-write", make_pkey_write, look_pkey, false },
	{ "uffd", make_uffd, look_uffd, false },
};

static void attempt(int fd, struct buffer *b, uint64_t off, uint64_t seed, struct outcome *o)
{
	memset(o, 0, sizeof(*o));
	b->fd = -1;
	b->kind->make(b);
	if (lseek(fd, off, SEEK_SET) < 0)
		die("lseek: %s", strerror(errno));
	outcome_read(o, fd, b->p, LEN);
	if (b->kind->look)
		b->kind->look(b, o);
	if (!b->kind->blind) {
		outcome_hash(o, b->map, b->map_len);
		if (o->ret > 0)
			data_verify(b->kind->name, b->p, off, o->ret, seed, LAYOUT_FULL);
	}
	munmap(b->map, b->map_len);
	if (b->fd >= 0)
		close(b->fd);
}

static void one_case(int fd, const struct mars *m, struct buffer *b, uint64_t off,
		     enum residency res, uint64_t seed)
{
	struct outcome native, mars;
	struct counters before, after;
	struct rng rng = { 1 };
	char what[128];

	snprintf(what, sizeof(what), "address: %s, %s, at %llu", b->kind->name,
		 residency_name(res), (unsigned long long)off);
	mars_enable(m, false);
	cache_set(fd, off, LEN, res, &rng);
	attempt(fd, b, off, seed, &native);
	mars_enable(m, true);
	cache_set(fd, off, LEN, res, &rng);
	mars_read(m, &before);
	attempt(fd, b, off, seed, &mars);
	mars_read(m, &after);
	outcome_compare(what, &native, &mars);
	if (m->dir[0] && after.v[C_READS] == before.v[C_READS])
		die("%s: MARS did not do the read", what);
}

int cmd_address(int argc, char **argv)
{
	const char *name = NULL;
	uint64_t seed = 1, size;
	struct buffer b = { 0 };
	const struct opt opts[] = {
		{ .name = "case", .text = &name },
		{ .name = "aside", .text = &b.aside },
		{ .name = "seed", .size = &seed },
	};
	struct mars mars;
	int fd;

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1 || !name)
		die("usage: mread address FILE --case NAME [--aside FILE --seed N]");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!strcmp(name, kinds[i].name))
			b.kind = &kinds[i];
	}
	if (!b.kind)
		die("address: there is no case '%s'", name);
	fd = xopen(argv[0], O_RDONLY);
	size = file_size(fd);
	mars_init(&mars, fd);
	one_case(fd, &mars, &b, OFF, RES_COLD, seed);
	one_case(fd, &mars, &b, OFF, RES_WARM, seed);
	one_case(fd, &mars, &b, size - 4 * MIB - 77, RES_COLD, seed);
	return 0;
}
