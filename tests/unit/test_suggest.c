// SPDX-License-Identifier: GPL-2.0-or-later
/* What `suggest` makes of observations, and that its lines are ones `set` accepts. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/flush.h"
#include "lib/keys.h"
#include "lib/suggest.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>

static struct synhold_policy policy;
static struct synhold_global_policy global;
static struct synhold_specs specs;

/* A service at its defaults, with 5,000 settlements of 20 ms (50 ms at p99), and a window that has limited at 490/s. */
static struct suggest_input seen(void)
{
	memset(&policy, 0, sizeof(policy));
	memset(&global, 0, sizeof(global));
	memset(&specs, 0, sizeof(specs));
	keys_defaults(&policy);
	keys_global_defaults(&global);
	strcpy(policy.name, "web");
	specs.count = 1;
	specs.spec[0] = (struct synhold_spec){.any = 1, .port_lo = 443, .port_hi = 443};
	return (struct suggest_input){
		.policy = &policy,
		.global = &global,
		.specs = &specs,
		.settled = 5000,
		.settled_pps = 490,
		.first_byte_seconds = {0.02, 0.05},
		.server_seconds = {0.015, 0.04},
		.base_seconds = 0.002,
		.offered = 5000,
	};
}

static const struct suggest_line *find(const struct suggest_result *result, const char *key)
{
	for (unsigned int i = 0; i < result->count; i++)
		if (!strcmp(result->line[i].key, key))
			return &result->line[i];
	return NULL;
}

/* Every line must be accepted as it stands, and must say why. */
static void check(const struct suggest_input *in, struct suggest_result *result)
{
	memset(result, 0x5a, sizeof(*result));
	assert_int_equal(suggest(in, result), 0);
	assert_true(result->count <= SUGGEST_LINES);
	for (unsigned int i = 0; i < result->count; i++) {
		const struct suggest_line *line = &result->line[i];
		struct synhold_policy pol = policy;
		struct synhold_global_policy all = global;
		struct error err = {0};

		assert_true(strlen(line->reason) > 10);
		if (!line->key[0])
			continue;
		if (keys_set(line->global ? NULL : &pol, line->global ? &all : NULL, line->key, line->value, &err))
			fail_msg("%s=%s: %s", line->key, line->value, err.message);
		assert_memory_not_equal(line->global ? (void *)&all : (void *)&pol,
					line->global ? (void *)&global : (void *)&policy,
					line->global ? sizeof(all) : sizeof(pol));
	}
}

static void assert_suggests(const struct suggest_input *in, const char *key, const char *value)
{
	struct suggest_result result;
	const struct suggest_line *line;

	check(in, &result);
	line = find(&result, key);
	if (!value) {
		if (line)
			fail_msg("%s=%s is suggested: %s", key, line->value, line->reason);
		return;
	}
	if (!line)
		fail_msg("no %s is suggested", key);
	else
		assert_string_equal(line->value, value);
}

static void too_little_is_said(void **state)
{
	struct suggest_input in = seen();
	struct suggest_result result;

	(void)state;
	in.settled = SUGGEST_SETTLEMENTS - 1;
	assert_int_equal(suggest(&in, &result), -EAGAIN);
	in.settled = SUGGEST_SETTLEMENTS;
	assert_int_equal(suggest(&in, &result), 0);
}

static void rate_is_twice_the_pace(void **state)
{
	struct suggest_input in = seen();

	(void)state;
	assert_suggests(&in, "rate", "980");
	in.settled_pps = 12345;
	assert_suggests(&in, "rate", "25000"); /* two digits, rounded up */
	in.settled_pps = 0.2;
	assert_suggests(&in, "rate", "1");
	in = seen();
	policy.rate_pps = 1000; /* close enough */
	assert_suggests(&in, "rate", NULL);
	policy.rate_pps = 5000;
	assert_suggests(&in, "rate", "980");
	policy.rate_pps = 490; /* this very rate may be what set the pace */
	assert_suggests(&in, "rate", NULL);
}

static void without_a_limit_seen_no_rate_is_made_up(void **state)
{
	struct suggest_input in = seen();
	struct suggest_result result;

	(void)state;
	in.settled_pps = 0;
	check(&in, &result);
	assert_null(find(&result, "rate"));
	assert_non_null(strstr(result.line[0].reason, "rate"));
}

