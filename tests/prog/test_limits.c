// SPDX-License-Identifier: GPL-2.0-or-later
/* Rates and share: exact numbers, who is charged for what, and who is in. */
#include "tests/prog/world.h"

#define LONG (60 * WORLD_SECOND) /* an interval in which no test gets anything back */

static struct synhold_policy pol;

static void start(void)
{
	pol = world_policy();
	pol.action = SYNHOLD_ACTION_DROP;
}

static void commit(void)
{
	world_put_policy(0, 0, &pol);
}

static uint64_t admitted(void)
{
	return world_counters(0).verdict[SYNHOLD_VERDICT_ADMIT];
}

static uint64_t refused(uint32_t reason)
{
	return world_counters(0).over_limit[reason];
}

/* SYNs of distinct tuples back to back; returns how many were admitted. */
static uint32_t burst_of(uint32_t count, uint32_t src4)
{
	uint32_t i, passed = 0;

	for (i = 0; i < count; i++)
		passed += world_syn(.src4 = src4 ? src4 : 0x0a000000 + i, .sport = (uint16_t)(1024 + i)) == XDP_PASS;
	return passed;
}

static void service_burst_is_exact(void **state)
{
	(void)state;
	start();
	world_set_rate(&pol, WORLD_HOUR, 500);
	commit();
	assert_int_equal(burst_of(2000, 0), 500);
	world_counted(0, .seen = 2000, .verdict[SYNHOLD_VERDICT_ADMIT] = 500, .verdict[SYNHOLD_VERDICT_DROP] = 1500,
		      .offered = 2000, .started = 500, .bites = 1500, .over_limit[SYNHOLD_REASON_SERVICE_RATE] = 1500);
}

/*
 * The bound of GCRA, held against the clock: over any time t at most burst + rate * t; and all of that when SYNs keep
 * coming. Where they did not, because this program was not run for longer than a burst lasts, what ran over meanwhile
 * is subtracted.
 */
static void service_rate_follows_the_clock(void **state)
{
	const uint64_t interval = WORLD_SECOND / 2000, burst = 100;
	uint64_t begin = world_now(), first, last, end, lost = 0;
	uint32_t port = 1, source = 0x0a000001;
	bool passed;

	(void)state;
	start();
	world_set_rate(&pol, interval, burst);
	commit();
	world_syn(.src4 = source, .sport = 1);
	first = last = world_now();
	end = begin;
	do {
		uint64_t before = last;

		last = world_now();
		port = port % 60000 + 1;
		source += port == 1;
		passed = world_syn(.src4 = source, .sport = (uint16_t)port) == XDP_PASS;
		end = world_now();
		if (end - before > burst * interval)
			lost += (end - before) / interval - burst + 1;
	} while (passed || last < first + WORLD_SECOND / 2); /* to the end of what there was */
	assert_in_range(admitted(), burst + (last - first) / interval - 1 - lost, burst + (end - begin) / interval);
	assert_true(refused(SYNHOLD_REASON_SERVICE_RATE) > 0);
}

static void source_burst_is_exact_for_each_source(void **state)
{
	uint32_t left[2000], i, sent = 0, expected = 0, random = 12345;

	(void)state;
	start();
	world_set_source_rate(&pol, LONG, 7);
	commit();
	for (i = 0; i < 2000; i++)
		left[i] = 7;
	for (i = 0; i < 20000; i++) {
		uint32_t source = (random = random * 1664525 + 1013904223) >> 16, pass;

		source %= 2000;
		pass = world_syn(.src4 = 0x0a010000 + source, .sport = (uint16_t)(1024 + i)) == XDP_PASS;
		assert_int_equal(pass, left[source] > 0);
		left[source] -= pass;
		expected += pass;
		sent++;
	}
	world_counted(0, .seen = sent, .verdict[SYNHOLD_VERDICT_ADMIT] = expected,
		      .verdict[SYNHOLD_VERDICT_DROP] = sent - expected, .offered = sent, .started = expected,
		      .over_limit[SYNHOLD_REASON_SOURCE_RATE] = sent - expected);
}

