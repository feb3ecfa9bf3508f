// SPDX-License-Identifier: GPL-2.0-or-later
/* The signals that the daemon shares: names are unique, nobody sees half of a set, numbers survive. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export/export.h"
#include "lib/keys.h"
#include "lib/signals.h"

static unsigned int count(const struct synhold_signals *set)
{
	unsigned int i = 0;

	while (i < SYNHOLD_SIGNALS && set->signal[i].name[0])
		i++;
	return i;
}

static void test_values(void **state)
{
	struct synhold_signals set = {0};
	const struct synhold_signal *signal;

	(void)state;
	signals_add(&set, "first_byte", SYNHOLD_UNIT_SECONDS, 0.0125, 0.1, 5000000000ULL);
	signals_add(&set, "settlements", SYNHOLD_UNIT_PER_SECOND, 490.5, 0, 7000000000ULL);
	signals_add(&set, "huge", SYNHOLD_UNIT_COUNT, 1e300, 1, 0);
	assert_int_equal(count(&set), 3);
	signal = signals_find(&set, "first_byte");
	assert_non_null(signal);
	assert_true(signals_value(signal) == 0.0125 && signals_target(signal) == 0.1);
	assert_true(signals_age(signal, 7500000000ULL) == 2.5);
	assert_true(signals_age(signal, 4000000000ULL) == 0); /* a reader whose clock was read before */
	assert_string_equal(signals_unit_name(signal->unit), "seconds");
	signal = signals_find(&set, "settlements");
	assert_true(signals_value(signal) == 490.5 && signals_target(signal) == 0);
	assert_string_equal(signals_unit_name(signal->unit), "per_second");
	assert_true(signals_value(signals_find(&set, "huge")) > 1e12);
	assert_null(signals_find(&set, "first"));
	assert_string_equal(signals_unit_name(99), "unknown");
}

static void test_names_are_unique(void **state)
{
	struct synhold_signals set = {0};
	char name[SYNHOLD_NAME_LEN];

	(void)state;
	signals_add(&set, "accept_queue", SYNHOLD_UNIT_COUNT, 1, 0, 1);
	signals_add(&set, "accept_queue", SYNHOLD_UNIT_COUNT, 2, 0, 1); /* an application's */
	signals_add(&set, "accept_queue", SYNHOLD_UNIT_COUNT, 3, 0, 1);
	assert_int_equal(count(&set), 2);
	assert_true(signals_value(signals_find(&set, "accept_queue")) == 1);
	assert_true(signals_value(signals_find(&set, "app.accept_queue")) == 2);
	for (int i = 0; i < 2 * SYNHOLD_SIGNALS; i++) {
		snprintf(name, sizeof(name), "signal-%d", i);
		signals_add(&set, name, SYNHOLD_UNIT_COUNT, i, 0, 1);
	}
	assert_int_equal(count(&set), SYNHOLD_SIGNALS);
}

static struct synhold_signals shared;
static atomic_int done;

static void *write_sets(void *ctx)
{
	(void)ctx;
	for (uint64_t turn = 1; turn <= 20000; turn++) {
		struct synhold_signals set = {0};

		for (unsigned int i = 0; i < SYNHOLD_SIGNALS; i++) {
			snprintf(set.signal[i].name, sizeof(set.signal[i].name), "s%u", i);
			set.signal[i].value_micro = turn;
			set.signal[i].when_ns = turn;
		}
		signals_publish(&shared, &set);
	}
	atomic_store(&done, 1);
	return NULL;
}

static void test_nobody_sees_half_of_a_set(void **state)
{
	struct synhold_signals set;
	unsigned int reads = 0;
	pthread_t writer;

	(void)state;
	assert_int_equal(pthread_create(&writer, NULL, write_sets, NULL), 0);
	while (!atomic_load(&done)) {
		if (signals_read(&shared, &set))
			continue;
		reads++;
		for (unsigned int i = 1; i < SYNHOLD_SIGNALS; i++) {
			assert_true(set.signal[i].value_micro == set.signal[0].value_micro);
			assert_true(set.signal[i].when_ns == set.signal[0].when_ns);
		}
	}
	assert_int_equal(pthread_join(writer, NULL), 0);
	assert_int_equal(signals_read(&shared, &set), 0);
	assert_true(set.signal[SYNHOLD_SIGNALS - 1].value_micro == 20000);
	assert_true(reads > 0);
}

