// SPDX-License-Identifier: GPL-2.0-only
/*
 * Knobs: parsing, ranges, rules between knobs, and that a refused value
 * changes nothing.
 */
#include "unit.h"

static void parses(const char *text, uint64_t want)
{
	u64 value = 42;

	assert_int_equal(mars_parse_size(text, strlen(text), &value), 0);
	assert_int_equal(value, want);
}

static void refuses(const char *text, int err)
{
	u64 value = 42;

	if (mars_parse_size(text, strlen(text), &value) != err)
		fail_msg("'%s' was not refused with %d", text, err);
	assert_int_equal(value, 42);
}

static void test_parse_good(void **state)
{
	(void)state;
	parses("0", 0);
	parses("0\n", 0);
	parses("1048576", 1048576);
	parses("1K", 1024);
	parses("1k\n", 1024);
	parses("3M", 3145728);
	parses("3m", 3145728);
	parses("2G", 2147483648ULL);
	parses("2g", 2147483648ULL);
	parses("007", 7);
	parses("18446744073709551615", ~0ULL);
	parses("18014398509481983K", ~0ULL - 1023);
}

static void test_parse_bad(void **state)
{
	static const char * const bad[] = {
		"", "\n", " ", "K", "K\n", "\n\n", "-1", "+1", " 1", "1 ", "1K ",
		"1 K", "1KK", "1KB", "1.5M", "0x10", "junk", "1\n2", "1\n\n", "1T",
		"1e3", "K1", "--", "\t1", "1,000",
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		refuses(bad[i], -EINVAL);
}

static void test_parse_overflow(void **state)
{
	(void)state;
	refuses("18446744073709551616", -ERANGE);
	refuses("99999999999999999999999", -ERANGE);
	refuses("18014398509481984K", -ERANGE);
	refuses("17592186044416M", -ERANGE);
	refuses("17179869184G", -ERANGE);
}

/* No terminator is needed, and a NUL is no digit. */
static void test_parse_length(void **state)
{
	char *heap = test_malloc(2);
	u64 value = 0;

	(void)state;
	memcpy(heap, "12", 2);
	assert_int_equal(mars_parse_size(heap, 2, &value), 0);
	assert_int_equal(value, 12);
	assert_int_equal(mars_parse_size(heap, 1, &value), 0);
	assert_int_equal(value, 1);
	assert_int_equal(mars_parse_size("1\0", 2, &value), -EINVAL);
	test_free(heap);
}

static bool valid(const struct mars_config *c)
{
	/*
	 * + 1, for a compiler that knows that nothing is below 0. What stands for auto
	 * is only where a default says that it can be: see test_auto().
	 */
#define MARS_KNOB(name, kind, dflt, least, greatest) \
	if (c->name == MARS_AUTO ? (u64)(dflt) != MARS_AUTO : \
	    c->name + 1 < (u64)(least) + 1 || c->name > (u64)(greatest)) \
		return false;
#include <mars/knobs.def>
#undef MARS_KNOB
	return is_power_of_2(c->max_folio_bytes) && c->batch_bytes <= c->window_bytes &&
	       c->window_bytes % 4096 == 0 && c->batch_bytes % 4096 == 0;
}

static void test_defaults(void **state)
{
	struct mars_config c;

	(void)state;
	mars_config_init(&c);
	assert_true(valid(&c));
	assert_int_equal(c.min_read_bytes, 1 << 20);
	assert_int_equal(c.window_bytes, 64 << 20);
	assert_int_equal(c.batch_bytes, 1 << 20);
	assert_int_equal(c.max_folio_bytes, 2 << 20);
	assert_true(c.lookahead_bytes == MARS_AUTO);
}

static void test_get_matches_set(void **state)
{
	struct mars_config c;

	(void)state;
	mars_config_init(&c);
	assert_null(mars_config_set(&c, MARS_KNOB_window_bytes, 32 << 20));
	assert_int_equal(c.window_bytes, 32 << 20);
	assert_int_equal(mars_config_get(&c, MARS_KNOB_window_bytes), 32 << 20);
	assert_int_equal(mars_config_get(&c, MARS_NR_KNOBS), 0);
	assert_non_null(mars_config_set(&c, MARS_NR_KNOBS, 1));
}

/* Both ends of each range, taken alone, and one beyond. */
static void test_ranges(void **state)
{
	static const struct {
		u64 least, greatest;
	} range[] = {
#define MARS_KNOB(name, kind, dflt, least, greatest) { least, greatest },
#include <mars/knobs.def>
#undef MARS_KNOB
	};
	int k;

	(void)state;
	for (k = 0; k < MARS_NR_KNOBS; k++) {
		struct mars_config c, before;

		mars_config_init(&c);
		/* So that the rule between window and batch is not in the way. */
		c.window_bytes = k == MARS_KNOB_batch_bytes ? 1ULL << 30 : c.window_bytes;
		before = c;
		/* Below 0 lies what stands for auto. */
		if (range[k].least)
			assert_non_null(mars_config_set(&c, k, range[k].least - 1));
		assert_non_null(mars_config_set(&c, k, range[k].greatest + 1));
		assert_memory_equal(&c, &before, sizeof(c));
		assert_null(mars_config_set(&c, k, range[k].least));
		assert_null(mars_config_set(&c, k, range[k].greatest));
	}
}

/* auto is beyond the range, and only where the kind says so. */
static void test_auto(void **state)
{
	struct mars_config c;

	(void)state;
	mars_config_init(&c);
	assert_int_equal(c.copy_executors, 1);
	assert_null(mars_config_set(&c, MARS_KNOB_copy_executors, MARS_AUTO));
	assert_true(c.copy_executors == MARS_AUTO);
	assert_non_null(mars_config_set(&c, MARS_KNOB_copy_executors, MARS_AUTO - 1));
	assert_non_null(mars_config_set(&c, MARS_KNOB_window_bytes, MARS_AUTO));
	assert_null(mars_config_set(&c, MARS_KNOB_lookahead_bytes, 0));
	assert_int_equal(c.lookahead_bytes, 0);
	assert_null(mars_config_set(&c, MARS_KNOB_lookahead_bytes, MARS_AUTO));
	assert_true(c.lookahead_bytes == MARS_AUTO);
	assert_non_null(mars_config_set(&c, MARS_KNOB_lookahead_bytes, MARS_AUTO - 1));
}

static void test_words(void **state)
{
	static const char * const words[] = { "off", "ordered", "any" };
	u64 value = 77;
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		char line[16];

		snprintf(line, sizeof(line), "%s\n", words[i]);
		assert_int_equal(mars_knob_parse(MARS_KNOB_early_copy, line, strlen(line),
						 &value), 0);
		assert_int_equal(value, i);
		assert_string_equal(mars_knob_word(MARS_KNOB_early_copy, i), words[i]);
	}
	assert_int_equal(mars_knob_parse(MARS_KNOB_depth, "auto\n", 5, &value), 0);
	assert_int_equal(value, MARS_DEPTH_auto);
	assert_int_equal(mars_knob_parse(MARS_KNOB_depth, "fixed", 5, &value), 0);
	assert_int_equal(value, MARS_DEPTH_fixed);
	assert_string_equal(mars_knob_word(MARS_KNOB_depth, MARS_DEPTH_auto), "auto");
	assert_string_equal(mars_knob_word(MARS_KNOB_depth, MARS_DEPTH_fixed), "fixed");
	value = 77;
	assert_int_equal(mars_knob_parse(MARS_KNOB_depth, "off", 3, &value), -EINVAL);
	assert_int_equal(mars_knob_parse(MARS_KNOB_early_copy, "auto", 4, &value), -EINVAL);
	assert_int_equal(mars_knob_parse(MARS_KNOB_early_copy, "", 0, &value), -EINVAL);
	assert_int_equal(mars_knob_parse(MARS_KNOB_early_copy, "an", 2, &value), -EINVAL);
	assert_int_equal(mars_knob_parse(MARS_KNOB_early_copy, "anyy", 4, &value), -EINVAL);
	assert_int_equal(mars_knob_parse(MARS_KNOB_early_copy, "1", 1, &value), -EINVAL);
	assert_int_equal(mars_knob_parse(MARS_KNOB_fault_in, "2", 1, &value), -EINVAL);
	assert_int_equal(mars_knob_parse(MARS_KNOB_fault_in, "\n", 1, &value), -EINVAL);
	assert_int_equal(mars_knob_parse(MARS_KNOB_fault_in, "01", 2, &value), -EINVAL);
	assert_int_equal(mars_knob_parse(MARS_KNOB_batch_bytes, "1M\n\n", 4, &value), -EINVAL);
	assert_int_equal(value, 77);
	assert_int_equal(mars_knob_parse(MARS_KNOB_fault_in, "0\n", 2, &value), 0);
	assert_int_equal(value, 0);
	assert_int_equal(mars_knob_parse(MARS_KNOB_copy_executors, "2K", 2, &value), -EINVAL);
	assert_int_equal(mars_knob_parse(MARS_KNOB_copy_executors, "aut", 3, &value), -EINVAL);
	assert_int_equal(mars_knob_parse(MARS_KNOB_copy_executors, "auto1", 5, &value), -EINVAL);
	assert_int_equal(mars_knob_parse(MARS_KNOB_copy_executors, "", 0, &value), -EINVAL);
	assert_int_equal(value, 0);
	assert_int_equal(mars_knob_parse(MARS_KNOB_copy_executors, "auto\n", 5, &value), 0);
	assert_true(value == MARS_AUTO);
	assert_string_equal(mars_knob_word(MARS_KNOB_copy_executors, value), "auto");
	assert_int_equal(mars_knob_parse(MARS_KNOB_copy_executors, "12\n", 3, &value), 0);
	assert_int_equal(value, 12);
	assert_null(mars_knob_word(MARS_KNOB_copy_executors, value));
	assert_int_equal(mars_knob_parse(MARS_KNOB_submit_executors, "4\n", 2, &value), 0);
	assert_int_equal(value, 4);
	assert_int_equal(mars_knob_parse(MARS_KNOB_submit_executors, "4K", 2, &value), -EINVAL);
	assert_int_equal(mars_knob_parse(MARS_KNOB_submit_executors, "auto", 4, &value), 0);
	assert_true(value == MARS_AUTO);
	assert_int_equal(mars_knob_parse(MARS_KNOB_batch_bytes, "1M\n", 3, &value), 0);
	assert_int_equal(value, 1 << 20);
	assert_null(mars_knob_word(MARS_KNOB_batch_bytes, 1));
}

