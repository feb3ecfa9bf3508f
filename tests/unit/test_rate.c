// SPDX-License-Identifier: GPL-2.0-or-later
/* Rate arithmetic against exact models: the GCRA of a service, and the sets of sources with their 40-bit clock. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/rate.h"

#define SECOND 1000000000ULL
#define CIRCLE (1ULL << RATE_TAG_SHIFT) /* ticks until the per-source clock is where it was */

static uint64_t random_state = 1;

static uint64_t rnd(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % below;
}

/* The leaky bucket in its other form (ITU-T I.371, A.2), in which the level is kept instead of a time. */
struct bucket {
	uint64_t level, last;
};

static bool bucket_take(struct bucket *bucket, uint64_t now, uint64_t interval, uint64_t limit)
{
	uint64_t leaked = now - bucket->last, level = bucket->level > leaked ? bucket->level - leaked : 0;

	if (level + interval > limit)
		return false;
	bucket->level = level + interval;
	bucket->last = now;
	return true;
}

static void service_rate_equals_the_leaky_bucket(void **state)
{
	int round, i;

	(void)state;
	for (round = 0; round < 300; round++) {
		uint64_t interval = 1 + rnd(round % 2 ? SECOND : 2000), burst = 1 + rnd(round % 3 ? 50 : 2),
			 limit = interval * burst;
		uint64_t now = rnd(1ULL << 40), tat = 0, retry = 0;
		struct bucket model = {0};

		model.last = now;
		for (i = 0; i < 3000; i++) {
			bool expected, took;
			__u64 next = tat, again = 0;

			now += rnd(4) ? rnd(interval) : rnd(3 * limit + 1);
			expected = bucket_take(&model, now, interval, limit);
			took = rate_take(&next, now, interval, limit, &again);
			assert_int_equal(took, expected);
			tat = next;
			retry = again;
			if (took)
				continue;
			/* the time to come again is exact to the nanosecond */
			assert_true(retry > now);
			next = tat;
			assert_false(rate_take(&next, retry - 1, interval, limit, &again));
			assert_true(rate_take(&next, retry, interval, limit, &again));
		}
	}
}

/* Over any time t at most burst + rate * t, whatever the arrivals: counted from each admission to each later one. */
static void no_interval_has_more_than_burst_and_rate(void **state)
{
	enum { EVENTS = 600 };
	int round, i, k;

	(void)state;
	for (round = 0; round < 20; round++) {
		uint64_t interval = 1 + rnd(100000), burst = 1 + rnd(20), now = SECOND, at[EVENTS];
		__u64 tat = 0, retry = 0;
		int admitted = 0;

		while (admitted < EVENTS) {
			now += rnd(2 * interval / burst + 2);
			if (rate_take(&tat, now, interval, interval * burst, &retry))
				at[admitted++] = now;
		}
		for (i = 0; i < EVENTS; i++)
			for (k = i; k < EVENTS; k++)
				assert_true((uint64_t)(k - i + 1) <= burst + (at[k] - at[i]) / interval);
	}
}

static void what_is_given_back_was_never_taken(void **state)
{
	__u64 tat = 0, retry = 0, before;
	int i;

	(void)state;
	for (i = 0; i < 5; i++)
		assert_true(rate_take(&tat, SECOND, 1000, 10000, &retry));
	before = tat;
	for (i = 0; i < 100; i++) {
		assert_true(rate_take(&tat, SECOND, 1000, 10000, &retry));
		rate_return(&tat, 1000);
	}
	assert_int_equal(tat, before);
	/* two take, the first gives back: the second's stays */
	assert_true(rate_take(&tat, SECOND, 1000, 10000, &retry));
	assert_true(rate_take(&tat, SECOND, 1000, 10000, &retry));
	rate_return(&tat, 1000);
	assert_int_equal(tat, before + 1000);
	for (i = 0; i < 4; i++)
		assert_true(rate_take(&tat, SECOND, 1000, 10000, &retry));
	assert_false(rate_take(&tat, SECOND, 1000, 10000, &retry));
}

static uint64_t source_of(uint64_t tag)
{
	return tag << RATE_TAG_SHIFT;
}

static bool take(struct synhold_source_set *set, uint64_t source, uint64_t now, uint64_t interval, uint64_t limit)
{
	__u64 taken = 0, wait = 0;
	__u32 slot = 99;
	bool took = rate_source_take(set, source, now & RATE_TICK_MASK, interval, limit, &slot, &taken, &wait);

	if (took)
		assert_true(slot < SYNHOLD_SOURCE_WAYS && set->entry[slot] == taken);
	else
		assert_true(wait > 0 && wait <= interval);
	return took;
}

/* Up to eight sources with debt in a set are each limited exactly, at whatever point of the 40-bit circle the clock
 * stands. */