static void sources_are_prefixes(void **state)
{
	static const struct {
		uint8_t prefix4, prefix6;
		struct frame_spec one, other;
		bool same;
	} rows[] = {
		{32, 64, {.src = "198.51.100.1"}, {.src = "198.51.100.1"}, true},
		{32, 64, {.src = "198.51.100.1"}, {.src = "198.51.100.0"}, false},
		{24, 64, {.src = "198.51.100.1"}, {.src = "198.51.100.254"}, true},
		{24, 64, {.src = "198.51.100.1"}, {.src = "198.51.101.1"}, false},
		{20, 64, {.src = "198.51.96.1"}, {.src = "198.51.111.9"}, true},
		{20, 64, {.src = "198.51.96.1"}, {.src = "198.51.112.9"}, false},
		{0, 64, {.src = "1.2.3.4"}, {.src = "200.2.3.4"}, true},
		{32, 64, {.v6 = true, .src = "2001:db8:5::1"}, {.v6 = true, .src = "2001:db8:5::ffff:1"}, true},
		{32, 64, {.v6 = true, .src = "2001:db8:5::1"}, {.v6 = true, .src = "2001:db8:5:1::1"}, false},
		{32, 128, {.v6 = true, .src = "2001:db8:5::1"}, {.v6 = true, .src = "2001:db8:5::2"}, false},
		{32, 128, {.v6 = true, .src = "2001:db8:5::1"}, {.v6 = true, .src = "2001:db8:5::1"}, true},
		{32, 48, {.v6 = true, .src = "2001:db8:5::1"}, {.v6 = true, .src = "2001:db8:5:9::1"}, true},
		{32, 48, {.v6 = true, .src = "2001:db8:5::1"}, {.v6 = true, .src = "2001:db8:6::1"}, false},
		{32, 100, {.v6 = true, .src = "2001:db8::1:0"}, {.v6 = true, .src = "2001:db8::fff:ffff"}, true},
		{32, 100, {.v6 = true, .src = "2001:db8::1:0"}, {.v6 = true, .src = "2001:db8::1000:0"}, false},
		{24, 96, {.src = "198.51.100.1"}, {.v6 = true, .src = "2001:db8::1"}, false},
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct frame_spec one = rows[i].one, other = rows[i].other;

		world_check(state);
		world_reset(state);
		start();
		pol.source_prefix4 = rows[i].prefix4;
		pol.source_prefix6 = rows[i].prefix6;
		world_set_source_rate(&pol, LONG, 2);
		commit();
		one.sport = 1;
		assert_int_equal(world_shield_spec(one), XDP_PASS);
		one.sport = 2;
		assert_int_equal(world_shield_spec(one), XDP_PASS);
		other.sport = 3;
		if ((world_shield_spec(other) == XDP_DROP) != rows[i].same)
			fail_msg("row %zu", i);
	}
}

/* Two services limit the same client each on its own. */
static void sources_are_counted_per_service(void **state)
{
	(void)state;
	start();
	world_set_source_rate(&pol, LONG, 3);
	commit();
	world_put_policy(0, 7, &pol);
	world_put_port(0, 8443, 8);
	assert_int_equal(burst_of(10, 0x0a000001), 3);
	assert_int_equal(world_syn(.src4 = 0x0a000001, .dport = 8443), XDP_PASS);
	world_counted(7, .seen = 1, .verdict[SYNHOLD_VERDICT_ADMIT] = 1, .offered = 1, .started = 1);
}

/* Each limit in turn says no; the ones before it must not have been charged: afterwards exactly their bursts are still
 * there. */
