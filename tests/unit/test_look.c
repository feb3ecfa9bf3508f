// SPDX-License-Identifier: GPL-2.0-or-later
/* Limits that are only looked at: the answer is that of the take, and nothing is touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

/* Whatever a set holds, the look says what the take would, and leaves the set alone. */
static void a_look_sees_what_a_take_would_do(void **state)
{
	struct synhold_source_set set = {{0}}, before;
	uint64_t now = CIRCLE - 100000;
	int i, refused = 0;

	(void)state;
	for (i = 0; i < 100000; i++) {
		uint64_t source = (1 + rnd(12)) << RATE_TAG_SHIFT, interval = 1000, limit = 1000 * (1 + rnd(4)),
			 rest = 77;
		__u64 wait = rest, taken, later = 0;
		bool would, took;
		__u32 slot;

		before = set;
		would = rate_source_look(&set, source, now & RATE_TICK_MASK, interval, limit, &wait);
		assert_memory_equal(&set, &before, sizeof(set));
		took = rate_source_take(&set, source, now & RATE_TICK_MASK, interval, limit, &slot, &taken, &later);
		assert_int_equal(would, took);
		assert_int_equal(wait, would ? rest : later);
		refused += !took;
		now += rnd(300);
	}
	assert_in_range(refused, 1000, 99000);
}

static void a_shared_rate_is_foreseen(void **state)
{
	__u64 tat = 0, now = SECOND, retry, foreseen;
	int i, refused = 0;

	(void)state;
	for (i = 0; i < 10000; i++) {
		__u64 before = tat;
		bool refuses;

		retry = foreseen = 0;
		refuses = rate_refuses(&tat, now, 1000, 5000, &foreseen);
		assert_int_equal(tat, before);
		assert_int_equal(refuses, !rate_take(&tat, now, 1000, 5000, &retry));
		assert_int_equal(foreseen, retry);
		refused += refuses;
		now += rnd(900);
	}
	assert_in_range(refused, 1000, 9000);
	tat = now + 10 * SECOND;
	assert_false(rate_refuses(&tat, now, 0, 0, &retry)); /* no limit */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_look_sees_what_a_take_would_do),
		cmocka_unit_test(a_shared_rate_is_foreseen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
