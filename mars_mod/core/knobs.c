// SPDX-License-Identifier: GPL-2.0-only
/*
 * Knobs: their ranges, the rules between them, and sizes as people write them.
 *
 * A configuration is validated as a whole before it is published, so a read
 * can trust every relation between the knobs it started with.
 */
#include <mars/core.h>

enum knob_kind {
	KIND_size,
	KIND_auto_size,
	KIND_choice,
	KIND_toggle,
	KIND_count,
};

struct knob_range {
	enum knob_kind kind;
	u64 dflt;
	u64 least;
	u64 greatest;
};

static const struct knob_range ranges[MARS_NR_KNOBS] = {
#define MARS_KNOB(name, kind, dflt, least, greatest) \
	[MARS_KNOB_##name] = { KIND_##kind, dflt, least, greatest },
#include <mars/knobs.def>
#undef MARS_KNOB
};

static const char * const early_copy_words[] = {
#define MARS_EARLY_COPY(word) #word,
#include <mars/knobs.def>
#undef MARS_EARLY_COPY
};

static const char * const depth_words[] = {
#define MARS_DEPTH(word) #word,
#include <mars/knobs.def>
#undef MARS_DEPTH
};

static const char *choice_word(enum mars_knob knob, u64 value)
{
	return knob == MARS_KNOB_depth ? depth_words[value] : early_copy_words[value];
}

static u64 *knob_field(struct mars_config *config, enum mars_knob knob)
{
	switch (knob) {
#define MARS_KNOB(name, kind, dflt, least, greatest) \
	case MARS_KNOB_##name: \
		return &config->name;
#include <mars/knobs.def>
#undef MARS_KNOB
	default:
		return NULL;
	}
}

/**
 * mars_config_init() - fill in the defaults of knobs.def
 * @config: configuration to fill
 *
 * Context: Any.
 */
void mars_config_init(struct mars_config *config)
{
	int i;

	for (i = 0; i < MARS_NR_KNOBS; i++)
		*knob_field(config, (enum mars_knob)i) = ranges[i].dflt;
}

/**
 * mars_config_get() - read one knob
 * @config: configuration to read
 * @knob: which knob
 *
 * Context: Any.
 * Return: The knob's value in its own unit; 0 for a knob that does not exist.
 */
u64 mars_config_get(const struct mars_config *config, enum mars_knob knob)
{
	const u64 *field = knob_field((struct mars_config *)config, knob);

	return field ? *field : 0;
}

static bool is_auto(enum mars_knob knob, u64 value)
{
	return value == MARS_AUTO &&
	       (ranges[knob].kind == KIND_count || ranges[knob].kind == KIND_auto_size);
}

/* The rules that tie knobs to each other; NULL when all of them hold. */
static const char *config_check(const struct mars_config *config)
{
	if (!is_power_of_2(config->max_folio_bytes))
		return "max_folio_bytes must be a power of two";
	if (config->window_bytes % 4096 || config->batch_bytes % 4096)
		return "window_bytes and batch_bytes must be multiples of 4096";
	if (config->batch_bytes > config->window_bytes)
		return "batch_bytes must not exceed window_bytes";
	return NULL;
}

/**
 * mars_config_set() - change one knob, or nothing
 * @config: configuration to change; left as it was when the value is refused
 * @knob: which knob
 * @value: new value in the knob's unit
 *
 * Context: Any.
 * Return: NULL on success, else why the value was refused, in words.
 */
const char *mars_config_set(struct mars_config *config, enum mars_knob knob, u64 value)
{
	struct mars_config next = *config;
	u64 *field = knob_field(&next, knob);
	const char *why;

	if (!field)
		return "no such knob";
	if (value < ranges[knob].least)
		return "below the least value that the ABI document gives";
	if (value > ranges[knob].greatest && !is_auto(knob, value))
		return "above the greatest value that the ABI document gives";
	*field = value;
	why = config_check(&next);
	if (!why)
		*config = next;
	return why;
}

static unsigned int suffix_shift(char c)
{
	switch (c) {
	case 'K':
	case 'k':
		return 10;
	case 'M':
	case 'm':
		return 20;
	case 'G':
	case 'g':
		return 30;
	default:
		return 0;
	}
}

/**
 * mars_parse_size() - parse a size in bytes with an optional K, M or G
 * @text: decimal digits, at most one suffix, at most one trailing newline
 * @len: bytes in @text; no terminator is needed
 * @value: the size in bytes; untouched on error
 *
 * Stricter than memparse(): no sign, no blanks, no hexadecimal, nothing after
 * the suffix.
 *
 * Context: Any.
 * Return: 0, -EINVAL for anything that is not a size, -ERANGE beyond 64 bits.
 */
int mars_parse_size(const char *text, size_t len, u64 *value)
{
	unsigned int shift = 0;
	u64 sum = 0;
	size_t i;

	if (len && text[len - 1] == '\n')
		len--;
	if (len)
		shift = suffix_shift(text[len - 1]);
	if (shift)
		len--;
	if (!len)
		return -EINVAL;
	for (i = 0; i < len; i++) {
		u64 digit = (u64)(unsigned char)text[i] - '0';

		if (digit > 9)
			return -EINVAL;
		if (sum > (~0ULL - digit) / 10)
			return -ERANGE;
		sum = sum * 10 + digit;
	}
	if (sum > ~0ULL >> shift)
		return -ERANGE;
	*value = sum << shift;
	return 0;
}

static int parse_word(enum mars_knob knob, const char *text, size_t len, u64 *value)
{
	u64 i;

	if (len && text[len - 1] == '\n')
		len--;
	for (i = ranges[knob].least; i <= ranges[knob].greatest; i++) {
		const char *word = choice_word(knob, i);

		if (len == strlen(word) && !memcmp(text, word, len)) {
			*value = i;
			return 0;
		}
	}
	return -EINVAL;
}

static bool parse_auto(const char *text, size_t len, u64 *value)
{
	if (len && text[len - 1] == '\n')
		len--;
	if (len != strlen("auto") || memcmp(text, "auto", len))
		return false;
	*value = MARS_AUTO;
	return true;
}

/**
 * mars_parse_number() - parse a number that is no size
 * @text: decimal digits, at most one trailing newline
 * @len: bytes in @text; no terminator is needed
 * @value: the number; untouched on error
 *
 * Context: Any.
 * Return: 0, -EINVAL for anything but digits, -ERANGE beyond 64 bits.
 */
int mars_parse_number(const char *text, size_t len, u64 *value)
{
	if (len && text[len - 1] == '\n')
		len--;
	/* No suffix, and no second newline. */
	if (!len || text[len - 1] < '0' || text[len - 1] > '9')
		return -EINVAL;
	return mars_parse_size(text, len, value);
}

/**
 * mars_parse_switch() - parse "0" or "1", and nothing else
 * @text: what was written, at most one trailing newline
 * @len: bytes in @text; no terminator is needed
 * @value: 0 or 1; untouched on error
 *
 * Context: Any.
 * Return: 0 or -EINVAL.
 */
int mars_parse_switch(const char *text, size_t len, u64 *value)
{
	if (len == 2 && text[1] == '\n')
		len--;
	if (len != 1 || (*text != '0' && *text != '1'))
		return -EINVAL;
	*value = *text - '0';
	return 0;
}

/**
 * mars_knob_parse() - parse a knob's value as its kind asks for
 * @knob: which knob
 * @text: what was written, at most one trailing newline
 * @len: bytes in @text; no terminator is needed
 * @value: the value in the knob's unit; untouched on error
 *
 * Context: Any.
 * Return: 0, -EINVAL, or -ERANGE for a number beyond 64 bits.
 */
int mars_knob_parse(enum mars_knob knob, const char *text, size_t len, u64 *value)
{
	switch (ranges[knob].kind) {
	case KIND_choice:
		return parse_word(knob, text, len, value);
	case KIND_toggle:
		return mars_parse_switch(text, len, value);
	case KIND_count:
		if (parse_auto(text, len, value))
			return 0;
		return mars_parse_number(text, len, value);
	case KIND_auto_size:
		if (parse_auto(text, len, value))
			return 0;
		return mars_parse_size(text, len, value);
	default:
		return mars_parse_size(text, len, value);
	}
}

/**
 * mars_knob_word() - the word of a choice, or of a count that is automatic
 * @knob: which knob
 * @value: its value
 *
 * Context: Any.
 * Return: The word, or NULL for a knob whose value is shown as a number.
 */
const char *mars_knob_word(enum mars_knob knob, u64 value)
{
	if (is_auto(knob, value))
		return "auto";
	return ranges[knob].kind == KIND_choice ? choice_word(knob, value) : NULL;
}
