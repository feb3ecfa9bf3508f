// SPDX-License-Identifier: GPL-2.0-or-later
/* Address lists in memory: reading them, joining them, and the image that the data plane looks into. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/units.h"
#include "tests/unit/lists_model.h"

#define NOW 1000000000000ULL
#define ROUNDS 400
#define LOOKUPS 100

static const struct synhold_list_step *step_in_force(const struct synhold_list_row *rows, uint32_t number)
{
	const struct synhold_list_head *head = (const void *)rows;
	const struct synhold_list_step *steps = (const void *)(rows + head->steps_row);

	while (number && steps[number].until_ns <= NOW)
		number = steps[number].next;
	return number ? &steps[number] : NULL;
}

static void test_image_against_model(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct config_lists lists = {0}, back = {0};
		struct synhold_list_row *rows;
		uint32_t count;

		assert_int_equal(lists_model_fill(&random, round % 10 ? 40 : 1000, NOW, &lists), 0);
		assert_int_equal(lists_image(&lists, &rows, &count), 0);
		for (int i = 0; i < LOOKUPS; i++) {
			const struct synhold_list_range *range;
			const struct synhold_list_step *step;
			struct lists_answer model;
			uint8_t addr[16];

			lists_model_random_addr(&random, &lists, addr);
			model = lists_model(&lists, addr, NOW);
			range = lists_image_find(rows, addr);
			step = step_in_force(rows, range->step);
			assert_int_equal(range->deny_until_ns > NOW, model.denied);
			assert_int_equal(step != NULL, model.allow != NULL);
			if (step) /* the rates are 1 to 3, and the burst is two seconds of them */
				assert_int_equal(step->limit / step->interval, 2 * model.allow->value.rate_pps);
			assert_int_equal(range->weight, model.weight);
		}
		assert_int_equal(lists_image_read(rows, count * sizeof(*rows), &back), 0);
		for (int kind = 0; kind < LIST_KINDS; kind++) {
			assert_int_equal(back.count[kind], lists.count[kind]);
			for (unsigned int i = 0; i < back.count[kind]; i++)
				assert_memory_equal(&back.entry[kind][i], &lists.entry[kind][i],
						    sizeof(struct list_entry));
		}
		config_lists_free(&lists);
		config_lists_free(&back);
		free(rows);
	}
}

static void add(struct config_lists *lists, const char *cidr, enum list_origin origin, const char *note)
{
	struct list_entry entry = {.value = {.until_ns = SYNHOLD_FOREVER, .origin = (uint8_t)origin}};

	assert_int_equal(units_parse_cidr(cidr, entry.addr, &entry.prefixlen), 0);
	snprintf(entry.value.note, sizeof(entry.value.note), "%s", note);
	assert_int_equal(config_lists_add(lists, LIST_DENY, &entry), 0);
}

static void expect(const struct config_lists *lists, const char *text)
{
	char got[512] = "", cidr[64];

	for (unsigned int i = 0; i < lists->count[LIST_DENY]; i++) {
		const struct list_entry *entry = &lists->entry[LIST_DENY][i];

		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s=%s", i ? " " : "",
			 units_format_cidr(cidr, sizeof(cidr), entry->addr, entry->prefixlen), entry->value.note);
	}
	assert_string_equal(got, text);
}

static void test_the_last_of_equals_stays(void **state)
{
	struct config_lists lists = {0};

	(void)state;
	add(&lists, "10.0.0.9", LIST_BY_LOAD, "a");
	add(&lists, "10.0.0.0/24", LIST_BY_LOAD, "b");
	add(&lists, "10.0.0.9", LIST_BY_LOAD, "c");
	add(&lists, "10.0.0.0/8", LIST_BY_LOAD, "d");
	add(&lists, "10.0.0.9", LIST_BY_LOAD, "e");
	add(&lists, "9.0.0.0/8", LIST_BY_LOAD, "f");
	assert_int_equal(lists_sort(&lists, LIST_DENY), 0);
	expect(&lists, "9.0.0.0/8=f 10.0.0.0/8=d 10.0.0.0/24=b 10.0.0.9=e");
	config_lists_free(&lists);
}

