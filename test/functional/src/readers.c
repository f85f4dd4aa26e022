// SPDX-License-Identifier: GPL-2.0-only
/*
 * mread readers FILE --nr N --disk MAJ:MIN [--chunk SIZE] [--seed N]
 * N processes read the same cold range at the same moment.  All must get the
 * right data, and the disk must have been asked for each sector once: a page
 * that another reader is filling is waited for, not read again.
 */
#include "mread.h"
#include <sys/sysmacros.h>

/* What the file system may read besides: extent maps, inodes. */
#define METADATA_SLACK (256 * KIB)

struct job {
	struct shared *sh;
	const char *path;
	uint64_t seed, chunk, size, nr;
};

static void read_all(void *arg)
{
	struct job *j = arg;
	int fd = xopen(j->path, O_RDONLY);
	uint8_t *buf = xmmap(j->chunk);

	__sync_fetch_and_add(&j->sh->changes, 1);
	while (!j->sh->stop)
		;
	for (uint64_t off = 0; off < j->size; off += j->chunk) {
		uint64_t want = min64(j->chunk, j->size - off);
		ssize_t n = pread(fd, buf, j->chunk, off);

		if (n != (ssize_t)want)
			die("readers: pread at %llu returned %zd, expected %llu",
			    (unsigned long long)off, n, (unsigned long long)want);
		data_verify("readers", buf, off, n, j->seed, LAYOUT_FULL);
	}
}

static dev_t parse_dev(const char *text)
{
	unsigned int maj, min;

	if (!text || sscanf(text, "%u:%u", &maj, &min) != 2)
		die("readers: --disk wants MAJOR:MINOR");
	return makedev(maj, min);
}

static void check(const struct job *j, const struct mars *m,
		  const struct counters *before, uint64_t was_ahead, uint64_t read_bytes)
{
	uint64_t chunks = (j->size + j->chunk - 1) / j->chunk, missed;
	uint64_t ahead = m->dir[0] ? mars_stat(m, "bytes_ahead") - was_ahead : 0;
	struct counters now;

	if (read_bytes < j->size || read_bytes > j->size + METADATA_SLACK)
		die("readers: the disk was read for %llu bytes, the file has %llu",
		    (unsigned long long)read_bytes, (unsigned long long)j->size);
	if (!m->dir[0])
		return;
	mars_expect(m, before, j->nr * chunks, j->nr * j->size, ANY, "readers");
	mars_read(m, &now);
	/*
	 * A page that two chunks share is missed by one and a hit for the other. What is
	 * brought in ahead counts in pages, of which the last is not full.
	 */
	missed = now.v[C_MISSED] - before->v[C_MISSED];
	if (missed + ahead + (chunks - 1) * PAGE < j->size || missed + ahead > j->size + PAGE)
		die("readers: bytes_missed rose by %llu and bytes_ahead by %llu, the file has %llu",
		    (unsigned long long)missed, (unsigned long long)ahead,
		    (unsigned long long)j->size);
}

int cmd_readers(int argc, char **argv)
{
	struct job j = { .seed = 1, .nr = 2, .chunk = 1024 * MIB };
	const char *disk = NULL;
	const struct opt opts[] = {
		{ .name = "nr", .size = &j.nr },
		{ .name = "seed", .size = &j.seed },
		{ .name = "chunk", .size = &j.chunk },
		{ .name = "disk", .text = &disk },
	};
	struct counters before;
	uint64_t sectors, ahead;
	struct mars mars;
	pid_t pid[64];
	int fd;

	if (parse_opts(argc, argv, opts, ARRAY_SIZE(opts)) != 1 || j.nr > ARRAY_SIZE(pid))
		die("usage: mread readers FILE --nr N --disk MAJ:MIN [--chunk SIZE]");
	j.path = argv[0];
	j.sh = shared_make();
	fd = xopen(j.path, O_RDONLY);
	j.size = file_size(fd);
	j.chunk = min64(j.chunk, j.size);
	mars_init(&mars, fd);
	cache_drop(fd);
	for (uint64_t i = 0; i < j.nr; i++)
		pid[i] = spawn(read_all, &j);
	while (j.sh->changes < j.nr)
		usleep(1000);
	mars_read(&mars, &before);
	ahead = mars.dir[0] ? mars_stat(&mars, "bytes_ahead") : 0;
	sectors = disk_sectors_read(parse_dev(disk));
	j.sh->stop = 1;
	for (uint64_t i = 0; i < j.nr; i++)
		reap(pid[i], "a reader");
	sectors = disk_sectors_read(parse_dev(disk)) - sectors;
	check(&j, &mars, &before, ahead, sectors * 512);
	printf("readers: %llu read the same cold %llu bytes, the disk read %llu\n",
	       (unsigned long long)j.nr, (unsigned long long)j.size,
	       (unsigned long long)sectors * 512);
	return 0;
}