static void a_refusal_charges_no_other_limit(void **state)
{
	(void)state;
	start();
	world_set_source_rate(&pol, LONG, 5);
	world_set_rate(&pol, WORLD_HOUR, 2);
	commit();
	assert_int_equal(burst_of(100, 0x0a000001), 2);
	assert_int_equal(refused(SYNHOLD_REASON_SERVICE_RATE), 98);
	world_set_rate(&pol, 0, 0);
	commit();
	world_put_global_rate(0, WORLD_HOUR, 0);
	assert_int_equal(burst_of(100, 0x0a000002), 0);
	assert_int_equal(refused(SYNHOLD_REASON_GLOBAL_RATE), 100);
	world_put_global_rate(0, 0, 0);
	world.runtime[0].ceiling_interval_ns = WORLD_HOUR;
	assert_int_equal(burst_of(100, 0x0a000003), 0);
	assert_int_equal(refused(SYNHOLD_REASON_SERVICE_RATE), 198);
	world.runtime[0].ceiling_interval_ns = 0;
	world.runtime[0].queued = 1;
	pol.action = SYNHOLD_ACTION_HOLD;
	commit();
	assert_int_equal(burst_of(100, 0x0a000004), 0);
	assert_int_equal(refused(SYNHOLD_REASON_WINDOW), 100);
	world.runtime[0].queued = 0;
	pol.action = SYNHOLD_ACTION_DROP;
	commit();
	/* other ports, as the ones above are held */
	assert_int_equal(world_syn(.src4 = 0x0a000001, .sport = 60001), XDP_PASS);
	assert_int_equal(refused(SYNHOLD_REASON_SOURCE_RATE), 0);
	assert_int_equal(burst_of(100, 0x0a000001),
			 2 + 2); /* two are in flight since the beginning, three were used of five */
	assert_int_equal(burst_of(100, 0x0a000002), 5);
	assert_int_equal(burst_of(100, 0x0a000003), 5);
}

/* The global rate spans services; the refusal is counted where the SYN went. */
static uint32_t sources_with_state(void)
{
	struct synhold_source_set set;
	uint32_t i, way, count = 0;

	for (i = 0; i < SYNHOLD_SOURCE_SETS; i++) {
		world_ok(bpf_map_lookup_elem(world.sources, &i, &set));
		for (way = 0; way < SYNHOLD_SOURCE_WAYS; way++)
			count += set.entry[way] != 0;
	}
	return count;
}

/* What a later limit refuses leaves no trace among the sources: a flood from everywhere pushes nobody out. */
static void a_refused_flood_pushes_no_source_out(void **state)
{
	(void)state;
	start();
	world_set_source_rate(&pol, LONG, 3);
	world_set_rate(&pol, WORLD_HOUR, 2);
	commit();
	assert_int_equal(burst_of(2, 0x0b000001), 2);
	assert_int_equal(sources_with_state(), 1);
	assert_int_equal(burst_of(5000, 0), 0);
	assert_int_equal(refused(SYNHOLD_REASON_SERVICE_RATE), 5000);
	assert_int_equal(sources_with_state(), 1);
	/* the source's own limit still comes first where it refuses: one more, once the rate is there */
	world_set_rate(&pol, WORLD_HOUR, 1000);
	commit();
	assert_int_equal(world_syn(.src4 = 0x0b000001, .sport = 5000), XDP_PASS);
	world_set_rate(&pol, WORLD_HOUR, 1);
	commit();
	assert_int_equal(world_syn(.src4 = 0x0b000001, .sport = 5001), XDP_DROP);
	assert_int_equal(refused(SYNHOLD_REASON_SOURCE_RATE), 1);
}

/* A bank that waits to be confirmed, or to be fallen back to, has ports of its own: none is missed. */
static void ports_of_either_bank_are_seen(void **state)
{
	(void)state;
	start();
	pol.closed = 1;
	world_put_policy(1, 0, &pol);
	world_put_port(1, 444, 1);
	assert_int_equal(world_syn(.dport = 444), XDP_PASS);
	world_counted(0, .seen = 0);
	/* bank 0 until the deadline, which is over: bank 1 */
	world.control->active = (world_now() / 1000000 - 1000) << 2 | 2;
	assert_int_equal(world_syn(.dport = 444), XDP_DROP);
	/* bank 0 for another hour: the port is nobody's */
	world.control->active = (world_now() / 1000000 + 3600000) << 2 | 2;
	assert_int_equal(world_syn(.dport = 444), XDP_PASS);
	world_counted(0, .seen = 1, .verdict[SYNHOLD_VERDICT_DROP] = 1, .offered = 1,
		      .over_limit[SYNHOLD_REASON_CLOSED] = 1);
	world.control->active = 0;
}

