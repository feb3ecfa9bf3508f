// SPDX-License-Identifier: GPL-2.0-or-later
/* What others read: the keys of `status --json`, and the metrics, against docs/design.md. */
#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/status.h"
#include "daemon/control.h"
#include "export/export.h"
#include "export_help.h"
#include "lib/keys.h"

static struct snapshot_service services[2];
static struct snapshot snap;

static int setup(void **state)
{
	(void)state;
	memset(services, 0, sizeof(services));
	memset(&snap, 0, sizeof(snap));
	for (int i = 0; i < 2; i++) {
		keys_defaults(&services[i].policy);
		snprintf(services[i].policy.name, sizeof(services[i].policy.name), i ? "ssh" : "web");
		services[i].specs.count = 1;
		services[i].specs.spec[0] = (struct synhold_spec){.any = 1, .port_lo = 80, .port_hi = 89};
		services[i].state = SNAPSHOT_OPEN;
	}
	snprintf(snap.instance, sizeof(snap.instance), "default");
	snap.attached = 1;
	snap.now_ns = 100000000000ULL;
	snap.heartbeat_age_seconds = 0.05;
	snap.daemon_alive = 1;
	snap.daemon_pid = 42;
	snap.interface_count = 1;
	snap.interface[0] = (struct deploy_interface){.index = 2, .name = "eth0", .present = 1};
	snap.service_count = 2;
	snap.service = services;
	return 0;
}

static char *metrics(void)
{
	return export_help_page(&snap, EXPORT_TEXT);
}

static void expect_line(const char *text, const char *line)
{
	if (!export_help_has_line(text, line))
		fail_msg("no line '%s'", line);
}

static void test_status_keys(void **state)
{
	static const char *const top[] = {"version", "instance", "daemon", "interfaces", "services", "limits"};
	static const char *const of_service[] = {"name",          "ports",        "mode",
						 "action",        "state",        "flags",
						 "window",        "inflight",     "held",
						 "share_percent", "rate",         "source_rate",
						 "syn",           "over_limit",   "would_limit",
						 "hold",          "handshakes",   "first_byte_seconds",
						 "accept_queue",  "rate_ceiling", "signals"};
	static const char *const of_syn[] = {"seen", "admitted", "held", "dropped", "rejected"};
	static const char *const reasons[] = {"deny",        "closed", "share",     "source_rate", "service_rate",
					      "global_rate", "window", "hold_full", "fallback"};
	static const char *const discards[] = {"gone",       "reset",    "hold_time",   "evicted",
					       "source_cap", "detached", "daemon_lost", "inject_failed"};
	static const char *const outcomes[] = {"started", "settled", "abandoned", "expired"};
	json_t *root = export_status(&snap, NULL), *service, *hold;

	(void)state;
	assert_non_null(root);
	for (size_t i = 0; i < sizeof(top) / sizeof(*top); i++)
		assert_non_null(json_object_get(root, top[i]));
	assert_int_equal(json_array_size(json_object_get(root, "services")), 2);
	service = json_array_get(json_object_get(root, "services"), 0);
	for (size_t i = 0; i < sizeof(of_service) / sizeof(*of_service); i++)
		if (!json_object_get(service, of_service[i]))
			fail_msg("no key '%s'", of_service[i]);
	for (size_t i = 0; i < sizeof(of_syn) / sizeof(*of_syn); i++)
		assert_true(json_is_integer(json_object_get(json_object_get(service, "syn"), of_syn[i])));
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		assert_true(json_is_integer(json_object_get(json_object_get(service, "over_limit"), reasons[i])));
		assert_true(json_is_integer(json_object_get(json_object_get(service, "would_limit"), reasons[i])));
	}
	hold = json_object_get(service, "hold");
	assert_true(json_is_integer(json_object_get(hold, "entered")) &&
		    json_is_integer(json_object_get(hold, "released")));
	for (size_t i = 0; i < sizeof(discards) / sizeof(*discards); i++)
		assert_true(json_is_integer(json_object_get(json_object_get(hold, "discarded"), discards[i])));
	for (size_t i = 0; i < sizeof(outcomes) / sizeof(*outcomes); i++)
		assert_true(json_is_integer(json_object_get(json_object_get(service, "handshakes"), outcomes[i])));
	/* null where there is no such thing */
	assert_true(json_is_null(json_object_get(service, "window")));
	assert_true(json_is_null(json_object_get(service, "rate")));
	assert_true(json_is_null(json_object_get(service, "source_rate")));
	assert_true(json_is_null(json_object_get(service, "accept_queue")));
	assert_true(json_is_null(json_object_get(json_object_get(service, "first_byte_seconds"), "p50")));
	assert_true(json_is_null(json_object_get(json_object_get(root, "limits"), "global_rate")));
	json_decref(root);
}