/* What came from the same place goes; what did not stays, but for equal prefixes. */
static void test_merge(void **state)
{
	struct config_lists lists = {0}, fresh = {0};

	(void)state;
	add(&lists, "10.0.0.1", LIST_BY_COMMAND, "hand");
	add(&lists, "10.0.0.2", LIST_BY_COMMAND, "hand");
	add(&lists, "10.0.0.3", LIST_BY_CONFIG, "config");
	add(&lists, "10.0.0.4", LIST_BY_LOAD, "load");
	add(&lists, "10.0.0.5", LIST_BY_LOAD, "load");
	add(&fresh, "10.0.0.0", LIST_BY_LOAD, "new");
	add(&fresh, "10.0.0.2", LIST_BY_LOAD, "new");
	add(&fresh, "10.0.0.5", LIST_BY_LOAD, "new");
	add(&fresh, "10.0.0.6", LIST_BY_LOAD, "new");
	assert_int_equal(lists_merge(&lists, LIST_DENY, fresh.entry[LIST_DENY], fresh.count[LIST_DENY], LIST_BY_LOAD),
			 0);
	expect(&lists, "10.0.0.0=new 10.0.0.1=hand 10.0.0.2=new 10.0.0.3=config 10.0.0.5=new 10.0.0.6=new");
	config_lists_free(&lists);
	config_lists_free(&fresh);
}

static void test_room(void **state)
{
	struct config_lists lists = {0};
	struct error err = {0};

	(void)state;
	lists.count[LIST_ALLOW] = SYNHOLD_LIST_ENTRIES;
	assert_int_equal(lists_check_room(&lists, &err), 0);
	lists.count[LIST_DENY] = SYNHOLD_LIST_ENTRIES + 5;
	assert_int_equal(lists_check_room(&lists, &err), -ENOSPC);
	assert_non_null(strstr(err.message, "deny"));
	assert_non_null(strstr(err.message, "131077"));
	assert_non_null(strstr(err.message, "131072"));
}

