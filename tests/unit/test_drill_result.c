// SPDX-License-Identifier: GPL-2.0-or-later
/* The figures and the verdict of a drill, from boards written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "drill/result.h"

#define S 1000000000ull

static const struct drill_params params = {.name = "test", .clients = 100};

/* A storm of 100 clients at 10/s (ideal 10 s), the i-th served i/10 s after the start, `served` of them. */
static struct board *board_of(uint32_t served, uint64_t worked, bool with)
{
	struct board *b = board_create(&params);

	assert_non_null(b);
	b->run = with ? RUN_WITH : RUN_WITHOUT;
	b->capacity[0] = b->capacity[1] = 10;
	b->start_ns = 1000 * S;
	b->end_ns = 20 * S;
	b->end = served == 100 ? BOARD_ALL_SERVED : BOARD_COLLAPSED;
	b->node[0].before.worked = 7;
	b->node[0].after.worked = 7 + worked;
	for (uint32_t i = 0; i < 100; i++) {
		b->client[i].first_ns = b->start_ns + S / 100;
		if (i < served)
			b->client[i].served_ns = b->start_ns + (i + 1) * S / 10;
	}
	return b;
}

static void compute(struct board *b, struct result *r)
{
	assert_int_equal(result_compute(b, r), 0);
	board_destroy(b);
}

/* Judges up to two runs; `claimed`: the one without the shield has to show the incident. */
static bool judge(const struct result *without, const struct result *with, bool claimed,
		  char reason[FIGURES_REASON_MAX])
{
	struct figures figures[2] = {0};
	struct figures_run runs[2] = {{"without the shield", without ? &figures[0] : NULL},
				      {"with the shield", with ? &figures[1] : NULL}};

	if (without) {
		result_figures(without, &figures[0]);
		result_judge(without, RESULT_RATIO_MAX, claimed, &figures[0]);
	}
	if (with) {
		result_figures(with, &figures[1]);
		result_judge(with, RESULT_RATIO_MAX, claimed, &figures[1]);
	}
	return figures_judge(runs, 2, reason);
}

static void test_figures(void **state)
{
	struct result r;

	(void)state;
	compute(board_of(100, 130, true), &r);
	assert_int_equal(r.served, 100);
	assert_float_equal(r.drain_s, 10.0, 1e-4);
	assert_float_equal(r.ideal_s, 10.0, 1e-9);
	assert_float_equal(r.ratio, 1.0, 1e-4);
	assert_int_equal(r.worked, 130);
	assert_int_equal(r.vain, 30);
	assert_float_equal(r.wasted_percent, 100.0 * 30 / 130, 1e-9);
	assert_float_equal(r.wait_p50_s, 4.99, 1e-4);
	assert_float_equal(r.wait_p99_s, 9.89, 1e-4);
	assert_false(result_incident(&r));
}

static void test_nobody_served(void **state)
{
	struct result r;

	(void)state;
	compute(board_of(0, 0, false), &r);
	assert_int_equal(r.served, 0);
	assert_float_equal(r.wasted_percent, 0, 1e-9);
	assert_true(result_incident(&r));
}

static void test_capacity_agrees(void **state)
{
	struct board *b = board_of(0, 0, false);

	(void)state;
	b->capacity[1] = 10.5;
	assert_true(board_capacity_agrees(b));
	b->capacity[1] = 10.6;
	assert_false(board_capacity_agrees(b));
	b->capacity[0] = b->capacity[1] = 0;
	assert_false(board_capacity_agrees(b));
	board_destroy(b);
}

static void test_slow_drain_is_the_incident(void **state)
{
	struct board *b = board_of(100, 100, true);
	char reason[FIGURES_REASON_MAX];
	struct result r;

	(void)state;
	b->client[99].served_ns = b->start_ns + 129 * S / 10;
	assert_int_equal(result_compute(b, &r), 0);
	assert_true(judge(NULL, &r, false, reason));
	assert_non_null(strstr(reason, "1.29"));
	b->client[99].served_ns = b->start_ns + 131 * S / 10;
	compute(b, &r);
	assert_false(judge(NULL, &r, false, reason));
	assert_non_null(strstr(reason, "1.31"));
}

