// SPDX-License-Identifier: GPL-2.0-or-later
/* The words that users write numbers with: what is taken, what is refused, and that nothing is written on refusal. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/units.h"

#define UNTOUCHED 0xdeadbeefcafeULL
#define SECOND 1000000000ULL

struct good {
	const char *text;
	uint64_t value;
};

struct bad {
	const char *text;
	int code;
};

static void expect_good(int (*parse)(const char *, uint64_t *), const struct good *list)
{
	for (; list->text; list++) {
		uint64_t value = UNTOUCHED;

		if (parse(list->text, &value) || value != list->value)
			fail_msg("'%s' gave %llu, not %llu", list->text, (unsigned long long)value,
				 (unsigned long long)list->value);
	}
}

static void expect_bad(int (*parse)(const char *, uint64_t *), const struct bad *list)
{
	for (; list->text; list++) {
		uint64_t value = UNTOUCHED;
		int ret = parse(list->text, &value);

		if (ret != list->code || value != UNTOUCHED)
			fail_msg("'%s' gave %d and %llu, not %d", list->text, ret, (unsigned long long)value,
				 list->code);
	}
}

static void test_count(void **state)
{
	static const struct good good[] = {{"0", 0},
					   {"1", 1},
					   {"450", 450},
					   {"007", 7},
					   {"10k", 10000},
					   {"2m", 2000000},
					   {"999999999999999", 999999999999999ULL},
					   {"1000000000000000", 1000000000000000ULL},
					   {"1000000000m", 1000000000000000ULL},
					   {NULL, 0}};
	static const struct bad bad[] = {{"", -EINVAL},
					 {" 1", -EINVAL},
					 {"1 ", -EINVAL},
					 {"+1", -EINVAL},
					 {"-1", -EINVAL},
					 {"0x10", -EINVAL},
					 {"1e3", -EINVAL},
					 {"1.5", -EINVAL},
					 {"1.5k", -EINVAL},
					 {"k", -EINVAL},
					 {"1K", -EINVAL},
					 {"1M", -EINVAL},
					 {"1kk", -EINVAL},
					 {"1,000", -EINVAL},
					 {"abc", -EINVAL},
					 {"1\n", -EINVAL},
					 {"\xc2\xb9", -EINVAL},
					 {"1000000000000001", -ERANGE},
					 {"1000000001m", -ERANGE},
					 {"18446744073709551615", -ERANGE},
					 {"18446744073709551616", -ERANGE},
					 {"18446744073709551617", -ERANGE},
					 {"99999999999999999999999999999999999999999999999999999999", -ERANGE},
					 {NULL, 0}};

	(void)state;
	expect_good(units_parse_count, good);
	expect_bad(units_parse_count, bad);
}

static void test_duration(void **state)
{
	static const struct good good[] = {{"0s", 0},
					   {"1ns", 1},
					   {"250us", 250000},
					   {"250ms", 250000000},
					   {"5s", 5 * SECOND},
					   {"10m", 600 * SECOND},
					   {"1h", 3600 * SECOND},
					   {"2d", 172800 * SECOND},
					   {"1.5s", 1500000000},
					   {"0.25ms", 250000},
					   {"0.000000001s", 1},
					   {"0.5h", 1800 * SECOND},
					   {"3650d", 3650 * 86400 * SECOND},
					   {NULL, 0}};
	static const struct bad bad[] = {{"", -EINVAL},
					 {"5", -EINVAL},
					 {"s", -EINVAL},
					 {".5s", -EINVAL},
					 {"5.s", -EINVAL},
					 {"-5s", -EINVAL},
					 {"5 s", -EINVAL},
					 {"5S", -EINVAL},
					 {"5sec", -EINVAL},
					 {"1h30m", -EINVAL},
					 {"0.5ns", -EINVAL},
					 {"0.0000000001s", -EINVAL},
					 {"1.2.3s", -EINVAL},
					 {"inf", -EINVAL},
					 {"nan", -EINVAL},
					 {"none", -EINVAL},
					 {"3651d", -ERANGE},
					 {"3650.5d", -ERANGE},
					 {"87601h", -ERANGE},
					 {"18446744073709551616ns", -ERANGE},
					 {"300000000000000000000s", -ERANGE},
					 {NULL, 0}};

	(void)state;
	expect_good(units_parse_duration, good);
	expect_bad(units_parse_duration, bad);
}

static void test_size(void **state)
{
	static const struct good good[] = {
		{"0", 0},          {"4096", 4096}, {"12B", 12}, {"512KiB", 512 << 10}, {"64MiB", 64 << 20},
		{"1GiB", 1 << 30}, {NULL, 0}};
	static const struct bad bad[] = {{"", -EINVAL},      {"64M", -EINVAL},        {"64MB", -EINVAL},
					 {"64mib", -EINVAL}, {"0.5GiB", -EINVAL},     {"-1", -EINVAL},
					 {"MiB", -EINVAL},   {"1000001GiB", -ERANGE}, {"17179869184GiB", -ERANGE},
					 {NULL, 0}};

	(void)state;
	expect_good(units_parse_size, good);
	expect_bad(units_parse_size, bad);
}

static void test_share(void **state)
{
	static const struct good good[] = {{"0%", 0},      {"100%", 1000000},    {"25%", 250000}, {"12.5%", 125000},
					   {"0.0001%", 1}, {"99.9999%", 999999}, {NULL, 0}};
	static const struct bad bad[] = {
		{"", -EINVAL},          {"%", -EINVAL},           {"50", -EINVAL},   {"-1%", -EINVAL},
		{"50 %", -EINVAL},      {"0.00001%", -EINVAL},    {"50%%", -EINVAL}, {"101%", -ERANGE},
		{"100.0001%", -ERANGE}, {"4294967296%", -ERANGE}, {NULL, 0}};

	(void)state;
	for (const struct good *g = good; g->text; g++) {
		uint32_t ppm = 77;

		assert_int_equal(units_parse_share(g->text, &ppm), 0);
		assert_int_equal(ppm, g->value);
	}
	for (const struct bad *b = bad; b->text; b++) {
		uint32_t ppm = 77;

		if (units_parse_share(b->text, &ppm) != b->code)
			fail_msg("'%s' is not refused as it should be", b->text);
		assert_int_equal(ppm, 77);
	}
}

static void test_cidr_accepted(void **state)
{
	static const struct {
		const char *text, *back;
		uint8_t prefixlen, last;
	} good[] = {
		{"192.0.2.0/24", "192.0.2.0/24", 120, 0},
		{"192.0.2.7", "192.0.2.7", 128, 7},
		{"192.0.2.7/32", "192.0.2.7", 128, 7},
		{"0.0.0.0/0", "0.0.0.0/0", 96, 0},
		{"::/0", "::/0", 0, 0},
		{"2001:db8::/48", "2001:db8::/48", 48, 0},
		{"2001:DB8:0:0::1", "2001:db8::1", 128, 1},
		{"::ffff:192.0.2.1", "192.0.2.1", 128, 1},
		{"::1/128", "::1", 128, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		uint8_t addr[16], prefixlen = 255;
		char text[64];

		if (units_parse_cidr(good[i].text, addr, &prefixlen))
			fail_msg("'%s' is refused", good[i].text);
		assert_int_equal(prefixlen, good[i].prefixlen);
		assert_int_equal(addr[15], good[i].last);
		assert_string_equal(units_format_cidr(text, sizeof(text), addr, prefixlen), good[i].back);
	}
}

/* Network order, mapped as RFC 4291 2.5.5.2 says: one look at the bytes. */
static void test_cidr_bytes(void **state)
{
	static const uint8_t mapped[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 129};
	static const uint8_t six[16] = {0x20, 0x01, 0x0d, 0xb8, 0x12, 0x34};
	uint8_t addr[16], prefixlen;

	(void)state;
	assert_int_equal(units_parse_cidr("192.0.2.129", addr, &prefixlen), 0);
	assert_memory_equal(addr, mapped, 16);
	assert_int_equal(units_parse_cidr("2001:db8:1234::/48", addr, &prefixlen), 0);
	assert_memory_equal(addr, six, 16);
}

