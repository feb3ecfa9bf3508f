// SPDX-License-Identifier: GPL-2.0-or-later
/* The controller against simulated servers, beside two rivals; then its rules one by one. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/control.h"
#include "plant_control.h"

static struct plant_result result, again; /* too large for the stack */

static void drive_synhold(void *state, const struct control_input *input, struct plant_limits *limits)
{
	struct control_output output;

	plant_control_tick(state, input, limits, &output);
}

/* Additive increase of a rate, multiplicative decrease when over the target. */
static void drive_aimd(void *state, const struct control_input *input, struct plant_limits *limits)
{
	double *rate = state;

	if (input->delay_count && input->delay_p50_ns > PLANT_TARGET_NS)
		*rate = fmax(5, *rate * 0.9);
	else if (input->held)
		*rate += 5;
	limits->window = 65536;
	limits->ceiling_pps = *rate;
}

/* Netflix concurrency-limits, Gradient2Limit, with its default constants. */
struct gradient {
	double window, average, sum;
	unsigned int count;
};

static void drive_gradient(void *state, const struct control_input *input, struct plant_limits *limits)
{
	struct gradient *gradient = state;
	double now = (double)(input->delay_mean_ns + input->rtt_mean_ns), slope;

	if (input->delay_count) {
		gradient->count++;
		if (gradient->count <= 10) {
			gradient->sum += now;
			gradient->average = gradient->sum / gradient->count;
		} else {
			gradient->average += (now - gradient->average) * 2 / 601;
		}
		if (gradient->average / now > 2)
			gradient->average *= 0.9;
		if ((double)input->inflight >= gradient->window / 2) {
			slope = fmax(0.5, fmin(1, gradient->average / now));
			gradient->window = 0.8 * gradient->window + 0.2 * (slope * gradient->window + 4);
			gradient->window = fmax(20, fmin(65536, gradient->window));
		}
	}
	limits->window = gradient->window;
}

static void run_synhold(const struct plant_config *config, struct plant_result *out)
{
	struct control control;

	plant_control_run(config, drive_synhold, &control, out);
}

static struct plant_config herd(double capacity, double seconds)
{
	return (struct plant_config){
		.seed = 1,
		.capacity = capacity,
		.workers = 8,
		.clients = (unsigned int)(capacity * seconds),
		.herd_spread = 0.1,
		.rtt_min = 0.01,
		.rtt_max = 0.1,
		.rtt_known = true,
		.retry = 1,
		.fall = 0.6,
		.horizon = seconds * 5,
	};
}

/* Settlements per second between two times. */
static double pace(const struct plant_result *of, double from_s, double to_s)
{
	unsigned int i, from = (unsigned int)lround(from_s * 10), to = (unsigned int)lround(to_s * 10);
	double sum = 0;

	assert_true(to <= of->ticks);
	for (i = from; i < to; i++)
		sum += of->trace[i].settled;
	return sum / (to_s - from_s);
}

struct table_row {
	const char *name;
	double seconds, fast_seconds; /* of work; the second from 5000/s on */
	struct plant_config with;
	double limit;
};

static struct plant_config table_config(const struct table_row *row, double capacity, uint64_t seed)
{
	struct plant_config config = herd(capacity, capacity < 5000  ? row->seconds :
						    capacity < 20000 ? row->fast_seconds :
								       15);

	if (row->with.lagged && capacity >= 20000)
		config.clients = (unsigned int)capacity * 40;
	config.seed = seed;
	config.step_from = row->with.step_from;
	config.step_to = row->with.step_to;
	config.step_factor = row->with.step_factor;
	config.cold_seconds = row->with.cold_seconds;
	config.eager = row->with.eager;
	config.patience = row->with.patience;
	config.lagged = row->with.lagged;
	config.horizon = 200;
	return config;
}

