// SPDX-License-Identifier: GPL-2.0-or-later
/* OpenMetrics: what differs from the text format, and who gets it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export/export.h"
#include "export_help.h"
#include "lib/keys.h"

static struct snapshot_service service;
static struct snapshot snap;

static int setup(void **state)
{
	(void)state;
	memset(&snap, 0, sizeof(snap));
	memset(&service, 0, sizeof(service));
	keys_defaults(&service.policy);
	snprintf(service.policy.name, sizeof(service.policy.name), "web");
	snprintf(snap.instance, sizeof(snap.instance), "default");
	snap.attached = 1;
	snap.heartbeat_age_seconds = -1;
	for (int i = 0; i < 3; i++)
		snap.pressure[i] = -1;
	snap.service_count = 1;
	snap.service = &service;
	return 0;
}

static char *page(enum export_format format)
{
	return export_help_page(&snap, format);
}

static void test_heads(void **state)
{
	char *text = page(EXPORT_OPENMETRICS);

	(void)state;
	assert_true(export_help_has_line(text, "# TYPE synhold_released counter"));
	assert_false(export_help_has_line(text, "# TYPE synhold_released_total counter"));
	assert_true(export_help_has_line(text, "synhold_released_total{shield=\"default\",service=\"web\"} 0"));
	assert_true(export_help_has_line(text, "# TYPE synhold_build info"));
	assert_true(export_help_has_line(text, "# UNIT synhold_first_byte_seconds seconds"));
	assert_false(export_help_has_line(text, "# UNIT synhold_held seconds"));
	assert_string_equal(text + strlen(text) - 7, "\n# EOF\n");
	assert_ptr_equal(strstr(text, "# EOF"), text + strlen(text) - 6);
	free(text);
	text = page(EXPORT_TEXT);
	assert_true(export_help_has_line(text, "# TYPE synhold_released_total counter"));
	assert_true(export_help_has_line(text, "# TYPE synhold_build_info gauge"));
	assert_null(strstr(text, "# UNIT"));
	assert_null(strstr(text, "# EOF"));
	free(text);
}

/* The samples are the same in both, in the same order. */
static void test_samples(void **state)
{
	char *a = page(EXPORT_TEXT), *b = page(EXPORT_OPENMETRICS), *save_a = NULL, *save_b = NULL;
	char *line_a = strtok_r(a, "\n", &save_a), *line_b = strtok_r(b, "\n", &save_b);
	int samples = 0;

	(void)state;
	for (;;) {
		while (line_a && *line_a == '#')
			line_a = strtok_r(NULL, "\n", &save_a);
		while (line_b && *line_b == '#')
			line_b = strtok_r(NULL, "\n", &save_b);
		if (!line_a || !line_b)
			break;
		assert_string_equal(line_a, line_b);
		samples++;
		line_a = strtok_r(NULL, "\n", &save_a);
		line_b = strtok_r(NULL, "\n", &save_b);
	}
	assert_null(line_a);
	assert_null(line_b);
	assert_true(samples > 50);
	free(a);
	free(b);
}

/* What means nothing at the moment is not there, not even its head. */
static void test_absent(void **state)
{
	static const char *const names[] = {
		"window",       "heartbeat_age_seconds", "accept_queue_length", "pressure_ratio",
		"rate_ceiling", "signal_value",          "interface_attached"};
	char *text = page(EXPORT_TEXT), word[96];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(word, sizeof(word), "synhold_%s ", names[i]);
		if (strstr(text, word))
			fail_msg("synhold_%s has a head and no sample", names[i]);
	}
	free(text);
	service.window = 9;
	service.listeners = 1;
	text = page(EXPORT_TEXT);
	assert_true(export_help_has_line(text, "# TYPE synhold_window gauge"));
	assert_true(export_help_has_line(text, "synhold_window{shield=\"default\",service=\"web\"} 9"));
	assert_true(export_help_has_line(text, "# TYPE synhold_accept_queue_length gauge"));
	free(text);
}

static void test_negotiation(void **state)
{
	static const char *const openmetrics[] = {
		"application/openmetrics-text",
		"application/openmetrics-text; version=1.0.0; charset=utf-8",
		"Application/OpenMetrics-Text;version=1.0.0",
		"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
		"text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		"text/plain;q=0.3, application/openmetrics-text;version=1.0.0;q=0.5",
		"*/*, application/openmetrics-text;q=0.1",
	};
	static const char *const text[] = {
		NULL,
		"",
		",",
		"*/*",
		"text/plain",
		"text/html, application/xhtml+xml",
		"application/openmetrics-text;q=0",
		"application/openmetrics-text;version=0.0.1",
		"application/openmetrics-text;q=0.2, text/plain;q=0.5",
		"application/openmetrics-texts",
		"application/openmetrics",
		"text/plain;a=application/openmetrics-text",
		";;;,,q=1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(openmetrics) / sizeof(*openmetrics); i++)
		if (export_negotiate(openmetrics[i]) != EXPORT_OPENMETRICS)
			fail_msg("'%s' is not understood", openmetrics[i]);
	for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++)
		if (export_negotiate(text[i]) != EXPORT_TEXT)
			fail_msg("'%s' is taken for OpenMetrics", text[i] ? text[i] : "nothing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_heads, setup),
		cmocka_unit_test_setup(test_samples, setup),
		cmocka_unit_test_setup(test_absent, setup),
		cmocka_unit_test(test_negotiation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
