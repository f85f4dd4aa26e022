// SPDX-License-Identifier: GPL-2.0-only
/*
 * The plan: lines "round NAME" and "sample KEY=VALUE ...", see parse_pair() for the keys.
 * Results go to standard output, ended by "end" so that a run cut short shows.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rdbench.h"

static enum mars_state parse_state(const char *v)
{
	if (!strcmp(v, "absent"))
		return MARS_ABSENT;
	if (!strcmp(v, "off"))
		return MARS_OFF;
	if (!strcmp(v, "other"))
		return MARS_OTHER;
	if (!strcmp(v, "on"))
		return MARS_ON;
	die("plan: mars=%s is none of absent, off, other, on", v);
}

static enum layout parse_layout(const char *v)
{
	if (!strcmp(v, "scattered"))
		return LAYOUT_SCATTERED;
	if (!strcmp(v, "prefix"))
		return LAYOUT_PREFIX;
	if (!strcmp(v, "suffix"))
		return LAYOUT_SUFFIX;
	die("plan: hit_layout=%s is none of scattered, prefix, suffix", v);
}

static void parse_buffer(struct sample *s, const char *v)
{
	s->small_pages = !strcmp(v, "fresh-4k");
	s->fresh = s->small_pages || !strcmp(v, "fresh");
	if (!s->fresh && strcmp(v, "reused"))
		die("plan: buffer=%s is none of reused, fresh, fresh-4k", v);
}

static void parse_knob(struct sample *s, const char *name, const char *v)
{
	struct knob *k = &s->knobs[s->nr_knobs];

	if (s->nr_knobs++ == MAX_KNOBS)
		die("plan: more than %d knobs in one sample", MAX_KNOBS);
	snprintf(k->name, sizeof(k->name), "%s", name);
	snprintf(k->value, sizeof(k->value), "%s", v);
}

static void parse_pair(struct sample *s, const char *key, const char *v)
{
	if (!strcmp(key, "id"))
		s->id = atol(v);
	else if (!strcmp(key, "ra"))
		snprintf(s->ra, sizeof(s->ra), "%s", v);
	else if (!strcmp(key, "mars"))
		s->mars = parse_state(v);
	else if (!strcmp(key, "pattern"))
		s->sequential = !strcmp(v, "sequential");
	else if (!strcmp(key, "buffer"))
		parse_buffer(s, v);
	else if (!strcmp(key, "op"))
		snprintf(s->op, sizeof(s->op), "%s", v);
	else if (!strcmp(key, "size"))
		s->size = parse_size(v);
	else if (!strcmp(key, "total"))
		s->total = parse_size(v);
	else if (!strcmp(key, "seed"))
		s->seed = strtoull(v, NULL, 10);
	else if (!strcmp(key, "hit_pct"))
		s->hit_pct = atoi(v);
	else if (!strcmp(key, "hit_layout"))
		s->layout = parse_layout(v);
	else if (!strcmp(key, "hit_run"))
		s->hit_run = parse_size(v);
	else if (!strcmp(key, "beside"))
		s->beside = parse_size(v);
	else if (!strncmp(key, "knob.", 5))
		parse_knob(s, key + 5, v);
	else
		die("plan: nothing is known about \"%s\"", key);
}

static void parse_sample(struct sample *s, char *line)
{
	char *word, *save, *eq;

	memset(s, 0, sizeof(*s));
	strcpy(s->ra, "default");
	strcpy(s->op, "pread");
	s->hit_run = 64 << 10;
	for (word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		eq = strchr(word, '=');
		if (!eq)
			die("plan: \"%s\" is not KEY=VALUE", word);
		*eq = '\0';
		parse_pair(s, word, eq + 1);
	}
	if (!s->size || s->size % PAGE || s->total < s->size || s->hit_run % PAGE ||
	    s->beside % PAGE)
		die("plan: sample %ld: sizes must be multiples of 4096, total at least size",
		    s->id);
}

/*
 * "round N" lines mark where a run may end early, when its time is used up or the next
 * round, going by the longest, would overrun it: an unfinished round would compare
 * configurations over different offsets. The first "need" rounds run whatever the time.
 */
static bool round_fits(int number, int need, double elapsed, double budget)
{
	static double last_start, longest;

	if (elapsed - last_start > longest)
		longest = elapsed - last_start;
	last_start = elapsed;
	return number < need || budget <= 0 || elapsed + longest <= budget;
}

static void run_line(char *line, const struct target *t)
{
	struct result r = { .fault_in = -1 };
	struct sample s;
	int i;

	parse_sample(&s, line);
	if (!strcmp(s.op, "copy"))
		copy_run(&s, &r);
	else if (t)
		sample_run(&s, t, &r);
	else
		die("plan: sample %ld is not of op=copy, but no file was given", s.id);
	printf("%ld,%llu,%.9f,%llu,%lld,%llu", s.id, (unsigned long long)r.bytes,
	       r.seconds, (unsigned long long)r.reads, r.device.sectors,
	       (unsigned long long)r.resident_pages);
	for (i = 0; i < NR_COUNTERS; i++)
		printf(",%lld", r.mars[i]);
	printf(",%.9f,%lld,%lld,%llu,%.9f\n", r.fault_in, r.device.requests, r.device.ms,
	       (unsigned long long)r.beside_bytes, r.beside_seconds);
	fflush(stdout);
}

void plan_run(const char *plan, const struct target *t, double budget, int need)
{
	FILE *f = fopen(plan, "r");
	double start = now();
	char line[2048];
	int rounds = 0;

	if (!f)
		die("cannot read the plan %s: %s", plan, strerror(errno));
	puts("id,bytes,seconds,reads,sectors_read,resident_pages,mars_reads,mars_bytes_missed,mars_bytes,mars_bytes_masked,mars_bytes_out_of_order,mars_bytes_faulted_in,fault_in_seconds,device_requests,device_ms,beside_bytes,beside_seconds");
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "sample ", 7)) {
			run_line(line + 7, t);
			continue;
		}
		if (strncmp(line, "round ", 6))
			die("plan: a line is neither \"round\" nor \"sample\": %s", line);
		if (!round_fits(rounds++, need, now() - start, budget))
			break;
		fprintf(stderr, "rdbench: %s, %.0f s\n", line, now() - start);
	}
	fclose(f);
	puts("end");
	fprintf(stderr, "rdbench: done in %.0f s\n", now() - start);
}
