// SPDX-License-Identifier: GPL-2.0-or-later
/* The filters before the tables: whatever is put there and taken away, in whatever order, "no" is never said of what is
 * there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/filter.h"
#include "tests/random.h"

#define SECOND 1000000000ULL
#define HOUR (3600 * SECOND)
#define WORDS 64
#define ENTRIES 96
#define STEPS 2000000

static struct synhold_tuple tuple_of(uint32_t number)
{
	struct synhold_tuple tuple = {.sport = (uint16_t)(number * 7), .dport = 80};

	memcpy(tuple.saddr + 12, &number, sizeof(number));
	return tuple;
}

/* Marks that come, are renewed, go, and are over by themselves, on so few words that most are shared. */
static void what_is_marked_is_never_denied(void **state)
{
	static uint64_t until[ENTRIES]; /* 0: no mark */
	static uint32_t word[WORDS];
	uint64_t seed = 88172645463325252ULL, now = HOUR, denied = 0, absent = 0;

	(void)state;
	for (int step = 0; step < STEPS; step++) {
		uint32_t entry = (uint32_t)random_below(&seed, ENTRIES), tag;
		struct synhold_tuple tuple = tuple_of(entry);
		uint64_t hash = filter_hash(&tuple);
		uint32_t *at = &word[filter_place(hash) % WORDS];

		tag = filter_tag(hash);
		now += random_below(&seed, 20) ? random_below(&seed, SECOND / 10) : random_below(&seed, 10 * SECOND);
		if (until[entry] > now) {
			assert_true(filter_may_mark(*at, tag, now));
			assert_true(filter_may_mark(*at, tag, 0));
		} else {
			absent++;
			denied += !filter_may_mark(*at, tag, now);
		}
		switch (random_below(&seed, 8)) {
		case 0:
			until[entry] = now + 1 + random_below(&seed, random_below(&seed, 10) ? 20 * SECOND : HOUR);
			filter_note_mark(at, tag, now, until[entry]);
			break;
		case 1:
			if (until[entry]) /* who takes away is one of those who find it; the mark itself may be over */
				filter_clear_mark(at, tag, *at);
			until[entry] = 0;
			break;
		}
	}
	assert_true(absent > STEPS / 4);
	assert_true(denied > absent / 4); /* and it is of use */
}

/* One that was put there again while the old one was being taken away stays known. */
static void a_note_between_survives(void **state)
{
	struct synhold_tuple tuple = tuple_of(1);
	uint64_t hash = filter_hash(&tuple);
	uint32_t word = 0, seen;

	(void)state;
	filter_note_mark(&word, filter_tag(hash), HOUR, HOUR + SECOND);
	seen = word;
	filter_note_mark(&word, filter_tag(hash), HOUR, HOUR + SECOND);
	filter_clear_mark(&word, filter_tag(hash), seen);
	assert_true(filter_may_mark(word, filter_tag(hash), HOUR));
	filter_clear_mark(&word, filter_tag(hash), word);
	assert_false(filter_may_mark(word, filter_tag(hash), HOUR));
	assert_false(filter_may_mark(word, filter_tag(hash), 0));
}

/* A word that was never written, and one of long ago, say no, through a whole turn of the coarse clock and more. */
static void old_words_say_no(void **state)
{
	struct synhold_tuple tuple = tuple_of(2), other = tuple_of(3);
	uint32_t tag = filter_tag(filter_hash(&tuple)), others = filter_tag(filter_hash(&other)), word, no = 0, of = 0;

	(void)state;
	assert_int_not_equal(tag, others);
	for (uint64_t now = 1; now < 40 * HOUR; now += 600 * SECOND) {
		word = 0;
		assert_false(filter_may_mark(word, tag, now));
		assert_false(filter_may_mark(word, tag, 0));
		filter_note_mark(&word, tag, now, now + SECOND);
		assert_true(filter_may_mark(word, tag, now));
		assert_false(filter_may_mark(word, others, now));
		assert_false(filter_may_mark(word, tag, now + 10 * SECOND));
		assert_true(filter_may_mark(word, tag, 0));
		filter_note_mark(&word, others, now + 10 * SECOND,
				 now + 11 * SECOND); /* the first is over: not shared */
		assert_false(filter_may_mark(word, tag, now + 10 * SECOND));
		for (uint64_t later = now + 20 * SECOND; later < now + 2 * HOUR; later += 300 * SECOND, of++)
			no += !filter_may_mark(word, others, later);
	}
	assert_int_equal(no, of);
}

static void the_longest_hold_time_fits(void **state)
{
	struct synhold_tuple tuple = tuple_of(4);
	uint32_t tag = filter_tag(filter_hash(&tuple)), word;

	(void)state;
	for (uint64_t now = 1; now < 40 * HOUR; now += 777 * SECOND) {
		word = 0;
		filter_note_mark(&word, tag, now, now + HOUR);
		filter_note_mark(&word, tag, now, now + SECOND); /* does not shorten it */
		assert_true(filter_may_mark(word, tag, now + HOUR - 1));
	}
}

static void debts_are_remembered_until_their_end(void **state)
{
	uint64_t seed = 1234567, now = HOUR, end = 0;
	uint32_t word = 0;

	(void)state;
	assert_false(filter_may_owe(&word, now));
	for (int step = 0; step < STEPS / 10; step++) {
		now += random_below(&seed, SECOND / 4);
		if (now < end)
			assert_true(filter_may_owe(&word, now));
		else if (now > end + SECOND / 2)
			assert_false(filter_may_owe(&word, now));
		if (!random_below(&seed, 8)) {
			uint64_t debt = random_below(&seed, 3 * SECOND);

			filter_note_debt(&word, now + debt);
			end = now + debt > end ? now + debt : end;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_marked_is_never_denied),
		cmocka_unit_test(a_note_between_survives),
		cmocka_unit_test(old_words_say_no),
		cmocka_unit_test(the_longest_hold_time_fits),
		cmocka_unit_test(debts_are_remembered_until_their_end),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