static void test_cidr_refused(void **state)
{
	static const char *const bad[] = {"",
					  "/",
					  "/24",
					  "192.0.2",
					  "192.0.2.256",
					  "192.0.2.0/33",
					  "192.0.2.0/",
					  "192.0.2.0/-1",
					  "192.0.2.0/+8",
					  "192.0.2.0/ 8",
					  "192.0.2.0/24x",
					  "192.0.2.0/0024",
					  "192.0.2.1/24",
					  "192.0.2.0/24/24",
					  "2001:db8::/129",
					  "2001:db8::1/64",
					  "[::1]",
					  "::1%eth0",
					  "2001:db8:::1",
					  "localhost",
					  "192.0.2.1 ",
					  " 192.0.2.1",
					  "0300.0.2.1",
					  "1",
					  "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc:dddd:eeee"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		uint8_t addr[16], prefixlen = 99;

		memset(addr, 0x5a, sizeof(addr));
		if (units_parse_cidr(bad[i], addr, &prefixlen) != -EINVAL)
			fail_msg("'%s' is accepted", bad[i]);
		assert_int_equal(prefixlen, 99);
		for (int j = 0; j < 16; j++)
			assert_int_equal(addr[j], 0x5a);
	}
}

/* What is written is read back to the same value, and is as short as it can be. */
static void test_round_trips(void **state)
{
	static const uint64_t values[] = {0,
					  1,
					  7,
					  59,
					  60,
					  999,
					  1000,
					  1001,
					  1024,
					  1500,
					  60000,
					  1000000,
					  1500000,
					  67108864,
					  1000000000,
					  1500000000,
					  60000000000,
					  3600000000000,
					  86400000000000,
					  999999999999999,
					  1000000000000000};
	char text[64];
	uint64_t back;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		assert_int_equal(units_parse_count(units_format_count(text, sizeof(text), values[i]), &back), 0);
		assert_true(back == values[i]);
		assert_int_equal(units_parse_duration(units_format_duration(text, sizeof(text), values[i]), &back), 0);
		assert_true(back == values[i]);
		assert_int_equal(units_parse_size(units_format_size(text, sizeof(text), values[i]), &back), 0);
		assert_true(back == values[i]);
	}
	for (uint32_t ppm = 0; ppm <= 1000000; ppm += ppm < 200 || ppm >= 999900 ? 1 : 997) {
		uint32_t share;

		assert_int_equal(units_parse_share(units_format_share(text, sizeof(text), ppm), &share), 0);
		assert_int_equal(share, ppm);
	}
	assert_string_equal(units_format_count(text, sizeof(text), 5000000), "5m");
	assert_string_equal(units_format_count(text, sizeof(text), 5001), "5001");
	assert_string_equal(units_format_duration(text, sizeof(text), 90000000000), "90s");
	assert_string_equal(units_format_duration(text, sizeof(text), 0), "0s");
	assert_string_equal(units_format_size(text, sizeof(text), 64 << 20), "64MiB");
	assert_string_equal(units_format_share(text, sizeof(text), 125000), "12.5%");
	assert_string_equal(units_format_share(text, sizeof(text), 1000000), "100%");
}

