// SPDX-License-Identifier: GPL-2.0-or-later
/* The policy as a whole. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/model.h"

static int setup(void **state)
{
	*state = model_new();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	model_free(*state);
	return 0;
}

static int add(struct model *model, const char *spec, unsigned char *fresh)
{
	struct error err = {0};
	int id = model_add_port(model, spec, fresh, &err);

	if (id < 0)
		fail_msg("'%s' is refused: %s", spec, err.message);
	return id;
}

static void test_empty(void **state)
{
	struct model *model = *state;

	assert_int_equal(model_count(model), 0);
	assert_int_equal(model_find(model, "web"), -ENOENT);
	assert_int_equal(model_find(model, ""), -ENOENT); /* free places have an empty name */
	assert_int_equal(model_compile(model, NULL), 0);
	assert_true(model->global.hold_memory_bytes == 64ULL << 20);
}

static void test_add(void **state)
{
	struct model *model = *state;
	unsigned char fresh[SYNHOLD_SERVICES] = {0};
	int web = add(model, "web=80", fresh), ssh = add(model, "ssh=22", fresh);

	assert_true(web != ssh);
	assert_int_equal(model_count(model), 2);
	assert_int_equal(model_find(model, "web"), web);
	assert_int_equal(model->service[web].window_min, 8);
	assert_int_equal(add(model, "web=443", fresh), web);
	assert_int_equal(model->specs[web].count, 2);
}

/* A later command replaces the ports of a service that it names, and keeps its keys. */
static void test_replace(void **state)
{
	struct model *model = *state;
	unsigned char first[SYNHOLD_SERVICES] = {0}, second[SYNHOLD_SERVICES] = {0};
	int web = add(model, "web=80,443", first);

	assert_int_equal(model_set(model, "web", "rate=7", NULL), 0);
	assert_int_equal(add(model, "web=8080", second), web);
	assert_int_equal(model->specs[web].count, 1);
	assert_int_equal(model->specs[web].spec[0].port_lo, 8080);
	assert_int_equal(model->service[web].rate_pps, 7);
}

static void test_add_refused(void **state)
{
	struct model *model = *state, before;
	unsigned char fresh[SYNHOLD_SERVICES] = {0};
	struct error err = {0};

	add(model, "web=80", fresh);
	before = *model;
	assert_int_equal(model_add_port(model, "web=0", fresh, &err), -EINVAL);
	assert_int_equal(model_add_port(model, "443-80", fresh, &err), -EINVAL);
	assert_memory_equal(model, &before, sizeof(before));
}

static void test_full(void **state)
{
	struct model *model = *state;
	unsigned char fresh[SYNHOLD_SERVICES] = {0};
	struct error err = {0};
	char spec[32];

	for (int i = 0; i < SYNHOLD_SERVICES; i++) {
		snprintf(spec, sizeof(spec), "s%d=%d", i, 1000 + i);
		add(model, spec, fresh);
	}
	assert_int_equal(model_count(model), SYNHOLD_SERVICES);
	assert_int_equal(model_add_port(model, "more=9", fresh, &err), -EINVAL);
	assert_int_equal(model_compile(model, &err), 0);
	assert_int_equal(model_remove(model, "s7", &err), 0);
	assert_int_equal(model_find(model, "s7"), -ENOENT);
	assert_int_equal(add(model, "more=9", fresh), 7);
}

/* A place that is used again starts with the defaults, not with what the one before had set. */
static void test_place_reused(void **state)
{
	struct model *model = *state;
	unsigned char fresh[SYNHOLD_SERVICES] = {0}, later[SYNHOLD_SERVICES] = {0};
	int id = add(model, "old=80", fresh);

	assert_int_equal(model_set(model, "old", "rate=7", NULL), 0);
	model->service[id].closed = 1;
	assert_int_equal(model_remove(model, "old", NULL), 0);
	assert_int_equal(add(model, "new=81", later), id);
	assert_int_equal(model->service[id].rate_pps, 0);
	assert_int_equal(model->service[id].closed, 0);
	assert_int_equal(model->specs[id].count, 1);
}

static void test_require(void **state)
{
	struct model *model = *state;
	unsigned char fresh[SYNHOLD_SERVICES] = {0};
	struct error err = {0};

	assert_true(model_require(model, "web", &err) < 0);
	add(model, "web=80", fresh);
	add(model, "ssh=22", fresh);
	assert_true(model_require(model, "web", &err) >= 0);
	assert_true(model_require(model, "wen", &err) < 0);
	assert_non_null(strstr(err.message, "wen"));
	assert_non_null(strstr(err.hint, "web"));
	assert_non_null(strstr(err.hint, "ssh"));
	assert_int_equal(error_exit_status(&err), 1); /* a missing object */
}

