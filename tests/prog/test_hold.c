// SPDX-License-Identifier: GPL-2.0-or-later
/* Holding: what is taken off the wire and what is not, the record the daemon gets, refreshes, and a ring or a queue
 * that is full. */
#include "tests/prog/world.h"

static struct synhold_policy pol;

/* A closed service that holds. */
static void closed(void)
{
	pol = world_policy();
	pol.closed = 1;
	world_put_policy(0, 0, &pol);
}

static uint64_t count_held(void)
{
	return world_counters(0).verdict[SYNHOLD_VERDICT_HOLD];
}

static void the_record_tells_all(void **state)
{
	static const struct frame_spec specs[] = {
		{.seq = 0x11223344},
		{.tcp_options = 40, .seq = 1},
		{.ip_options = 40, .tcp_options = 40},
		{.vlans = 1, .tcp_options = 20},
		{.vlans = 2, .tcp_options = 12, .partial = true},
		{.padding = 6},
		{.v6 = true, .tcp_options = 40},
		{.v6 = true, .vlans = 2, .tcp_options = 40, .hop_by_hop = true, .ext = {43, 60}},
	};
	size_t i;

	(void)state;
	closed();
	for (i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct frame_spec spec = specs[i];
		const struct synhold_held *record = &world.held[i];
		uint64_t before = world_now();
		struct synhold_mark mark;
		struct frame frame;

		spec.sport = (uint16_t)(5000 + i);
		frames_build(&frame, &spec);
		assert_int_equal(world_shield(&frame), XDP_DROP);
		world_drain();
		assert_int_equal(world.held_count, i + 1);
		assert_in_range(record->seen_ns, before, world_now());
		assert_int_equal(record->ifindex, WORLD_IFINDEX);
		assert_memory_equal(&record->tuple, &frame.tuple, sizeof(frame.tuple));
		assert_int_equal(record->service, 0);
		assert_int_equal(record->frame_len, frame.len);
		assert_int_equal(record->l3_offset, frame.l3);
		assert_int_equal(record->l4_offset, frame.l4);
		assert_int_equal(record->reason, SYNHOLD_REASON_CLOSED);
		assert_int_equal(record->retransmit, 0);
		assert_memory_equal(record->frame, frame.bytes, frame.len);
		assert_true(world_mark(&frame.tuple, &mark));
		assert_int_equal(mark.state, SYNHOLD_MARK_HELD);
		assert_int_equal(mark.since_ns, record->seen_ns);
		assert_int_equal(mark.reason, SYNHOLD_REASON_CLOSED);
		assert_int_equal(mark.flags, 0);
	}
	/* the same source hashes the same, another one does not; the share's place follows from the hash */
	assert_true(world.held[0].source == world.held[1].source && world.held[0].source != world.held[6].source);
	assert_int_equal(world.held[0].share_hash, world.held[1].share_hash);
	assert_int_equal(world.gates[0].inflight, 0);
}

static void a_retransmission_refreshes(void **state)
{
	struct synhold_mark mark;
	struct frame frame;
	int i;

	(void)state;
	closed();
	frames_build(&frame, &(struct frame_spec){.tcp_options = 20});
	for (i = 0; i < 3; i++)
		assert_int_equal(world_shield(&frame), XDP_DROP);
	world_drain();
	world_counted(0, .seen = 3, .verdict[SYNHOLD_VERDICT_HOLD] = 3, .offered = 1,
		      .over_limit[SYNHOLD_REASON_CLOSED] = 3);
	assert_int_equal(world.held[0].retransmit, 0);
	assert_int_equal(world.held[1].retransmit, 1);
	assert_int_equal(world.held[2].retransmit, 1);
	assert_true(world_mark(&frame.tuple, &mark));
	assert_int_equal(mark.since_ns, world.held[0].seen_ns);
	assert_int_equal(mark.syn_seen_ns, world.held[2].seen_ns);
	/* it goes on waiting for what it waited for, though the service has opened: the queue decides who goes first */
	pol.closed = 0;
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_shield(&frame), XDP_DROP);
	world_counted(0, .seen = 4, .verdict[SYNHOLD_VERDICT_HOLD] = 4, .offered = 1,
		      .over_limit[SYNHOLD_REASON_CLOSED] = 4);
}

/* In monitor mode, and with a dead daemon, what was held before is judged like any other and leaves the queue that way.
 */
