// SPDX-License-Identifier: GPL-2.0-or-later
/* The controller beside clients that connect and say nothing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/control.h"
#include "plant_control.h"

#define SILENT_PPS 100

static struct plant_result result, beside; /* too large for the stack */
static uint32_t most_silent;               /* of the last run */

static void drive(void *state, const struct control_input *input, struct plant_limits *limits)
{
	struct control_output output;

	plant_control_tick(state, input, limits, &output);
	most_silent = output.silent > most_silent ? output.silent : most_silent;
}

static struct control run(const struct plant_config *config, struct plant_result *out)
{
	struct control control;

	most_silent = 0;
	plant_control_run(config, drive, &control, out);
	return control;
}

static struct plant_config storm(double capacity)
{
	return (struct plant_config){
		.seed = 1,
		.capacity = capacity,
		.workers = 8,
		.eager = true,
		.backlog = 4096,
		.clients = (unsigned int)(12 * capacity),
		.herd_at = 5,
		.herd_spread = 0.1,
		.rtt_min = 0.01,
		.rtt_max = 0.1,
		.rtt_known = true,
		.patience = 5,
		.retry = 0.2,
		.horizon = 65,
		.silent_to = 65,
	};
}

static void test_storm_is_served_as_without(void **state)
{
	static const double capacities[] = {200, 500, 2000}, from[] = {4.9, 0};
	unsigned int i, k;

	(void)state;
	for (i = 0; i < sizeof(capacities) / sizeof(*capacities); i++) {
		struct plant_config config = storm(capacities[i]);

		run(&config, &result);
		assert_int_equal(result.served, config.clients);
		assert_int_equal(most_silent, 0);
		config.silent_pps = SILENT_PPS;
		for (k = 0; k < 2; k++) {
			config.silent_from = from[k];
			run(&config, &beside);
			print_message("%.0f/s, silent from %.1f s: drained in %.2f s, without %.2f s; ideal %.2f s\n",
				      capacities[i], from[k], beside.drain_seconds, result.drain_seconds,
				      result.ideal_seconds);
			assert_int_equal(beside.served, config.clients);
			assert_true(beside.drain_seconds * 0.9 <= result.drain_seconds);
			assert_true(beside.late_share <= 0.05);
		}
	}
}

/* Nobody else was there since the shield came: the window does not stay small, and the herd that comes is served. */
static void test_silent_alone_lock_nobody_out(void **state)
{
	struct plant_config config = storm(500);

	(void)state;
	config.silent_pps = SILENT_PPS;
	config.clients = 2000;
	config.patience = 0;
	config.herd_at = 20;
	run(&config, &result);
	print_message("after 20 s of silent ones only: drained in %.2f s, ideal %.2f s\n", result.drain_seconds,
		      result.ideal_seconds);
	assert_true(result.trace[150].window > SILENT_PPS);
	assert_int_equal(result.trace[150].held, 0);
	assert_int_equal(result.served, config.clients);
	assert_true(result.drain_seconds <= 1.5 * result.ideal_seconds);
}

/* Where the server speaks first, or is not here, all clients are silent until it does: no sign, no larger window. */
static void test_no_sign_where_clients_do_not_ask(void **state)
{
	struct plant_config config = storm(500);
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		config.server_first = !i;
		config.unseen = i;
		config.backlog = i ? 0 : 4096;
		config.calm_pps = 50; /* it is known before the storm */
		config.horizon = 40;
		run(&config, &result);
		assert_int_equal(result.served, config.clients);
		assert_true(result.drain_seconds <= 1.3 * result.ideal_seconds);
		assert_true(most_silent <= CONTROL_WINDOW_START);
	}
}

/* Browsers' spare connections: three of ten are opened and never used. By the sign, and by the ages of slots without
 * it. */
static void test_spare_connections(void **state)
{
	struct plant_config config = storm(500);
	unsigned int i;

	(void)state;
	config.clients = 15000;
	config.herd_at = 0;
	config.patience = 0;
	config.idle_share = 0.3;
	config.eager = false;
	config.backlog = 0;
	config.fall = 0.6;
	for (i = 0; i < 2; i++) {
		config.unseen = i;
		run(&config, &result);
		print_message("spare connections, %s: drained in %.2f s, ideal %.2f s\n", i ? "estimated" : "counted",
			      result.drain_seconds, result.ideal_seconds);
		assert_int_equal(result.served, config.clients);
		assert_true(result.drain_seconds <= 1.1 * result.ideal_seconds);
		assert_true(most_silent > 0 || i);
	}
}

