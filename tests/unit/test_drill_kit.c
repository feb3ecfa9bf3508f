// SPDX-License-Identifier: GPL-2.0-or-later
/* The pure parts of the drills' kit: delays in a histogram, a server that warms up, curves, shares of clients. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "drill/curve.h"
#include "drill/server_parts.h"

#define MS 1000000ull

static void test_latency(void **state)
{
	static struct latency l;
	uint64_t before = 0;

	(void)state;
	assert_int_equal(latency_quantile_ns(&l, 0.5), 0);
	for (uint64_t ms = 1; ms <= 1000; ms++)
		latency_add(&l, ms * MS);
	assert_int_equal(latency_count(&l), 1000);
	/* At most a bucket too high, which is 9 %; never too low. */
	for (int percent = 1; percent <= 100; percent++) {
		uint64_t q = latency_quantile_ns(&l, percent / 100.0);

		assert_in_range(q, percent * 10 * MS, percent * 10 * MS * 110 / 100);
		assert_true(q >= before);
		before = q;
	}
	assert_int_equal(latency_quantile_ns(&l, 1), 1000 * MS);
	/* Beyond both ends. */
	latency_add(&l, 0);
	latency_add(&l, UINT64_MAX);
	assert_int_equal(latency_count(&l), 1002);
	assert_int_equal(l.longest_ns, UINT64_MAX);
}

static void test_cost(void **state)
{
	const struct server_job plain = {0}, cold = {.cold = 5, .warm_after = 100};
	uint64_t before = UINT64_MAX;

	(void)state;
	assert_int_equal(server_cost_ns(&plain, 2 * MS, 0), 2 * MS);
	assert_int_equal(server_cost_ns(&cold, 2 * MS, 0), 10 * MS);
	assert_int_equal(server_cost_ns(&cold, 2 * MS, 50), 6 * MS);
	for (uint32_t worked = 0; worked < 200; worked++) {
		uint64_t cost = server_cost_ns(&cold, 2 * MS, worked);

		assert_true(cost <= before);
		before = cost;
	}
	assert_int_equal(before, 2 * MS);
}

static void test_dropped(void **state)
{
	struct drill_params p = {.clients = 9000};

	(void)state;
	assert_int_equal(board_dropped(&p), 9000);
	p.drop_ppm = 333334;
	assert_int_equal(board_dropped(&p), 3000);
	p.drop_ppm = 1000000;
	assert_int_equal(board_dropped(&p), 9000);
	p.clients = 65000;
	assert_int_equal(board_dropped(&p), 65000);
	p.clients = 2;
	p.drop_ppm = 10000;
	assert_int_equal(board_dropped(&p), 1);
}

static void test_drop_form(void **state)
{
	static const char *const bad[] = {"", "33", "0%", "101%", "x%", "-1%"};
	struct drill_params p = {.drop_ppm = 7};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_true(params_set(&p, OPT_DROP, bad[i]) < 0);
		assert_int_equal(p.drop_ppm, 7);
	}
	assert_int_equal(params_set(&p, OPT_DROP, "33%"), 0);
	assert_int_equal(p.drop_ppm, 330000);
	assert_int_equal(params_set(&p, OPT_ONLY, "ramp"), 0);
	assert_int_equal(p.runs, RUN_BIT(RUN_RAMP));
	assert_true(params_set(&p, OPT_ONLY, "both") < 0);
}

/* A curve keeps the last sample, never has too many points, and leaves out what was not known. */
static void test_curves(void **state)
{
	static const uint32_t counts[] = {0, 1, 2, CURVE_POINTS_MAX - 1, CURVE_POINTS_MAX, 1000, BOARD_SAMPLES_MAX};
	const struct drill_params params = {.clients = 10};
	struct board *b = board_create(&params);
	static struct curve curve;

	(void)state;
	assert_non_null(b);
	for (uint32_t i = 0; i < BOARD_SAMPLES_MAX; i++)
		b->sample[i] = (struct board_sample){.t = i / 10.0F,
						     .served = i,
						     .held = i < 5 ? -1 : 3,
						     .value = {[2] = 0.5F}};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		b->samples = counts[i];
		curve_take(b, CURVE_SERVED, &curve);
		assert_true(curve.points <= CURVE_POINTS_MAX);
		assert_true(curve.points >= (counts[i] < 100 ? counts[i] : 100));
		if (!counts[i])
			continue;
		assert_true(curve.y[0] == 0);
		assert_true(curve.y[curve.points - 1] == counts[i] - 1);
		assert_true(curve.y_max == counts[i] - 1);
	}
	b->samples = 7;
	curve_take(b, CURVE_HELD, &curve);
	assert_int_equal(curve.points, 2);
	assert_true(curve.y_max == 3);
	curve_take(b, CURVE_OWN + 2, &curve);
	assert_true(curve.y_max == 0.5);
	board_destroy(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_latency),   cmocka_unit_test(test_cost),   cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_drop_form), cmocka_unit_test(test_curves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
