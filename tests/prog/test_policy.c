// SPDX-License-Identifier: GPL-2.0-or-later
/* Which policy applies: banks and their deadlines, services by address, list entries by length and by their end. */
#include "tests/prog/world.h"

/* The word `control.active`: a bank, and when not confirmed by then (ms of the monotonic clock) the other one. */
static uint64_t pending(uint32_t bank, uint64_t deadline_ns)
{
	return bank | 2 | deadline_ns / 1000000 << 2;
}

/* Bank 0 has service 0 on 443, closed and dropping; bank 1 has service 1 on 443 and 8443, open. */
static void two_banks(void)
{
	struct synhold_policy pol = world_policy();

	world_put_policy(1, 1, &pol);
	world_put_port(1, 443, 2);
	world_put_port(1, 8443, 2);
	pol.action = SYNHOLD_ACTION_DROP;
	pol.closed = 1;
	world_put_policy(0, 0, &pol);
}

static void the_active_bank_rules(void **state)
{
	(void)state;
	two_banks();
	assert_int_equal(world_syn(.sport = 1), XDP_DROP);
	world.control->active = 1;
	assert_int_equal(world_syn(.sport = 2), XDP_PASS);
	assert_int_equal(world_syn(.sport = 3, .dport = 8443), XDP_PASS);
	world.control->active = 0;
	assert_int_equal(world_syn(.sport = 4), XDP_DROP);
	assert_int_equal(world_syn(.sport = 5, .dport = 8443), XDP_PASS); /* not protected in this bank */
	world_counted(0, .seen = 2, .verdict[SYNHOLD_VERDICT_DROP] = 2, .offered = 2,
		      .over_limit[SYNHOLD_REASON_CLOSED] = 2);
	world_counted(1, .seen = 2, .verdict[SYNHOLD_VERDICT_ADMIT] = 2, .offered = 2, .started = 2);
}

static void an_unconfirmed_bank_gives_way_at_its_deadline(void **state)
{
	(void)state;
	two_banks();
	world.control->active = pending(1, world_now() + WORLD_HOUR);
	assert_int_equal(world_syn(.sport = 1), XDP_PASS);
	world.control->active = pending(1, world_now());
	assert_int_equal(world_syn(.sport = 2), XDP_DROP);
	world.control->active = pending(0, world_now() + WORLD_HOUR);
	assert_int_equal(world_syn(.sport = 3), XDP_DROP);
	world.control->active = pending(0, world_now());
	assert_int_equal(world_syn(.sport = 4), XDP_PASS);
	world_counted(0, .seen = 2, .verdict[SYNHOLD_VERDICT_DROP] = 2, .offered = 2,
		      .over_limit[SYNHOLD_REASON_CLOSED] = 2);
	world_counted(1, .seen = 2, .verdict[SYNHOLD_VERDICT_ADMIT] = 2, .offered = 2, .started = 2);
}

/* The way out follows the same deadline as the way in: else nothing would settle any more. */
static void settlements_follow_the_deadline_too(void **state)
{
	(void)state;
	two_banks();
	world.control->active = pending(0, world_now());
	assert_int_equal(world_syn(.sport = 1, .dport = 8443), XDP_PASS);
	world_reply(.sport = 1, .dport = 8443, .data = 1);
	world_counted(1, .seen = 1, .verdict[SYNHOLD_VERDICT_ADMIT] = 1, .offered = 1, .started = 1,
		      .outcome[SYNHOLD_OUTCOME_SETTLED] = 1);
}