/* Clients have asked and wait: that is a stall, however many say nothing beside them. */
static void test_dead_server_is_a_stall(void **state)
{
	struct plant_config config = storm(500);
	struct control control;
	struct control_explain explain;

	(void)state;
	config.silent_pps = SILENT_PPS;
	config.hang_from = 8;
	config.hang_to = 14;
	config.horizon = 14;
	control = run(&config, &result);
	control_explain(&control, &explain);
	assert_int_equal(explain.window, 8);
	print_message("dead: window 8 and %u for silent ones\n", explain.silent);
	assert_true(explain.silent <= 600);
	config.horizon = 65; /* and when it is back, that is noticed */
	run(&config, &result);
	print_message("back after 6 s: drained in %.2f s, ideal %.2f s\n", result.drain_seconds,
		      result.ideal_seconds + 6);
	assert_int_equal(result.served, config.clients);
	assert_true(result.drain_seconds <= 1.3 * (result.ideal_seconds + 6));
}

/* Server that speaks first and is dead from the start: nothing tells it from silent clients but the bound. */
static void test_what_is_not_known_is_bounded(void **state)
{
	struct plant_config config = storm(500);

	(void)state;
	config.server_first = true;
	config.hang_to = 100;
	config.horizon = 30;
	run(&config, &result);
	assert_int_equal(result.served, 0);
	assert_in_range(most_silent, 1, 256);
	assert_in_range(result.trace[result.ticks - 1].window, 8, 300);
}

static void test_operators_bounds_hold(void **state)
{
	struct control_policy policy = {.window_min = 8,
					.window_max = 50,
					.window_mode = SYNHOLD_WINDOW_AUTO,
					.target_delay_ns = 100000000};
	struct control_input input = {.admitted = 100,
				      .inflight = 100,
				      .silent = 100,
				      .held = 5,
				      .accept_queue_max = 128,
				      .window_limited = true};
	struct control_output output;
	struct control control;
	unsigned int i, mode;

	(void)state;
	for (mode = SYNHOLD_WINDOW_AUTO; mode <= SYNHOLD_WINDOW_FIXED; mode++) {
		policy.window_mode = (uint8_t)mode;
		policy.window = 20;
		assert_int_equal(control_init(&control, &policy, 0, 0, 0), 0);
		for (i = 1; i < 50; i++) {
			input.now_ns = i * CONTROL_TICK_NS;
			assert_int_equal(control_tick(&control, &input, &output), 0);
		}
		assert_int_equal(output.window, mode == SYNHOLD_WINDOW_AUTO  ? 50 :
						mode == SYNHOLD_WINDOW_FIXED ? 20 :
									       0);
		assert_int_equal(output.silent > 0, mode == SYNHOLD_WINDOW_AUTO);
	}
}

/* Handshakes that the listener's full queue keeps from being completed are no silent clients. */
static void test_full_accept_queue_adds_nothing(void **state)
{
	const struct control_policy policy = {.window_min = 8,
					      .window_max = 65536,
					      .window_mode = SYNHOLD_WINDOW_AUTO,
					      .target_delay_ns = 100000000};
	struct control_input input = {.now_ns = CONTROL_TICK_NS,
				      .admitted = 100,
				      .inflight = 100,
				      .silent = 60,
				      .asking = 20,
				      .asked_settled = 20,
				      .settled = 20,
				      .held = 5,
				      .accept_queue = 128,
				      .accept_queue_max = 128,
				      .window_limited = true};
	struct control_output output;
	struct control control;

	(void)state;
	assert_int_equal(control_init(&control, &policy, 0, 0, 0), 0);
	assert_int_equal(control_tick(&control, &input, &output), 0);
	assert_int_equal(output.silent, 0);
	input.accept_queue = 0;
	input.now_ns += CONTROL_TICK_NS;
	assert_int_equal(control_tick(&control, &input, &output), 0);
	assert_true(output.silent > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_storm_is_served_as_without),
		cmocka_unit_test(test_silent_alone_lock_nobody_out),
		cmocka_unit_test(test_no_sign_where_clients_do_not_ask),
		cmocka_unit_test(test_spare_connections),
		cmocka_unit_test(test_dead_server_is_a_stall),
		cmocka_unit_test(test_what_is_not_known_is_bounded),
		cmocka_unit_test(test_operators_bounds_hold),
		cmocka_unit_test(test_full_accept_queue_adds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