static void test_status_values(void **state)
{
	json_t *root, *service, *flags;

	(void)state;
	services[0].window = 32;
	services[0].policy.rate_pps = 450;
	services[0].policy.share_ppm = 125000;
	services[0].policy.mode = SYNHOLD_MODE_MONITOR;
	services[0].policy.action = SYNHOLD_ACTION_REJECT;
	services[0].listeners = 1;
	services[0].accept_queue = 3;
	services[0].accept_queue_max = 128;
	services[0].delays.first_byte[5] = 10;
	services[0].count.seen = 1ULL << 40;
	services[0].suspended = services[0].bypass = services[0].confirm_pending = 1;
	services[0].runtime.state_flags = SYNHOLD_FLAG_COLD | SYNHOLD_FLAG_PROOF;
	root = export_status(&snap, "web");
	assert_int_equal(json_array_size(json_object_get(root, "services")), 1);
	service = json_array_get(json_object_get(root, "services"), 0);
	assert_int_equal(json_integer_value(json_object_get(service, "window")), 32);
	assert_int_equal(json_integer_value(json_object_get(service, "rate")), 450);
	assert_true(json_real_value(json_object_get(service, "share_percent")) == 12.5);
	assert_string_equal(json_string_value(json_object_get(service, "mode")), "monitor");
	assert_string_equal(json_string_value(json_object_get(service, "action")), "reject");
	assert_string_equal(json_string_value(json_object_get(service, "state")), "open");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(service, "accept_queue"), "max")), 128);
	assert_true(json_real_value(json_object_get(json_object_get(service, "first_byte_seconds"), "p99")) > 0);
	assert_true(json_integer_value(json_object_get(json_object_get(service, "syn"), "seen")) == 1LL << 40);
	flags = json_object_get(service, "flags");
	assert_int_equal(json_array_size(flags), 5);
	assert_int_equal(json_integer_value(json_array_get(json_array_get(json_object_get(service, "ports"), 0), 1)),
			 89);
	json_decref(root);
}

static void test_status_unattached(void **state)
{
	struct snapshot none = {.instance = "default", .heartbeat_age_seconds = -1};
	json_t *root = export_status(&none, NULL);

	(void)state;
	assert_int_equal(json_array_size(json_object_get(root, "services")), 0);
	assert_int_equal(json_array_size(json_object_get(root, "interfaces")), 0);
	assert_true(json_is_array(json_object_get(root, "services")));
	assert_true(json_is_false(json_object_get(json_object_get(root, "daemon"), "alive")));
	assert_true(json_is_null(json_object_get(json_object_get(root, "daemon"), "pid")));
	json_decref(root);
}

static void test_metric_names(void **state)
{
	static const char *const names[] = {"build_info",
					    "daemon_up",
					    "heartbeat_age_seconds",
					    "interface_attached",
					    "syn_total",
					    "over_limit_total",
					    "would_limit_total",
					    "offered_connections_total",
					    "limiting_since_timestamp_seconds",
					    "hold_entered_total",
					    "released_total",
					    "hold_discarded_total",
					    "held",
					    "hold_seconds_bucket",
					    "hold_seconds_sum",
					    "hold_seconds_count",
					    "inflight",
					    "window",
					    "window_suspended",
					    "handshakes_total",
					    "first_byte_seconds_bucket",
					    "first_byte_seconds_count",
					    "accept_queue_length",
					    "accept_queue_limit",
					    "window_changes_total",
					    "map_entries",
					    "map_capacity",
					    "unparsed_total"};
	char *text, wanted[96];

	(void)state;
	services[0].window = 9;
	services[0].listeners = 1;
	text = metrics();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(wanted, sizeof(wanted), "\nsynhold_%s{shield=\"default\"", names[i]);
		if (!strstr(text, wanted))
			fail_msg("no metric synhold_%s", names[i]);
	}
	free(text);
}