static void eight_sources_in_a_set_are_exact(void **state)
{
	static const uint64_t starts[] = {
		0, 1, CIRCLE / 4, CIRCLE / 2, CIRCLE - (CIRCLE >> 2) + 5, CIRCLE - 40000, CIRCLE - 1};
	size_t s;
	int round, i;

	(void)state;
	for (s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
		for (round = 0; round < 30; round++) {
			uint64_t now = CIRCLE + starts[s], interval = 1 + rnd(5000), burst = 1 + rnd(30),
				 limit = interval * burst;
			struct synhold_source_set set;
			struct bucket model[SYNHOLD_SOURCE_WAYS];

			for (i = 0; i < SYNHOLD_SOURCE_WAYS; i++) { /* entries of others that are just over */
				set.entry[i] = source_of(500 + (uint64_t)i) | ((now - rnd(1000)) & RATE_TICK_MASK);
				model[i] = (struct bucket){.last = now};
			}
			for (i = 0; i < 5000; i++) {
				uint64_t who = rnd(SYNHOLD_SOURCE_WAYS);

				now += rnd(8) ? rnd(interval / 4 + 1) : rnd(limit + 1);
				assert_int_equal(take(&set, source_of(77 + who), now, interval, limit),
						 bucket_take(&model[who], now, interval, limit));
			}
		}
	}
}

/*
 * A set full of entries long past: they count as absent, wherever on the circle they have come to stand, except in the
 * 18 minutes of each 78 hours in which they cannot be told from debts.
 */
static void entries_long_past_are_free_places(void **state)
{
	uint64_t age;
	int i, k;

	(void)state;
	for (age = 1ULL << 22; age < CIRCLE - RATE_SOURCE_DEBT_COMMON - 100; age += CIRCLE / 97) {
		uint64_t old = CIRCLE * 3 + 12345, now = old + age, interval = 1000, limit = 4 * interval;
		struct synhold_source_set set = {{0}};

		for (i = 0; i < SYNHOLD_SOURCE_WAYS; i++)
			assert_true(take(&set, source_of(1000 + (uint64_t)i), old, interval, limit));
		for (k = 0; k < 4; k++)
			for (i = 0; i < SYNHOLD_SOURCE_WAYS; i++)
				assert_true(take(&set, source_of(2000 + (uint64_t)i), now, interval, limit));
		for (i = 0; i < SYNHOLD_SOURCE_WAYS; i++)
			assert_false(take(&set, source_of(2000 + (uint64_t)i), now, interval, limit));
	}
}

/* A source that comes back after any time, however the clock has gone round since, finds at most one burst of debt. */
static void a_source_comes_back_after_any_time(void **state)
{
	uint64_t gap;

	(void)state;
	for (gap = 1; gap < 3 * CIRCLE; gap = gap * 3 + 1) {
		uint64_t now = 5 * CIRCLE / 3, interval = 1000, limit = 8 * interval;
		struct synhold_source_set set = {{0}};
		int i;

		for (i = 0; i < 8; i++)
			assert_true(take(&set, source_of(5), now, interval, limit));
		assert_false(take(&set, source_of(5), now, interval, limit));
		now += gap;
		if (gap % CIRCLE >= limit && CIRCLE - gap % CIRCLE > limit)
			assert_true(take(&set, source_of(5), now, interval, limit));
		now += 2 * limit; /* at the worst it waits for one burst */
		assert_true(take(&set, source_of(5), now, interval, limit));
	}
}

/* The ninth source takes the place with the least debt, never that of a heavier one. */
static void the_least_debt_is_forgotten_first(void **state)
{
	struct synhold_source_set set = {{0}};
	uint64_t now = CIRCLE / 3, i, k;

	(void)state;
	for (i = 0; i < SYNHOLD_SOURCE_WAYS; i++)
		for (k = 0; k <= i; k++)
			assert_true(take(&set, source_of(100 + i), now, 1000, 100000));
	for (k = 0; k < 5; k++)
		assert_true(take(&set, source_of(200), now, 1000, 100000));
	for (i = 0; i < SYNHOLD_SOURCE_WAYS; i++) {
		uint64_t wanted = i ? 100 + i : 200, found = 0;

		for (k = 0; k < SYNHOLD_SOURCE_WAYS; k++)
			if (set.entry[k] >> RATE_TAG_SHIFT == wanted &&
			    (set.entry[k] & RATE_TICK_MASK) == now + 1000 * (i ? i + 1 : 5))
				found++;
		assert_int_equal(found, 1);
	}
}

/* Sets under more sources than they have places: never more refused than the exact model refuses, as forgetting only
 * lets through. */
static void overflow_only_lets_more_through(void **state)
{
	enum { SOURCES = 40 };
	struct synhold_source_set set = {{0}};
	struct bucket model[SOURCES];
	uint64_t now = CIRCLE - 500000, i, refused = 0;

	(void)state;
	for (i = 0; i < SOURCES; i++)
		model[i] = (struct bucket){.last = now};
	for (i = 0; i < 100000; i++) {
		uint64_t who = rnd(rnd(2) ? 3 : SOURCES);
		struct bucket before = model[who];

		now += rnd(300);
		if (!take(&set, source_of(7 + who), now, 1000, 5000)) {
			assert_false(bucket_take(&before, now, 1000, 5000));
			refused++;
		} else if (!bucket_take(&model[who], now, 1000, 5000)) {
			model[who] =
				(struct bucket){.level = 5000,
						.last = now}; /* was forgotten in between: owes all of it at most */
		}
	}
	assert_true(refused > 1000);
}

