// SPDX-License-Identifier: GPL-2.0-or-later
/* Sources over their own limit: the heavy ones stay by name under a flood of light ones, the data plane's counting and
 * the daemon's are the same, and the list is of whom it says. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/offender.h"
#include "lib/offenders.h"
#include "tests/random.h"

#define SECOND_NS 1000000000ULL
#define HEAVY 20

static struct synhold_offender_set sets[SYNHOLD_OFFENDER_SETS];
static const struct synhold_policy pol = {.source_prefix4 = 32, .source_prefix6 = 64};
static uint64_t random_state;

static uint64_t draw(void)
{
	return random_draw(&random_state);
}

static int reset(void **state)
{
	(void)state;
	memset(sets, 0, sizeof(sets));
	random_state = 88172645463325252ULL;
	return 0;
}

/* Any number as a source: its hash and its address. */
static uint64_t hash_of(uint64_t number)
{
	return (number + 1) * 0x9e3779b97f4a7c15ULL ^ number << 40;
}

static const uint8_t *address_of(uint64_t number)
{
	static uint8_t addr[16];
	uint32_t host = htonl((uint32_t)number);

	memset(addr, 0, sizeof(addr));
	addr[10] = addr[11] = 0xff;
	memcpy(addr + 12, &host, 4);
	return addr;
}

static void refuse(uint64_t number, uint32_t service, uint64_t now_ns)
{
	uint64_t hash = hash_of(number);

	offender_refused(&sets[offender_set(hash)], hash, address_of(number), service, now_ns, (uint32_t)draw());
}

static size_t list_of(uint32_t service, uint64_t now_ns, struct offender *list)
{
	return offenders_of(sets, SYNHOLD_OFFENDER_SETS, service, &pol, now_ns, list);
}

/* A million sources once each, and among them twenty that are refused two thousand times: those lead the list. */
static void heavy_ones_stay_under_a_flood_of_light_ones(void **state)
{
	struct offender list[OFFENDERS_SHOWN];
	uint32_t i, k, found = 0;

	(void)state;
	for (i = 0; i < 1000000; i++) {
		refuse(0x20000000 + i, 0, SECOND_NS);
		if (i % 25 == 0)
			refuse(i / 25 % HEAVY, 0, SECOND_NS);
	}
	assert_int_equal(list_of(0, SECOND_NS, list), OFFENDERS_SHOWN);
	for (i = 0; i < OFFENDERS_SHOWN; i++) {
		for (k = 0; k < HEAVY; k++)
			found += !memcmp(list[i].addr, address_of(k), 16);
		assert_in_range(list[i].refused, 1000, 2000); /* never more than they were */
	}
	assert_int_equal(found, OFFENDERS_SHOWN);
}

/* Those who come when all places are taken by light ones get one all the same. */
static void a_heavy_one_gets_in_late(void **state)
{
	struct offender list[OFFENDERS_SHOWN];
	uint32_t i;

	(void)state;
	for (i = 0; i < 1000000; i++)
		refuse(0x20000000 + i, 0, SECOND_NS);
	for (i = 0; i < 60000; i++)
		refuse(7, 0, SECOND_NS);
	assert_true(list_of(0, SECOND_NS, list) > 0);
	assert_memory_equal(list[0].addr, address_of(7), 16);
	assert_in_range(list[0].refused, 30000, 60000);
}

static void few_are_counted_exactly(void **state)
{
	struct offender list[OFFENDERS_SHOWN];
	uint32_t i, k;

	(void)state;
	for (i = 1; i <= 10; i++)
		for (k = 0; k < i * 3; k++)
			refuse(i, 4, i * SECOND_NS);
	refuse(3, 5, SECOND_NS); /* the same one elsewhere */
	assert_int_equal(list_of(4, 20 * SECOND_NS, list), 10);
	for (i = 0; i < 10; i++) {
		assert_int_equal(list[i].refused, (10 - i) * 3);
		assert_int_equal(list[i].last_ns, (10 - i) * SECOND_NS);
		assert_memory_equal(list[i].addr, address_of(10 - i), 16);
		assert_int_equal(list[i].prefixlen, 128);
	}
	assert_int_equal(list_of(5, 20 * SECOND_NS, list), 1);
	assert_int_equal(list_of(6, 20 * SECOND_NS, list), 0);
}