static void one_source_that_dominates_is_bounded(void **state)
{
	struct suggest_input in = seen();
	struct suggest_result result;

	(void)state;
	assert_suggests(&in, "source-rate", NULL);
	in.held = 400;
	in.top_held = 350;
	in.top_source = "192.0.2.7";
	assert_suggests(&in, "source-rate", "62");
	check(&in, &result);
	assert_non_null(strstr(find(&result, "source-rate")->reason, "192.0.2.7"));
	in.top_held = 99; /* less than a quarter of them */
	assert_suggests(&in, "source-rate", NULL);
	in.held = SUGGEST_HELD_MIN - 1; /* too few wait */
	in.top_held = SUGGEST_HELD_MIN - 1;
	assert_suggests(&in, "source-rate", NULL);
	in.held = in.top_held = 400;
	policy.source_rate_pps = 50; /* bounded already */
	assert_suggests(&in, "source-rate", NULL);
	in.settled_pps = 0;
	policy.source_rate_pps = 0;
	assert_suggests(&in, "source-rate", NULL);
}

static void target_follows_what_the_server_needs(void **state)
{
	struct suggest_input in = seen();

	(void)state;
	assert_suggests(&in, "target-delay", NULL);
	in.base_seconds = 0.3; /* slow by itself */
	assert_suggests(&in, "target-delay", "600ms");
	in = seen();
	policy.target_delay_ns = 5000000000ULL; /* far above all that was seen */
	assert_suggests(&in, "target-delay", "160ms");
	in.server_seconds[0] = in.server_seconds[1] = -1; /* round trips not known: the whole first byte counts */
	assert_suggests(&in, "target-delay", "200ms");
	in.first_byte_seconds[1] = 0.001;
	assert_suggests(&in, "target-delay", "100ms");
	policy.window_mode = SYNHOLD_WINDOW_NONE;
	assert_suggests(&in, "target-delay", NULL);
}

static void hold_grows_with_what_did_not_fit(void **state)
{
	struct suggest_input in = seen();
	struct suggest_result result;

	(void)state;
	assert_suggests(&in, "hold-max", NULL);
	assert_suggests(&in, "hold-memory", NULL);
	policy.hold_max = 1000;
	in.over_limit[SYNHOLD_REASON_HOLD_FULL] = 20;
	assert_suggests(&in, "hold-max", "2000");
	policy.hold_max = 60000;
	assert_suggests(&in, "hold-max", "65536");
	policy.hold_max = 65536;
	assert_suggests(&in, "hold-max", NULL);
	global.hold_memory_bytes = 1 << 20;
	assert_suggests(&in, "hold-memory", "40MiB");
	check(&in, &result);
	assert_true(find(&result, "hold-memory")->global);
	policy.action = SYNHOLD_ACTION_DROP;
	assert_suggests(&in, "hold-memory", NULL);
}

static void banners_do_not_count_as_service(void **state)
{
	struct suggest_input in = seen();
	struct suggest_result result;

	(void)state;
	specs.spec[0].port_lo = specs.spec[0].port_hi = 22;
	assert_suggests(&in, "settle-bytes", NULL); /* 40 ms are no banner's */
	in.server_seconds[0] = 0.0001;
	in.server_seconds[1] = 0.0009;
	assert_suggests(&in, "settle-bytes", "1500");
	specs.spec[0].port_lo = 3000;
	specs.spec[0].port_hi = 4000; /* MySQL's is in it */
	assert_suggests(&in, "settle-bytes", "96");
	policy.settle_bytes = 200;
	assert_suggests(&in, "settle-bytes", NULL);
	in = seen();
	in.server_seconds[1] = 0.0009; /* 443: a hint, as one cannot know */
	check(&in, &result);
	assert_null(find(&result, "settle-bytes"));
	assert_non_null(strstr(result.line[result.count - 1].reason, "settle-bytes"));
}

static void monitor_tells_what_would_have_been(void **state)
{
	struct suggest_input in = seen();
	struct suggest_result result;

	(void)state;
	policy.mode = SYNHOLD_MODE_MONITOR;
	in.would_limit[SYNHOLD_REASON_SHARE] = 7;
	in.would_limit[SYNHOLD_REASON_WINDOW] = 321;
	check(&in, &result);
	assert_non_null(strstr(result.line[result.count - 1].reason, "328"));
	assert_non_null(strstr(result.line[result.count - 1].reason, "window"));
	memset(in.would_limit, 0, sizeof(in.would_limit));
	check(&in, &result);
	assert_non_null(strstr(result.line[result.count - 1].reason, "enforce"));
}

