// SPDX-License-Identifier: GPL-2.0-or-later
/* Writing the config file: what is written is read back to the same. */
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

#include "lib/config.h"
#include "lib/config_lists.h"
#include "lib/keys.h"

static char path[] = "/tmp/test_config_write.XXXXXX";

/* Writes, reads, and compares every key, port and entry. */
static void expect_round_trip(const struct model *model, const struct config_lists *lists)
{
	struct model *back = model_new();
	struct config_lists back_lists = {0};
	struct error err = {0};
	char a[64], b[64];
	FILE *out;

	out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(config_write(out, model, lists), 0);
	fclose(out);
	if (config_read(path, back, &back_lists, &err))
		fail_msg("what was written is refused: %s", err.message);
	assert_int_equal(model_count(back), model_count(model));
	for (int id = 0; id < SYNHOLD_SERVICES; id++) {
		int other = model->service[id].name[0] ? model_find(back, model->service[id].name) : -1;

		if (!model->service[id].name[0])
			continue;
		assert_true(other >= 0);
		assert_int_equal(back->service[other].closed, model->service[id].closed);
		assert_int_equal(back->specs[other].count, model->specs[id].count);
		for (unsigned int i = 0; i < model->specs[id].count; i++) {
			unsigned int j = 0;

			while (j < back->specs[other].count &&
			       memcmp(&model->specs[id].spec[i], &back->specs[other].spec[j],
				      sizeof(struct synhold_spec)))
				j++;
			assert_true(j < back->specs[other].count);
		}
		for (const struct key *key = keys_table; key->name; key++)
			assert_string_equal(keys_format(key, &model->service[id], &model->global, a, sizeof(a)),
					    keys_format(key, &back->service[other], &back->global, b, sizeof(b)));
	}
	for (int kind = 0; kind < LIST_KINDS; kind++) {
		assert_int_equal(back_lists.count[kind], lists->count[kind]);
		for (unsigned int i = 0; i < lists->count[kind]; i++)
			assert_memory_equal(&back_lists.entry[kind][i], &lists->entry[kind][i],
					    sizeof(struct list_entry));
	}
	config_lists_free(&back_lists);
	model_free(back);
}

/* Values that no key has by default, from a generator, so that a key that is forgotten shows. */
static void test_round_trip_keys(void **state)
{
	static const char *const values[] = {"7",      "11ms",   "13%",  "3MiB", "monitor",
					     "reject", "newest", "open", "none", "12"};
	struct config_lists lists = {0};

	(void)state;
	for (const struct key *key = keys_table; key->name; key++)
		for (size_t v = 0; v < sizeof(values) / sizeof(*values); v++) {
			struct model *model = model_new();
			unsigned char fresh[SYNHOLD_SERVICES] = {0};
			char assignment[64];

			assert_non_null(model);
			assert_true(model_add_port(model, "web=80", fresh, NULL) >= 0);
			snprintf(assignment, sizeof(assignment), "%s=%s", key->name, values[v]);
			if (!model_set(model, "*", assignment, NULL) && !model_compile(model, NULL))
				expect_round_trip(model, &lists);
			model_free(model);
		}
}

/* The widest port list there can be, over many addresses: its lines must fit. */
static void test_round_trip_ports(void **state)
{
	struct config_lists lists = {0};
	struct model *model = model_new();
	unsigned char fresh[SYNHOLD_SERVICES] = {0};
	char spec[128];

	(void)state;
	for (int i = 0; i < SYNHOLD_SPECS; i++) {
		snprintf(spec, sizeof(spec), "wide=%d-%d", 10000 + 20 * i, 10009 + 20 * i);
		assert_true(model_add_port(model, spec, fresh, NULL) >= 0);
		snprintf(spec, sizeof(spec),
			 "abcdefghijklmnopqrstuvwxyz012345=[2001:db8:1111:2222:3333:4444:5555:%d]:%d-%d", i % 8,
			 10000 + 20 * i, 10009 + 20 * i);
		assert_true(model_add_port(model, spec, fresh, NULL) >= 0);
		snprintf(spec, sizeof(spec), "four=203.0.113.%d:%d,%d", i, 20000 + i, 30000 + i);
		if (i < SYNHOLD_SPECS / 2)
			assert_true(model_add_port(model, spec, fresh, NULL) >= 0);
	}
	model->service[0].closed = 1;
	assert_int_equal(model_compile(model, NULL), 0);
	expect_round_trip(model, &lists);
	model_free(model);
}

static void test_round_trip_lists(void **state)
{
	static const char *const lines[] = {"10.0.0.1", "10.0.0.0/8 rate 50 # a note; with ; and # and = in it",
					    "2001:db8::/32 # ünïcode", "::/0", "0.0.0.0/0 rate 1m"};
	struct config_lists lists = {0};
	struct model *model = model_new();

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		assert_int_equal(config_lists_line(&lists, LIST_ALLOW, lines[i], NULL), 0);
		if (!strstr(lines[i], "rate"))
			assert_int_equal(config_lists_line(&lists, LIST_DENY, lines[i], NULL), 0);
	}
	assert_int_equal(config_lists_line(&lists, LIST_PREFER, "192.0.2.0/24 8 # paying", NULL), 0);
	expect_round_trip(model, &lists);
	config_lists_free(&lists);
	model_free(model);
}

/* What ends by itself is not written: it would come back for good. */
static void test_timed(void **state)
{
	struct config_lists lists = {0}, back = {0};
	struct model *model = model_new();
	unsigned char fresh[SYNHOLD_SERVICES] = {0};
	int closed_for_now, open_for_now;
	struct error err = {0};
	FILE *out;

	(void)state;
	closed_for_now = model_add_port(model, "a=80", fresh, NULL);
	open_for_now = model_add_port(model, "b=81", fresh, NULL);
	model->service[closed_for_now].closed = 1;
	model->service[closed_for_now].closed_flip_ns = 5;
	model->service[open_for_now].closed_flip_ns = 5;
	assert_int_equal(config_lists_line(&lists, LIST_DENY, "10.0.0.1", NULL), 0);
	assert_int_equal(config_lists_line(&lists, LIST_DENY, "10.0.0.2", NULL), 0);
	lists.entry[LIST_DENY][0].value.until_ns = 123;
	out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(config_write(out, model, &lists), 0);
	fclose(out);
	assert_int_equal(config_read(path, model, &back, &err), 0);
	assert_int_equal(model->service[model_find(model, "a")].closed, 0);
	assert_int_equal(model->service[model_find(model, "b")].closed, 1);
	assert_int_equal(back.count[LIST_DENY], 1);
	assert_int_equal(back.entry[LIST_DENY][0].addr[15], 2);
	config_lists_free(&lists);
	config_lists_free(&back);
	model_free(model);
}

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip_keys),
		cmocka_unit_test(test_round_trip_ports),
		cmocka_unit_test(test_round_trip_lists),
		cmocka_unit_test(test_timed),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
