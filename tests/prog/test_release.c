// SPDX-License-Identifier: GPL-2.0-or-later
/* Releasing through live frames, in a network namespace of our own: done, refused, lost, and the way through a shield
 * in generic mode. */
#include "tests/prog/world.h"

#include <linux/if_link.h>
#include <time.h>

#define LONG (60 * WORLD_SECOND)

static struct synhold_policy pol;
static struct frame syn;

/* Holds one SYN for `reason`'s sake, then opens the service. */
static void hold_one(void)
{
	pol = world_policy();
	pol.closed = 1;
	world_put_policy(0, 0, &pol);
	frames_build(&syn, &(struct frame_spec){.tcp_options = 20, .dst = "127.0.0.1", .src = "127.0.0.2"});
	assert_int_equal(world_shield(&syn), XDP_DROP);
	pol.closed = 0;
	world_put_policy(0, 0, &pol);
}

/* What one held SYN has counted, and `started` handshakes since. */
static void counted_one_held(uint64_t started)
{
	world_counted(0, .seen = 1, .offered = 1, .verdict[SYNHOLD_VERDICT_HOLD] = 1,
		      .over_limit[SYNHOLD_REASON_CLOSED] = 1, .started = started);
}

static void done(void **state)
{
	struct synhold_mark mark;

	(void)state;
	hold_one();
	assert_int_equal(world_release(&syn, 0, 0), SYNHOLD_RELEASE_DONE);
	counted_one_held(1);
	assert_int_equal(world.gates[0].inflight, 1);
	assert_true(world_mark(&syn.tuple, &mark));
	assert_int_equal(mark.state, SYNHOLD_MARK_INFLIGHT);
	assert_int_equal(mark.flags, 0);
	/* a copy of it is in flight now, and never released or charged a second time */
	assert_int_equal(world_release(&syn, 0, 0), SYNHOLD_RELEASE_LOST);
	assert_int_equal(world_shield(&syn), XDP_PASS);
	world_counted(0, .seen = 2, .offered = 1, .verdict[SYNHOLD_VERDICT_HOLD] = 1,
		      .verdict[SYNHOLD_VERDICT_ADMIT] = 1, .started = 1, .retransmits = 1,
		      .over_limit[SYNHOLD_REASON_CLOSED] = 1);
	world_reply(.src = "127.0.0.2", .dst = "127.0.0.1", .data = 1);
	assert_int_equal(world_counters(0).outcome[SYNHOLD_OUTCOME_SETTLED], 1);
}

static void lost(void **state)
{
	(void)state;
	hold_one();
	assert_int_equal(world_syn(.flags = FRAMES_RST, .src = "127.0.0.2", .dst = "127.0.0.1"), XDP_PASS);
	assert_int_equal(world_release(&syn, 0, 0), SYNHOLD_RELEASE_LOST);
	counted_one_held(0);
	frames_build(&syn, &(struct frame_spec){.sport = 4711});
	assert_int_equal(world_release(&syn, 0, 0), SYNHOLD_RELEASE_LOST);
	counted_one_held(0);
}

/* Refused: by which limit, and from when it may go. Nothing is charged, and the SYN is still held. */
/* Denied since it was held: it is not let in after all. */
static void denied_meanwhile(void **state)
{
	(void)state;
	hold_one();
	world_put_list(LIST_DENY, "127.0.0.2", 32, SYNHOLD_FOREVER, 0, 0);
	assert_int_equal(world_release(&syn, 0, 0), SYNHOLD_RELEASE_REFUSED);
	assert_int_equal(world.release_io->reason, SYNHOLD_REASON_DENY);
	counted_one_held(0);
}

static void refused(void **state)
{
	static const struct {
		uint32_t reason;
		bool retry; /* the time is known */
	} rows[] = {
		{SYNHOLD_REASON_CLOSED, false},     {SYNHOLD_REASON_SHARE, false},
		{SYNHOLD_REASON_SOURCE_RATE, true}, {SYNHOLD_REASON_SERVICE_RATE, true},
		{SYNHOLD_REASON_GLOBAL_RATE, true}, {SYNHOLD_REASON_WINDOW, false},
	};
	struct synhold_mark mark;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t now, started = 0;

		world_check(state);
		world_reset(state);
		snprintf(world.row, sizeof(world.row), "row %zu:", i);
		hold_one();
		pol.closed = rows[i].reason == SYNHOLD_REASON_CLOSED;
		if (rows[i].reason == SYNHOLD_REASON_SHARE)
			world_set_share(&pol, 0);
		if (rows[i].reason == SYNHOLD_REASON_SOURCE_RATE)
			world_set_source_rate(&pol, LONG, 1);
		if (rows[i].reason == SYNHOLD_REASON_SERVICE_RATE)
			world_set_rate(&pol, LONG, 1);
		if (rows[i].reason == SYNHOLD_REASON_GLOBAL_RATE)
			world_put_global_rate(0, LONG, 1);
		if (rows[i].reason == SYNHOLD_REASON_WINDOW)
			world_set_window(&pol, 1);
		pol.mode = SYNHOLD_MODE_ENFORCE;
		world_put_policy(0, 0, &pol);
		now = world_now();
		if (rows[i].retry || rows[i].reason == SYNHOLD_REASON_WINDOW) { /* somebody else takes what there is */
			assert_int_equal(world_syn(.sport = 9, .src = "127.0.0.2", .dst = "127.0.0.1"), XDP_PASS);
			started = 1;
			world_clear_counters();
		}
		assert_int_equal(world_release(&syn, 0, 0), SYNHOLD_RELEASE_REFUSED);
		assert_int_equal(world.release_io->reason, rows[i].reason);
		if (rows[i].retry)
			assert_in_range(world.release_io->retry_ns, now + LONG - 512, world_now() + LONG);
		else
			assert_int_equal(world.release_io->retry_ns, 0);
		assert_true(world_mark(&syn.tuple, &mark));
		assert_int_equal(mark.state, SYNHOLD_MARK_HELD);
		assert_int_equal(world.gates[0].inflight, started);
		if (started) { /* accounts for the one whose start was cleared away */
			world_reply(.sport = 9, .src = "127.0.0.2", .dst = "127.0.0.1", .data = 1);
			assert_int_equal(world_counters(0).outcome[SYNHOLD_OUTCOME_SETTLED], 1);
			world_clear_counters();
			world_drain();
			world.foreign_held = world.held_count;
		}
	}
}

