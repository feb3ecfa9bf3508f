// SPDX-License-Identifier: GPL-2.0-or-later
/* The line by which applications report their load: what is accepted, what is refused, and that writing and reading
 * agree. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/signal_line.h"

static int parse(const char *text, struct signal_line *line, struct error *err)
{
	char copy[SIGNAL_LINE_MAX];

	assert_true(strlen(text) < sizeof(copy));
	strcpy(copy, text);
	return signal_line_parse_text(copy, line, err);
}

static void short_form_has_defaults(void **state)
{
	struct signal_line line;

	(void)state;
	assert_int_equal(parse("web queue 0.5\n", &line, NULL), 0);
	assert_string_equal(line.service, "web");
	assert_string_equal(line.name, "queue");
	assert_true(line.value == 0.5);
	assert_true(line.target == 1);
	assert_true(line.for_ns == SIGNAL_FOR_DEFAULT_NS);
}

static void options_stand_anywhere(void **state)
{
	static const char *const forms[] = {
		"web queue 120 --target 100 --for 5s",     "--for 5s --target 100 web queue 120",
		"web --target 100 queue --for 5s 120",     "\tweb  queue\t120 --for 5000ms --target 1e2 \r\n",
		"web queue 1.2e2 --target 100.0 --for 5s",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct signal_line line;

		assert_int_equal(parse(forms[i], &line, NULL), 0);
		assert_string_equal(line.service, "web");
		assert_string_equal(line.name, "queue");
		assert_true(line.value == 120);
		assert_true(line.target == 100);
		assert_true(line.for_ns == 5000000000ULL);
	}
}

static void wrong_lines_are_refused_and_leave_nothing(void **state)
{
	static const char *const wrong[] = {
		"",
		"web",
		"web queue",
		"web queue x",
		"web queue -1",
		"web queue nan",
		"web queue inf",
		"web queue 1e999",
		"web queue 1x",
		"web queue 1 --target",
		"web queue 1 --target 0",
		"web queue 1 --target -5",
		"web queue 1 --target x",
		"web queue 1 --for",
		"web queue 1 --for 5",
		"web queue 1 --for 0s",
		"web queue 1 --for x",
		"web queue 1 2",
		"Web queue 1",
		"web Queue 1",
		"-web queue 1",
		"web/../x queue 1",
		"web queue 1 --other 2",
		"web queue 1 --target 1 --for 1s 2 3 4",
		"abcdefghijabcdefghijabcdefghijabc queue 1",
		"web abcdefghijabcdefghijabcdefghijabc 1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct signal_line line, before;
		struct error err = {0};

		memset(&line, 0x5a, sizeof(line));
		before = line;
		if (parse(wrong[i], &line, &err) != -EINVAL)
			fail_msg("accepted: '%s'", wrong[i]);
		assert_memory_equal(&line, &before, sizeof(line));
		assert_true(err.message[0] != '\0');
		assert_non_null(strstr(err.hint, SIGNAL_LINE_FORM));
	}
}

/* Whatever the command sends, the daemon must read as the same. */
static void what_is_written_is_read_back(void **state)
{
	static const double numbers[] = {0, 1, 0.1, 1.0 / 3, 1e-300, 123456789.123456789, 1e300, 4e-320};
	static const uint64_t times[] = {
		1, 999, 1000000, 1500000000ULL, 60000000000ULL, 3600000000000ULL, 86400000000000ULL};

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		for (size_t j = 0; j < sizeof(times) / sizeof(*times); j++) {
			struct signal_line line = {.service = "a-service.with_all.of_32_letters",
						   .name = "n",
						   .value = numbers[i],
						   .target = numbers[i] > 0 ? numbers[i] : 1,
						   .for_ns = times[j]};
			struct signal_line back;
			char text[SIGNAL_LINE_MAX];

			signal_line_format(&line, text, sizeof(text));
			assert_int_equal(signal_line_parse_text(text, &back, NULL), 0);
			assert_string_equal(back.service, line.service);
			assert_string_equal(back.name, line.name);
			assert_true(back.value == line.value);
			assert_true(back.target == line.target);
			assert_true(back.for_ns == line.for_ns);
		}
}

/* A datagram may hold anything. What is accepted at all must be within bounds. */
static void random_bytes_do_no_harm(void **state)
{
	static const char *const words[] = {"web", "queue", "1", "--target", "--for", "5s",
					    "-1",  "\xff",  "0", "1e9",      "x=y",   ""};
	unsigned int accepted = 0;

	(void)state;
	srand(7);
	for (int round = 0; round < 200000; round++) {
		char text[SIGNAL_LINE_MAX] = "";
		struct signal_line line;
		size_t used = 0;
		int count = rand() % 10;

		for (int i = 0; i < count; i++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%c", words[(size_t)rand() % 12],
						 " \t\n\x01"[rand() % 20 ? 0 : rand() % 4]);
		if (signal_line_parse_text(text, &line, NULL))
			continue;
		accepted++;
		assert_true(line.value >= 0 && line.value < 1e300);
		assert_true(line.target > 0);
		assert_true(line.for_ns > 0);
		assert_true(memchr(line.service, '\0', sizeof(line.service)) != NULL);
		assert_true(memchr(line.name, '\0', sizeof(line.name)) != NULL);
	}
	assert_true(accepted > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_form_has_defaults),
		cmocka_unit_test(options_stand_anywhere),
		cmocka_unit_test(wrong_lines_are_refused_and_leave_nothing),
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(random_bytes_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
