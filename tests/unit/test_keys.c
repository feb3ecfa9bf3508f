// SPDX-License-Identifier: GPL-2.0-or-later
/* The policy keys: the contract's names and defaults, accepted and refused values, derived numbers, and the compiled
 * ones. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/keys.h"

static struct synhold_policy service;
static struct synhold_global_policy global;

static int reset(void **state)
{
	(void)state;
	memset(&service, 0, sizeof(service));
	memset(&global, 0, sizeof(global));
	snprintf(service.name, sizeof(service.name), "web");
	keys_defaults(&service);
	keys_global_defaults(&global);
	return 0;
}

/* docs/design.md, "Keys, with defaults": the words are a contract. */
static const struct {
	const char *name, *value;
	int global;
} contract[] = {
	{"mode", "enforce", 0},       {"action", "hold", 0},          {"rate", "none", 0},
	{"burst", "none", 0},         {"source-rate", "none", 0},     {"source-burst", "none", 0},
	{"source-prefix4", "32", 0},  {"source-prefix6", "64", 0},    {"window", "auto", 0},
	{"window-min", "8", 0},       {"window-max", "65536", 0},     {"share", "100%", 0},
	{"hold-max", "65536", 0},     {"hold-source-max", "none", 0}, {"hold-order", "mixed", 0},
	{"hold-time", "none", 0},     {"hold-down", "0s", 0},         {"fallback", "static", 0},
	{"target-delay", "100ms", 0}, {"settle-bytes", "1", 0},       {"global-rate", "none", 1},
	{"global-burst", "none", 1},  {"hold-memory", "64MiB", 1},
};
#define CONTRACT (sizeof(contract) / sizeof(*contract))

static void test_contract(void **state)
{
	size_t count = 0;

	(void)state;
	for (size_t i = 0; i < CONTRACT; i++) {
		const struct key *key = keys_find(contract[i].name);
		char text[64];

		if (!key)
			fail_msg("there is no key '%s'", contract[i].name);
		assert_int_equal(key->global, contract[i].global);
		assert_string_equal(keys_format(key, &service, &global, text, sizeof(text)), contract[i].value);
		assert_true(keys_is_default(key, &service, &global));
		assert_true(key->form && key->form[0] && key->doc && key->doc[0]);
	}
	for (const struct key *key = keys_table; key->name; key++)
		count++;
	assert_int_equal(count, CONTRACT);
	assert_null(keys_find("nothing"));
	assert_null(keys_find(""));
	assert_null(keys_find("Rate"));
}

/* Each row writes its own bytes and no other's. */
static void test_fields_apart(void **state)
{
	static const char *const values[] = {"3", "3s", "3%", "3MiB", "monitor", "reject", "newest", "open", "3ms"};

	(void)state;
	for (const struct key *key = keys_table; key->name; key++) {
		for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
			char before[64], after[64];

			reset(NULL);
			if (keys_set(&service, &global, key->name, values[i], NULL))
				continue;
			for (const struct key *other = keys_table; other->name; other++) {
				struct synhold_policy fresh = {0};
				struct synhold_global_policy fresh_global = {0};

				keys_defaults(&fresh);
				keys_global_defaults(&fresh_global);
				keys_format(other, &fresh, &fresh_global, before, sizeof(before));
				keys_format(other, &service, &global, after, sizeof(after));
				if (other == key)
					assert_string_equal(after, values[i]);
				else
					assert_string_equal(after, before);
			}
			break;
		}
	}
}