static void test_metric_values(void **state)
{
	char *text;

	(void)state;
	services[0].count.verdict[SYNHOLD_VERDICT_HOLD] = 18446744073709551615ULL; /* whole, not as a double */
	services[0].count.over_limit[SYNHOLD_REASON_WINDOW] = 7;
	services[0].tally.discarded[SYNHOLD_DISCARD_GONE] = 3;
	services[0].tally.window_down[CONTROL_SIGNAL_STALL] = 4;
	services[0].runtime.limiting_since_ns = snap.now_ns - 2500000000ULL;
	text = metrics();
	expect_line(text,
		    "synhold_syn_total{shield=\"default\",service=\"web\",verdict=\"held\"} 18446744073709551615");
	expect_line(text, "synhold_over_limit_total{shield=\"default\",service=\"web\",reason=\"window\"} 7");
	expect_line(text, "synhold_over_limit_total{shield=\"default\",service=\"ssh\",reason=\"window\"} 0");
	expect_line(text, "synhold_hold_discarded_total{shield=\"default\",service=\"web\",reason=\"gone\"} 3");
	expect_line(
		text,
		"synhold_window_changes_total{shield=\"default\",service=\"web\",direction=\"down\",signal=\"stall\"} 4");
	expect_line(text, "synhold_limiting_since_timestamp_seconds{shield=\"default\",service=\"web\"} 997.5");
	expect_line(text, "synhold_limiting_since_timestamp_seconds{shield=\"default\",service=\"ssh\"} 0.0");
	expect_line(text, "synhold_interface_attached{shield=\"default\",interface=\"eth0\",mode=\"native\"} 1");
	assert_null(strstr(text, "synhold_window{")); /* no window is no number */
	assert_null(strstr(text, "synhold_accept_queue_length{"));
	free(text);
}

static void test_histogram(void **state)
{
	double last = -1, bound;
	uint64_t count, before = 0;
	char *text, *p;
	int buckets = 0;

	(void)state;
	for (int i = 0; i < SYNHOLD_HIST_BUCKETS; i++)
		services[0].delays.first_byte[i] = (uint64_t)i + 1;
	services[0].count.first_byte_sum_ns = 1500000000;
	text = metrics();
	for (p = strstr(text, "synhold_first_byte_seconds_bucket{shield=\"default\",service=\"web\""); p;
	     p = strstr(p + 1, "synhold_first_byte_seconds_bucket{shield=\"default\",service=\"web\"")) {
		char le[32];

		assert_int_equal(sscanf(strstr(p, "le=\""), "le=\"%31[^\"]\"} %lu", le, &count), 2);
		bound = strtod(le, NULL);
		assert_true(bound > last);
		assert_true(count >= before);
		last = bound;
		before = count;
		buckets++;
	}
	assert_int_equal(buckets, SYNHOLD_HIST_OCTAVES + 2); /* one an octave, one below, one above */
	assert_true(count == (uint64_t)SYNHOLD_HIST_BUCKETS * (SYNHOLD_HIST_BUCKETS + 1) / 2);
	assert_non_null(strstr(text, "service=\"web\",le=\"+Inf\"} 2775\n"));
	expect_line(text, "synhold_first_byte_seconds_count{shield=\"default\",service=\"web\"} 2775");
	expect_line(text, "synhold_first_byte_seconds_sum{shield=\"default\",service=\"web\"} 1.500000000");
	free(text);
}