static void the_longest_address_prefix_is_the_service(void **state)
{
	static const struct {
		const char *dst;
		bool v6;
		int service; /* -1 = none */
	} rows[] = {
		{"192.0.2.10", false, 3},  {"192.0.2.11", false, 2},  {"192.0.3.1", false, 1},
		{"203.0.113.1", false, 0}, {"2001:db8::10", true, 5}, {"2001:db8::11", true, 4},
		{"2001:db9::1", true, 0},
	};
	struct synhold_policy pol = world_policy();
	uint32_t i, k;

	(void)state;
	for (i = 0; i < 6; i++)
		world_put_policy(0, i, &pol);
	world_put_port(0, 443, 1 | SYNHOLD_PORT_ADDRS);
	world_put_addr(0, 443, "192.0.0.0", 16, 1);
	world_put_addr(0, 443, "192.0.2.0", 24, 2);
	world_put_addr(0, 443, "192.0.2.10", 32, 3);
	world_put_addr(0, 443, "2001:db8::", 64, 4);
	world_put_addr(0, 443, "2001:db8::10", 128, 5);
	world_put_addr(0, 80, "192.0.2.10", 32, 5);   /* another port's */
	world_put_addr(1, 443, "203.0.113.1", 32, 5); /* another bank's */
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct synhold_counters before[6];

		for (k = 0; k < 6; k++)
			before[k] = world_counters(k);
		assert_int_equal(world_syn(.dst = rows[i].dst, .v6 = rows[i].v6, .sport = (uint16_t)(1 + i)), XDP_PASS);
		for (k = 0; k < 6; k++)
			assert_int_equal(world_counters(k).seen - before[k].seen, (int)k == rows[i].service);
		world_reply(.dst = rows[i].dst, .v6 = rows[i].v6, .sport = (uint16_t)(1 + i), .data = 1);
		for (k = 0; k < 6; k++)
			assert_int_equal(world_counters(k).outcome[SYNHOLD_OUTCOME_SETTLED] -
						 before[k].outcome[SYNHOLD_OUTCOME_SETTLED],
					 (int)k == rows[i].service);
	}
	/* only on those addresses: elsewhere the port is nobody's */
	world_put_port(0, 443, SYNHOLD_PORT_ADDRS);
	assert_int_equal(world_syn(.dst = "203.0.113.1", .sport = 99), XDP_PASS);
	assert_int_equal(world_counters(0).seen, 2);
}

/* The least time of a refused SYN to port 443, in ns. */
static uint32_t refusal_ns(void)
{
	uint32_t least = UINT32_MAX;
	struct frame frame;
	int i;

	frames_build(&frame, &(struct frame_spec){.sport = 7});
	for (i = 0; i < 10; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame.bytes, .data_size_in = (uint32_t)frame.len,
			    .repeat = 20000);

		world_ok(bpf_prog_test_run_opts(world.shield, &opts));
		assert_int_equal(opts.retval, XDP_DROP);
		least = opts.duration < least ? opts.duration : least;
	}
	return least;
}

/* Which service a SYN is for is found by its port, and by its address where that matters: however many there are. */
static void many_services_cost_as_one(void **state)
{
	struct synhold_policy pol = world_policy();
	uint32_t one, one_addr, many, many_addrs, i;

	(void)state;
	pol.action = SYNHOLD_ACTION_DROP;
	pol.closed = 1;
	world_put_policy(0, 0, &pol);
	one = refusal_ns();
	world_put_port(0, 443, SYNHOLD_PORT_ADDRS);
	world_put_addr(0, 443, "192.0.2.10", 32, 0);
	one_addr = refusal_ns();
	for (i = 1; i < 250; i++) {
		world_put_policy(0, i, &pol);
		world_put_port(0, (uint16_t)(1000 + i), i + 1);
	}
	for (i = 0; i < 4000; i++) { /* and of that one port */
		char addr[32];

		snprintf(addr, sizeof(addr), "192.%u.%u.0", 1 + i / 250, i % 250);
		world_put_addr(0, 443, addr, 24, 1 + i % 249);
	}
	many_addrs = refusal_ns();
	world_put_port(0, 443, 1);
	many = refusal_ns();
	print_message("a refusal: %u ns with one service, %u with 250; by address %u ns, %u with 4,001 of them\n", one,
		      many, one_addr, many_addrs);
	/* 250 times as many, and no list is gone through; wide, for machines that do other things */
	assert_true(many < 3 * one);
	assert_true(many_addrs < 5 * one_addr);
	assert_int_equal(world_counters(0).seen, world_counters(0).over_limit[SYNHOLD_REASON_CLOSED]);
	for (i = 1; i < 250; i++)
		assert_int_equal(world_counters(i).seen, 0);
}

struct listed {
	const char *addr;
	uint32_t prefixlen;
	int64_t ends_in_s; /* below 0: it is over; 0: never */
};