static void test_table(void **state)
{
	static const struct table_row rows[] = {
		{"falls 60 % under load", 60, 20, {0}, 1.1},
		{"step to 40 %", 60, 20, {.step_from = 10, .step_to = 1e6, .step_factor = 0.4}, 1.1},
		{"cold, 25 to 100 % in 40 s", 60, 20, {.cold_seconds = 40}, 1.1},
		{"cold, eager, clients leave", 60, 20, {.cold_seconds = 20, .eager = true, .patience = 60}, 1.1},
		{"70 % of the work lags", 60, 60, {.lagged = true}, 1.35},
	};
	static const double capacities[] = {20, 50, 100, 200, 500, 2000, 5000, 20000};
	const struct plant_limits open = {.window = 20, .expire_ns = SYNHOLD_EXPIRE_MAX_NS};
	unsigned int row, c, seed, seeds;

	(void)state;
	print_message("drain / ideal, share of time over 500 ms\n%-28s %7s %23s %16s %16s\n", "server", "per s",
		      "synhold, mean and worst", "AIMD", "Gradient2");
	for (row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		for (c = 0; c < sizeof(capacities) / sizeof(capacities[0]); c++) {
			double capacity = capacities[c], aimd = 20, mean = 0, worst = 0, late = 0, limit, ratio;
			struct gradient gradient = {.window = 20};
			struct plant_config config;

			seeds = capacity < 20000 ? 3 : 1;
			for (seed = seeds; seed >= 1; seed--) {
				config = table_config(&rows[row], capacity, seed);
				run_synhold(&config, &result);
				assert_int_equal(result.served, config.clients);
				ratio = result.drain_seconds / result.ideal_seconds;
				mean += ratio / seeds;
				worst = fmax(worst, ratio);
				late += result.late_share * 100 / seeds;
			}
			config.horizon = 3.5 * result.ideal_seconds;
			assert_int_equal(plant_run(&config, drive_aimd, &aimd, open, &again), 0);
			assert_int_equal(plant_run(&config, drive_gradient, &gradient, open, &result), 0);
			print_message("%-28s %7.0f %7.2f %7.2f %5.1f %% %7.2f %6.1f %% %7.2f %6.1f %%\n",
				      rows[row].name, capacity, mean, worst, late,
				      again.drain_seconds / again.ideal_seconds, again.late_share * 100,
				      result.drain_seconds / result.ideal_seconds, result.late_share * 100);
			/*
			 * What lags is felt with a delay of seconds, in which a server of 20/s gets a second of work
			 * with each handful of clients.
			 */
			limit = rows[row].limit;
			if (config.lagged && capacity < 50)
				limit = 1.55;
			assert_true(mean <= limit);
			assert_true(worst <= limit + (config.lagged ? 0.1 : 0));
			/* At 5/s, as cold as the first of these, the window of 8 is more than a second of work. */
			assert_true(late <= (config.lagged                            ? (capacity < 50 ? 6 : 3) :
					     capacity < 50 && config.cold_seconds > 0 ? 4 :
											1));
		}
	}
}

static void test_steady_state(void **state)
{
	static const double capacities[] = {200, 500, 5000, 20000};
	static const double rtt[][2] = {{0, 0.001}, {0.01, 0.1}, {0, 0.2}};
	static const unsigned int workers[] = {1, 8, 50};
	unsigned int c, r, w, i;

	(void)state;
	for (c = 0; c < 4; c++) {
		for (r = 0; r < 3; r++) {
			for (w = 0; w < 3; w++) {
				struct plant_config config = herd(capacities[c], capacities[c] < 5000 ? 40 : 12);
				double low = 1e9, high = 0, sum = 0, served;
				unsigned int from = 60, to;

				config.workers = workers[w];
				config.rtt_min = rtt[r][0];
				config.rtt_max = rtt[r][1];
				config.noise = 0.2;
				config.seed = 7 + r;
				if (config.workers / config.capacity > 0.09)
					continue; /* the target itself, when idle: it may look around */
				run_synhold(&config, &result);
				to = (unsigned int)(result.drain_seconds * 9);
				for (i = from; i < to; i++) {
					low = fmin(low, result.trace[i].window);
					high = fmax(high, result.trace[i].window);
					sum += result.trace[i].window;
				}
				sum /= to - from;
				served = pace(&result, 6, to / 10.0);
				if (low < 0.8 * sum || high > 1.2 * sum || served < 0.93 * config.capacity)
					print_message("%.0f/s, rtt %.0f-%.0f ms, %u workers: window %.0f to %.0f, "
						      "mean %.0f, %.0f/s\n",
						      config.capacity, rtt[r][0] * 1e3, rtt[r][1] * 1e3, workers[w],
						      low, high, sum, served);
				assert_true(low >= 0.8 * sum - 1 && high <= 1.2 * sum + 1);
				assert_true(served >= 0.93 * config.capacity);
			}
		}
	}
}

