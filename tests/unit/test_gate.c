// SPDX-License-Identifier: GPL-2.0-or-later
/* The gate: slots that end in every way, in every order, from several threads, and none is ever lost or counted twice.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/gate.h"
#include "tests/random.h"

#define LIFE_EPOCHS 8
#define EPOCH_NS (1ULL << SYNHOLD_EPOCH_SHIFT)

/* What the shell around the gate does when slots are overdue; returns how many expired. */
static uint32_t retire(struct synhold_gate *gate, uint32_t limit)
{
	uint32_t epoch = gate_retire_from(gate, limit), expired = 0, i;

	for (i = 0; i < SYNHOLD_BUCKETS && epoch < limit; i++, epoch++)
		expired += gate_retire_epoch(gate, epoch);
	return expired;
}

static uint64_t counted(const struct synhold_gate *gate)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < SYNHOLD_BUCKETS; i++)
		sum += (uint32_t)gate->buckets[i];
	return sum;
}

static void window_bounds_what_is_in_flight(void **state)
{
	struct synhold_gate gate = {0};
	__u32 expired = 0;
	int i;

	(void)state;
	for (i = 0; i < 16; i++)
		assert_int_equal(gate_start(&gate, 100, 16, &expired), 0);
	assert_int_equal(gate_start(&gate, 100, 16, &expired), -1);
	assert_int_equal(gate.inflight, 16);
	assert_int_equal(gate_start(&gate, 100, 0, &expired), 0); /* none */
	assert_int_equal(gate_end(&gate, 100), 1);
	assert_int_equal(gate_end(&gate, 100), 1);
	assert_int_equal(gate_start(&gate, 101, 16, &expired), 0);
	assert_int_equal(gate.inflight, 16);
	assert_int_equal(counted(&gate), 16);
	assert_int_equal(expired, 0);
}

static void an_epoch_expires_as_a_whole_and_once(void **state)
{
	struct synhold_gate gate = {.retired = 90};
	__u32 expired = 0;
	int i;

	(void)state;
	for (i = 0; i < 5; i++)
		assert_int_equal(gate_start(&gate, 100, 0, &expired), 0);
	assert_int_equal(gate_start(&gate, 101, 0, &expired), 0);
	assert_int_equal(retire(&gate, 100), 0);
	assert_int_equal(gate_end(&gate, 100), 1);
	assert_int_equal(retire(&gate, 101), 4);
	assert_int_equal(retire(&gate, 101), 0);
	assert_int_equal(gate_end(&gate, 100), 0); /* expired: its outcome has been counted */
	assert_false(gate_slot_live(&gate, 100));
	assert_true(gate_slot_live(&gate, 101));
	assert_int_equal(gate.inflight, 1);
	assert_int_equal(expired, 0);
}

static void limits_of_time(void **state)
{
	(void)state;
	assert_int_equal(gate_epoch(0), 0);
	assert_int_equal(gate_epoch(EPOCH_NS - 1), 0);
	assert_int_equal(gate_epoch(EPOCH_NS), 1);
	assert_int_equal(gate_retire_limit(EPOCH_NS * 3, EPOCH_NS * 5), 0);
	assert_int_equal(gate_retire_limit(EPOCH_NS * 30, EPOCH_NS * 5), 25);
	/* the longest life fits the ring with room to spare: what is started never meets what is not yet over */
	assert_true(SYNHOLD_EXPIRE_MAX_NS / EPOCH_NS + 2 < SYNHOLD_BUCKETS);
}

/* A gate nobody came by for any time: the slots of before expire all the same, at the next retirement. */
static void forgotten_slots_expire_after_any_time(void **state)
{
	uint32_t gap;

	(void)state;
	for (gap = LIFE_EPOCHS + 1; gap < 40 * SYNHOLD_BUCKETS; gap += 1 + gap / 50) {
		struct synhold_gate gate = {.retired = 1000};
		__u32 expired = 0, i;

		for (i = 0; i < 10; i++)
			assert_int_equal(gate_start(&gate, 1000 + i, 10, &expired), 0);
		assert_int_equal(retire(&gate, 1010 + gap), 10);
		assert_int_equal(gate.inflight, 0);
		assert_int_equal(counted(&gate), 0);
		assert_int_equal(gate.retired, 1010 + gap);
		assert_int_equal(gate_start(&gate, 1010 + gap + LIFE_EPOCHS, 10, &expired), 0);
	}
}