static void a_held_one_that_is_admitted_leaves_the_queue(void **state)
{
	static const struct {
		const char *how;
		bool monitor, dead, open_fallback, bypass, allow, inflight;
	} rows[] = {
		{"monitor", true, false, false, false, false, true},
		{"dead, static", false, true, false, false, false, true},
		{"dead, open", false, true, true, false, false, false},
		{"bypass", false, false, false, true, false, false},
		{"allowed", false, false, false, false, true, false},
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct synhold_mark mark;
		struct frame frame;
		bool marked;

		world_check(state);
		world_reset(state);
		snprintf(world.row, sizeof(world.row), "%s:", rows[i].how);
		closed();
		frames_build(&frame, &(struct frame_spec){.tcp_options = 20});
		assert_int_equal(world_shield(&frame), XDP_DROP);
		pol.closed = 0;
		pol.mode = rows[i].monitor ? SYNHOLD_MODE_MONITOR : SYNHOLD_MODE_ENFORCE;
		pol.fallback = rows[i].open_fallback ? SYNHOLD_FALLBACK_OPEN : SYNHOLD_FALLBACK_STATIC;
		world_put_policy(0, 0, &pol);
		if (rows[i].dead)
			world.daemon->heartbeat_ns = 1;
		if (rows[i].bypass)
			world.control->bypass_until_ns = SYNHOLD_FOREVER;
		if (rows[i].allow)
			world_put_list(LIST_ALLOW, "198.51.100.1", 32, SYNHOLD_FOREVER, WORLD_SECOND, 40);
		assert_int_equal(world_shield(&frame), XDP_PASS);
		world_counted(0, .seen = 2, .verdict[SYNHOLD_VERDICT_HOLD] = 1, .verdict[SYNHOLD_VERDICT_ADMIT] = 1,
			      .offered = 1, .over_limit[SYNHOLD_REASON_CLOSED] = 1, .started = rows[i].inflight,
			      .bypassed = rows[i].bypass, .allowed = rows[i].allow);
		marked = world_mark(&frame.tuple, &mark);
		assert_int_equal(marked && mark.state == SYNHOLD_MARK_INFLIGHT, rows[i].inflight);
		assert_false(marked && mark.state == SYNHOLD_MARK_HELD); /* so its release finds it lost */
	}
}

/* hold_full takes no new ones; those inside may still show that they live. */
static void a_full_queue(void **state)
{
	(void)state;
	closed();
	assert_int_equal(world_syn(.sport = 1), XDP_DROP);
	world.runtime[0].hold_full = 1;
	assert_int_equal(world_syn(.sport = 2), XDP_DROP);
	assert_int_equal(world_syn(.sport = 1), XDP_DROP);
	world_counted(0, .seen = 3, .verdict[SYNHOLD_VERDICT_HOLD] = 2, .verdict[SYNHOLD_VERDICT_DROP] = 1,
		      .offered = 2, .over_limit[SYNHOLD_REASON_CLOSED] = 2, .over_limit[SYNHOLD_REASON_HOLD_FULL] = 1);
}

/* The ring fills while nobody drains it; then SYNs are dropped under their own reason, and taken again once there is
 * room. */
static void a_full_ring(void **state)
{
	struct synhold_counters c;
	struct frame frame;
	uint64_t held;

	(void)state;
	closed();
	frames_build(&frame, &(struct frame_spec){.tcp_options = 20});
	world_shield_repeat(&frame, 70000);
	c = world_counters(0);
	held = c.verdict[SYNHOLD_VERDICT_HOLD];
	assert_in_range(held, 50000, 69999);
	world_counted(0, .seen = 70000, .offered = 1, .verdict[SYNHOLD_VERDICT_HOLD] = held,
		      .verdict[SYNHOLD_VERDICT_DROP] = 70000 - held, .over_limit[SYNHOLD_REASON_CLOSED] = held,
		      .over_limit[SYNHOLD_REASON_HOLD_FULL] = 70000 - held);
	assert_int_equal(world_syn(.sport = 2), XDP_DROP);
	assert_int_equal(count_held(), held);
	world_drain();
	assert_int_equal(world.held_count, held);
	assert_int_equal(world_syn(.sport = 2), XDP_DROP);
	assert_int_equal(count_held(), held + 1);
}