static void test_calm(void **state)
{
	static const double rates[] = {200, 2000};
	unsigned int r, i;

	(void)state;
	for (r = 0; r < 2; r++) {
		struct plant_config config = herd(rates[r] * 2, 10);
		uint32_t peak = 0;

		config.calm_pps = rates[r];
		config.herd_at = 30;
		config.horizon = 80;
		config.idle_share = 0.1;
		run_synhold(&config, &result);
		for (i = 25; i < 299; i++) {
			const struct plant_sample *sample = &result.trace[i];

			peak = sample->inflight > peak ? sample->inflight : peak;
			assert_false(sample->limited);
			assert_int_equal(sample->held, 0);
			assert_true(sample[1].window >= 2 * sample->inflight);
		}
		/* Room, but not without end; and the herd that then comes is no more than a bounded burst. */
		assert_true(result.trace[299].window <= 4 * peak || result.trace[299].window == CONTROL_WINDOW_CALM);
		for (i = 300; i < 400; i++)
			assert_true(result.trace[i].delay_ms < 500);
		assert_int_equal(result.served, config.clients);
		assert_true(result.drain_seconds < 2.2 * config.clients / config.capacity);
	}
}

static void test_halved_and_restored(void **state)
{
	static const double capacities[] = {200, 500, 5000};
	static const double rtt_max[] = {0.001, 0.1, 0.2};
	unsigned int c, r;

	(void)state;
	for (c = 0; c < 3; c++) {
		for (r = 0; r < 3; r++) {
			struct plant_config config = herd(capacities[c], 30);

			config.rtt_min = rtt_max[r] / 10;
			config.rtt_max = rtt_max[r];
			config.step_from = 10;
			config.step_to = 20;
			config.step_factor = 0.5;
			run_synhold(&config, &result);
			assert_true(pace(&result, 12, 14) > 0.45 * config.capacity);
			assert_true(result.trace[125].delay_ms < 250);
			assert_true(pace(&result, 22, 24) > 0.9 * config.capacity);
			assert_true(result.drain_seconds < 1.1 * result.ideal_seconds);
		}
	}
}

static void test_attached_after_a_collapse(void **state)
{
	struct plant_config config = herd(490, 20);
	unsigned int i, admitted = 0;

	(void)state;
	config.dead_seconds = 20;
	config.fall = 0;
	config.patience = 60;
	run_synhold(&config, &result);
	for (i = 30; i < 190; i++)
		assert_int_equal(result.trace[i].window, plant_control_defaults.window_min);
	for (i = 0; i < 200; i++)
		admitted += result.trace[i].settled;
	assert_true(admitted < 100);
	/* Work resumes at 20 s. */
	assert_true(pace(&result, 21, 23) > 0.9 * 490);
	assert_true(result.drain_seconds < 20 + 1.1 * 20);
	assert_true(result.late < 400);
	/* With clients that leave and come back, ghosts take some of the releases. */
	config.patience = 5;
	run_synhold(&config, &result);
	assert_true(pace(&result, 23, 29) > 0.6 * 490);
	assert_true(result.drain_seconds < 20 + 1.35 * 20);
}

