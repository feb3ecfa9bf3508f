// SPDX-License-Identifier: GPL-2.0-or-later
/* The list of figures that every drill is printed and judged by. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "drill/figures.h"

static void test_format(void **state)
{
	static const struct {
		struct figure figure;
		const char *text;
	} cases[] = {
		{{.unit = FIGURE_COUNT, .value = 0}, "0"},
		{{.unit = FIGURE_COUNT, .value = 999}, "999"},
		{{.unit = FIGURE_COUNT, .value = 1000}, "1,000"},
		{{.unit = FIGURE_COUNT, .value = 1002003}, "1,002,003"},
		{{.unit = FIGURE_COUNT, .value = 136, .of = 3000}, "136 of 3,000"},
		{{.unit = FIGURE_SECONDS, .value = 0.25}, "0.25 s"},
		{{.unit = FIGURE_SECONDS, .value = 12.34}, "12.3 s"},
		{{.unit = FIGURE_MS, .value = 46.4}, "46 ms"},
		{{.unit = FIGURE_RATIO, .value = 1.064}, "1.06"},
		{{.unit = FIGURE_PERCENT, .value = 58.94}, "58.9 %"},
		{{.unit = FIGURE_PER_SECOND, .value = 197.75}, "197.8/s"},
		{{.unit = FIGURE_FLAG, .value = 1}, "yes"},
		{{.unit = FIGURE_FLAG, .value = 0}, "no"},
		{{.unit = FIGURE_SECONDS, .value = NAN}, "-"},
		{{.unit = FIGURE_SECONDS, .value = NAN, .instead = "never"}, "never"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[64];

		figure_format(&cases[i].figure, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
}

static void test_bounds(void **state)
{
	struct figure f = {.value = 3, .limit = 3};

	(void)state;
	assert_false(figure_broken(&f));
	figure_judge(&f, FIGURE_AT_MOST, 3);
	assert_false(figure_broken(&f));
	f.value = 3.01;
	assert_true(figure_broken(&f));
	figure_judge(&f, FIGURE_AT_LEAST, 3);
	assert_false(figure_broken(&f));
	f.value = 2.99;
	assert_true(figure_broken(&f));
	/* What is judged and has no value was not reached. */
	f.value = FIGURE_NONE;
	assert_true(figure_broken(&f));
	figure_judge(&f, FIGURE_AT_MOST, 3);
	assert_true(figure_broken(&f));
	figure_judge(&f, FIGURE_ANY, 0);
	assert_false(figure_broken(&f));
}

static void test_find_and_overflow(void **state)
{
	struct figures list = {0};

	(void)state;
	figures_add(&list, "a.b", "A", FIGURE_COUNT, 1);
	figures_add(&list, "a.c", NULL, FIGURE_COUNT, 2);
	assert_int_equal(list.count, 2);
	assert_true(figures_find(&list, "a.c")->value == 2);
	assert_null(figures_find(&list, "a"));
	for (int i = 0; i < 2 * FIGURES_MAX; i++)
		figures_add(&list, "x", "X", FIGURE_COUNT, i);
	assert_int_equal(list.count, FIGURES_MAX);
	assert_true(figures_find(&list, "a.b")->value == 1);
}

/* Two runs of two figures: restarts, at least 2 without and none with; and a ratio. */
static bool judge(double without, double with, double ratio, double excused, char *reason)
{
	struct figures figures[2] = {{.line = {"melted"}}, {.line = {"drained"}}};
	const struct figures_run runs[3] = {{"without it", &figures[0]}, {"with it", &figures[1]}, {"by hand", NULL}};
	struct figure *f;

	figure_judge(figures_add(&figures[0], "restarts", "restarts", FIGURE_COUNT, without), FIGURE_AT_LEAST, 2);
	figure_judge(figures_add(&figures[1], "restarts", "restarts", FIGURE_COUNT, with), FIGURE_AT_MOST, 0);
	f = figures_add(&figures[1], "ratio", "time / ideal", FIGURE_RATIO, ratio);
	figure_judge(f, FIGURE_AT_MOST, 1.25);
	f->excused = excused;
	return figures_judge(runs, 3, reason);
}

static void test_verdict(void **state)
{
	char reason[FIGURES_REASON_MAX];

	(void)state;
	assert_true(judge(2, 0, 1.25, 0, reason));
	assert_string_equal(reason, "without it melted; with it drained, time / ideal 1.25 (at most 1.25)");
	assert_false(judge(1, 0, 1, 0, reason));
	assert_string_equal(reason, "without it: restarts 1 (at least 2); it melted");
	assert_false(judge(2, 1, 1, 0, reason));
	assert_string_equal(reason, "with it: restarts 1 (at most 0); it drained");
	assert_false(judge(2, 0, 1.3, 0, reason));
	assert_non_null(strstr(reason, "time / ideal 1.30 (at most 1.25)"));
}

/* A breach that would be none with the CPU to itself is no proof, but no pass either. */
static void test_inconclusive(void **state)
{
	char reason[FIGURES_REASON_MAX];

	(void)state;
	assert_false(judge(2, 0, 1.4, 1.2, reason));
	assert_ptr_equal(strstr(reason, "inconclusive"), reason);
	assert_false(judge(2, 0, 1.4, 1.3, reason));
	assert_null(strstr(reason, "inconclusive"));
	assert_true(judge(2, 0, 1.2, 1.1, reason));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_find_and_overflow),
		cmocka_unit_test(test_verdict),
		cmocka_unit_test(test_inconclusive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
