// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The whole table of sources under random load, against an exact model that has a bucket for each source: exact where
 * docs/design.md says so, and no worse than it says where the table is overfull. The hash of a source is taken as
 * random, which test_hash.c is about.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/rate.h"
#include "tests/random.h"

#define SOURCES_MAX 1000000
#define INTERVAL 3906250 /* ticks: 1/s */
#define BURST 3

static struct synhold_source_set *table;
static uint64_t *tat; /* the model: of each source, its theoretical arrival time in ticks */
static uint8_t *in_set;
static uint64_t random_state;

static uint64_t draw(void)
{
	return random_draw(&random_state);
}

static uint64_t hash_of(uint32_t source)
{
	uint64_t x = (source + 1) * 0x9e3779b97f4a7c15ULL; /* splitmix64 */

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

struct outcome {
	uint64_t asked, refused; /* refused: what the model refuses */
	uint64_t let_through;    /* of those, admitted by the table */
	uint64_t turned_away;    /* admitted by the model, refused by the table */
	uint64_t crowded;        /* sources in sets that more than eight share */
};

/* `events` SYNs of random sources out of so many within a second, so that nearly all have debts at once. */
static struct outcome storm(uint32_t sources, uint32_t events)
{
	struct outcome out = {0};
	uint64_t now = 1ULL << 39;
	uint32_t i;

	memset(table, 0, sizeof(*table) * SYNHOLD_SOURCE_SETS);
	memset(tat, 0, sizeof(*tat) * SOURCES_MAX);
	memset(in_set, 0, SYNHOLD_SOURCE_SETS);
	for (i = 0; i < sources; i++)
		in_set[rate_source_set(hash_of(i))]++;
	for (i = 0; i < sources; i++)
		out.crowded += in_set[rate_source_set(hash_of(i))] > SYNHOLD_SOURCE_WAYS;
	for (i = 0; i < events; i++) {
		uint32_t who = (uint32_t)(draw() % sources), slot;
		uint64_t debt = rate_debt(tat[who], now), hash = hash_of(who);
		__u64 taken, wait;
		int exact = rate_conforms(debt, INTERVAL, BURST * INTERVAL);
		int is = rate_source_take(&table[rate_source_set(hash)], hash, now, INTERVAL, BURST * INTERVAL, &slot,
					  &taken, &wait);

		out.asked++;
		out.refused += !exact;
		out.let_through += is && !exact;
		out.turned_away += !is && exact;
		if (is ||
		    exact) /* what the table admits is charged in the model as well, up to all of the debt there is */
			tat[who] = now + (exact ? debt + INTERVAL : BURST * INTERVAL);
		now += INTERVAL / events;
	}
	print_message(
		"%u sources, %u SYNs: %.3f%% of sources in crowded sets, %.3f%% of the refusals missed, %llu wrong\n",
		sources, events, 100.0 * (double)out.crowded / sources,
		100.0 * (double)out.let_through / (double)out.refused, (unsigned long long)out.turned_away);
	return out;
}

static int setup(void **state)
{
	(void)state;
	random_state = 88172645463325252ULL;
	table = calloc(SYNHOLD_SOURCE_SETS, sizeof(*table));
	tat = calloc(SOURCES_MAX, sizeof(*tat));
	in_set = calloc(SYNHOLD_SOURCE_SETS, 1);
	return table && tat && in_set ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	free(table);
	free(tat);
	free(in_set);
	return 0;
}

/* Shares of the sources that are in sets with more than eight: of a Poisson distribution. */
static double crowded(double sources)
{
	double mean = sources / SYNHOLD_SOURCE_SETS, p = exp(-mean), sum = 0;
	int k;

	for (k = 0; k < SYNHOLD_SOURCE_WAYS; k++) { /* a source with at most seven others */
		sum += p;
		p *= mean / (k + 1);
	}
	return 1 - sum;
}

static void exact_up_to_what_the_table_takes(void **state)
{
	struct outcome out = storm(100000, 400000);

	(void)state;
	assert_true(out.refused > 50000);
	/* one source in a million shares its set with a ninth */
	assert_true((double)out.crowded <= 100000 * crowded(100000) + 30);
	assert_true(out.let_through <= out.crowded * 6);
	assert_int_equal(out.turned_away, 0);
}

/* Beyond, it errs on the side of the client, no more often than sources are crowded. */
static void errors_are_as_rare_as_crowded_sets(void **state)
{
	static const uint32_t sources[] = {250000, 1000000};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		struct outcome out = storm(sources[i], sources[i] * 4);
		double share = crowded(sources[i]);

		assert_true(out.refused > sources[i] / 2);
		assert_true(fabs((double)out.crowded / sources[i] - share) < 0.01);
		assert_true((double)out.let_through <= (share + 0.01) * (double)out.refused);
		/* two in one set with one tag are one source to the table: 7 in 2^24 of those in a full set */
		assert_true(out.turned_away <= 30);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_up_to_what_the_table_takes),
		cmocka_unit_test(errors_are_as_rare_as_crowded_sets),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
