// SPDX-License-Identifier: GPL-2.0-or-later
/* A ramp's share over time, and the levers that an incident commander pulls on it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/ramp.h"

#define S 1000000000ULL
#define START (1000 * S)
#define PERCENT 10000U

static struct synhold_policy ramp_of(uint32_t from, uint32_t to, uint64_t over_ns)
{
	struct synhold_policy pol = {.name = "web", .share_ppm = 77 * PERCENT};

	ramp_start(&pol, from * PERCENT, to * PERCENT, over_ns, START);
	return pol;
}

static void share_moves_evenly_and_stays_within_its_ends(void **state)
{
	struct synhold_policy up = ramp_of(10, 90, 80 * S), down = ramp_of(90, 10, 80 * S);
	uint32_t last = 0;

	(void)state;
	assert_int_equal(ramp_share(&up, START - 5 * S, 0), 10 * PERCENT);
	for (uint64_t s = 0; s <= 200; s++) {
		uint32_t share = ramp_share(&up, START + s * S, 0);

		assert_int_equal(share, (s < 80 ? 10 + s : 90) * PERCENT);
		assert_int_equal(share + ramp_share(&down, START + s * S, 0), 100 * PERCENT);
		assert_true(share >= last);
		last = share;
	}
	assert_true(ramp_running(&up, START + 79 * S, 0));
	assert_false(ramp_running(&up, START + 80 * S, 0));
}

static void without_a_ramp_the_policy_rules(void **state)
{
	struct synhold_policy pol = {.name = "web", .share_ppm = 42 * PERCENT};

	(void)state;
	assert_int_equal(ramp_share(&pol, START, 0), 42 * PERCENT);
	assert_false(ramp_running(&pol, START, 0));
}

static void levers_need_a_ramp(void **state)
{
	struct synhold_policy pol = {.name = "web"}, before = pol;
	struct error err = {0};

	(void)state;
	assert_true(ramp_pause(&pol, START, 0, &err) < 0);
	assert_true(ramp_resume(&pol, START, 0, &err) < 0);
	assert_true(ramp_reverse(&pol, START, 0, &err) < 0);
	assert_true(ramp_cancel(&pol, &err) < 0);
	assert_non_null(strstr(err.message, "no ramp"));
	assert_true(err.hint[0] != '\0');
	assert_memory_equal(&pol, &before, sizeof(pol));
}

static void pause_stands_still_and_resume_goes_on_from_there(void **state)
{
	struct synhold_policy pol = ramp_of(0, 100, 100 * S);

	(void)state;
	assert_int_equal(ramp_pause(&pol, START + 30 * S, 0, NULL), 0);
	assert_false(ramp_running(&pol, START + 31 * S, 0));
	assert_int_equal(ramp_share(&pol, START + 500 * S, 0), 30 * PERCENT);
	assert_int_equal(ramp_pause(&pol, START + 500 * S, 0, NULL), 0); /* again: no move */
	assert_int_equal(ramp_share(&pol, START + 600 * S, 0), 30 * PERCENT);
	assert_int_equal(ramp_resume(&pol, START + 700 * S, 0, NULL), 0);
	assert_true(ramp_running(&pol, START + 700 * S, 0));
	assert_int_equal(ramp_share(&pol, START + 700 * S, 0), 30 * PERCENT);
	assert_int_equal(ramp_share(&pol, START + 710 * S, 0), 40 * PERCENT);
	assert_int_equal(ramp_share(&pol, START + 770 * S, 0), 100 * PERCENT);
}

static void reverse_goes_back_at_the_same_pace(void **state)
{
	struct synhold_policy pol = ramp_of(20, 100, 80 * S);

	(void)state;
	assert_int_equal(ramp_reverse(&pol, START + 30 * S, 0, NULL), 0);
	assert_int_equal(ramp_share(&pol, START + 30 * S, 0), 50 * PERCENT);
	assert_int_equal(ramp_share(&pol, START + 40 * S, 0), 40 * PERCENT);
	assert_int_equal(ramp_share(&pol, START + 60 * S, 0), 20 * PERCENT);
	assert_int_equal(ramp_share(&pol, START + 90 * S, 0), 20 * PERCENT);
	assert_int_equal(ramp_reverse(&pol, START + 40 * S, 0, NULL), 0); /* and forth again */
	assert_int_equal(ramp_share(&pol, START + 40 * S, 0), 40 * PERCENT);
	assert_int_equal(ramp_share(&pol, START + 50 * S, 0), 50 * PERCENT);
	assert_int_equal(ramp_share(&pol, START + 300 * S, 0), 100 * PERCENT);
}