static void test_hung_server(void **state)
{
	struct plant_config config = herd(500, 20);
	unsigned int i;

	(void)state;
	config.hang_from = 5;
	config.hang_to = 15;
	run_synhold(&config, &result);
	for (i = 90; i < 150; i++)
		assert_int_equal(result.trace[i].window, plant_control_defaults.window_min);
	assert_true(pace(&result, 16, 18) > 0.9 * 500);
	assert_true(result.drain_seconds < 10 + 1.1 * 20);
}

static void test_idle_connections(void **state)
{
	struct plant_config config = herd(500, 30);
	unsigned int i;

	(void)state;
	config.idle_share = 0.3; /* three of ten are opened and never used */
	run_synhold(&config, &result);
	assert_true(result.expired > 5000);
	assert_true(result.drain_seconds < 1.1 * result.ideal_seconds);
	assert_true(result.late_share < 0.01);
	for (i = 50; i < 250; i++)
		assert_true(result.trace[i].window > 75);
}

static void test_clients_that_leave(void **state)
{
	struct plant_config config = herd(490, 24.5);

	(void)state;
	config.patience = 3;
	config.retry = 0.05;
	run_synhold(&config, &result);
	assert_true(result.abandoned > 500);
	assert_true(result.drain_seconds < 1.1 * result.ideal_seconds);
	config.eager = true;
	run_synhold(&config, &result);
	assert_true(result.drain_seconds < 1.1 * result.ideal_seconds);
	assert_true(result.wasted < config.clients / 10);
}

/*
 * On a short path a client about to give up completes its handshake, leaves, and its slot goes to the next
 * one about to give up, while the server keeps all their requests. Only a slot that waits for the server
 * protects it.
 */
static void test_leaving_on_a_short_path(void **state)
{
	struct plant_config config = herd(490, 24.5);
	double freed_at_once;

	(void)state;
	config.rtt_min = 0.0001;
	config.rtt_max = 0.0005;
	config.workers = 1;
	config.patience = 2;
	config.retry = 0.05;
	config.fall = 0;
	run_synhold(&config, &result);
	freed_at_once = result.drain_seconds;
	config.fin_keeps_slot = true;
	run_synhold(&config, &result);
	assert_true(result.drain_seconds < 1.15 * result.ideal_seconds);
	assert_true(result.wasted < config.clients / 10);
	assert_true(freed_at_once > 2 * result.drain_seconds);
}

/* Two cores for clients, server and kernel: what the server can do changes by half every 100 ms. */
static void test_noisy_machine(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 6; seed++) {
		struct plant_config config = herd(490, 24.5);

		config.seed = seed;
		config.noise = 0.5;
		config.rtt_min = 0.0001;
		config.rtt_max = 0.0005;
		config.workers = 1;
		run_synhold(&config, &result);
		assert_true(result.drain_seconds < 1.1 * result.ideal_seconds);
		assert_true(result.late_share <= 0.02);
		config.rtt_known = false;
		run_synhold(&config, &result);
		assert_true(result.drain_seconds < 1.1 * result.ideal_seconds);
		assert_true(result.late_share <= 0.03);
	}
}

static void test_unknown_round_trip(void **state)
{
	static const double capacities[] = {200, 500, 5000};
	unsigned int c;

	(void)state;
	for (c = 0; c < 3; c++) {
		struct plant_config config = herd(capacities[c], 30);

		config.rtt_known = false;
		config.rtt_min = 0.05;
		config.rtt_max = 0.2;
		run_synhold(&config, &result);
		assert_true(result.drain_seconds < 1.1 * result.ideal_seconds);
		assert_true(result.late_share <= 0.01);
	}
}

static void test_slow_server(void **state)
{
	struct plant_config config = herd(200, 40);

	(void)state;
	config.workers = 50; /* each connection takes 250 ms, two and a half times the target */
	run_synhold(&config, &result);
	assert_true(result.drain_seconds < 1.15 * result.ideal_seconds);
	assert_true(result.late_share <= 0.02);
}

