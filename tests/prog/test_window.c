// SPDX-License-Identifier: GPL-2.0-or-later
/* The window on handshakes in flight: filling, freeing, expiring by time, and giving way when nothing can be seen
 * leaving. */
#include "tests/prog/world.h"

#include <time.h>

#define ADMITTED verdict[SYNHOLD_VERDICT_ADMIT]
#define DROPPED verdict[SYNHOLD_VERDICT_DROP]
#define EPOCH_NS (1ULL << SYNHOLD_EPOCH_SHIFT)

static struct synhold_policy pol;

/* One service that drops what is over a fixed window. */
static void with_window(uint32_t window)
{
	pol = world_policy();
	pol.action = SYNHOLD_ACTION_DROP;
	world_set_window(&pol, window);
	world_put_policy(0, 0, &pol);
}

static void fill(uint32_t count, uint16_t first_port)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		assert_int_equal(world_syn(.sport = (uint16_t)(first_port + i)), XDP_PASS);
}

/* Sweeps until the service has counted `expired` slots as expired; a slot lives 1 s and at most two epochs more. */
static void wait_expired(uint64_t expired)
{
	uint64_t deadline = world_now() + 5 * WORLD_SECOND;
	const struct timespec pause = {.tv_nsec = 5000000};

	world.runtime[0].expire_ns = SYNHOLD_EXPIRE_MIN_NS;
	while (world_counters(0).outcome[SYNHOLD_OUTCOME_EXPIRED] < expired) {
		assert_true(world_now() < deadline);
		nanosleep(&pause, NULL);
		world_sweep();
	}
}

/* Puts `count` slots into the gate that were started `age_ns` ago and never ended, as nobody's sweep or SYN came by
 * since. */
static void forgotten_slots(uint32_t count, uint64_t age_ns)
{
	uint32_t epoch = (uint32_t)((world_now() - age_ns) >> SYNHOLD_EPOCH_SHIFT);

	world.runtime[0].expire_ns = SYNHOLD_EXPIRE_MIN_NS;
	world.gates[0].retired = epoch - 7;
	world.gates[0].buckets[epoch % SYNHOLD_BUCKETS] = (uint64_t)epoch << 32 | count;
	world.gates[0].inflight = count;
}

static void full_is_excess_and_a_settled_slot_is_free_again(void **state)
{
	(void)state;
	with_window(3);
	fill(3, 1);
	assert_int_equal(world_syn(.sport = 4), XDP_DROP);
	world_counted(0, .seen = 4, .ADMITTED = 3, .DROPPED = 1, .started = 3, .offered = 4, .bites = 1,
		      .over_limit[SYNHOLD_REASON_WINDOW] = 1);
	world_reply(.sport = 2, .data = 1);
	assert_int_equal(world_syn(.sport = 4), XDP_PASS);
	assert_int_equal(world_syn(.sport = 5), XDP_DROP);
	world_counted(0, .seen = 6, .ADMITTED = 4, .DROPPED = 2, .started = 4, .offered = 5, .bites = 2,
		      .over_limit[SYNHOLD_REASON_WINDOW] = 2, .outcome[SYNHOLD_OUTCOME_SETTLED] = 1);
	assert_int_equal(world.gates[0].inflight, 3);
}

static void a_client_that_leaves_gives_its_slot_back(void **state)
{
	static const struct {
		uint8_t flags;
		uint32_t abandoned, owed;
	} leaving[] = {
		{FRAMES_RST, 1, 0},
		{FRAMES_RST | FRAMES_ACK, 1, 0},
		{FRAMES_FIN | FRAMES_ACK, 1, 1},
		{FRAMES_FIN, 1, 1},
		{FRAMES_ACK, 0, 0},
		{FRAMES_ACK | FRAMES_PSH, 0, 0},
		{FRAMES_SYN | FRAMES_ACK, 0, 0},
	};
	size_t i;

	for (i = 0; i < sizeof(leaving) / sizeof(leaving[0]); i++) {
		world_check(state);
		world_reset(state);
		snprintf(world.row, sizeof(world.row), "row %zu:", i);
		with_window(1);
		fill(1, 1);
		assert_int_equal(world_syn(.sport = 1, .flags = leaving[i].flags), XDP_PASS);
		assert_int_equal(world_syn(.sport = 1, .flags = leaving[i].flags),
				 XDP_PASS); /* again: no second time */
		world_counted(0, .seen = 1, .ADMITTED = 1, .started = 1, .offered = 1,
			      .outcome[SYNHOLD_OUTCOME_ABANDONED] = leaving[i].abandoned, .left = leaving[i].owed);
		assert_int_equal(world.gates[0].inflight, 1 - (int64_t)leaving[i].abandoned);
		assert_int_equal(world.owed[0].inflight, leaving[i].owed);
	}
}

