// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a read did, taken down and compared.
 */
#include "outcome.h"

/* read() at the file's position, and once more for what is left. */
void outcome_read(struct outcome *o, int fd, uint8_t *p, size_t len)
{
	o->ret = read(fd, p, len);
	o->err = o->ret < 0 ? errno : 0;
	if (o->ret >= 0 && o->ret < (ssize_t)len) {
		o->again = read(fd, p + o->ret, len - o->ret);
		o->again_err = o->again < 0 ? errno : 0;
	}
	o->pos = lseek(fd, 0, SEEK_CUR);
}

/*
 * Through /proc/self/mem, which looks at pages whatever their protection; what is
 * not mapped counts as such.
 */
void outcome_hash(struct outcome *o, const uint8_t *map, size_t len)
{
	uint64_t word[PAGE / 8];
	int fd = xopen("/proc/self/mem", O_RDONLY);

	o->hash = 0x4D415253;
	for (size_t at = 0; at < len; at += PAGE) {
		if (pread(fd, word, PAGE, (uintptr_t)map + at) != (ssize_t)PAGE)
			memset(word, 0xA5, PAGE);
		for (size_t i = 0; i < ARRAY_SIZE(word); i++) {
			o->hash = (o->hash ^ word[i]) * 0x9E3779B97F4A7C15ULL;
			o->hash ^= o->hash >> 31;
		}
	}
	close(fd);
}

static void describe(const struct outcome *o, char *text, size_t size)
{
	snprintf(text, size,
		 "ret %zd errno %d, then %zd errno %d, position %lld, buffer %016llx, extra %lld, status %#x",
		 o->ret, o->err, o->again, o->again_err, (long long)o->pos,
		 (unsigned long long)o->hash, (long long)o->extra, o->status);
}

void outcome_compare(const char *what, const struct outcome *native, const struct outcome *mars)
{
	char n[256], m[256];

	describe(native, n, sizeof(n));
	describe(mars, m, sizeof(m));
	if (strcmp(n, m))
		die("%s: natively %s; with MARS %s", what, n, m);
	printf("%s: %s\n", what, n);
}