static void test_short_accept_queue(void **state)
{
	struct plant_config config = herd(2000, 20);
	unsigned int i;

	(void)state;
	config.backlog = 64; /* 32 ms of work: less than the target wants to queue */
	config.fall = 0;
	run_synhold(&config, &result);
	assert_int_equal(result.served, config.clients);
	assert_true(result.drain_seconds < 1.15 * result.ideal_seconds);
	for (i = 50; i < 150; i++)
		assert_true(result.trace[i].window < 250); /* against 310 with a queue of any length */
}

static void test_same_seed_same_result(void **state)
{
	struct plant_config config = herd(500, 10);

	(void)state;
	config.noise = 0.3;
	run_synhold(&config, &result);
	run_synhold(&config, &again);
	assert_memory_equal(&result, &again, sizeof(result));
}

static void test_policy(void **state)
{
	struct control_policy policy = plant_control_defaults;
	struct control control;
	struct control_output output, before;
	struct control_input input = {.now_ns = 1};
	struct control_explain explain;
	unsigned int i, changes = 0;

	(void)state;
	policy.window_min = 0;
	assert_int_equal(control_init(&control, &policy, 0, 0, 0), -EINVAL);
	policy = plant_control_defaults;
	policy.window_max = 7;
	assert_int_equal(control_init(&control, &policy, 0, 0, 0), -EINVAL);
	policy = plant_control_defaults;
	policy.target_delay_ns = 0;
	assert_int_equal(control_init(&control, &policy, 0, 0, 0), -EINVAL);
	policy = plant_control_defaults;
	policy.window_mode = SYNHOLD_WINDOW_FIXED;
	assert_int_equal(control_init(&control, &policy, 0, 0, 0), -EINVAL);

	/* What an earlier daemon had found is taken over, within the bounds. */
	assert_int_equal(control_init(&control, &plant_control_defaults, 0, 300, 3000000000ULL), 0);
	assert_int_equal(control_tick(&control, &input, &output), 0);
	assert_int_equal(output.window, 300);
	assert_int_equal(output.expire_ns, 3000000000ULL);
	assert_false(output.cold);
	assert_false(output.window_change.changed);
	before = output;
	assert_int_equal(control_tick(&control, &input, &output), -EINVAL); /* time stands still */
	input.now_ns += CONTROL_TICK_NS;
	input.pressures = CONTROL_SIGNALS + 1;
	assert_int_equal(control_tick(&control, &input, &output), -EINVAL);
	assert_memory_equal(&before, &output, sizeof(output));
	input.pressures = 0;

	policy = plant_control_defaults;
	policy.window_max = 100;
	assert_int_equal(control_set_policy(&control, &policy), 0);
	assert_int_equal(control_tick(&control, &input, &output), 0);
	assert_int_equal(output.window, 100);
	assert_true(output.window_change.changed);
	assert_int_equal(output.window_change.signal, CONTROL_SIGNAL_POLICY);
	assert_int_equal(output.window_change.from, 300);
	assert_int_equal(output.window_change.to, 100);

	policy.window_mode = SYNHOLD_WINDOW_FIXED;
	policy.window = 17;
	assert_int_equal(control_set_policy(&control, &policy), 0);
	input.now_ns += CONTROL_TICK_NS;
	assert_int_equal(control_tick(&control, &input, &output), 0);
	assert_int_equal(output.window, 17);
	policy.window_mode = SYNHOLD_WINDOW_NONE;
	assert_int_equal(control_set_policy(&control, &policy), 0);
	input.now_ns += CONTROL_TICK_NS;
	assert_int_equal(control_tick(&control, &input, &output), 0);
	assert_int_equal(output.window, 0);
	control_explain(&control, &explain);
	assert_int_equal(explain.state, CONTROL_STATE_FIXED);
	assert_string_equal(explain.last.name, "policy");
	policy = plant_control_defaults;
	assert_int_equal(control_set_policy(&control, &policy), 0);
	input.now_ns += CONTROL_TICK_NS;
	assert_int_equal(control_tick(&control, &input, &output), 0);
	assert_true(output.window >= 100);

	/* With a server that stood there in calm, a burst is let in from the start; and nobody is told of another
	 * window. */
	assert_int_equal(control_init(&control, &plant_control_defaults, 0, 0, 0), 0);
	control_trust(&control);
	assert_int_equal(control_tick(&control, &input, &output), 0);
	assert_int_equal(output.window, CONTROL_WINDOW_CALM);
	assert_true(output.cold);
	assert_false(output.window_change.changed);

	/* A new listener is cold. */
	control_restart(&control, input.now_ns);
	input.now_ns += CONTROL_TICK_NS;
	assert_int_equal(control_tick(&control, &input, &output), 0);
	assert_int_equal(output.window, CONTROL_WINDOW_START);
	assert_true(output.cold);
	/* It is trusted with more as it answers, in three steps. */
	input = (struct control_input){.now_ns = input.now_ns, .accept_queue = -1, .accept_queue_max = -1};
	input.settled = input.admitted = input.delay_count = 4;
	input.delay_mean_ns = input.delay_p50_ns = input.delay_p99_ns = input.first_byte_p99_ns = 5000000;
	for (i = 0; i < 30; i++) {
		input.now_ns += CONTROL_TICK_NS;
		assert_int_equal(control_tick(&control, &input, &output), 0);
		changes += output.window_change.changed;
	}
	assert_int_equal(output.window, CONTROL_WINDOW_CALM);
	assert_int_equal(changes, 3);
	/* But not with one whose single answer takes long already. */
	control_restart(&control, input.now_ns);
	input.delay_mean_ns = input.delay_p50_ns = input.delay_p99_ns = input.first_byte_p99_ns = 400000000;
	for (i = 0; i < 30; i++) {
		input.now_ns += CONTROL_TICK_NS;
		assert_int_equal(control_tick(&control, &input, &output), 0);
	}
	assert_int_equal(output.window, CONTROL_WINDOW_CALM / 2);
}