/* A start that meets a bucket of a turn ago, because nothing retired it: the slots there expire with it. */
static void a_start_displaces_forgotten_slots(void **state)
{
	struct synhold_gate gate = {.retired = 1000};
	__u32 expired = 0;

	(void)state;
	assert_int_equal(gate_start(&gate, 1000, 0, &expired), 0);
	assert_int_equal(gate_start(&gate, 1000, 0, &expired), 0);
	assert_int_equal(gate_start(&gate, 1000 + 5 * SYNHOLD_BUCKETS, 0, &expired), 0);
	assert_int_equal(expired, 2);
	assert_int_equal(gate.inflight, 1);
	assert_int_equal(gate_end(&gate, 1000), 0);
	assert_int_equal(gate_end(&gate, 1000 + 5 * SYNHOLD_BUCKETS), 1);
	assert_int_equal(gate.inflight, 0);
}

static void suspension(void **state)
{
	struct synhold_gate gate = {.blind = 23};

	(void)state;
	assert_true(gate_suspended(&gate, 7));
	assert_false(gate_suspended(&gate, 8));
	gate.egress_seen = 1;
	assert_false(gate_suspended(&gate, 7));
	assert_false(gate_suspended(&(struct synhold_gate){0}, 1));
}

/* Random starts, ends and retirements against an exact model that remembers each slot. */
static void random_workload_against_a_model(void **state)
{
	enum { SLOTS = 400 };
	uint64_t seed = 42;
	int round;

	(void)state;
	for (round = 0; round < 40; round++) {
		uint32_t slots[SLOTS], count = 0, now = 1000 + (uint32_t)random_below(&seed, 1000),
				       window = (uint32_t)random_below(&seed, 200);
		struct synhold_gate gate = {.retired = now - LIFE_EPOCHS};
		uint64_t started = 0, ended = 0, over = 0;
		int step;

		for (step = 0; step < 20000; step++) {
			uint64_t what = random_below(&seed, 100);

			if (what < 60) {
				__u32 expired = 0;
				int expected = (window && count >= window) || count == SLOTS ? -1 : 0;

				if (count == SLOTS)
					continue;
				assert_int_equal(gate_start(&gate, now, window, &expired), expected);
				assert_int_equal(expired, 0);
				if (!expected) {
					slots[count++] = now;
					started++;
				}
			} else if (what < 95 && count) {
				uint32_t which = (uint32_t)random_below(&seed, count);

				assert_int_equal(gate_end(&gate, slots[which]), 1);
				slots[which] = slots[--count];
				ended++;
			} else if (what >= 95) {
				uint32_t limit, k, expected = 0;

				now += random_below(&seed, 50) ? (uint32_t)random_below(&seed, 3) :
								 (uint32_t)random_below(&seed, 1000);
				limit = now - LIFE_EPOCHS;
				for (k = 0; k < count;) {
					if (slots[k] < limit) {
						slots[k] = slots[--count];
						expected++;
					} else {
						k++;
					}
				}
				assert_int_equal(retire(&gate, limit), expected);
				over += expected;
			}
			assert_int_equal(gate.inflight, count);
		}
		assert_int_equal(counted(&gate), count);
		assert_int_equal(started, ended + over + count);
	}
}

#define THREADS 4
#define STARTS 500000

struct shared {
	struct synhold_gate gate;
	uint32_t clock; /* the epoch all see; thread 0 moves it on */
	uint32_t window;
	__s64 most; /* in flight at once, as ever seen */
};

struct worker {
	pthread_t thread;
	struct shared *shared;
	uint64_t seed, started, ended, expired, refused;
	uint32_t number;
};

static void *work(void *arg)
{
	struct worker *self = arg;
	struct shared *shared = self->shared;
	uint32_t mine[256], count = 0, i;

	for (i = 0; i < STARTS; i++) {
		uint32_t now = __atomic_load_n(&shared->clock, __ATOMIC_RELAXED), limit = now - LIFE_EPOCHS;
		__u32 expired = 0;
		__s64 inflight;

		if (self->number == 0 && i % 5000 == 0) /* now and then the clock leaps over the whole ring */
			__atomic_store_n(&shared->clock, now + (i % 100000 == 0 ? 1000 : 1), __ATOMIC_RELAXED);
		if (*(volatile uint32_t *)&shared->gate.retired < limit)
			self->expired += retire(&shared->gate, limit);
		if (gate_start(&shared->gate, now, shared->window, &expired))
			self->refused++;
		else
			mine[count++] = now, self->started++;
		self->expired += expired;
		inflight = *(volatile __s64 *)&shared->gate.inflight;
		if (inflight > *(volatile __s64 *)&shared->most)
			shared->most = inflight;
		while (count && (count == 256 || random_below(&self->seed, 3))) {
			uint32_t which = (uint32_t)random_below(&self->seed, count);

			if (random_below(&self->seed, 10)) /* else it is forgotten, and its epoch takes it away */
				self->ended += (uint64_t)gate_end(&shared->gate, mine[which]);
			mine[which] = mine[--count];
		}
	}
	return NULL;
}

