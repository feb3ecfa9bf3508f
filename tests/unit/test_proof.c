// SPDX-License-Identifier: GPL-2.0-or-later
/* When proof mode comes and goes: floods, storms, servers that stall, and mixtures, tick by tick. And the data plane's
 * memory of first copies, against one that never forgets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/proof.h"
#include "daemon/proof.h"

#define TICK_NS 100000000ULL
#define SECOND_NS 1000000000ULL

struct story {
	struct proof proof;
	struct proof_input in;
	uint64_t ticks, changes;
	uint64_t unheard[20]; /* real clients that will be heard so many ticks from now */
};

static void begin(struct story *s, bool on)
{
	memset(s, 0, sizeof(*s));
	s->in.now_ns = 1000 * SECOND_NS;
	proof_init(&s->proof, on, s->in.now_ns);
}

/* One tick in which so many handshakes start, of real clients (heard after `rtt_ticks`) and of nobody. Only what the
 * watch lets see is heard, but for what settles. */
static void tick(struct story *s, uint64_t real, uint64_t spoofed, unsigned int rtt_ticks, bool settles)
{
	s->unheard[rtt_ticks] += real;
	s->in.count.started += real + spoofed;
	if (s->proof.watch || settles)
		s->in.count.heard += s->unheard[0];
	if (settles)
		s->in.count.settled += s->unheard[0];
	memmove(s->unheard, s->unheard + 1, sizeof(s->unheard) - sizeof(*s->unheard));
	s->unheard[19] = 0;
	s->in.now_ns += TICK_NS;
	s->ticks++;
	s->changes += proof_tick(&s->proof, &s->in);
}

/* Runs until the mode is `on`; returns the ticks it took, `most` when it never came. */
static unsigned int until(struct story *s, bool on, unsigned int most, uint64_t real, uint64_t spoofed)
{
	unsigned int i;

	for (i = 0; i < most && s->proof.on != on; i++) {
		s->in.count.bites += 100;
		tick(s, real, spoofed, 1, true);
	}
	return i;
}

static void a_flood_is_seen_within_seconds(void **state)
{
	static const uint64_t starts[] = {1, 2, 6, 64, 5000};
	struct story s;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		begin(&s, false);
		assert_in_range(until(&s, true, 200, 0, starts[i]), 5, starts[i] < 2 ? 60 : 45);
		assert_int_equal(s.changes, 1);
		assert_true(s.proof.unheard == s.proof.judged);
	}
	/* in bursts as slots expire: 8 in 10 s are few, but all there is */
	begin(&s, false);
	for (i = 0; i < 300 && !s.proof.on; i++) {
		s.in.count.bites++;
		tick(&s, 0, i % 100 == 20 ? 8 : 0, 1, true);
	}
	assert_in_range(i, 50, 90);
}

static void calm_traffic_before_does_not_hide_it(void **state)
{
	struct story s;
	int i;

	(void)state;
	begin(&s, false);
	for (i = 0; i < 600; i++)
		tick(&s, 50, 0, 1, true);
	assert_false(s.proof.watch); /* nothing bites: ACKs cost nothing */
	assert_in_range(until(&s, true, 200, 1, 20), 5, 45);
}

static void a_storm_is_no_flood(void **state)
{
	unsigned int rtt;
	struct story s;
	int i;

	(void)state;
	for (rtt = 0; rtt < 10; rtt++) {
		begin(&s, false);
		for (i = 0; i < 1200; i++) {
			s.in.count.bites += 500;
			s.in.held = true;
			tick(&s, i % 7 * 30, 0, rtt, true);
		}
		assert_int_equal(s.changes, 0);
	}
}

/* The clients complete their handshakes, and nothing settles, for as long as it likes. */
static void a_stalled_server_is_no_flood(void **state)
{
	struct story s;
	int i;

	(void)state;
	begin(&s, false);
	for (i = 0; i < 300; i++) {
		s.in.count.bites += 10;
		s.in.held = true;
		tick(&s, i % 10 ? 0 : 64, 0, 2, false);
		assert_true(s.proof.watch || i < 1);
	}
	assert_int_equal(s.changes, 0);
}

/* As many of nobody as real ones are still no reason; twice as many and more are. */
static void mixtures(void **state)
{
	struct story s;

	(void)state;
	begin(&s, false);
	assert_int_equal(until(&s, true, 600, 10, 10), 600);
	begin(&s, false);
	assert_in_range(until(&s, true, 600, 10, 90), 5, 100);
}

/* Unlimited services do not care. */
static void without_a_limit_nothing_happens(void **state)
{
	struct story s;
	int i;

	(void)state;
	begin(&s, false);
	for (i = 0; i < 600; i++)
		tick(&s, 0, 1000, 1, true);
	assert_int_equal(s.changes, 0);
	assert_false(s.proof.watch);
}

/* One tick in proof mode: so many first copies, and so many of them that came again. */
static void proof_mode_tick(struct story *s, uint64_t unproved, uint64_t proved)
{
	s->in.count.unproved += unproved;
	s->in.count.proved += proved;
	s->in.count.bites += unproved;
	tick(s, proved, 0, 0, true);
}