static void test_accepted(void **state)
{
	static const struct {
		const char *key, *value, *back;
	} good[] = {
		{"mode", "monitor", "monitor"},
		{"action", "drop", "drop"},
		{"action", "reject", "reject"},
		{"action", "defer", "hold"},
		{"rate", "1", "1"},
		{"rate", "10k", "10k"},
		{"rate", "1000m", "1000m"},
		{"rate", "none", "none"},
		{"burst", "16", "16"},
		{"source-rate", "1m", "1m"},
		{"source-prefix4", "0", "0"},
		{"source-prefix6", "128", "128"},
		{"window", "none", "none"},
		{"window", "1", "1"},
		{"window", "65536", "65536"},
		{"window", "auto", "auto"},
		{"share", "0%", "0%"},
		{"share", "12.5%", "12.5%"},
		{"hold-max", "1", "1"},
		{"hold-time", "1ms", "1ms"},
		{"hold-time", "1h", "1h"},
		{"hold-down", "30s", "30s"},
		{"hold-down", "0s", "0s"},
		{"fallback", "open", "open"},
		{"target-delay", "60s", "1m"},
		{"settle-bytes", "4096", "4096"},
		{"global-rate", "5k", "5k"},
		{"hold-memory", "1MiB", "1MiB"},
		{"hold-memory", "16GiB", "16GiB"},
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		struct error err = {0};

		if (keys_set(&service, &global, good[i].key, good[i].value, &err))
			fail_msg("%s=%s is refused: %s", good[i].key, good[i].value, err.message);
		assert_string_equal(keys_format(keys_find(good[i].key), &service, &global, text, sizeof(text)),
				    good[i].back);
	}
}

static void test_refused(void **state)
{
	static const char *const bad[][2] = {
		{"mode", ""},
		{"mode", "off"},
		{"mode", "enforce|monitor"},
		{"mode", "enf"},
		{"action", "Hold"},
		{"fallback", "defer"},
		{"rate", "0"},
		{"rate", "-1"},
		{"rate", "abc"},
		{"rate", ""},
		{"rate", "1.5"},
		{"rate", "10/s"},
		{"rate", "1001m"},
		{"rate", "NONE"},
		{"burst", "0"},
		{"source-rate", "1000001"},
		{"source-prefix4", "33"},
		{"source-prefix4", "none"},
		{"source-prefix6", "129"},
		{"source-prefix4", "/24"},
		{"window", "0"},
		{"window", "65537"},
		{"window", "4294967297"},
		{"window", "AUTO"},
		{"window", "-1"},
		{"window-min", "0"},
		{"window-max", "none"},
		{"share", "100"},
		{"share", "101%"},
		{"share", "none"},
		{"hold-max", "65537"},
		{"hold-max", "0"},
		{"hold-time", "0s"},
		{"hold-time", "5"},
		{"hold-time", "61m"},
		{"hold-time", "999us"},
		{"hold-down", "none"},
		{"hold-down", "2h"},
		{"target-delay", "0ms"},
		{"target-delay", "61s"},
		{"settle-bytes", "0"},
		{"settle-bytes", "1KiB"},
		{"global-rate", "0"},
		{"hold-memory", "64M"},
		{"hold-memory", "1"},
		{"hold-memory", "17GiB"},
		{"frob", "1"},
		{"", "1"},
		{"rate ", "1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct synhold_policy before = service;
		struct synhold_global_policy before_global = global;
		struct error err = {0};

		if (keys_set(&service, &global, bad[i][0], bad[i][1], &err) != -EINVAL)
			fail_msg("%s=%s is accepted", bad[i][0], bad[i][1]);
		assert_memory_equal(&service, &before, sizeof(service));
		assert_memory_equal(&global, &before_global, sizeof(global));
		assert_true(err.message[0] && err.hint[0]);
	}
}

static void test_wrong_place(void **state)
{
	struct error err = {0};

	(void)state;
	assert_int_equal(keys_set(&service, NULL, "global-rate", "5", &err), -EINVAL);
	assert_int_equal(keys_set(NULL, &global, "rate", "5", &err), -EINVAL);
	assert_int_equal(keys_set(NULL, &global, "global-rate", "5", &err), 0);
	assert_int_equal(global.global_rate_pps, 5);
}

static void test_derived(void **state)
{
	(void)state;
	assert_int_equal(keys_burst(1, 0), 16);
	assert_int_equal(keys_burst(160, 0), 16);
	assert_int_equal(keys_burst(450, 0), 45);
	assert_int_equal(keys_burst(450, 3), 3);
	assert_int_equal(keys_source_burst(1, 0), 24);
	assert_int_equal(keys_source_burst(100, 0), 100);
	assert_int_equal(keys_source_burst(100, 7), 7);
	service.hold_max = 65536;
	assert_int_equal(keys_hold_source_max(&service), 4096);
	service.hold_max = 1;
	assert_int_equal(keys_hold_source_max(&service), 1);
	service.hold_source_max = 9;
	assert_int_equal(keys_hold_source_max(&service), 9);
}

/* Over any time t at most burst + rate * t: the interval is rounded up, and the limit is worth burst intervals. */
static void test_compiled_rates(void **state)
{
	static const uint64_t rates[] = {1, 3, 7, 450, 999, 1000, 333333, 1000000, 999999999, 1000000000};

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		service.rate_pps = rates[i];
		service.burst = 0;
		assert_int_equal(keys_compile(&service, NULL), 0);
		assert_true(service.rate_interval_ns * rates[i] >= 1000000000ULL);
		assert_true((service.rate_interval_ns - 1) * rates[i] < 1000000000ULL);
		assert_true(service.rate_limit_ns == service.rate_interval_ns * keys_burst(rates[i], 0));
		global.global_rate_pps = rates[i];
		keys_compile_global(&global);
		assert_true(global.rate_interval_ns == service.rate_interval_ns);
	}
	service.rate_pps = 0;
	assert_int_equal(keys_compile(&service, NULL), 0);
	assert_true(service.rate_interval_ns == 0 && service.rate_limit_ns == 0);
	/* the most that the keys take does not overflow */
	assert_int_equal(keys_set(&service, NULL, "rate", "1", NULL), 0);
	assert_int_equal(keys_set(&service, NULL, "burst", "1000m", NULL), 0);
	assert_int_equal(keys_compile(&service, NULL), 0);
	assert_true(service.rate_limit_ns == 1000000000ULL * 1000000000ULL);
}

