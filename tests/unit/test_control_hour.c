// SPDX-License-Identifier: GPL-2.0-or-later
/* The controller through an hour of calm and storms, in simulated time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "daemon/control.h"
#include "plant_control.h"

static struct plant_result result; /* too large for the stack */
static uint64_t control_cpu_ns;

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

static void drive_and_count(void *state, const struct control_input *input, struct plant_limits *limits)
{
	uint64_t start = cpu_ns();
	struct control_output output;

	plant_control_tick(state, input, limits, &output);
	control_cpu_ns += cpu_ns() - start;
}

/* An hour: calm traffic all the time, a herd of forty seconds of work every five minutes, browsers' idle connections.
 */
static void test_hour(void **state)
{
	const struct plant_config config = {
		.seed = 1,
		.capacity = 500,
		.workers = 8,
		.fall = 0.6,
		.noise = 0.2,
		.rtt_min = 0.01,
		.rtt_max = 0.1,
		.rtt_known = true,
		.retry = 1,
		.calm_pps = 150,
		.idle_share = 0.05,
		.clients = 20000,
		.herd_at = 60,
		.herd_spread = 0.1,
		.herds = 12,
		.herd_period = 300,
		.horizon = 3600,
	};
	uint32_t worst_window = 0;
	unsigned int i, in_period;
	struct control control;

	(void)state;
	control_cpu_ns = 0;
	plant_control_run(&config, drive_and_count, &control, &result);
	assert_int_equal(result.served, config.clients * config.herds);
	/* Nothing is left: what is in flight at the end is a moment's traffic and its idle connections. */
	assert_true(result.inflight_end < 100);
	assert_in_range(result.ticks, 35990, 36000);
	for (i = 30; i < result.ticks; i++) {
		const struct plant_sample *sample = &result.trace[i];

		in_period = (i + 3000 - 600) % 3000;
		assert_true(in_period < 20 || sample->delay_ms < 500);
		worst_window = sample->window > worst_window ? sample->window : worst_window;
		/* The herd is through: from here on nobody may be kept back. */
		if (in_period > 900) {
			assert_int_equal(sample->held, 0);
			assert_false(sample->limited);
		}
	}
	assert_true(worst_window < 1000);
	assert_true(control_cpu_ns < 36000000000ULL); /* one per cent of the hour */
	print_message("an hour: %.0f connections, controller %.3f s of CPU\n", (double)result.settled,
		      (double)control_cpu_ns / 1e9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hour),
	};

	return cmocka_run_group_tests_name("control_hour", tests, NULL, NULL);
}