/* A second of ticks of a service at its window, all well but for what `input` says. */
static void second(struct control *control, struct control_input *input, struct control_output *output)
{
	unsigned int i;

	for (i = 0; i < 10; i++) {
		input->now_ns += CONTROL_TICK_NS;
		assert_int_equal(control_tick(control, input, output), 0);
	}
}

static struct control_input storm(void)
{
	return (struct control_input){
		.admitted = 50,
		.settled = 50,
		.inflight = 64,
		.held = 1000,
		.window_limited = true,
		.has_rtt = true,
		.delay_count = 50,
		.delay_mean_ns = 95000000,
		.delay_p50_ns = 95000000,
		.delay_p99_ns = 120000000,
		.rtt_mean_ns = 30000000,
		.first_byte_p99_ns = 150000000,
		.accept_queue = -1,
		.accept_queue_max = -1,
	};
}

static void test_expiry(void **state)
{
	struct control control;
	struct control_output output;
	struct control_input input = storm();

	(void)state;
	assert_int_equal(control_init(&control, &plant_control_defaults, 0, 0, 0), 0);
	second(&control, &input, &output);
	assert_int_equal(output.expire_ns, SYNHOLD_EXPIRE_MIN_NS);
	input.first_byte_p99_ns = 500000000;
	second(&control, &input, &output);
	second(&control, &input, &output);
	assert_in_range(output.expire_ns, 1900000000ULL, 2000000000ULL);
	/* Late ones say that it was too short, even where the quantile does not contain them. */
	input.late_settled = 5;
	second(&control, &input, &output);
	assert_true(output.expire_ns > 2100000000ULL);
	input.first_byte_p99_ns = 60000000000ULL;
	second(&control, &input, &output);
	assert_int_equal(output.expire_ns, SYNHOLD_EXPIRE_MAX_NS);
}