/*
 * A client that closes after the handshake leaves its request to the server: its place in the window is free when the
 * server has dealt with it, by an answer or an end of its own, when the client resets after all, or when the slot's
 * life is over.
 */
static void what_a_client_left_behind_is_owed(void **state)
{
	static const uint8_t ends[] = {FRAMES_ACK | FRAMES_PSH, FRAMES_FIN | FRAMES_ACK, FRAMES_RST,
				       0 /* the client's */, 1 /* time */};
	const struct timespec pause = {.tv_nsec = 5000000};
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		uint64_t deadline = world_now() + 5 * WORLD_SECOND;

		world_check(state);
		world_reset(state);
		snprintf(world.row, sizeof(world.row), "row %zu:", i);
		with_window(1);
		fill(1, 1);
		assert_int_equal(world_syn(.sport = 1, .flags = FRAMES_FIN | FRAMES_ACK), XDP_PASS);
		assert_int_equal(world.gates[0].inflight, 0);
		assert_int_equal(world_syn(.sport = 2), XDP_DROP);
		if (ends[i] == 0) {
			assert_int_equal(world_syn(.sport = 1, .flags = FRAMES_RST), XDP_PASS);
		} else if (ends[i] == 1) {
			world.runtime[0].expire_ns = SYNHOLD_EXPIRE_MIN_NS;
			while (world.owed[0].inflight) {
				assert_true(world_now() < deadline);
				nanosleep(&pause, NULL);
				world_sweep();
			}
		} else {
			world_reply(.sport = 1, .flags = ends[i], .data = ends[i] & FRAMES_PSH ? 100 : 0);
			world_reply(.sport = 1, .flags = ends[i],
				    .data = ends[i] & FRAMES_PSH ? 100 : 0); /* no second time */
		}
		assert_int_equal(world.owed[0].inflight, 0);
		fill(1, 3);
		assert_int_equal(world_counters(0).answered, ends[i] > 1 && ends[i] & FRAMES_PSH);
		assert_int_equal(world_counters(0).left, 1);
		assert_int_equal(world_counters(0).outcome[SYNHOLD_OUTCOME_ABANDONED], 1);
		assert_int_equal(world_counters(0).outcome[SYNHOLD_OUTCOME_SETTLED], 0);
	}
}

/* auto: the daemon's window; 0 while it has found none. none: whatever the daemon says. */
static void the_window_in_force(void **state)
{
	(void)state;
	pol = world_policy();
	pol.action = SYNHOLD_ACTION_DROP;
	pol.window_mode = SYNHOLD_WINDOW_AUTO;
	world_put_policy(0, 0, &pol);
	fill(20, 1);
	world.runtime[0].window = 21;
	fill(1, 100);
	assert_int_equal(world_syn(.sport = 200), XDP_DROP);
	pol.window_mode = SYNHOLD_WINDOW_NONE;
	world_put_policy(0, 0, &pol);
	fill(1, 200);
	assert_int_equal(world_counters(0).over_limit[SYNHOLD_REASON_WINDOW], 1);
	assert_int_equal(world.gates[0].inflight, 22);
}