static void test_set(void **state)
{
	struct model *model = *state;
	unsigned char fresh[SYNHOLD_SERVICES] = {0};
	int web = add(model, "web=80", fresh), ssh = add(model, "ssh=22", fresh);

	assert_int_equal(model_set(model, "web", "rate=10k", NULL), 0);
	assert_int_equal(model->service[web].rate_pps, 10000);
	assert_int_equal(model->service[ssh].rate_pps, 0);
	assert_int_equal(model_set(model, "*", "window=9", NULL), 0);
	assert_int_equal(model->service[web].window, 9);
	assert_int_equal(model->service[ssh].window, 9);
	assert_int_equal(model_set(model, NULL, "global-rate=5", NULL), 0);
	assert_int_equal(model->global.global_rate_pps, 5);
	assert_int_equal(model_set(model, "*", "hold-memory=1MiB", NULL), 0);
	assert_true(model->global.hold_memory_bytes == 1 << 20);
}

static void test_set_refused(void **state)
{
	static const char *const bad[][2] = {{"web", "rate"},
					     {"web", "=5"},
					     {"web", ""},
					     {"web", "rate=-1"},
					     {"web", "rate==5"},
					     {"web", "global-rate=5"},
					     {"wen", "rate=5"},
					     {"*", "rate=x"},
					     {"*", "global-rate=x"},
					     {"*", "frob=1"},
					     {"web", "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz=1"},
					     {"", "rate=5"}};
	struct model *model = *state, before;
	unsigned char fresh[SYNHOLD_SERVICES] = {0};

	add(model, "web=80", fresh);
	add(model, "ssh=22", fresh);
	before = *model;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct error err = {0};

		if (!model_set(model, bad[i][0], bad[i][1], &err))
			fail_msg("%s %s is accepted", bad[i][0], bad[i][1]);
		assert_int_equal(error_exit_status(&err), strcmp(bad[i][0], "wen") && *bad[i][0] ? 2 : 1);
		assert_memory_equal(model, &before, sizeof(before));
	}
}

static void test_words(void **state)
{
	(void)state;
	assert_true(model_is_assignment("rate=5"));
	assert_true(model_is_assignment("frob="));
	assert_false(model_is_assignment("eth0"));
	assert_false(model_is_assignment("=5"));
	assert_false(model_is_assignment(""));
	assert_false(model_is_assignment("1a=5"));
}

static void test_collisions(void **state)
{
	static const struct {
		const char *one, *two;
		int collide;
	} pairs[] = {
		{"a=443", "b=443", 1},
		{"a=443", "b=444", 0},
		{"a=1-100", "b=100-200", 1},
		{"a=1-100", "b=101-200", 0},
		{"a=1-65535", "b=7", 1},
		{"a=443", "b=10.0.0.1:443", 0}, /* the longer prefix wins */
		{"a=10.0.0.0/8:443", "b=10.0.0.0/16:443", 0},
		{"a=10.0.0.0/8:443", "b=10.0.0.0/8:440-450", 1},
		{"a=10.0.0.0/8:443", "b=11.0.0.0/8:443", 0},
		{"a=[::]:443", "b=[::1]:443", 0},
		{"a=[::ffff:10.0.0.1]:443", "b=10.0.0.1:443", 1}, /* the same address, written in two ways */
		{"a=80,443", "a=443", 1},                         /* within one service too */
		{"a=80-90,85", "b=1", 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		struct model *model = model_new();
		unsigned char fresh[SYNHOLD_SERVICES] = {0};
		struct error err = {0};

		assert_non_null(model);
		add(model, pairs[i].one, fresh);
		add(model, pairs[i].two, fresh);
		if (model_compile(model, &err) != (pairs[i].collide ? -EINVAL : 0))
			fail_msg("%s and %s: %s", pairs[i].one, pairs[i].two, err.message);
		model_free(model);
	}
}

static void test_limits_alone(void **state)
{
	static const struct {
		const char *assignment;
		int limits;
	} cases[] = {{"window=auto", 0},    {"window=none", 0}, {"window=8", 1}, {"rate=5", 1},
		     {"source-rate=5", 1},  {"share=99%", 1},   {"burst=5", 0},  {"global-rate=5", 1},
		     {"global-burst=5", 0}, {"mode=enforce", 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct model *model = model_new();
		unsigned char fresh[SYNHOLD_SERVICES] = {0};

		assert_non_null(model);
		add(model, "web=80", fresh);
		assert_int_equal(model_set(model, "*", cases[i].assignment, NULL), 0);
		if (!model_limits_alone(model) != !cases[i].limits)
			fail_msg("%s", cases[i].assignment);
		model_free(model);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(test_add, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replace, setup, teardown),
		cmocka_unit_test_setup_teardown(test_add_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_place_reused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_require, setup, teardown),
		cmocka_unit_test_setup_teardown(test_set, setup, teardown),
		cmocka_unit_test_setup_teardown(test_set_refused, setup, teardown),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_collisions),
		cmocka_unit_test(test_limits_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