static const struct {
	const char *what;
	struct frame_spec spec;
	uint8_t reason;
} never_held[] = {
	{"data", {.data = 1}, SYNHOLD_REASON_CLOSED},
	{"data behind options", {.data = 100, .tcp_options = 20}, SYNHOLD_REASON_CLOSED},
	{"SYN|FIN", {.flags = FRAMES_SYN | FRAMES_FIN}, SYNHOLD_REASON_CLOSED},
	{"SYN|RST", {.flags = FRAMES_SYN | FRAMES_RST}, SYNHOLD_REASON_CLOSED},
	{"a first fragment", {.more = true}, SYNHOLD_REASON_CLOSED},
	{"a first fragment, IPv6", {.v6 = true, .ext = {44}, .more = true}, SYNHOLD_REASON_CLOSED},
	{"longer than a record",
	 {.v6 = true, .ext = {60, 60, 60, 60, 60}, .tcp_options = 40},
	 SYNHOLD_REASON_HOLD_FULL},
};

static void what_is_never_held(void **state)
{
	size_t i;

	for (i = 0; i < sizeof(never_held) / sizeof(never_held[0]); i++) {
		struct synhold_counters expected = {.seen = 1, .offered = 1, .verdict[SYNHOLD_VERDICT_DROP] = 1};

		world_check(state);
		world_reset(state);
		closed();
		snprintf(world.row, sizeof(world.row), "%s:", never_held[i].what);
		expected.over_limit[never_held[i].reason] = 1;
		assert_int_equal(world_shield_spec(never_held[i].spec), XDP_DROP);
		world_expect(0, &expected);
	}
}

static const struct {
	const char *what;
	struct frame_spec spec;
} held_too[] = {
	{"SYN|PSH", {.flags = FRAMES_SYN | FRAMES_PSH}},
	{"SYN|ECE|CWR", {.flags = FRAMES_SYN | 0xc0}},
	{"an atomic fragment", {.v6 = true, .ext = {44}}},
	{"padding is no data", {.padding = 14}},
};

static void what_is_held_too(void **state)
{
	size_t i;

	for (i = 0; i < sizeof(held_too) / sizeof(held_too[0]); i++) {
		world_check(state);
		world_reset(state);
		closed();
		snprintf(world.row, sizeof(world.row), "%s:", held_too[i].what);
		assert_int_equal(world_shield_spec(held_too[i].spec), XDP_DROP);
		world_counted(0, .seen = 1, .offered = 1, .verdict[SYNHOLD_VERDICT_HOLD] = 1,
			      .over_limit[SYNHOLD_REASON_CLOSED] = 1);
	}
}

/* A held client that resets leaves the queue: its mark goes, and the daemon hears of it, once. */
static void a_held_client_resets(void **state)
{
	struct frame frame;

	(void)state;
	closed();
	frames_build(&frame, &(struct frame_spec){.sport = 9});
	assert_int_equal(world_shield(&frame), XDP_DROP);
	assert_int_equal(world_syn(.sport = 9, .flags = FRAMES_RST), XDP_PASS);
	assert_int_equal(world_syn(.sport = 9, .flags = FRAMES_RST), XDP_PASS);
	world_drain();
	assert_int_equal(world.wake_count, 1);
	assert_int_equal(world.wake[0].kind, SYNHOLD_WAKE_RESET);
	assert_memory_equal(&world.wake[0].tuple, &frame.tuple, sizeof(frame.tuple));
	assert_false(world_mark(&frame.tuple, &(struct synhold_mark){0}));
	world_counted(0, .seen = 1, .offered = 1, .verdict[SYNHOLD_VERDICT_HOLD] = 1,
		      .over_limit[SYNHOLD_REASON_CLOSED] = 1);
}

/* An older connection of the same tuple may still answer: that is no word about the SYN that waits. */
static void an_answer_on_a_held_tuple_settles_nothing(void **state)
{
	struct synhold_mark mark;
	struct frame frame;

	(void)state;
	closed();
	frames_build(&frame, &(struct frame_spec){.sport = 9});
	assert_int_equal(world_shield(&frame), XDP_DROP);
	world_reply(.sport = 9, .data = 100);
	world_reply(.sport = 9, .flags = FRAMES_RST);
	assert_true(world_mark(&frame.tuple, &mark));
	assert_int_equal(mark.state, SYNHOLD_MARK_HELD);
	world_counted(0, .seen = 1, .offered = 1, .verdict[SYNHOLD_VERDICT_HOLD] = 1,
		      .over_limit[SYNHOLD_REASON_CLOSED] = 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(the_record_tells_all),
		world_test(a_retransmission_refreshes),
		world_test(a_held_one_that_is_admitted_leaves_the_queue),
		world_test(a_full_queue),
		world_test(a_full_ring),
		world_test(what_is_never_held),
		world_test(what_is_held_too),
		world_test(a_held_client_resets),
		world_test(an_answer_on_a_held_tuple_settles_nothing),
	};

	return world_run(tests);
}
