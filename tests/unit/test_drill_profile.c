// SPDX-License-Identifier: GPL-2.0-or-later
/* What a node can do over time, and how soon a load would be served with nothing wasted. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "drill/profile.h"

static const struct profile always;
/* Full, then a fifth from 5 s to 15 s, then full again. */
static const struct profile job = {.points = 4, .point = {{5, 1}, {5, 0.2}, {15, 0.2}, {15, 1}}};
/* Away for 3 s, then from a quarter to full in 20 s. */
static const struct profile cold = {.points = 3, .point = {{3, 0}, {3, 0.25}, {23, 1}}};

static void test_share(void **state)
{
	static const struct {
		const struct profile *profile;
		double t, share;
	} cases[] = {
		{&always, -1, 1},    {&always, 100, 1}, {&job, -1, 1},    {&job, 4.999, 1},  {&job, 5, 0.2},
		{&job, 14.999, 0.2}, {&job, 15, 1},     {&job, 1000, 1},  {&cold, 2.999, 0}, {&cold, 3, 0.25},
		{&cold, 13, 0.625},  {&cold, 23, 1},    {&cold, 1000, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_float_equal(profile_share(cases[i].profile, cases[i].t), cases[i].share, 1e-9);
}

static void test_ideal(void **state)
{
	static const struct {
		const char *what;
		struct profile_load load;
		double seconds;
	} cases[] = {
		{"a herd on one node", {6000, 0, 1, 400, &always}, 15},
		{"on three", {6000, 0, 3, 400, &always}, 5},
		{"who come slower than they are served are served as they come", {3000, 10, 1, 400, &always}, 10},
		{"who come faster wait", {6000, 10, 1, 400, &always}, 15},
		/* 5 s * 300 served; 10 s * 80; the rest of 6000 at 400/s, more than come from 15 s on */
		{"a job holds most workers", {6000, 20, 1, 400, &job}, 15 + (6000 - 1500 - 800) / 400.0},
		/* full for 5 s, then 80/s: 2000 + 400 = 2400 at 10 s */
		{"done before the job ends", {2400, 0, 1, 400, &job}, 10},
		/* 20 s of warming do (100 + 400) / 2 * 20 = 5000 */
		{"a cold stack", {6000, 0.5, 1, 400, &cold}, 23 + 1000 / 400.0},
		/* the second node is always well: 800 + 480 a second from 5 s on */
		{"only the first node is slow", {4000 + 4800, 0, 2, 400, &job}, 15},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double seconds = profile_ideal_seconds(&cases[i].load);

		if (fabs(seconds - cases[i].seconds) > 0.02)
			fail_msg("%s: %.3f s, expected %.3f s", cases[i].what, seconds, cases[i].seconds);
	}
}

/* Nothing is served for ever: it must end all the same. */
static void test_never(void **state)
{
	static const struct profile gone = {.points = 1, .point = {{0, 0}}};
	const struct profile_load load = {10, 0, 1, 400, &gone};

	(void)state;
	assert_true(isinf(profile_ideal_seconds(&load)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_ideal),
		cmocka_unit_test(test_never),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