static void ten_minutes_later_it_is_forgotten(void **state)
{
	struct offender list[OFFENDERS_SHOWN];
	uint32_t i;

	(void)state;
	for (i = 0; i < 100000; i++)
		refuse(1, 0, SECOND_NS);
	assert_int_equal(list_of(0, 601 * SECOND_NS, list), 1);
	assert_int_equal(list_of(0, 602 * SECOND_NS, list), 0);
	for (i = 0; i < 20000; i++) /* and its place is anybody's */
		refuse(100 + i, 0, 602 * SECOND_NS);
	for (i = 0; i < SYNHOLD_OFFENDER_WAYS; i++)
		assert_true(sets[offender_set(hash_of(1))].place[i].source != hash_of(1));
}

static void prefixes_and_cpus_are_merged(void **state)
{
	static const struct synhold_policy wide = {.source_prefix4 = 24, .source_prefix6 = 48};
	struct synhold_offender_set two[2] = {{{{0}}}};
	struct offender list[OFFENDERS_SHOWN];

	(void)state;
	two[0].place[0] = (struct synhold_offender){.source = 5, .refused = 3, .last_ns = 2 * SECOND_NS};
	two[1].place[6] = (struct synhold_offender){.source = 5, .refused = 4, .last_ns = SECOND_NS};
	two[1].place[2] = (struct synhold_offender){.source = 9, .refused = 1, .last_ns = SECOND_NS};
	memcpy(two[0].place[0].addr, address_of(0x0a000001), 16);
	memcpy(two[1].place[6].addr, address_of(0x0a0000ff), 16);
	assert_int_equal(inet_pton(AF_INET6, "2001:db8:1:2::3", two[1].place[2].addr), 1);
	assert_int_equal(offenders_of(two, 2, 0, &wide, 3 * SECOND_NS, list), 2);
	assert_int_equal(list[0].refused, 7);
	assert_int_equal(list[0].last_ns, 2 * SECOND_NS);
	assert_int_equal(list[0].prefixlen, 120);
	assert_memory_equal(list[0].addr, address_of(0x0a000000), 16);
	assert_int_equal(list[1].prefixlen, 48);
	assert_memory_equal(list[1].addr, "\x20\x01\x0d\xb8\0\1\0\0\0\0\0\0\0\0\0\0", 16);
	assert_int_equal(offenders_of(NULL, 0, 0, &wide, 3 * SECOND_NS, list), 0);
}

/* Two of one make: step by step the same. */
static void the_daemon_counts_as_the_data_plane_does(void **state)
{
	static struct synhold_offender_set other[SYNHOLD_OFFENDER_SETS];
	uint64_t now_ns = SECOND_NS;
	uint32_t i;

	(void)state;
	for (i = 0; i < 300000; i++) {
		uint64_t number = draw() % (i % 3 ? 30 : 100000), hash = hash_of(number);
		uint32_t random = (uint32_t)draw();

		now_ns += draw() % (SECOND_NS / 100) + (i % 100000 == 99999 ? OFFENDERS_FORGET_NS : 0);
		offender_refused(&sets[offender_set(hash)], hash, address_of(number), i % 2, now_ns, random);
		offenders_refused(other, hash, address_of(number), i % 2, now_ns, random);
	}
	assert_memory_equal(sets, other, sizeof(sets));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(heavy_ones_stay_under_a_flood_of_light_ones, reset),
		cmocka_unit_test_setup(a_heavy_one_gets_in_late, reset),
		cmocka_unit_test_setup(few_are_counted_exactly, reset),
		cmocka_unit_test_setup(ten_minutes_later_it_is_forgotten, reset),
		cmocka_unit_test_setup(prefixes_and_cpus_are_merged, reset),
		cmocka_unit_test_setup(the_daemon_counts_as_the_data_plane_does, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