static void a_source_gets_back_what_was_refused_later(void **state)
{
	struct synhold_source_set set = {{0}};
	__u64 taken = 0, other = 0, wait = 0, now = CIRCLE - 2000;
	__u32 slot = 0, other_slot = 0;
	int i;

	(void)state;
	for (i = 0; i < 1000; i++) {
		assert_true(rate_source_take(&set, source_of(9), now, 1000, 3000, &slot, &taken, &wait));
		rate_source_return(&set, slot, taken, 1000);
	}
	/* another CPU charges in between: its charge stays, ours goes; the sum wraps around the circle on the way */
	assert_true(rate_source_take(&set, source_of(9), now, 1000, 3000, &slot, &taken, &wait));
	assert_true(rate_source_take(&set, source_of(9), now, 1000, 3000, &other_slot, &other, &wait));
	rate_source_return(&set, slot, taken, 1000);
	assert_true(take(&set, source_of(9), now, 1000, 3000));
	assert_true(take(&set, source_of(9), now, 1000, 3000));
	assert_false(take(&set, source_of(9), now, 1000, 3000));
	/* another source has taken the place: it keeps its debt */
	set.entry[slot] = source_of(10) | ((now + 500) & RATE_TICK_MASK);
	rate_source_return(&set, slot, taken, 1000);
	assert_int_equal(set.entry[slot], source_of(10) | ((now + 500) & RATE_TICK_MASK));
}

#define RACE_THREADS 2
#define RACE_SETS 200000
#define RACE_BURST 3

static struct synhold_source_set race_sets[RACE_SETS];
static uint32_t race_taken[RACE_SETS];
static uint32_t race_arrived; /* they go from set to set in step */

static void *race(void *arg)
{
	uint32_t i, k, waits = 0;

	(void)arg;
	for (i = 0; i < RACE_SETS; i++) {
		__atomic_add_fetch(&race_arrived, 1, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&race_arrived, __ATOMIC_SEQ_CST) < (i + 1) * RACE_THREADS)
			if (++waits % 10000 ==
			    0) /* the other is not running: without the rest they would start apart */
				sched_yield();
		for (k = 0; k < RACE_BURST; k++) {
			__u64 taken, wait;
			__u32 slot;

			if (rate_source_take(&race_sets[i], source_of(5), 1ULL << 30, 1000, RACE_BURST * 1000, &slot,
					     &taken, &wait))
				__atomic_add_fetch(&race_taken[i], 1, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

/* One source first seen by several CPUs at once: none of its charges is lost, so its burst is not exceeded. */
static void no_charge_is_lost_between_threads(void **state)
{
	pthread_t threads[RACE_THREADS];
	uint32_t i, full = 0;

	(void)state;
	memset(race_sets, 0, sizeof(race_sets));
	memset(race_taken, 0, sizeof(race_taken));
	race_arrived = 0;
	for (i = 0; i < RACE_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, race, NULL), 0);
	for (i = 0; i < RACE_THREADS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < RACE_SETS; i++) {
		assert_in_range(race_taken[i], 1, RACE_BURST);
		full += race_taken[i] == RACE_BURST;
	}
	assert_true(full > RACE_SETS * 9 / 10); /* one that loses three races in a row is refused: seldom */
}

static void ticks_and_places(void **state)
{
	(void)state;
	assert_int_equal(rate_ticks(0), 0);
	assert_int_equal(rate_ticks(255), 0);
	assert_int_equal(rate_ticks(256), 1);
	assert_int_equal(rate_ticks(CIRCLE << SYNHOLD_SOURCE_TICK_SHIFT), 0);
	assert_int_equal(rate_source_set(~0ULL), SYNHOLD_SOURCE_SETS - 1);
	assert_int_equal(rate_source_set(~0ULL << 17), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(service_rate_equals_the_leaky_bucket),
		cmocka_unit_test(no_interval_has_more_than_burst_and_rate),
		cmocka_unit_test(what_is_given_back_was_never_taken),
		cmocka_unit_test(eight_sources_in_a_set_are_exact),
		cmocka_unit_test(entries_long_past_are_free_places),
		cmocka_unit_test(a_source_comes_back_after_any_time),
		cmocka_unit_test(the_least_debt_is_forgotten_first),
		cmocka_unit_test(overflow_only_lets_more_through),
		cmocka_unit_test(a_source_gets_back_what_was_refused_later),
		cmocka_unit_test(no_charge_is_lost_between_threads),
		cmocka_unit_test(ticks_and_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