static void test_pressure(void **state)
{
	struct control control;
	struct control_output output;
	struct control_input input = storm();
	struct control_explain explain;
	unsigned int i;
	uint32_t before;

	(void)state;
	/* In calm, high pressure is not ours to cure. */
	assert_int_equal(control_init(&control, &plant_control_defaults, 0, 0, 0), 0);
	input.window_limited = false;
	input.held = 0;
	input.inflight = 20;
	input.pressures = 1;
	input.pressure[0].name = "cpu";
	input.pressure[0].ratio = 1.9;
	for (i = 0; i < 10; i++)
		second(&control, &input, &output);
	assert_int_equal(output.ceiling_pps, 0);

	/* In a storm it trips at three quarters of what was served. */
	input = storm();
	input.now_ns = 10000000000ULL;
	input.pressures = 1;
	input.pressure[0].name = "sessions";
	input.pressure[0].ratio = 1.5;
	second(&control, &input, &output);
	second(&control, &input, &output);
	assert_in_range(output.ceiling_pps, 370, 380);
	control_explain(&control, &explain);
	assert_int_equal(explain.state, CONTROL_STATE_CEILING);
	assert_string_equal(explain.pressure_name, "sessions");

	/* Twice over after the freeze: drain; then a ceiling again, which grows while it limits. */
	input.pressure[0].ratio = 3;
	for (i = 0; i < 6; i++)
		second(&control, &input, &output);
	assert_in_range(output.ceiling_pps, 5, 60);
	control_explain(&control, &explain);
	assert_int_equal(explain.state, CONTROL_STATE_DRAIN);
	input.pressure[0].ratio = 0;
	second(&control, &input, &output);
	before = output.ceiling_pps;
	assert_true(before > 300);
	for (i = 0; i < 10; i++)
		second(&control, &input, &output);
	assert_true(output.ceiling_pps > before);
	assert_true(output.ceiling_pps < 1.5 * before);

	/* A signal that does not care what is let in cannot hold the service down for ever. */
	input.pressure[0].ratio = 3;
	for (i = 0; i < 30; i++)
		second(&control, &input, &output);
	assert_in_range(output.ceiling_pps, 1, 60);
	for (i = 0; i < 95; i++)
		second(&control, &input, &output);
	assert_int_equal(output.ceiling_pps, 0);
	input.pressure[0].ratio = 0.5;
	second(&control, &input, &output);
	input.pressure[0].ratio = 1.5;
	second(&control, &input, &output);
	assert_true(output.ceiling_pps > 300);
	input.pressure[0].ratio = 0;

	/* A storm that has ended: the ceiling gives way, and is lifted when it is well above the traffic. */
	second(&control, &input, &output);
	before = output.ceiling_pps;
	input.window_limited = false;
	input.held = 0;
	input.admitted = input.settled = 30;
	for (i = 0; i < 10; i++)
		second(&control, &input, &output);
	assert_in_range(output.ceiling_pps, 1.2 * before, 2 * before);
	for (i = 0; i < 13; i++)
		second(&control, &input, &output);
	assert_int_equal(output.ceiling_pps, 0);

	/* Not while the signal says that there is no room. */
	input = storm();
	input.now_ns = control.last_tick_ns;
	input.pressures = 1;
	input.pressure[0].name = "sessions";
	input.pressure[0].ratio = 1.5;
	for (i = 0; i < 3; i++)
		second(&control, &input, &output);
	before = output.ceiling_pps;
	assert_true(before > 0);
	input.window_limited = false;
	input.held = 0;
	input.pressure[0].ratio = 0.9;
	for (i = 0; i < 50; i++)
		second(&control, &input, &output);
	assert_int_equal(output.ceiling_pps, before);
}

static void test_alarm_only_stops_growth(void **state)
{
	struct control control;
	struct control_output output;
	struct control_input input = storm();

	(void)state;
	assert_int_equal(control_init(&control, &plant_control_defaults, 0, 0, 0), 0);
	input.delay_p50_ns = input.delay_mean_ns = 2000000;
	input.pressures = 1;
	input.pressure[0].name = "cpu";
	input.pressure[0].ratio = 3;
	input.pressure[0].alarm = true;
	second(&control, &input, &output);
	input.settled = 500; /* plenty: without the alarm the window would grow */
	second(&control, &input, &output);
	assert_int_equal(output.window_change.changed, false);
	assert_int_equal(output.ceiling_pps, 0);
	control.slow.alarm = false;
	input.pressure[0].ratio = 0.5;
	second(&control, &input, &output);
	second(&control, &input, &output);
	assert_true(output.window > 64);
	assert_int_equal(output.ceiling_pps, 0);
}