/* A size, with its suffix, or auto. */
static void test_auto_size(void **state)
{
	static const char * const bad[] = { "", "aut", "autoK", "auto1", "K", "1KB", "-1", "AUTO" };
	u64 value = 77;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(mars_knob_parse(MARS_KNOB_lookahead_bytes, bad[i],
						 strlen(bad[i]), &value), -EINVAL);
	assert_int_equal(value, 77);
	assert_int_equal(mars_knob_parse(MARS_KNOB_lookahead_bytes, "16M\n", 4, &value), 0);
	assert_int_equal(value, 16 << 20);
	assert_null(mars_knob_word(MARS_KNOB_lookahead_bytes, value));
	assert_int_equal(mars_knob_parse(MARS_KNOB_lookahead_bytes, "auto\n", 5, &value), 0);
	assert_true(value == MARS_AUTO);
	assert_string_equal(mars_knob_word(MARS_KNOB_lookahead_bytes, value), "auto");
}

static void test_rules(void **state)
{
	struct mars_config c;

	(void)state;
	mars_config_init(&c);
	assert_non_null(mars_config_set(&c, MARS_KNOB_batch_bytes, 65ULL << 20));
	assert_null(mars_config_set(&c, MARS_KNOB_batch_bytes, 64ULL << 20));
	assert_non_null(mars_config_set(&c, MARS_KNOB_window_bytes, 63ULL << 20));
	assert_non_null(mars_config_set(&c, MARS_KNOB_max_folio_bytes, 3 << 20));
	assert_non_null(mars_config_set(&c, MARS_KNOB_batch_bytes, (1 << 20) + 1));
	assert_non_null(mars_config_set(&c, MARS_KNOB_window_bytes, (64 << 20) + 512));
}

/* Whatever is written in whatever order, the configuration stays valid. */
static void test_random_writes(void **state)
{
	uint64_t rng = 1;
	unsigned int taken = 0;
	struct mars_config c;
	int i;

	(void)state;
	mars_config_init(&c);
	for (i = 0; i < 200000; i++) {
		struct mars_config before = c;
		enum mars_knob k = unit_random(&rng) % MARS_NR_KNOBS;
		u64 v = unit_random(&rng) >> (unit_random(&rng) % 64);

		if (unit_random(&rng) & 1)
			v &= ~4095ULL;
		if (unit_random(&rng) & 1)
			v = 1ULL << (unit_random(&rng) % 64);
		if (!mars_config_set(&c, k, v)) {
			taken++;
			assert_int_equal(mars_config_get(&c, k), v);
		} else {
			assert_memory_equal(&c, &before, sizeof(c));
		}
		assert_true(valid(&c));
	}
	assert_true(taken > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_good),
		cmocka_unit_test(test_parse_bad),
		cmocka_unit_test(test_parse_overflow),
		cmocka_unit_test(test_parse_length),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_get_matches_set),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_auto),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_auto_size),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_random_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
