// SPDX-License-Identifier: GPL-2.0-or-later
/* The retry policies of the drill's clients: what is accepted, and how long each sleeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "drill/retry.h"

#define MS 1000000ull
#define S (1000 * MS)

static void test_forms(void **state)
{
	static const struct {
		const char *text;
		struct retry_policy policy;
		const char *back;
	} cases[] = {
		{"now", {RETRY_NOW, 0, 0}, "now"},
		{"fixed:1s", {RETRY_FIXED, 1 * S, 0}, "fixed:1s"},
		{"fixed:2", {RETRY_FIXED, 2 * S, 0}, "fixed:2s"},
		{"fixed:250ms", {RETRY_FIXED, 250 * MS, 0}, "fixed:250ms"},
		{"exp:1s:30s", {RETRY_EXP, 1 * S, 30 * S}, "exp:1s:30s"},
		{"expj:500ms:1m", {RETRY_EXP_JITTER, 500 * MS, 60 * S}, "expj:500ms:60s"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct retry_policy p;
		char text[80];

		assert_int_equal(retry_parse(cases[i].text, &p), 0);
		assert_int_equal(p.kind, cases[i].policy.kind);
		assert_int_equal(p.base_ns, cases[i].policy.base_ns);
		assert_int_equal(p.max_ns, cases[i].policy.max_ns);
		retry_format(&p, text, sizeof(text));
		assert_string_equal(text, cases[i].back);
	}
}

static void test_refused(void **state)
{
	static const char *const bad[] = {"",          "no",
					  "nowt",      "now:1s",
					  "fixed",     "fixed:",
					  "fixed:x",   "fixed:1s:2s",
					  "fixed:-1s", "exp:1s",
					  "exp:2s:1s", "exp:0s:1s",
					  "expj:1s:",  "expj:1s:2s:3s",
					  "exp::1s",   "fixed:111111111111111111111111111111111s"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct retry_policy p = {RETRY_EXP, 7, 9};

		assert_true(retry_parse(bad[i], &p) < 0);
		/* untouched on failure */
		assert_int_equal(p.kind, RETRY_EXP);
		assert_int_equal(p.base_ns, 7);
		assert_int_equal(p.max_ns, 9);
	}
}

static void test_delays(void **state)
{
	const struct retry_policy now = {RETRY_NOW, 0, 0}, fixed = {RETRY_FIXED, 3 * S, 0},
				  exp = {RETRY_EXP, 1 * S, 10 * S};
	static const uint64_t steps[] = {1, 2, 4, 8, 10, 10, 10};

	(void)state;
	assert_int_equal(retry_delay_ns(&now, 1, UINT64_MAX), 0);
	assert_int_equal(retry_delay_ns(&fixed, 1, UINT64_MAX), 3 * S);
	assert_int_equal(retry_delay_ns(&fixed, 1000, 0), 3 * S);
	for (uint32_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		assert_int_equal(retry_delay_ns(&exp, i + 1, 12345), steps[i] * S);
	assert_int_equal(retry_delay_ns(&exp, UINT32_MAX, 0), 10 * S);
}

static void test_jitter(void **state)
{
	const struct retry_policy p = {RETRY_EXP_JITTER, 1 * S, 8 * S};
	uint64_t sum = 0;

	(void)state;
	assert_int_equal(retry_delay_ns(&p, 1, 0), 0);
	assert_int_equal(retry_delay_ns(&p, 1, UINT64_MAX), 1 * S);
	assert_int_equal(retry_delay_ns(&p, 4, UINT64_MAX), 8 * S);
	assert_int_equal(retry_delay_ns(&p, 40, UINT64_MAX), 8 * S);
	/* Uniform: the mean over evenly spread bits is half of the most. */
	for (uint64_t i = 0; i < 1024; i++)
		sum += retry_delay_ns(&p, 3, i << 54);
	assert_in_range(sum / 1024, 2 * S - 10 * MS, 2 * S + 10 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_delays),
		cmocka_unit_test(test_jitter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