static void a_ramp_that_has_ended_can_be_reversed(void **state)
{
	struct synhold_policy pol = ramp_of(0, 100, 10 * S);

	(void)state;
	assert_int_equal(ramp_reverse(&pol, START + 500 * S, 0, NULL), 0);
	assert_int_equal(ramp_share(&pol, START + 500 * S, 0), 100 * PERCENT);
	assert_int_equal(ramp_share(&pol, START + 505 * S, 0), 50 * PERCENT);
	assert_int_equal(ramp_share(&pol, START + 510 * S, 0), 0);
}

static void pressure_stops_it_until_resumed(void **state)
{
	struct synhold_policy pol = ramp_of(0, 100, 100 * S), reversed;
	uint64_t stopped = START + 25 * S;

	(void)state;
	assert_false(ramp_running(&pol, START + 26 * S, stopped));
	assert_int_equal(ramp_share(&pol, START + 90 * S, stopped), 25 * PERCENT);
	reversed = pol;
	assert_int_equal(ramp_resume(&pol, START + 90 * S, stopped, NULL), 0);
	assert_int_equal(ramp_share(&pol, START + 90 * S, 0), 25 * PERCENT);
	assert_int_equal(ramp_share(&pol, START + 100 * S, 0), 35 * PERCENT);
	assert_int_equal(ramp_reverse(&reversed, START + 90 * S, stopped, NULL), 0);
	assert_int_equal(ramp_share(&reversed, START + 90 * S, 0), 25 * PERCENT);
	assert_int_equal(ramp_share(&reversed, START + 100 * S, 0), 15 * PERCENT);
}

static void pausing_what_pressure_has_stopped_keeps_its_share(void **state)
{
	struct synhold_policy pol = ramp_of(0, 100, 100 * S);

	(void)state;
	assert_int_equal(ramp_pause(&pol, START + 60 * S, START + 25 * S, NULL), 0);
	assert_int_equal(ramp_share(&pol, START + 70 * S, 0), 25 * PERCENT);
}

static void cancel_goes_back_to_what_was_set(void **state)
{
	struct synhold_policy pol = ramp_of(0, 100, 100 * S);

	(void)state;
	assert_int_equal(ramp_cancel(&pol, NULL), 0);
	assert_int_equal(ramp_share(&pol, START + 50 * S, 0), 77 * PERCENT);
	assert_int_equal(pol.ramp_over_ns, 0);
	assert_true(ramp_cancel(&pol, NULL) < 0);
}

static void share_in_force_is_what_the_data_plane_reads(void **state)
{
	struct synhold_policy pol = ramp_of(0, 100, 100 * S);
	struct synhold_runtime run = {0};

	(void)state;
	assert_int_equal(ramp_in_force(&pol, &run), 77 * PERCENT); /* no daemon has computed one yet */
	for (uint32_t ppm = 0; ppm <= 1000000; ppm += 997) {
		run.share_threshold = ramp_threshold(ppm) + 1;
		assert_int_equal(ramp_in_force(&pol, &run), ppm);
	}
	run.share_threshold = ramp_threshold(1000000) + 1;
	assert_int_equal(ramp_in_force(&pol, &run), 1000000);
	assert_int_equal(ramp_cancel(&pol, NULL), 0);
	assert_int_equal(ramp_in_force(&pol, &run), 77 * PERCENT); /* whatever an earlier ramp has left */
}

static void threshold_is_of_two_to_the_32(void **state)
{
	(void)state;
	assert_true(ramp_threshold(0) == 0);
	assert_true(ramp_threshold(500000) == 1ULL << 31);
	assert_true(ramp_threshold(1000000) == 1ULL << 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(share_moves_evenly_and_stays_within_its_ends),
		cmocka_unit_test(without_a_ramp_the_policy_rules),
		cmocka_unit_test(levers_need_a_ramp),
		cmocka_unit_test(pause_stands_still_and_resume_goes_on_from_there),
		cmocka_unit_test(reverse_goes_back_at_the_same_pace),
		cmocka_unit_test(a_ramp_that_has_ended_can_be_reversed),
		cmocka_unit_test(pressure_stops_it_until_resumed),
		cmocka_unit_test(pausing_what_pressure_has_stopped_keeps_its_share),
		cmocka_unit_test(cancel_goes_back_to_what_was_set),
		cmocka_unit_test(share_in_force_is_what_the_data_plane_reads),
		cmocka_unit_test(threshold_is_of_two_to_the_32),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