static void threads_lose_nothing(void **state)
{
	static const uint32_t windows[] = {0, 3, 500};
	size_t w, i;

	(void)state;
	for (w = 0; w < sizeof(windows) / sizeof(windows[0]); w++) {
		struct shared shared = {.gate.retired = 1000, .clock = 1000 + LIFE_EPOCHS, .window = windows[w]};
		uint64_t started = 0, ended = 0, expired = 0, refused = 0;
		struct worker workers[THREADS];

		for (i = 0; i < THREADS; i++) {
			workers[i] = (struct worker){.shared = &shared, .seed = 77 + i, .number = (uint32_t)i};
			assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
		}
		for (i = 0; i < THREADS; i++) {
			pthread_join(workers[i].thread, NULL);
			started += workers[i].started;
			ended += workers[i].ended;
			expired += workers[i].expired;
			refused += workers[i].refused;
		}
		/* a slot whose epoch was retired between its look at the clock and its start is taken away a turn of
		 * the ring later */
		expired += retire(&shared.gate, shared.clock + 1 + SYNHOLD_BUCKETS);
		assert_int_equal(started + refused, THREADS * STARTS);
		assert_int_equal(started, ended + expired + (uint64_t)shared.gate.inflight);
		assert_int_equal(shared.gate.inflight, 0);
		assert_int_equal(counted(&shared.gate), 0);
		assert_true(expired > 0 && ended > 0);
		/* one that is undone is seen for a moment by others: at most one of each of them */
		assert_true(!windows[w] || shared.most <= windows[w] + THREADS);
	}
}

struct contest {
	struct synhold_gate gate;
	uint32_t window;
	int64_t inside, most; /* slots that were given and not ended yet, as their owners count them */
};

static void *contend(void *arg)
{
	struct contest *contest = arg;
	uint32_t i, won = 0;

	for (i = 0; i < STARTS; i++) {
		volatile int spin;
		__u32 expired = 0;
		int64_t inside;

		if (gate_start(&contest->gate, 100, contest->window, &expired))
			continue;
		won++;
		inside = __atomic_add_fetch(&contest->inside, 1, __ATOMIC_SEQ_CST);
		if (inside > __atomic_load_n(&contest->most, __ATOMIC_RELAXED))
			__atomic_store_n(&contest->most, inside, __ATOMIC_RELAXED);
		for (spin = 0; spin < 50; spin++) /* so that the others crowd at the gate */
			;
		__atomic_sub_fetch(&contest->inside, 1, __ATOMIC_SEQ_CST);
		gate_end(&contest->gate, 100);
	}
	return (void *)(uintptr_t)won; /* NOLINT(performance-no-int-to-ptr): pthread_join() has no other way */
}

/* However many try at once, never more have a slot than the window says. */
static void threads_never_exceed_the_window(void **state)
{
	static const uint32_t windows[] = {1, 2, 3};
	size_t w, i;

	(void)state;
	for (w = 0; w < sizeof(windows) / sizeof(windows[0]); w++) {
		struct contest contest = {.window = windows[w]};
		pthread_t threads[THREADS];
		uintptr_t won = 0;

		for (i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, contend, &contest), 0);
		for (i = 0; i < THREADS; i++) {
			void *count;

			pthread_join(threads[i], &count);
			won += (uintptr_t)count;
		}
		assert_true(won >= STARTS / 100);
		assert_in_range(contest.most, 1, windows[w]);
		/* an end that others never let through is left to the bucket */
		assert_int_equal(contest.gate.inflight, counted(&contest.gate));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(window_bounds_what_is_in_flight),
		cmocka_unit_test(an_epoch_expires_as_a_whole_and_once),
		cmocka_unit_test(limits_of_time),
		cmocka_unit_test(forgotten_slots_expire_after_any_time),
		cmocka_unit_test(a_start_displaces_forgotten_slots),
		cmocka_unit_test(suspension),
		cmocka_unit_test(random_workload_against_a_model),
		cmocka_unit_test(threads_lose_nothing),
		cmocka_unit_test(threads_never_exceed_the_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