static void test_starved_server_proves_nothing(void **state)
{
	struct board *b = board_of(100, 100, true);
	char reason[FIGURES_REASON_MAX];
	struct result r;

	(void)state;
	b->client[99].served_ns = b->start_ns + 14 * S;
	b->node[0].after.waited_ns = 2 * S;
	assert_int_equal(result_compute(b, &r), 0);
	assert_false(judge(NULL, &r, false, reason));
	assert_ptr_equal(strstr(reason, "inconclusive"), reason);
	/* What the shield itself took is the shield's doing. */
	b->node[0].shield.cpu_ns = 3 * S / 2;
	compute(b, &r);
	assert_false(judge(NULL, &r, false, reason));
	assert_null(strstr(reason, "inconclusive"));
}

static void test_verdicts(void **state)
{
	struct result melted, calm, drained, short_of_one;
	char reason[FIGURES_REASON_MAX];

	(void)state;
	compute(board_of(40, 200, false), &melted);
	compute(board_of(100, 100, false), &calm);
	compute(board_of(100, 100, true), &drained);
	compute(board_of(99, 100, true), &short_of_one);
	assert_true(judge(&melted, &drained, true, reason));
	assert_true(judge(&melted, NULL, true, reason));
	assert_false(judge(&melted, &short_of_one, true, reason));
	/* A storm that melts nothing proves nothing, unless nobody claimed that it would. */
	assert_false(judge(&calm, &drained, true, reason));
	assert_true(judge(&calm, &drained, false, reason));
	assert_true(judge(&melted, &drained, false, reason));
}

static void test_established_must_live(void **state)
{
	char reason[FIGURES_REASON_MAX];
	struct result r;
	struct board *b;

	(void)state;
	for (int harm = 0; harm < 4; harm++) {
		b = board_of(100, 100, true);
		b->witness[0].sent_bytes = b->witness[1].received_bytes = 640;
		if (harm == 0)
			b->crowd[0].lost = 1;
		if (harm == 1)
			b->witness[1].received_bytes--;
		if (harm == 2)
			b->witness[0].corrupt_bytes = 1;
		if (harm == 3)
			b->witness[1].broken = 1;
		compute(b, &r);
		assert_false(judge(NULL, &r, false, reason));
	}
}

static void test_late_shield(void **state)
{
	struct board *b = board_of(100, 100, true);
	char reason[FIGURES_REASON_MAX];
	struct result r;

	(void)state;
	/* 20 served and 30 accepted when it came, after 50 s; the last of the 80 left is served 15 s on. */
	b->attached_ns = 50 * S;
	b->attached_served = 20;
	b->attached_backlog = 30;
	b->client[99].served_ns = b->start_ns + 65 * S;
	assert_int_equal(result_compute(b, &r), 0);
	assert_true(r.late);
	assert_float_equal(r.late_drain_s, 15, 1e-4);
	assert_float_equal(r.late_ideal_s, 8, 1e-4);
	assert_float_equal(r.late_backlog_s, 3, 1e-4);
	assert_float_equal(r.late_ratio, 1.2, 1e-4);
	assert_false(result_incident(&r));
	b->client[99].served_ns += 4 * S;
	compute(b, &r);
	assert_false(judge(NULL, &r, false, reason));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figures),
		cmocka_unit_test(test_nobody_served),
		cmocka_unit_test(test_capacity_agrees),
		cmocka_unit_test(test_slow_drain_is_the_incident),
		cmocka_unit_test(test_starved_server_proves_nothing),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_established_must_live),
		cmocka_unit_test(test_late_shield),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