/* Queued SYNs keep new ones out, but not the queue's own. A dead daemon's heartbeat is no matter here either. */
static void the_queue_does_not_stand_in_its_own_way(void **state)
{
	(void)state;
	hold_one();
	world.runtime[0].queued = 1;
	world_set_window(&pol, 1);
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_release(&syn, 0, 0), SYNHOLD_RELEASE_DONE);
	counted_one_held(1);
}

/* Monitor mode, bypass, and a service that is gone let everything out, past its limits. */
static void let_out_past_the_limits(void **state)
{
	int how;

	for (how = 0; how < 3; how++) {
		world_check(state);
		world_reset(state);
		snprintf(world.row, sizeof(world.row), "how %d:", how);
		hold_one();
		pol.closed = 1;
		if (how == 0)
			pol.mode = SYNHOLD_MODE_MONITOR;
		if (how == 1)
			world.control->bypass_until_ns = SYNHOLD_FOREVER;
		if (how == 2)
			memset(pol.name, 0, sizeof(pol.name));
		world_put_policy(0, 0, &pol);
		assert_int_equal(world_release(&syn, 0, 0), SYNHOLD_RELEASE_DONE);
		counted_one_held(1);
	}
}

/* In generic mode the frame meets the shield again: that pass is ours, and not counted; the next copy is the client's,
 * and is. */
static void fresh_flag_without_the_wire(void **state)
{
	struct synhold_mark mark;

	(void)state;
	hold_one();
	assert_int_equal(world_release(&syn, 0, SYNHOLD_RELEASE_GENERIC), SYNHOLD_RELEASE_DONE);
	assert_true(world_mark(&syn.tuple, &mark));
	assert_int_equal(mark.flags, SYNHOLD_MARK_FRESH);
	assert_int_equal(world_shield(&syn), XDP_PASS);
	counted_one_held(1);
	assert_true(world_mark(&syn.tuple, &mark));
	assert_int_equal(mark.flags, 0);
	assert_int_equal(world_shield(&syn), XDP_PASS);
	world_counted(0, .seen = 2, .offered = 1, .verdict[SYNHOLD_VERDICT_HOLD] = 1,
		      .verdict[SYNHOLD_VERDICT_ADMIT] = 1, .started = 1, .retransmits = 1,
		      .over_limit[SYNHOLD_REASON_CLOSED] = 1);
}

/* The same with the shield really attached, in generic mode, to the interface that the frame is injected into. */
static void fresh_flag_on_the_wire(void **state)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct synhold_mark mark = {.flags = SYNHOLD_MARK_FRESH};
	uint64_t deadline;

	(void)state;
	hold_one();
	world_ok(bpf_xdp_attach(WORLD_IFINDEX, world.shield, XDP_FLAGS_SKB_MODE, NULL));
	deadline = world_now() + 5 * WORLD_SECOND;
	assert_int_equal(world_release(&syn, 0, SYNHOLD_RELEASE_GENERIC), SYNHOLD_RELEASE_DONE);
	while (world_mark(&syn.tuple, &mark) && mark.flags & SYNHOLD_MARK_FRESH) {
		assert_true(world_now() < deadline);
		nanosleep(&pause, NULL);
	}
	world_ok(bpf_xdp_detach(WORLD_IFINDEX, XDP_FLAGS_SKB_MODE, NULL));
	counted_one_held(1);
}

static int load_in_private_net(void **state)
{
	world_private_net();
	return world_load(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(done),
		world_test(lost),
		world_test(denied_meanwhile),
		world_test(refused),
		world_test(the_queue_does_not_stand_in_its_own_way),
		world_test(let_out_past_the_limits),
		world_test(fresh_flag_without_the_wire),
		world_test(fresh_flag_on_the_wire),
	};

	return cmocka_run_group_tests(tests, load_in_private_net, world_unload);
}