static void slots_expire_by_time_and_late_settlements_count_once(void **state)
{
	(void)state;
	with_window(4);
	world.gates[0].egress_seen = 1;
	fill(4, 1);
	wait_expired(4);
	world_counted(0, .seen = 4, .ADMITTED = 4, .started = 4, .offered = 4, .outcome[SYNHOLD_OUTCOME_EXPIRED] = 4);
	assert_int_equal(world.gates[0].inflight, 0);
	world_reply(.sport = 1, .data = 100);
	world_reply(.sport = 1, .data = 100);
	assert_int_equal(world_syn(.sport = 2, .flags = FRAMES_RST), XDP_PASS);
	world_counted(0, .seen = 4, .ADMITTED = 4, .started = 4, .offered = 4, .outcome[SYNHOLD_OUTCOME_EXPIRED] = 4,
		      .late = 1);
	/* an expired tuple that knocks again is a new handshake, charged again; it was offered before */
	fill(1, 3);
	world_counted(0, .seen = 5, .ADMITTED = 5, .started = 5, .offered = 4, .outcome[SYNHOLD_OUTCOME_EXPIRED] = 4,
		      .late = 1);
	world_reply(.sport = 3, .data = 100);
	world_counted(0, .seen = 5, .ADMITTED = 5, .started = 5, .offered = 4, .outcome[SYNHOLD_OUTCOME_EXPIRED] = 4,
		      .outcome[SYNHOLD_OUTCOME_SETTLED] = 1, .late = 1);
}

/* No daemon, no sweep: the next SYN finds the room, soon after and however long after. */
static void slots_expire_without_a_sweep(void **state)
{
	static const uint64_t ages_ns[] = {
		2 * WORLD_SECOND,  16 * WORLD_SECOND, 17 * WORLD_SECOND + EPOCH_NS,  20 * WORLD_SECOND,
		60 * WORLD_SECOND, WORLD_HOUR,        3 * SYNHOLD_BUCKETS * EPOCH_NS};
	size_t i;

	for (i = 0; i < sizeof(ages_ns) / sizeof(ages_ns[0]); i++) {
		if (ages_ns[i] + WORLD_SECOND > world_now())
			continue; /* the machine has not been up for that long */
		world_check(state);
		world_reset(state);
		snprintf(world.row, sizeof(world.row), "age %zu:", i);
		with_window(5);
		forgotten_slots(5, ages_ns[i]);
		fill(5, 1);
		assert_int_equal(world_syn(.sport = 6), XDP_DROP);
		assert_int_equal(world.gates[0].inflight, 5);
		assert_int_equal(world_counters(0).outcome[SYNHOLD_OUTCOME_EXPIRED], 5);
		/* the five of before were started in another life of the counters */
		world.gates[0].inflight -= 5;
		memset(world.gates[0].buckets, 0, sizeof(world.gates[0].buckets));
		world_clear_counters();
	}
}

/* The release program may be the first to come by after a long sleep, and deny in monitor mode starts slots before any
 * retirement. */
static void a_slot_started_over_forgotten_ones_loses_none(void **state)
{
	struct synhold_counters after;

	(void)state;
	pol = world_policy();
	pol.mode = SYNHOLD_MODE_MONITOR;
	world_put_policy(0, 0, &pol);
	world_put_list(LIST_DENY, "198.51.100.1", 32, SYNHOLD_FOREVER, 0, 0);
	/* exactly where the new slot goes: a whole turn of the ring ago; the epoch may move on in between, so two tries
	 */
	forgotten_slots(9, SYNHOLD_BUCKETS * EPOCH_NS);
	fill(1, 1);
	world_sweep();
	after = world_counters(0);
	assert_int_equal(after.outcome[SYNHOLD_OUTCOME_EXPIRED], 9);
	assert_int_equal(world.gates[0].inflight, 1);
	world.gates[0].inflight = 0;
	memset(world.gates[0].buckets, 0, sizeof(world.gates[0].buckets));
	world_clear_counters();
}