static void test_compiled_source(void **state)
{
	struct error err = {0};
	uint64_t interval, limit;

	(void)state;
	service.source_rate_pps = 20;
	assert_int_equal(keys_compile(&service, NULL), 0);
	assert_true(service.source_interval << SYNHOLD_SOURCE_TICK_SHIFT >= 1000000000ULL / 20);
	assert_true(service.source_limit == service.source_interval * 24);
	/* what the 40-bit clock of a set can carry, and not one more */
	service.source_rate_pps = 1;
	service.source_burst = 1000000000;
	assert_int_equal(keys_compile(&service, &err), -EINVAL);
	assert_true(err.message[0] && err.hint[0]);
	service.source_burst = (1ULL << 38 << SYNHOLD_SOURCE_TICK_SHIFT) / 1000000000ULL;
	assert_int_equal(keys_compile(&service, &err), 0);
	assert_true(service.source_limit < 1ULL << 39);
	keys_compile_allow_rate(0, &interval, &limit);
	assert_true(interval << SYNHOLD_SOURCE_TICK_SHIFT >= 1000000000ULL / 20);
	assert_true(limit == interval * 40);
}

static void test_compiled_share(void **state)
{
	(void)state;
	service.share_ppm = 1000000;
	assert_int_equal(keys_compile(&service, NULL), 0);
	assert_true(service.share_threshold == 1ULL << 32); /* above every 32-bit hash */
	service.share_ppm = 0;
	assert_int_equal(keys_compile(&service, NULL), 0);
	assert_true(service.share_threshold == 0);
	service.share_ppm = 250000;
	assert_int_equal(keys_compile(&service, NULL), 0);
	assert_true(service.share_threshold == 1ULL << 30);
}

static void test_contradiction(void **state)
{
	struct error err = {0};

	(void)state;
	service.window_min = 10;
	service.window_max = 9;
	assert_int_equal(keys_compile(&service, &err), -EINVAL);
	assert_non_null(strstr(err.message, "window-min"));
	service.window_max = 10;
	assert_int_equal(keys_compile(&service, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_contract, reset),       cmocka_unit_test_setup(test_fields_apart, reset),
		cmocka_unit_test_setup(test_accepted, reset),       cmocka_unit_test_setup(test_refused, reset),
		cmocka_unit_test_setup(test_wrong_place, reset),    cmocka_unit_test_setup(test_derived, reset),
		cmocka_unit_test_setup(test_compiled_rates, reset), cmocka_unit_test_setup(test_compiled_source, reset),
		cmocka_unit_test_setup(test_compiled_share, reset), cmocka_unit_test_setup(test_contradiction, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