static void test_lines(void **state)
{
	static const struct {
		enum list_kind kind;
		int load, good;
		const char *text;
		uint64_t rate, until_ns;
		const char *note;
	} rows[] = {
		{LIST_DENY, 1, 1, "192.0.2.0/24", 0, SYNHOLD_FOREVER, ""},
		{LIST_DENY, 1, 1, " \t2001:db8::/32 for 1s #  a b \r\n", 0, NOW + 1000000000, "a b"},
		{LIST_ALLOW, 1, 1, "10.0.0.1 for 1m rate 1k # x", 1000, NOW + 60000000000, "x"},
		{LIST_ALLOW, 1, 1, "10.0.0.1 rate 5#", 5, SYNHOLD_FOREVER, ""},
		{LIST_ALLOW, 0, 1, "10.0.0.1 rate 5", 5, SYNHOLD_FOREVER, ""},
		{LIST_PREFER, 0, 1, "10.0.0.0/8 128", 128, SYNHOLD_FOREVER, ""},
		{LIST_DENY, 0, 0, "10.0.0.1 for 1s", 0, 0, ""},
		{LIST_DENY, 1, 0, "10.0.0.1 rate 5", 0, 0, ""},
		{LIST_DENY, 1, 0, "10.0.0.1 for", 0, 0, ""},
		{LIST_DENY, 1, 0, "10.0.0.1 for 5", 0, 0, ""},
		{LIST_DENY, 1, 0, "10.0.0.1 for 0s", 0, 0, ""},
		{LIST_DENY, 1, 0, "10.0.0.1 for 1s for 2s", 0, 0, ""},
		{LIST_ALLOW, 1, 0, "10.0.0.1 rate 0", 0, 0, ""},
		{LIST_ALLOW, 1, 0, "10.0.0.1 rate 5 rate 6", 0, 0, ""},
		{LIST_ALLOW, 1, 0, "10.0.0.1 10.0.0.2", 0, 0, ""},
		{LIST_DENY, 1, 0, "10.0.0.1/24", 0, 0, ""},
		{LIST_DENY, 1, 0, "10.0.0.1/33", 0, 0, ""},
		{LIST_DENY, 1, 0, "example.org", 0, 0, ""},
		{LIST_DENY, 1, 0, "# only a note", 0, 0, ""},
		{LIST_PREFER, 0, 0, "10.0.0.1 1", 0, 0, ""},
		{LIST_PREFER, 0, 0, "10.0.0.1 129", 0, 0, ""},
		{LIST_PREFER, 0, 0, "10.0.0.1 2 3", 0, 0, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct lists_lines lines = {rows[i].kind, LIST_BY_LOAD, rows[i].load ? NOW : 0};
		struct config_lists lists = {0};
		struct error err = {0};
		int ret = lists_parse(&lists, &lines, rows[i].text, &err);

		if (ret != (rows[i].good ? 0 : -EINVAL))
			fail_msg("'%s': %d", rows[i].text, ret);
		assert_int_equal(lists.count[rows[i].kind], rows[i].good);
		if (rows[i].good) {
			const struct list_value *value = &lists.entry[rows[i].kind][0].value;

			assert_true(value->rate_pps == rows[i].rate);
			assert_true(value->until_ns == rows[i].until_ns);
			assert_string_equal(value->note, rows[i].note);
			assert_int_equal(value->origin, LIST_BY_LOAD);
		} else {
			assert_non_null(strstr(err.hint, "accepted: "));
		}
		config_lists_free(&lists);
	}
}

static void put_file(const char *path, const char *text, size_t size)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void test_file(void **state)
{
	static const char good[] = "# abuse\n\n10.0.0.1\r\n; old\n10.0.0.2 # x", bad[] = "10.0.0.1\n\n10.0.0.2 x\n",
			  zero[] = "10.0.0.1\n10.0.0.2\0 for 1h\n";
	struct lists_lines lines = {LIST_DENY, LIST_BY_LOAD, NOW};
	struct config_lists lists = {0}, none = {0};
	char path[] = "/tmp/synhold-lists-XXXXXX";
	struct error err = {0};
	int fd = mkstemp(path);

	(void)state;
	assert_return_code(fd, errno);
	close(fd);
	put_file(path, good, sizeof(good) - 1);
	assert_int_equal(lists_parse_file(&lists, &lines, path, &err), 0);
	expect(&lists, "10.0.0.1= 10.0.0.2=x");
	config_lists_free(&lists);
	put_file(path, bad, sizeof(bad) - 1);
	assert_int_equal(lists_parse_file(&none, &lines, path, &err), -EINVAL);
	assert_non_null(strstr(err.message, ":3: '10.0.0.2 x'"));
	config_lists_free(&none);
	put_file(path, zero, sizeof(zero) - 1);
	assert_int_equal(lists_parse_file(&none, &lines, path, &err), -EINVAL);
	assert_non_null(strstr(err.message, ":2: "));
	config_lists_free(&none);
	unlink(path);
	assert_int_equal(lists_parse_file(&none, &lines, path, &err), -ENOENT);
}

/* An image that is cut short, or whose head says more than there is, is refused. */
static void test_broken_image(void **state)
{
	struct config_lists lists = {0}, back = {0};
	struct synhold_list_row *rows;
	struct synhold_list_head *head;
	uint32_t count;

	(void)state;
	add(&lists, "10.0.0.1", LIST_BY_COMMAND, "x");
	assert_int_equal(lists_image(&lists, &rows, &count), 0);
	for (uint32_t short_of = 1; short_of < count; short_of++) {
		int ret = lists_image_read(rows, (count - short_of) * sizeof(*rows), &back);

		assert_int_equal(ret, -EPROTO);
	}
	head = (void *)rows;
	head->entries[LIST_PREFER] = ~0U;
	assert_int_equal(lists_image_read(rows, count * sizeof(*rows), &back), -EPROTO);
	assert_int_equal(back.count[LIST_DENY], 0);
	config_lists_free(&lists);
	free(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_image_against_model),
		cmocka_unit_test(test_the_last_of_equals_stays),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_broken_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