static void global_rate_spans_services(void **state)
{
	(void)state;
	start();
	commit();
	world_put_policy(0, 1, &pol);
	world_put_port(0, 22, 2);
	world_put_global_rate(0, WORLD_HOUR, 30);
	assert_int_equal(burst_of(20, 0), 20);
	assert_int_equal(burst_of(20, 0), 20); /* copies, in flight */
	while (world_syn(.dport = 22, .sport = (uint16_t)world_counters(1).seen) == XDP_PASS)
		assert_true(world_counters(1).seen < 20);
	world_counted(1, .seen = 11, .verdict[SYNHOLD_VERDICT_ADMIT] = 10, .verdict[SYNHOLD_VERDICT_DROP] = 1,
		      .offered = 11, .started = 10, .bites = 1, .over_limit[SYNHOLD_REASON_GLOBAL_RATE] = 1);
}

static bool in_share(uint32_t source, uint16_t port)
{
	return world_syn(.src4 = source, .sport = port) == XDP_PASS;
}

static void share_is_sticky_fair_and_grows(void **state)
{
	static const uint32_t ppm[] = {50000, 100000, 250000, 500000, 900000, 1000000};
	static bool in[10000];
	uint32_t step, i, port;

	(void)state;
	start();
	memset(in, 0, sizeof(in));
	for (step = 0; step < sizeof(ppm) / sizeof(ppm[0]); step++) {
		uint32_t inside = 0, expected = ppm[step] / 100;

		world_set_share(&pol, ppm[step]);
		commit();
		for (i = 0; i < 10000; i++) {
			bool now = in_share(0x0a000000 + i, (uint16_t)(1000 + step));

			assert_true(now || !in[i]); /* who is in stays in */
			in[i] = now;
			inside += now;
		}
		assert_in_range(inside, expected - expected / 10 - 50, expected + expected / 10 + 50);
		assert_true(ppm[step] != 1000000 || inside == 10000);
	}
	world_set_share(&pol, 300000);
	commit();
	for (i = 0; i < 100; i++) {
		bool first = in_share(0x0b000000 + i, 1);

		for (port = 2; port < 30; port++)
			assert_int_equal(in_share(0x0b000000 + i, (uint16_t)port), first);
	}
	world_set_share(&pol, 0);
	commit();
	assert_false(in_share(0x0c000000, 1));
}

/* The allow list's own rate: up to it nothing else counts, above it the SYN is judged like any other. */
static void allow_has_a_rate_of_its_own(void **state)
{
	(void)state;
	start();
	world_set_rate(&pol, WORLD_HOUR, 10);
	commit();
	world_put_list(LIST_ALLOW, "10.0.0.0", 8, SYNHOLD_FOREVER, LONG, 40);
	assert_int_equal(burst_of(200, 0x0a000001), 50);
	world_counted(0, .seen = 200, .verdict[SYNHOLD_VERDICT_ADMIT] = 50, .verdict[SYNHOLD_VERDICT_DROP] = 150,
		      .offered = 160, .allowed = 40, .started = 10, .bites = 150,
		      .over_limit[SYNHOLD_REASON_SERVICE_RATE] = 150);
	/* per source of the entry, not for the whole of it */
	assert_int_equal(burst_of(50, 0x0a000002), 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(service_burst_is_exact),
		world_test(service_rate_follows_the_clock),
		world_test(source_burst_is_exact_for_each_source),
		world_test(sources_are_prefixes),
		world_test(sources_are_counted_per_service),
		world_test(a_refusal_charges_no_other_limit),
		world_test(a_refused_flood_pushes_no_source_out),
		world_test(ports_of_either_bank_are_seen),
		world_test(global_rate_spans_services),
		world_test(share_is_sticky_fair_and_grows),
		world_test(allow_has_a_rate_of_its_own),
	};

	return world_run(tests);
}