static void random_observations_give_valid_lines(void **state)
{
	struct suggest_result result;

	(void)state;
	srand(11);
	for (int round = 0; round < 20000; round++) {
		struct suggest_input in = seen();

		in.settled = 200 + (uint64_t)(rand() % 100000);
		in.settled_pps = rand() % 3 ? (double)rand() / 1000 : 0;
		in.base_seconds = (double)(rand() % 30000) / 1000;
		for (int i = 0; i < 2; i++) {
			in.first_byte_seconds[i] = rand() % 4 ? (double)(rand() % 17000) / 1000 : 0.0005;
			in.server_seconds[i] = rand() % 3 ? in.first_byte_seconds[i] : -1;
		}
		in.held = (uint32_t)rand() % 65536;
		in.top_held = in.held ? (uint32_t)rand() % in.held : 0;
		in.top_source = rand() % 2 ? "2001:db8:ffff:ffff::/64" : NULL;
		in.evicted = rand() % 3 ? 0 : (uint64_t)rand();
		policy.hold_max = 1 + (uint32_t)rand() % 65536;
		policy.rate_pps = rand() % 2 ? (uint64_t)rand() % 100000 : 0;
		policy.target_delay_ns = 1000000 + (uint64_t)rand() % 60000 * 900000;
		global.hold_memory_bytes = 1ULL << (20 + rand() % 10);
		specs.spec[0].port_lo = (uint16_t)(rand() % 4000);
		specs.spec[0].port_hi = (uint16_t)(specs.spec[0].port_lo + rand() % 200);
		check(&in, &result);
	}
}

/* Only what has finished its handshake and belongs to no file may be reset. */
static void only_what_waits_is_flushed(void **state)
{
	(void)state;
	for (unsigned int s = 1; s <= TCP_CLOSING + 1; s++) {
		struct inet_diag_msg diag = {.idiag_state = (uint8_t)s};

		assert_int_equal(flush_waits(&diag), s == TCP_ESTABLISHED || s == TCP_CLOSE_WAIT);
		diag.idiag_inode = 4711;
		assert_false(flush_waits(&diag));
	}
}

static void only_the_services_own_are_flushed(void **state)
{
	struct inet_diag_msg v4 = {.idiag_family = AF_INET, .id.idiag_sport = htons(443)};
	struct inet_diag_msg v6 = {.idiag_family = AF_INET6, .id.idiag_sport = htons(443)};

	(void)state;
	seen();
	inet_pton(AF_INET, "192.0.2.1", v4.id.idiag_src);
	inet_pton(AF_INET6, "2001:db8::1", v6.id.idiag_src);
	assert_true(flush_matches(&v4, &specs));
	assert_true(flush_matches(&v6, &specs));
	specs.spec[0].any = 0;
	specs.spec[0].prefixlen = 96 + 24;
	inet_pton(AF_INET6, "::ffff:192.0.2.0", specs.spec[0].addr);
	assert_true(flush_matches(&v4, &specs));
	assert_false(flush_matches(&v6, &specs));
	inet_pton(AF_INET6, "::ffff:192.0.2.77", v6.id.idiag_src); /* of a listener on [::] */
	assert_true(flush_matches(&v6, &specs));
	inet_pton(AF_INET, "192.0.3.1", v4.id.idiag_src);
	assert_false(flush_matches(&v4, &specs));
	v6.id.idiag_sport = htons(444);
	assert_false(flush_matches(&v6, &specs));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_little_is_said),
		cmocka_unit_test(rate_is_twice_the_pace),
		cmocka_unit_test(without_a_limit_seen_no_rate_is_made_up),
		cmocka_unit_test(one_source_that_dominates_is_bounded),
		cmocka_unit_test(target_follows_what_the_server_needs),
		cmocka_unit_test(hold_grows_with_what_did_not_fit),
		cmocka_unit_test(banners_do_not_count_as_service),
		cmocka_unit_test(monitor_tells_what_would_have_been),
		cmocka_unit_test(random_observations_give_valid_lines),
		cmocka_unit_test(only_what_waits_is_flushed),
		cmocka_unit_test(only_the_services_own_are_flushed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
