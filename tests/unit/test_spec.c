// SPDX-License-Identifier: GPL-2.0-or-later
/* Port specifications. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/spec.h"

static struct synhold_specs parse(const char *text, const char *name)
{
	struct synhold_specs specs = {0};
	char found[SYNHOLD_NAME_LEN] = "";
	struct error err = {0};

	if (spec_parse(text, found, &specs, &err))
		fail_msg("'%s' is refused: %s", text, err.message);
	assert_string_equal(found, name);
	return specs;
}

static void expect_range(const struct synhold_specs *specs, unsigned int index, unsigned int lo, unsigned int hi)
{
	assert_true(index < specs->count);
	assert_int_equal(specs->spec[index].port_lo, lo);
	assert_int_equal(specs->spec[index].port_hi, hi);
}

static void test_ports(void **state)
{
	struct synhold_specs specs = parse("443", "tcp-443");

	(void)state;
	assert_int_equal(specs.count, 1);
	assert_int_equal(specs.spec[0].any, 1);
	expect_range(&specs, 0, 443, 443);
	specs = parse("web=443,8443,9000-9010", "web");
	assert_int_equal(specs.count, 3);
	expect_range(&specs, 0, 443, 443);
	expect_range(&specs, 1, 8443, 8443);
	expect_range(&specs, 2, 9000, 9010);
	specs = parse("1-65535", "tcp-1");
	expect_range(&specs, 0, 1, 65535);
	specs = parse("8080-8090,80", "tcp-8080");
	assert_int_equal(specs.count, 2);
	specs = parse("00080", "tcp-80");
	expect_range(&specs, 0, 80, 80);
}

static void test_addresses(void **state)
{
	static const uint8_t four[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 0};
	static const uint8_t six[16] = {0x20, 0x01, 0x0d, 0xb8};
	struct synhold_specs specs = parse("192.0.2.0/24:443", "tcp-443");

	(void)state;
	assert_int_equal(specs.spec[0].any, 0);
	assert_int_equal(specs.spec[0].prefixlen, 120);
	assert_memory_equal(specs.spec[0].addr, four, 16);
	specs = parse("api=[2001:db8::/64]:443,444", "api");
	assert_int_equal(specs.count, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(specs.spec[i].prefixlen, 64);
		assert_memory_equal(specs.spec[i].addr, six, 16);
	}
	specs = parse("10.0.0.1:22", "tcp-22");
	assert_int_equal(specs.spec[0].prefixlen, 128);
	specs = parse("[::ffff:10.0.0.1]:22", "tcp-22");
	assert_int_equal(specs.spec[0].prefixlen, 128);
	/* every address, said with an address: not the same as no address, which is what `any` stands for */
	specs = parse("0.0.0.0/0:22", "tcp-22");
	assert_int_equal(specs.spec[0].any, 0);
	assert_int_equal(specs.spec[0].prefixlen, 96);
}

static void test_refused(void **state)
{
	static const char *const bad[] = {"",
					  "0",
					  "65536",
					  "99999",
					  "443-80",
					  "-1",
					  "-",
					  "443-",
					  "-443",
					  "443,",
					  ",443",
					  "443,,444",
					  "443-445-447",
					  "443 444",
					  " 443",
					  "443 ",
					  "+443",
					  "0x1bb",
					  "1e3",
					  "443/tcp",
					  "http",
					  "*",
					  "443;444",
					  "4294967739",
					  "999999",
					  "x=",
					  "=443",
					  "x=0",
					  "web=443=444",
					  "Web=443",
					  "we b=443",
					  "-web=443",
					  ".web=443",
					  "_web=443",
					  "w\xc3\xa9"
					  "b=443",
					  "web/x=443",
					  "abcdefghijklmnopqrstuvwxyz0123456=443",
					  "192.0.2.1",
					  "192.0.2.1:",
					  ":443",
					  "192.0.2.1:0",
					  "192.0.2.1/24:443",
					  "192.0.2.1/33:443",
					  "192.0.2.256:443",
					  "::1:443",
					  "2001:db8::1:443",
					  "[::1]443",
					  "[::1]:",
					  "[::1",
					  "[::1:443",
					  "[]:443",
					  "[::1/129]:443",
					  "[2001:db8::1/64]:443",
					  "[web]:443",
					  "[192.0.2.1:443",
					  "[[::1]]:443",
					  "web=[::1]:443-442",
					  "[::1%lo]:443",
					  "localhost:443"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct synhold_specs specs = {.count = 1}, before;
		char name[SYNHOLD_NAME_LEN] = "untouched";
		struct error err = {0};

		specs.spec[0] = (struct synhold_spec){.any = 1, .port_lo = 7, .port_hi = 7};
		before = specs;
		if (spec_parse(bad[i], name, &specs, &err) != -EINVAL)
			fail_msg("'%s' is accepted", bad[i]);
		assert_memory_equal(&specs, &before, sizeof(specs));
		assert_string_equal(name, "untouched");
		assert_int_equal(err.code, -EINVAL);
		assert_true(err.message[0] && err.hint[0]);
	}
}