static void it_stays_while_the_flood_lasts_and_ends_by_itself(void **state)
{
	struct story s;
	int i;

	(void)state;
	begin(&s, true);
	for (i = 0; i < 3000; i++)
		proof_mode_tick(&s, 2000, 10);
	assert_true(s.proof.on && s.proof.watch);
	for (i = 0; i < 300 && s.proof.on; i++)
		proof_mode_tick(&s, 10, 10);
	assert_in_range(i, 95, 110);
	assert_int_equal(s.changes, 1);
	for (i = 0; i < 300; i++) /* and does not come back for those who come first */
		tick(&s, 10, 0, 1, true);
	assert_int_equal(s.changes, 1);
	assert_false(s.proof.watch);
}

static void a_storm_ends_it(void **state)
{
	struct story s;
	int i;

	(void)state;
	begin(&s, true);
	for (i = 0; i < 300 && s.proof.on; i++) /* each client's first copy, and a second later its second */
		proof_mode_tick(&s, 60, i < 10 ? 0 : 60);
	assert_in_range(i, 99, 130);
	begin(&s, true);
	for (i = 0; i < 300 && s.proof.on; i++)
		proof_mode_tick(&s, 0, 0);
	assert_in_range(i, 99, 102);
}

/* --- the data plane's memory --- */

static uint64_t random_state = 7;

static uint64_t draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dULL;
}

/* One set, up to eight SYNs within the time that entries are kept: as exact as a memory without end. */
static void eight_are_remembered_exactly(void **state)
{
	int round, i;

	(void)state;
	for (round = 0; round < 20000; round++) {
		struct synhold_proof_set set = {{0}};
		uint64_t hash[8], first[8] = {0}, elapsed = 0, now;
		bool known[8] = {false}, shown[8] = {false};

		/* within a minute of the turn of the clock, once in 39 h, an empty place may look younger than an old
		 * entry: there, only with all places taken */
		now = round % 2 ? draw() & PROOF_TIME_MASK : 2 * PROOF_MAX_UNITS + draw() % (PROOF_TIME_MASK / 2);
		for (i = 0; i < 8; i++) {
			hash[i] = draw();
			if (round % 2 == 0)
				continue;
			set.entry[i] = hash[i] >> PROOF_TAG_SHIFT << PROOF_TAG_SHIFT | now;
			known[i] = true;
		}
		for (i = 0; i < 60; i++) {
			unsigned int k = draw() % 8;
			int expected = PROOF_FIRST, result;
			uint32_t ms = 0;

			elapsed += draw() % 60;
			if (known[k] && elapsed - first[k] <= PROOF_MAX_UNITS)
				expected = elapsed - first[k] < PROOF_MIN_UNITS ? PROOF_EARLY :
					   shown[k]                             ? PROOF_SHOWN_BEFORE :
										  PROOF_SHOWN;
			result = proof_take(&set, hash[k], (now + elapsed) & PROOF_TIME_MASK, &ms);
			assert_int_equal(result, expected);
			if (expected >= PROOF_SHOWN)
				assert_int_equal(ms, ((elapsed - first[k]) << PROOF_UNIT_SHIFT) / 1000000);
			if (expected == PROOF_FIRST) {
				known[k] = true;
				shown[k] = false;
				first[k] = elapsed;
			}
			shown[k] |= expected == PROOF_SHOWN;
		}
	}
}

/* A flood into one set: it gets in where somebody is 3.6 s old, and takes nobody's place before. */
static void a_flood_pushes_out_only_the_old(void **state)
{
	struct synhold_proof_set set = {{0}};
	uint64_t now = 5000, mine = draw();
	int i, taken = 0;
	uint32_t ms;

	(void)state;
	assert_int_equal(proof_take(&set, mine, now, &ms), PROOF_FIRST);
	for (i = 0; i < 1000; i++)
		taken += proof_take(&set, draw(), now + (uint64_t)i * PROOF_KEEP_UNITS / 1001, &ms) == PROOF_FIRST;
	assert_int_equal(taken, 7);
	assert_int_equal(proof_take(&set, mine, now + PROOF_KEEP_UNITS - 1, &ms), PROOF_SHOWN);
	now += PROOF_KEEP_UNITS;
	assert_int_equal(proof_take(&set, draw(), now, &ms), PROOF_FIRST);
	assert_int_equal(proof_take(&set, draw(), now, &ms), PROOF_FIRST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flood_is_seen_within_seconds),
		cmocka_unit_test(calm_traffic_before_does_not_hide_it),
		cmocka_unit_test(a_storm_is_no_flood),
		cmocka_unit_test(a_stalled_server_is_no_flood),
		cmocka_unit_test(mixtures),
		cmocka_unit_test(without_a_limit_nothing_happens),
		cmocka_unit_test(it_stays_while_the_flood_lasts_and_ends_by_itself),
		cmocka_unit_test(a_storm_ends_it),
		cmocka_unit_test(eight_are_remembered_exactly),
		cmocka_unit_test(a_flood_pushes_out_only_the_old),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