/* Every line is a comment or NAME{LABELS} VALUE; every family is described once, before its samples. */
static void test_format(void **state)
{
	char family[128] = "", *text, *save = NULL;

	(void)state;
	snprintf(snap.interface[0].name, sizeof(snap.interface[0].name), "a\"b\\c\nd");
	services[0].window = 9;
	text = metrics();
	assert_non_null(strstr(text, "interface=\"a\\\"b\\\\c\\nd\""));
	assert_int_equal(text[strlen(text) - 1], '\n');
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *end, *value;

		if (!strncmp(line, "# HELP ", 7)) {
			snprintf(family, sizeof(family), "%.*s", (int)strcspn(line + 7, " "), line + 7);
			continue;
		}
		if (!strncmp(line, "# TYPE ", 7)) {
			assert_int_equal(strncmp(line + 7, family, strlen(family)), 0);
			continue;
		}
		assert_int_equal(strncmp(line, family, strlen(family)), 0);
		value = strrchr(line, ' ');
		assert_true(value && value[-1] == '}');
		strtod(value + 1, &end);
		assert_true(end != value + 1 && !*end);
	}
	free(text);
}

static void test_signals(void **state)
{
	(void)state;
	assert_int_equal(EXPORT_SIGNALS, CONTROL_SIGNAL_COUNT);
	for (unsigned int i = 0; i < EXPORT_SIGNALS; i++)
		assert_string_equal(export_signal_name(i), control_signal_name((enum control_signal)i));
}

static void test_addresses(void **state)
{
	static const char *const good[] = {"127.0.0.1:9477", ":9477", "[::1]:1", "[::]:65535", "0.0.0.0:80"};
	static const char *const bad[] = {"",
					  ":",
					  "9477",
					  "127.0.0.1",
					  "127.0.0.1:",
					  "127.0.0.1:0",
					  "127.0.0.1:65536",
					  "127.0.0.1:-1",
					  "127.0.0.1: 80",
					  "127.0.0.1:80x",
					  "localhost:80",
					  "::1:80",
					  "[::1:80",
					  "[::1]80",
					  "[127.0.0.1]:80",
					  "1.2.3.4.5:80",
					  "[::1]]:80"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_int_equal(export_http_check(good[i], NULL), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct error err = {0};

		if (export_http_check(bad[i], &err) != -EINVAL)
			fail_msg("'%s' is accepted", bad[i]);
		assert_true(err.message[0] && err.hint[0]);
	}
}

/* What people see must say what the numbers alone do not. */
static void test_status_for_people(void **state)
{
	FILE *file = tmpfile();
	char text[4096] = "";
	int saved = dup(STDOUT_FILENO);

	(void)state;
	services[0].runtime.ceiling_interval_ns = 10000000;
	services[0].policy.share_ppm = 250000;
	services[0].policy.share_threshold = 1ULL << 30;
	services[0].count.verdict[SYNHOLD_VERDICT_ADMIT] = 30;
	services[0].tally.released = 12;
	services[1].state = SNAPSHOT_STATIC;
	services[1].policy.mode = SYNHOLD_MODE_MONITOR;
	assert_non_null(file);
	fflush(stdout);
	assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
	assert_int_equal(status_print(&snap, NULL), 0);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	rewind(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	assert_non_null(strstr(text, "web: pressure has set a ceiling of 100/s; it recovers by itself\n"));
	assert_non_null(strstr(text, "web: share in force 25.0% of the sources\n"));
	assert_non_null(strstr(text, " 42 ")); /* let in: admitted or released */
	assert_non_null(strstr(text, "static, monitor"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_status_keys, setup),
		cmocka_unit_test_setup(test_status_values, setup),
		cmocka_unit_test_setup(test_status_unattached, setup),
		cmocka_unit_test_setup(test_metric_names, setup),
		cmocka_unit_test_setup(test_metric_values, setup),
		cmocka_unit_test_setup(test_histogram, setup),
		cmocka_unit_test_setup(test_format, setup),
		cmocka_unit_test_setup(test_status_for_people, setup),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