/* A buffer that is too small is never overrun. */
static void test_small_buffers(void **state)
{
	static const uint8_t addr[16] = {0x20, 0x01, 0x0d, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

	(void)state;
	for (size_t size = 1; size < 12; size++) {
		char text[16];

		memset(text, '#', sizeof(text));
		text[0] = '\0';
		units_format_count(text, size, 123456789);
		units_format_duration(text, size, 1234567891);
		units_format_size(text, size, 1234567891);
		units_format_share(text, size, 123456);
		units_format_time(text, size, 123456);
		units_format_cidr(text, size, addr, 128);
		for (size_t i = size; i < sizeof(text); i++)
			assert_int_equal(text[i], '#');
		assert_non_null(memchr(text, '\0', size));
	}
}

/* Words for people, not for a parser: no figure of five digits. */
static void test_times(void **state)
{
	static const struct {
		double seconds;
		const char *text;
	} rows[] = {{-3, "0.0 s"},          {0.04, "0.0 s"},     {9.949, "9.9 s"},      {9.96, "10 s"},
		    {119.4, "119 s"},       {119.6, "2 min"},    {7169, "119 min"},     {7170, "2 h 0 min"},
		    {99483, "27 h 38 min"}, {172799, "2 d 0 h"}, {1000000, "11 d 14 h"}};
	char text[32];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(units_format_time(text, sizeof(text), rows[i].seconds), rows[i].text);
}

static void test_masked(void **state)
{
	char text[64] = "as it was";

	(void)state;
	assert_int_equal(units_mask_cidr("10.0.0.0/8", text, sizeof(text)), -EINVAL); /* nothing is wrong with it */
	assert_int_equal(units_mask_cidr("10.0.0.1/33", text, sizeof(text)), -EINVAL);
	assert_int_equal(units_mask_cidr("ten", text, sizeof(text)), -EINVAL);
	assert_string_equal(text, "as it was");
	assert_int_equal(units_mask_cidr("10.0.0.1/8", text, sizeof(text)), 0);
	assert_string_equal(text, "10.0.0.0/8");
	assert_int_equal(units_mask_cidr("2001:db8::1/33", text, sizeof(text)), 0);
	assert_string_equal(text, "2001:db8::/33");
	assert_int_equal(units_mask_cidr("192.0.2.255/31", text, sizeof(text)), 0);
	assert_string_equal(text, "192.0.2.254/31");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_count),         cmocka_unit_test(test_duration),
		cmocka_unit_test(test_size),          cmocka_unit_test(test_share),
		cmocka_unit_test(test_cidr_accepted), cmocka_unit_test(test_cidr_bytes),
		cmocka_unit_test(test_cidr_refused),  cmocka_unit_test(test_round_trips),
		cmocka_unit_test(test_small_buffers), cmocka_unit_test(test_times),
		cmocka_unit_test(test_masked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