static const struct {
	const char *name;
	struct listed entries[4];
	const char *source;
	bool v6, matches;
} lists[] = {
	{"exact", {{"198.51.100.1", 32, 0}}, "198.51.100.1", false, true},
	{"exact, another", {{"198.51.100.1", 32, 0}}, "198.51.100.2", false, false},
	{"prefix", {{"198.51.96.0", 20, 0}}, "198.51.111.255", false, true},
	{"prefix, outside", {{"198.51.96.0", 20, 0}}, "198.51.112.0", false, false},
	{"everything", {{"0.0.0.0", 0, 0}}, "203.0.113.9", false, true},
	{"everything IPv4 is not IPv6", {{"0.0.0.0", 0, 0}}, "2001:db8::1", true, false},
	{"IPv6", {{"2001:db8::", 32, 0}}, "2001:db8:9::1", true, true},
	{"IPv6, outside", {{"2001:db8::", 32, 0}}, "2001:db9:9::1", true, false},
	{"timed, running", {{"198.51.100.1", 32, 60}}, "198.51.100.1", false, true},
	{"timed, over", {{"198.51.100.1", 32, -1}}, "198.51.100.1", false, false},
	{"over, shorter one lives", {{"198.51.100.1", 32, -1}, {"198.51.100.0", 24, 0}}, "198.51.100.1", false, true},
	{"over, shortest one lives", {{"198.51.100.1", 32, -1}, {"0.0.0.0", 0, 60}}, "198.51.100.1", false, true},
	{"two over, third lives",
	 {{"198.51.100.1", 32, -1}, {"198.51.100.0", 31, -1}, {"198.0.0.0", 8, 60}},
	 "198.51.100.1",
	 false,
	 true},
	{"prefix over, shorter one lives",
	 {{"198.51.100.0", 24, -1}, {"198.0.0.0", 8, 0}},
	 "198.51.100.1",
	 false,
	 true},
	{"prefixes over, all of IPv4 lives",
	 {{"198.51.100.0", 25, -1}, {"198.48.0.0", 13, -1}, {"0.0.0.0", 0, 0}},
	 "198.51.100.1",
	 false,
	 true},
	{"IPv6 prefix over, shorter one lives", {{"2001:db8::", 48, -1}, {"2000::", 3, 0}}, "2001:db8::1", true, true},
	{"all over",
	 {{"198.51.100.1", 32, -1}, {"198.51.100.0", 31, -1}, {"198.0.0.0", 8, -1}},
	 "198.51.100.1",
	 false,
	 false},
	{"over, longer one lives", {{"198.51.100.1", 32, 60}, {"198.51.100.0", 24, -1}}, "198.51.100.1", false, true},
	{"over, longer one is another's",
	 {{"198.51.100.2", 32, 60}, {"198.51.100.0", 24, -1}},
	 "198.51.100.1",
	 false,
	 false},
	{"IPv6 over, shorter one lives",
	 {{"2001:db8::1", 128, -1}, {"2001:db8::", 127, -1}, {"::", 0, 0}},
	 "2001:db8::1",
	 true,
	 true},
};

static void list_entries_by_length_and_end(void **state)
{
	size_t i, k, allow;

	for (allow = 0; allow < 2; allow++) {
		for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
			struct synhold_policy pol = world_policy();
			bool hit = lists[i].matches;

			world_check(state);
			world_reset(state);
			pol.closed = allow;
			world_put_policy(0, 0, &pol);
			for (k = 0; k < 4 && lists[i].entries[k].addr; k++) {
				const struct listed *entry = &lists[i].entries[k];
				uint64_t until = entry->ends_in_s ?
							 world_now() + (uint64_t)entry->ends_in_s * WORLD_SECOND :
							 SYNHOLD_FOREVER;

				world_put_list(allow ? LIST_ALLOW : LIST_DENY, entry->addr, entry->prefixlen, until,
					       WORLD_SECOND, 40);
			}
			snprintf(world.row, sizeof(world.row), "%s, %s:", allow ? "allow" : "deny", lists[i].name);
			assert_int_equal(world_syn(.src = lists[i].source, .v6 = lists[i].v6),
					 hit != allow ? XDP_DROP : XDP_PASS);
			if (allow)
				world_counted(0, .seen = 1, .verdict[SYNHOLD_VERDICT_ADMIT] = hit,
					      .verdict[SYNHOLD_VERDICT_HOLD] = !hit, .allowed = hit, .offered = !hit,
					      .over_limit[SYNHOLD_REASON_CLOSED] = !hit);
			else
				world_counted(0, .seen = 1, .verdict[SYNHOLD_VERDICT_ADMIT] = !hit,
					      .verdict[SYNHOLD_VERDICT_DROP] = hit, .offered = !hit, .started = !hit,
					      .over_limit[SYNHOLD_REASON_DENY] = hit);
		}
	}
}

/* Lists without an entry are not even looked at: the count in control says so. */
static void an_empty_list_is_skipped(void **state)
{
	(void)state;
	world_put_list(LIST_DENY, "198.51.100.1", 32, SYNHOLD_FOREVER, 0, 0);
	world.control->listed[0] = 0;
	assert_int_equal(world_syn(.sport = 1), XDP_PASS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(the_active_bank_rules),
		world_test(an_unconfirmed_bank_gives_way_at_its_deadline),
		world_test(settlements_follow_the_deadline_too),
		world_test(the_longest_address_prefix_is_the_service),
		world_test(many_services_cost_as_one),
		world_test(list_entries_by_length_and_end),
		world_test(an_empty_list_is_skipped),
	};

	return world_run(tests);
}
