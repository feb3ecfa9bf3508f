// SPDX-License-Identifier: GPL-2.0-or-later
/* A server that freezes in calm traffic: the window keeps nobody back, as slots expire as fast as clients come. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/control.h"
#include "plant.h"

#define TICKS(seconds) ((unsigned int)((seconds)*10))

static struct plant_result result; /* too large for the stack */
static bool stalled[PLANT_TICKS_MAX];
static unsigned int ticks;

static void drive(void *state, const struct control_input *input, struct plant_limits *limits)
{
	struct control_output output;

	assert_int_equal(control_tick(state, input, &output), 0);
	limits->window = output.window;
	limits->ceiling_pps = output.ceiling_pps;
	limits->expire_ns = output.expire_ns;
	limits->silent_after_ns = output.silent_after_ns;
	stalled[ticks++] = output.stalled;
}

/* Trusted, as by a daemon that found the server standing there in calm. */
static void run(const struct plant_config *config)
{
	const struct plant_limits limits = {.window = CONTROL_WINDOW_CALM, .expire_ns = SYNHOLD_EXPIRE_MIN_NS};
	const struct control_policy policy = {
		.window_min = 8,
		.window_max = 65536,
		.window_mode = SYNHOLD_WINDOW_AUTO,
		.target_delay_ns = 100000000,
	};
	struct control control;

	ticks = 0;
	assert_int_equal(control_init(&control, &policy, 0, 0, 0), 0);
	control_trust(&control);
	assert_int_equal(plant_run(config, drive, &control, limits, &result), 0);
}

static struct plant_config calm(double pps)
{
	return (struct plant_config){
		.seed = 1,
		.capacity = 20 * pps,
		.workers = 8,
		.eager = true,
		.backlog = 4096,
		.clients = 1,
		.rtt_min = 0.001,
		.rtt_max = 0.02,
		.rtt_known = true,
		.calm_pps = pps,
		.horizon = 40,
	};
}

/* Whatever the rate, and whether it froze at once or had been answering: seen within seconds, and seen to be over. */
static void test_frozen_in_calm(void **state)
{
	static const double rates[] = {10, 40, 100, 400}, from[] = {0, 5};
	unsigned int i, k, tick;

	(void)state;
	for (i = 0; i < 4; i++) {
		for (k = 0; k < 2; k++) {
			struct plant_config config = calm(rates[i]);
			unsigned int begin = TICKS(from[k]), end = TICKS(from[k] + 15), first = 0;
			uint32_t most = 0;

			config.hang_from = from[k];
			config.hang_to = from[k] + 15;
			run(&config);
			for (tick = begin; tick < end; tick++) {
				first = stalled[tick] && !first ? tick : first;
				most = result.trace[tick].window > most ? result.trace[tick].window : most;
			}
			print_message("%3.0f/s frozen at %.0f s: seen after %.1f s, window at most %u\n", rates[i],
				      from[k], (first - begin) / 10.0, most);
			assert_true(first && first - begin <= TICKS(3));
			/* not a large window first: what is in flight unanswered is no demand (once 2.5 s of it) */
			assert_true(most <= fmax(2 * CONTROL_WINDOW_CALM, 0.75 * rates[i]));
			/* down to what goes on probing a moment later, and it stays there */
			for (tick = first + TICKS(2); tick < end; tick++) {
				assert_true(stalled[tick]);
				assert_int_equal(result.trace[tick].window, 8);
			}
			/* and when it answers again, there is room for everybody who comes */
			for (tick = end + TICKS(10); tick < result.ticks; tick++) {
				assert_false(stalled[tick]);
				assert_int_equal(result.trace[tick].held, 0);
			}
		}
	}
}

/* A server that just takes long, be it longer than a slot lives, answers somebody all the time. */
static void test_slow_is_not_frozen(void **state)
{
	static const double seconds[] = {0.5, 2, 4};
	unsigned int i, tick;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct plant_config config = calm(20);

		config.workers = 400;
		config.capacity = config.workers / seconds[i];
		run(&config);
		for (tick = TICKS(2 * seconds[i]); tick < result.ticks; tick++)
			assert_false(stalled[tick]);
	}
}

/* Connections that nobody has asked anything on are no sign of it. */
static void test_idle_is_not_frozen(void **state)
{
	struct plant_config config = calm(0.2);
	unsigned int tick;

	(void)state;
	config.silent_pps = 40;
	config.silent_to = 40;
	run(&config);
	for (tick = 0; tick < result.ticks; tick++)
		assert_false(stalled[tick]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frozen_in_calm),
		cmocka_unit_test(test_slow_is_not_frozen),
		cmocka_unit_test(test_idle_is_not_frozen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