/* A life that is out of range is not believed: never below 1 s, never above 10 s. */
static void slot_life_is_clamped(void **state)
{
	static const struct {
		uint64_t expire_ns, age_ns;
		bool lives;
	} rows[] = {
		{1, WORLD_SECOND / 2, true},
		{1, 3 * WORLD_SECOND / 2, false},
		{0, 3 * WORLD_SECOND / 2, false},
		{4 * WORLD_SECOND, 3 * WORLD_SECOND, true},
		{4 * WORLD_SECOND, 5 * WORLD_SECOND, false},
		{WORLD_HOUR, 9 * WORLD_SECOND, true},
		{WORLD_HOUR, 11 * WORLD_SECOND, false},
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		world_reset(state);
		with_window(1);
		forgotten_slots(1, rows[i].age_ns);
		world.runtime[0].expire_ns = rows[i].expire_ns;
		assert_int_equal(world_syn(.sport = 1), rows[i].lives ? XDP_DROP : XDP_PASS);
	}
	world_reset(state); /* the forgotten ones were never started in these counters */
}

static void suspended_after_three_windows_expired_blind(void **state)
{
	(void)state;
	with_window(2);
	world.gates[0].blind = 5;
	fill(2, 1);
	assert_int_equal(world_syn(.sport = 3), XDP_DROP);
	wait_expired(2); /* now 7 have expired and nothing was ever seen leaving */
	assert_int_equal(world.gates[0].blind, 7);
	fill(10, 10);
	assert_int_equal(world_counters(0).over_limit[SYNHOLD_REASON_WINDOW], 1);
	/* whatever leaves the port, be it a SYN-ACK, shows that settlements can be observed */
	world_reply(.sport = 9999, .flags = FRAMES_SYN | FRAMES_ACK);
	assert_int_equal(world.gates[0].egress_seen, 1);
	assert_int_equal(world_syn(.sport = 30), XDP_DROP);
}

static void not_blind_while_something_leaves(void **state)
{
	(void)state;
	with_window(1);
	world_reply(.sport = 9999, .flags = FRAMES_ACK);
	fill(1, 1);
	wait_expired(1);
	assert_int_equal(world.gates[0].blind, 0);
}

/* Nothing is charged when the window says no: neither the rates nor the source. */
static void refusal_by_the_window_charges_nothing(void **state)
{
	uint64_t before;
	int i;

	(void)state;
	with_window(2);
	world_set_rate(&pol, WORLD_HOUR, 3);
	world_set_source_rate(&pol, WORLD_SECOND * 60, 3);
	world_put_policy(0, 0, &pol);
	world_put_global_rate(0, WORLD_HOUR, 3);
	world.runtime[0].ceiling_interval_ns = WORLD_HOUR;
	world.runtime[0].ceiling_limit_ns = 3 * WORLD_HOUR;
	fill(2, 1);
	before = world.gates[0].rate_tat_ns;
	for (i = 0; i < 100; i++)
		assert_int_equal(world_syn(.sport = (uint16_t)(100 + i)), XDP_DROP);
	assert_int_equal(world.gates[0].rate_tat_ns, before);
	assert_int_equal(world_counters(0).over_limit[SYNHOLD_REASON_WINDOW], 100);
	world_reply(.sport = 1, .data = 1);
	world_reply(.sport = 2, .data = 1);
	fill(1, 3); /* the third of each burst of three */
	assert_int_equal(world_syn(.sport = 4), XDP_DROP);
	assert_int_equal(world_counters(0).over_limit[SYNHOLD_REASON_WINDOW], 100);
	assert_int_equal(world_counters(0).over_limit[SYNHOLD_REASON_SOURCE_RATE], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(full_is_excess_and_a_settled_slot_is_free_again),
		world_test(a_client_that_leaves_gives_its_slot_back),
		world_test(what_a_client_left_behind_is_owed),
		world_test(the_window_in_force),
		world_test(slots_expire_by_time_and_late_settlements_count_once),
		world_test(slots_expire_without_a_sweep),
		world_test(a_slot_started_over_forgotten_ones_loses_none),
		world_test(slot_life_is_clamped),
		world_test(suspended_after_three_windows_expired_blind),
		world_test(not_blind_while_something_leaves),
		world_test(refusal_by_the_window_charges_nothing),
	};

	return world_run(tests);
}