/* Delays with the round trip in them, now and then, must not be mixed with those without. */
static void test_mixed_kinds_of_delay(void **state)
{
	struct control control;
	struct control_output output;
	struct control_input input = storm();
	struct control_explain before, after;
	unsigned int i;

	(void)state;
	assert_int_equal(control_init(&control, &plant_control_defaults, 0, 0, 0), 0);
	second(&control, &input, &output);
	control_explain(&control, &before);
	for (i = 0; i < 30; i++) {
		input.has_rtt = i % 3 != 0;
		input.delay_p50_ns = input.delay_mean_ns = input.has_rtt ? 95000000 : 125000000;
		input.now_ns += CONTROL_TICK_NS;
		assert_int_equal(control_tick(&control, &input, &output), 0);
	}
	control_explain(&control, &after);
	assert_int_equal(after.delay_ns, before.delay_ns);
	assert_int_equal(after.base_ns, before.base_ns);
	/* But where it stays that way, it is what there is. */
	input.has_rtt = false;
	input.delay_p50_ns = input.delay_mean_ns = 125000000;
	second(&control, &input, &output);
	control_explain(&control, &after);
	assert_int_equal(after.delay_ns, 125000000);
	assert_int_equal(after.rtt_ns, 0);
}

static void test_names_and_quantiles(void **state)
{
	uint64_t histogram[SYNHOLD_HIST_BUCKETS] = {0};
	int i, k;

	(void)state;
	for (i = 0; i < CONTROL_SIGNAL_COUNT; i++)
		for (k = 0; k < i; k++)
			assert_string_not_equal(control_signal_name(i), control_signal_name(k));
	for (i = 0; i < CONTROL_STATE_COUNT; i++)
		for (k = 0; k < i; k++)
			assert_string_not_equal(control_state_name(i), control_state_name(k));
	assert_string_equal(control_signal_name(CONTROL_SIGNAL_COUNT), "unknown");

	assert_int_equal(control_quantile_ns(histogram, 500), 0);
	histogram[1] = 100; /* 65,536 to 81,919 ns */
	assert_int_equal(control_quantile_ns(histogram, 500), 65536 + 8192);
	histogram[SYNHOLD_HIST_BUCKETS - 1] = 300;
	assert_true(control_quantile_ns(histogram, 990) >= 1ULL << 34);
	histogram[SYNHOLD_HIST_BUCKETS - 1] = 0;
	histogram[5] = 100; /* 131,072 to 163,839 ns */
	assert_in_range(control_quantile_ns(histogram, 990), 131072, 163840);
	assert_int_equal(control_quantile_ns(histogram, 500), 81920);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_steady_state),
		cmocka_unit_test(test_calm),
		cmocka_unit_test(test_halved_and_restored),
		cmocka_unit_test(test_attached_after_a_collapse),
		cmocka_unit_test(test_hung_server),
		cmocka_unit_test(test_idle_connections),
		cmocka_unit_test(test_clients_that_leave),
		cmocka_unit_test(test_leaving_on_a_short_path),
		cmocka_unit_test(test_noisy_machine),
		cmocka_unit_test(test_unknown_round_trip),
		cmocka_unit_test(test_slow_server),
		cmocka_unit_test(test_short_accept_queue),
		cmocka_unit_test(test_same_seed_same_result),
		cmocka_unit_test(test_policy),
		cmocka_unit_test(test_expiry),
		cmocka_unit_test(test_pressure),
		cmocka_unit_test(test_alarm_only_stops_growth),
		cmocka_unit_test(test_mixed_kinds_of_delay),
		cmocka_unit_test(test_names_and_quantiles),
	};

	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