/* A daemon that was killed while it wrote leaves no signals, and does not keep the next one from writing. */
static void test_a_writer_that_died(void **state)
{
	struct synhold_signals place = {0}, set = {0}, out;

	(void)state;
	signals_add(&set, "first_byte", SYNHOLD_UNIT_SECONDS, 1, 0, 1);
	signals_publish(&place, &set);
	place.sequence++;
	memset(&out, 1, sizeof(out));
	assert_int_equal(signals_read(&place, &out), -EAGAIN);
	assert_int_equal(count(&out), 0);
	signals_publish(&place, &set);
	assert_int_equal(signals_read(&place, &out), 0);
	assert_int_equal(count(&out), 1);
}

static void assert_line(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	if (!at || (at != text && at[-1] != '\n') || at[strlen(line)] != '\n')
		fail_msg("no line '%s'", line);
}

/* Each signal with unit, target and age, in JSON and as metrics; a name that would break the text is escaped. */
static void test_signals_shared(void **state)
{
	static struct snapshot_service services[2];
	struct snapshot snap = {.instance = "default", .attached = 1, .now_ns = 100000000000ULL, .service_count = 2};
	json_t *root, *signals, *first;
	char *text = NULL;
	size_t size;
	FILE *out;

	(void)state;
	snap.service = services;
	for (int i = 0; i < 2; i++) {
		keys_defaults(&services[i].policy);
		snprintf(services[i].policy.name, sizeof(services[i].policy.name), i ? "ssh" : "web");
	}
	services[0].runtime.ceiling_interval_ns = 2666667; /* 375/s */
	signals_add(&services[0].signals, "first_byte", SYNHOLD_UNIT_SECONDS, 0.0125, 0.1, snap.now_ns - 1500000000);
	signals_add(&services[0].signals, "settlements", SYNHOLD_UNIT_PER_SECOND, 490.5, 0, snap.now_ns);
	signals_add(&services[0].signals, "a\"b", SYNHOLD_UNIT_COUNT, 7, 5, snap.now_ns);
	root = export_status(&snap, "web");
	signals = json_object_get(json_array_get(json_object_get(root, "services"), 0), "signals");
	assert_int_equal(json_array_size(signals), 3);
	first = json_array_get(signals, 0);
	assert_string_equal(json_string_value(json_object_get(first, "name")), "first_byte");
	assert_string_equal(json_string_value(json_object_get(first, "unit")), "seconds");
	assert_true(json_real_value(json_object_get(first, "value")) == 0.0125);
	assert_true(json_real_value(json_object_get(first, "target")) == 0.1);
	assert_true(json_real_value(json_object_get(first, "age_seconds")) == 1.5);
	assert_true(json_is_null(json_object_get(json_array_get(signals, 1), "target")));
	assert_int_equal(json_integer_value(
				 json_object_get(json_array_get(json_object_get(root, "services"), 0), "rate_ceiling")),
			 375);
	json_decref(root);
	out = open_memstream(&text, &size);
	assert_non_null(out);
	assert_int_equal(export_prometheus(&snap, 1000, EXPORT_TEXT, out), 0);
	fclose(out);
	assert_line(text, "synhold_signal_value{shield=\"default\",service=\"web\",signal=\"first_byte\"} 0.0125");
	assert_line(text, "synhold_signal_age_seconds{shield=\"default\",service=\"web\",signal=\"first_byte\"} 1.5");
	assert_line(text, "synhold_signal_value{shield=\"default\",service=\"web\",signal=\"a\\\"b\"} 7");
	assert_line(text, "synhold_settlements_per_second{shield=\"default\",service=\"web\"} 490.5");
	assert_line(text, "synhold_rate_ceiling{shield=\"default\",service=\"web\"} 375");
	/* absent where there is none */
	assert_null(strstr(text, "synhold_rate_ceiling{shield=\"default\",service=\"ssh\""));
	assert_null(strstr(text, "synhold_settlements_per_second{shield=\"default\",service=\"ssh\""));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_names_are_unique),
		cmocka_unit_test(test_nobody_sees_half_of_a_set),
		cmocka_unit_test(test_a_writer_that_died),
		cmocka_unit_test(test_signals_shared),
	};

	return cmocka_run_group_tests_name("signals", tests, NULL, NULL);
}