static void test_names(void **state)
{
	static const char *const good[] = {"a", "0", "web", "web-1", "a.b_c-d", "abcdefghijklmnopqrstuvwxyz012345"};
	static const char *const bad[] = {"",        "-a",  ".",  "_x", "A",
					  "a b",     "a/b", "a*", "*",  "abcdefghijklmnopqrstuvwxyz0123456",
					  "\xc3\xa4"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_true(spec_name_valid(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(spec_name_valid(bad[i]));
}

/* Exactly as many ranges as a service takes; one more is refused whole. */
static void test_full(void **state)
{
	struct synhold_specs specs = {0}, before;
	char text[SYNHOLD_SPECS * 6 + 8] = "", name[SYNHOLD_NAME_LEN];
	struct error err = {0};

	(void)state;
	for (int i = 0; i < SYNHOLD_SPECS; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%d", i ? "," : "", 1000 + i);
	assert_int_equal(spec_parse(text, name, &specs, &err), 0);
	assert_int_equal(specs.count, SYNHOLD_SPECS);
	before = specs;
	assert_int_equal(spec_parse("80", name, &specs, &err), -EINVAL);
	assert_memory_equal(&specs, &before, sizeof(specs));
}

static void test_appends(void **state)
{
	struct synhold_specs specs = {0};
	char name[SYNHOLD_NAME_LEN];

	(void)state;
	assert_int_equal(spec_parse("web=80", name, &specs, NULL), 0);
	assert_int_equal(spec_parse("web=[::1]:81", name, &specs, NULL), 0);
	assert_int_equal(spec_parse("82", name, &specs, NULL), 0);
	assert_string_equal(name, "tcp-82"); /* of its own first port, not of what was there */
	assert_int_equal(specs.count, 3);
	expect_range(&specs, 2, 82, 82);
}

/* Formatted by address, read again: the same set of ranges. */
static void test_round_trip(void **state)
{
	static const char *const given[] = {"web=80,8080-8090", "web=[2001:db8::/64]:80", "web=10.0.0.0/8:1-2",
					    "web=443", "web=[2001:db8::/64]:90-91"};
	static const char *const expected[] = {"80,8080-8090,443", "[2001:db8::/64]:80,90-91", "10.0.0.0/8:1-2"};
	struct synhold_specs specs = {0}, back = {0};
	char name[SYNHOLD_NAME_LEN], text[256];
	unsigned int groups = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++)
		assert_int_equal(spec_parse(given[i], name, &specs, NULL), 0);
	for (; !spec_format(&specs, groups, text, sizeof(text)); groups++) {
		assert_true(groups < 3);
		assert_string_equal(text, expected[groups]);
		assert_int_equal(spec_parse(text, name, &back, NULL), 0);
	}
	assert_int_equal(groups, 3);
	assert_int_equal(back.count, specs.count);
	for (unsigned int i = 0; i < specs.count; i++) {
		unsigned int j = 0;

		while (j < back.count && memcmp(&specs.spec[i], &back.spec[j], sizeof(back.spec[j])))
			j++;
		assert_true(j < back.count);
	}
}

static void test_format_bounds(void **state)
{
	struct synhold_specs specs = {0};
	char name[SYNHOLD_NAME_LEN], text[64];

	(void)state;
	assert_int_equal(spec_parse("10000,20000,30000-40000,50000", name, &specs, NULL), 0);
	for (size_t size = 1; size < 40; size++) {
		memset(text, '#', sizeof(text));
		if (!spec_format(&specs, 0, text, size))
			assert_string_equal(text, "10000,20000,30000-40000,50000");
		else
			assert_true(size <= strlen("10000,20000,30000-40000,50000"));
		for (size_t i = size; i < sizeof(text); i++)
			assert_int_equal(text[i], '#');
	}
	assert_int_equal(spec_format(&specs, 1, text, sizeof(text)), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ports),      cmocka_unit_test(test_addresses),     cmocka_unit_test(test_refused),
		cmocka_unit_test(test_names),      cmocka_unit_test(test_full),          cmocka_unit_test(test_appends),
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_format_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
