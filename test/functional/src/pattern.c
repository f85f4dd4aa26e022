// SPDX-License-Identifier: GPL-2.0-only
/*
 * The content of every test file.
 *
 * The 64-bit word at file offset o is mix(seed, o / 8): any byte at any offset
 * is known, no two words are alike, and data from another offset, another file
 * (another seed) or a zeroed page cannot pass for the right data.
 *
 * A sparse file is cut in units of 64 KiB; a hash of the unit says whether it
 * holds data, is a hole, is preallocated but unwritten, or holds data only
 * between two odd offsets.  What is not data reads as zero.
 */
#include "mread.h"

static uint64_t mix(uint64_t seed, uint64_t word)
{
	uint64_t x = (word + 1) * 0x9E3779B97F4A7C15ULL ^ (seed << 17 | 0x5bd1);

	x ^= x >> 29;
	x *= 0xBF58476D1CE4E5B9ULL;
	return x ^ (x >> 32);
}

static uint8_t pat_byte(uint64_t off, uint64_t seed)
{
	return mix(seed, off / 8) >> (off % 8 * 8);
}

enum layout parse_layout(const char *text)
{
	if (!strcmp(text, "full"))
		return LAYOUT_FULL;
	if (!strcmp(text, "sparse"))
		return LAYOUT_SPARSE;
	die("mread: layout is full or sparse, not '%s'", text);
}

void pat_fill(void *buf, uint64_t off, size_t len, uint64_t seed)
{
	uint8_t *p = buf;

	for (; len && off % 8; len--, off++)
		*p++ = pat_byte(off, seed);
	for (; len >= 8; len -= 8, off += 8, p += 8) {
		uint64_t w = mix(seed, off / 8);

		memcpy(p, &w, 8);
	}
	for (; len; len--, off++)
		*p++ = pat_byte(off, seed);
}

/* Returns the index of the first wrong byte, or len. */
size_t pat_check(const void *buf, uint64_t off, size_t len, uint64_t seed)
{
	const uint8_t *p = buf;
	size_t i = 0;

	for (; i < len && (off + i) % 8; i++) {
		if (p[i] != pat_byte(off + i, seed))
			return i;
	}
	for (; i + 8 <= len; i += 8) {
		uint64_t w;

		memcpy(&w, p + i, 8);
		if (w != mix(seed, (off + i) / 8))
			break;
	}
	for (; i < len; i++) {
		if (p[i] != pat_byte(off + i, seed))
			return i;
	}
	return len;
}

size_t zero_check(const void *buf, size_t len)
{
	const uint8_t *p = buf;
	size_t i = 0;

	for (; i + 8 <= len; i += 8) {
		uint64_t w;

		memcpy(&w, p + i, 8);
		if (w)
			break;
	}
	for (; i < len; i++) {
		if (p[i])
			return i;
	}
	return len;
}

enum unit_class unit_class(uint64_t unit, uint64_t seed)
{
	switch (mix(seed ^ 0xC1A55, unit) >> 13 & 7) {
	case 4:
		return UNIT_HOLE;
	case 5:
	case 6:
		return UNIT_UNWRITTEN;
	case 7:
		return UNIT_ODD;
	default:
		return UNIT_DATA;
	}
}

/* Where in its unit the data lie; everything else is zero. */
static void unit_data(uint64_t unit, uint64_t seed, uint64_t *first, uint64_t *end)
{
	switch (unit_class(unit, seed)) {
	case UNIT_DATA:
		*first = 0;
		*end = UNIT;
		break;
	case UNIT_ODD:
		*first = ODD_FIRST;
		*end = ODD_END;
		break;
	default:
		*first = UNIT;
		*end = UNIT;
		break;
	}
}

static size_t sparse_check(const uint8_t *p, uint64_t off, size_t len, uint64_t seed)
{
	size_t i = 0;

	while (i < len) {
		uint64_t in = (off + i) % UNIT, first, end;
		size_t span, good;
		bool data;

		unit_data((off + i) / UNIT, seed, &first, &end);
		data = in >= first && in < end;
		span = (data ? end : in < first ? first : UNIT) - in;
		span = min64(span, len - i);
		good = data ? pat_check(p + i, off + i, span, seed)
			    : zero_check(p + i, span);
		i += good;
		if (good < span)
			return i;
	}
	return len;
}

size_t data_check(const void *buf, uint64_t off, size_t len, uint64_t seed,
		  enum layout layout)
{
	if (layout == LAYOUT_FULL)
		return pat_check(buf, off, len, seed);
	return sparse_check(buf, off, len, seed);
}

uint8_t data_byte(uint64_t off, uint64_t seed, enum layout layout)
{
	uint64_t first = 0, end = UNIT;

	if (layout == LAYOUT_SPARSE)
		unit_data(off / UNIT, seed, &first, &end);
	if (off % UNIT < first || off % UNIT >= end)
		return 0;
	return pat_byte(off, seed);
}

void data_verify(const char *what, const void *buf, uint64_t off, size_t len,
		 uint64_t seed, enum layout layout)
{
	size_t bad = data_check(buf, off, len, seed, layout);
	const uint8_t *p = buf;

	if (bad == len)
		return;
	die("%s: wrong byte at file offset %llu (%zu bytes into the read): got %02x, want %02x; "
	    "that page has %zu zero bytes from there on", what,
	    (unsigned long long)(off + bad), bad, p[bad],
	    data_byte(off + bad, seed, layout),
	    zero_check(p + bad, min64(len - bad, PAGE - (off + bad) % PAGE)));
}
