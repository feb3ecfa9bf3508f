// SPDX-License-Identifier: GPL-2.0-or-later
/* The shield's log, read again for a drill's report. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drill/events.h"
#include "drill/report.h"

#define START 1767225600.0 /* 2026-01-01T00:00:00Z */

static void test_parse(void **state)
{
	static const char *const bad[] = {"",
					  "web: window 64 -> 56",
					  "2026-01-01T00:00:00Z web: without milliseconds",
					  "2026-01-01T00:00:00.5",
					  "2026-01-01 00:00:00.500Z web",
					  "[NOTICE] haproxy"};
	struct event event = {.t = 7, .text = "kept"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(event_parse(bad[i], START, &event), -EINVAL);
		assert_true(event.t == 7);
		assert_string_equal(event.text, "kept");
	}
	assert_int_equal(event_parse("2026-01-01T00:00:12.250Z web: window 64 -> 56 (first_byte 1 ms)", START, &event),
			 0);
	assert_true(event.t > 12.2499 && event.t < 12.2501);
	assert_string_equal(event.text, "web: window 64 -> 56 (first_byte 1 ms)");
	assert_int_equal(event_parse("2025-12-31T23:59:59.000Z ready", START, &event), 0);
	assert_true(event.t > -1.001 && event.t < -0.999);
}

/* Only what lies between the two places, and of that only lines of the log. */
static void test_read(void **state)
{
	static const char before[] = "2026-01-01T00:00:01.000Z of the run before\n",
			  mine[] = "2026-01-01T00:00:02.000Z one\n"
				   "haproxy's words\n"
				   "2026-01-01T00:00:03.000Z two\n",
			  after[] = "2026-01-01T00:00:04.000Z of the next\n";
	struct events events = {0};
	FILE *file = tmpfile();
	off_t from = sizeof(before) - 1;

	(void)state;
	assert_non_null(file);
	fputs(before, file);
	fputs(mine, file);
	fputs(after, file);
	fflush(file);
	assert_int_equal(events_read(fileno(file), from, from + (off_t)sizeof(mine) - 1, START, &events), 0);
	assert_int_equal(events.count, 2);
	assert_string_equal(events.event[0].text, "one");
	assert_string_equal(events.event[1].text, "two");
	free(events.event);
	assert_int_equal(events_read(fileno(file), from, from, START, &events), 0);
	assert_int_equal(events.count, 0);
	free(events.event);
	fclose(file);
	assert_int_equal(events_read(-1, 0, 10, START, &events), -EBADF);
}

static void test_escape(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	report_escape("a<b> & \"c\"", out);
	fclose(out);
	assert_string_equal(text, "a&lt;b&gt; &amp; &quot;c&quot;");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_escape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
