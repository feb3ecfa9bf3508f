// SPDX-License-Identifier: GPL-2.0-or-later
/* The order in which a SYN is judged: each step wins over all that come after it, and every counter says so. */
#include "tests/prog/world.h"

#define COUNT(row_) (sizeof(row_) / sizeof((row_)[0]))

/* Obstacles in the way of a SYN, from the last step of the order to the first. A row raises one and all before it in
 * this list. */
enum step {
	STEP_NONE,
	STEP_QUEUED,
	STEP_GLOBAL,
	STEP_CEILING,
	STEP_SERVICE,
	STEP_SOURCE,
	STEP_SHARE,
	STEP_CLOSED,
	STEP_DENY
};

/* A rate whose debt limit is below its interval admits nothing. */
static void raise_obstacles(struct synhold_policy *pol, enum step step)
{
	if (step >= STEP_QUEUED)
		world.runtime[0].queued = 1;
	if (step >= STEP_GLOBAL)
		world_put_global_rate(0, WORLD_HOUR, 0);
	if (step >= STEP_CEILING)
		world.runtime[0].ceiling_interval_ns = WORLD_HOUR;
	if (step >= STEP_SERVICE)
		world_set_rate(pol, WORLD_HOUR, 0);
	if (step >= STEP_SOURCE)
		world_set_source_rate(pol, WORLD_SECOND, 0);
	if (step >= STEP_SHARE)
		world_set_share(pol, 0);
	if (step >= STEP_CLOSED)
		pol->closed = 1;
	if (step >= STEP_DENY)
		world_put_list(LIST_DENY, "198.51.100.1", 32, SYNHOLD_FOREVER, 0, 0);
}

static const struct {
	enum step step;
	uint8_t reason;
	bool bites;
} steps[] = {
	{STEP_QUEUED, SYNHOLD_REASON_WINDOW, true},        {STEP_GLOBAL, SYNHOLD_REASON_GLOBAL_RATE, true},
	{STEP_CEILING, SYNHOLD_REASON_SERVICE_RATE, true}, {STEP_SERVICE, SYNHOLD_REASON_SERVICE_RATE, true},
	{STEP_SOURCE, SYNHOLD_REASON_SOURCE_RATE, false},  {STEP_SHARE, SYNHOLD_REASON_SHARE, false},
	{STEP_CLOSED, SYNHOLD_REASON_CLOSED, false},       {STEP_DENY, SYNHOLD_REASON_DENY, false},
};

/* What an excess SYN becomes: by the action, the heartbeat and the room in the queue; `reason` NONE = the limit's own.
 */
static const struct {
	uint8_t action, verdict, reason;
	bool stale, full, data;
	uint32_t returned;
} fates[] = {
	{SYNHOLD_ACTION_HOLD, SYNHOLD_VERDICT_HOLD, SYNHOLD_REASON_NONE, false, false, false, XDP_DROP},
	{SYNHOLD_ACTION_HOLD, SYNHOLD_VERDICT_DROP, SYNHOLD_REASON_HOLD_FULL, false, true, false, XDP_DROP},
	{SYNHOLD_ACTION_HOLD, SYNHOLD_VERDICT_DROP, SYNHOLD_REASON_FALLBACK, true, false, false, XDP_DROP},
	{SYNHOLD_ACTION_HOLD, SYNHOLD_VERDICT_DROP, SYNHOLD_REASON_NONE, false, false, true, XDP_DROP},
	{SYNHOLD_ACTION_DROP, SYNHOLD_VERDICT_DROP, SYNHOLD_REASON_NONE, false, false, false, XDP_DROP},
	{SYNHOLD_ACTION_DROP, SYNHOLD_VERDICT_DROP, SYNHOLD_REASON_NONE, true, false, false, XDP_DROP},
	{SYNHOLD_ACTION_REJECT, SYNHOLD_VERDICT_REJECT, SYNHOLD_REASON_NONE, false, false, false, XDP_PASS},
	{SYNHOLD_ACTION_REJECT, SYNHOLD_VERDICT_REJECT, SYNHOLD_REASON_NONE, true, false, false, XDP_PASS},
};

/* Whether these two make sense together: the queue is only looked at when holding and while the daemon lives. */
static bool applies(enum step step, size_t fate)
{
	return step != STEP_QUEUED || (fates[fate].action == SYNHOLD_ACTION_HOLD && !fates[fate].stale);
}

static void each_reason_and_fate(void **state)
{
	size_t s, f;

	for (s = 0; s < COUNT(steps); s++) {
		for (f = 0; f < COUNT(fates); f++) {
			struct synhold_counters expected = {.seen = 1,
							    .offered = steps[s].step < STEP_DENY,
							    .bites = steps[s].bites};
			bool denied = steps[s].step == STEP_DENY;
			uint8_t verdict = denied ? SYNHOLD_VERDICT_DROP : fates[f].verdict;
			uint8_t reason =
				denied || fates[f].reason == SYNHOLD_REASON_NONE ? steps[s].reason : fates[f].reason;
			struct synhold_policy pol;

			if (!applies(steps[s].step, f))
				continue;
			world_check(state);
			world_reset(state);
			pol = world_policy();
			pol.action = fates[f].action;
			raise_obstacles(&pol, steps[s].step);
			world_put_policy(0, 0, &pol);
			if (fates[f].stale)
				world.daemon->heartbeat_ns = world_now() - 2 * WORLD_SECOND;
			world.runtime[0].hold_full = fates[f].full;
			snprintf(world.row, sizeof(world.row), "reason %u, fate %zu:", steps[s].reason, f);
			expected.verdict[verdict] = 1;
			expected.over_limit[reason] = 1;
			assert_int_equal(world_syn(.data = fates[f].data ? 8 : 0),
					 denied ? XDP_DROP : fates[f].returned);
			world_expect(0, &expected);
		}
	}
}

static void each_reason_in_monitor_mode(void **state)
{
	size_t s;

	for (s = 0; s < COUNT(steps); s++) {
		struct synhold_counters expected = {.seen = 1,
						    .verdict[SYNHOLD_VERDICT_ADMIT] = 1,
						    .started = 1,
						    .offered = steps[s].step < STEP_DENY};
		struct synhold_policy pol;

		world_check(state);
		world_reset(state);
		pol = world_policy();
		pol.mode = SYNHOLD_MODE_MONITOR;
		raise_obstacles(&pol, steps[s].step);
		world_put_policy(0, 0, &pol);
		expected.would_limit[steps[s].reason] = 1;
		snprintf(world.row, sizeof(world.row), "reason %u:", steps[s].reason);
		assert_int_equal(world_syn(.data = 0), XDP_PASS);
		world_expect(0, &expected);
		/* its copies are in flight now, and judged no more; a denied one is denied again */
		expected.seen = expected.verdict[SYNHOLD_VERDICT_ADMIT] = 2;
		if (steps[s].step == STEP_DENY)
			expected.would_limit[SYNHOLD_REASON_DENY] = 2;
		else
			expected.retransmits = 1;
		assert_int_equal(world_syn(.data = 0), XDP_PASS);
		world_expect(0, &expected);
	}
}

static void conforming_is_admitted_and_started(void **state)
{
	struct synhold_mark mark;
	struct frame frame;

	(void)state;
	frames_build(&frame, &(struct frame_spec){.tcp_options = 20});
	assert_int_equal(world_shield(&frame), XDP_PASS);
	world_counted(0, .seen = 1, .verdict[SYNHOLD_VERDICT_ADMIT] = 1, .started = 1, .offered = 1);
	assert_true(world_mark(&frame.tuple, &mark));
	assert_int_equal(mark.state, SYNHOLD_MARK_INFLIGHT);
	assert_int_equal(mark.service, 0);
	assert_int_equal(mark.flags, 0);
	assert_in_range(mark.since_ns, world_now() - WORLD_SECOND, world_now());
	assert_int_equal(world.gates[0].inflight, 1);
}

static void bypass_wins_over_everything(void **state)
{
	struct synhold_policy pol = world_policy();

	(void)state;
	raise_obstacles(&pol, STEP_DENY);
	world_put_policy(0, 0, &pol);
	world.control->bypass_until_ns = SYNHOLD_FOREVER;
	assert_int_equal(world_syn(.sport = 1), XDP_PASS);
	world_counted(0, .seen = 1, .verdict[SYNHOLD_VERDICT_ADMIT] = 1, .bypassed = 1);
	world.control->bypass_until_ns = world_now() + WORLD_HOUR;
	assert_int_equal(world_syn(.sport = 2), XDP_PASS);
	world_counted(0, .seen = 2, .verdict[SYNHOLD_VERDICT_ADMIT] = 2, .bypassed = 2);
	world.control->bypass_until_ns = world_now();
	assert_int_equal(world_syn(.sport = 3), XDP_DROP);
	world_counted(0, .seen = 3, .verdict[SYNHOLD_VERDICT_ADMIT] = 2, .verdict[SYNHOLD_VERDICT_DROP] = 1,
		      .bypassed = 2, .over_limit[SYNHOLD_REASON_DENY] = 1);
}

static void allow_wins_over_limits_and_deny_over_allow(void **state)
{
	struct synhold_policy pol = world_policy();

	(void)state;
	raise_obstacles(&pol, STEP_CLOSED);
	world_put_policy(0, 0, &pol);
	world_put_list(LIST_ALLOW, "198.51.100.0", 24, SYNHOLD_FOREVER, WORLD_SECOND, 40);
	assert_int_equal(world_syn(.sport = 1), XDP_PASS);
	world_counted(0, .seen = 1, .verdict[SYNHOLD_VERDICT_ADMIT] = 1, .allowed = 1);
	world_put_list(LIST_DENY, "198.0.0.0", 8, SYNHOLD_FOREVER, 0, 0);
	assert_int_equal(world_syn(.sport = 2), XDP_DROP);
	world_counted(0, .seen = 2, .verdict[SYNHOLD_VERDICT_ADMIT] = 1, .verdict[SYNHOLD_VERDICT_DROP] = 1,
		      .allowed = 1, .over_limit[SYNHOLD_REASON_DENY] = 1);
}

/* Step 4: a tuple in flight passes whatever has happened to the limits since, uncharged. */
static void in_flight_is_admitted_uncharged(void **state)
{
	struct synhold_policy pol = world_policy();
	int i;

	(void)state;
	world_set_rate(&pol, WORLD_HOUR, 2);
	world_set_source_rate(&pol, WORLD_SECOND, 3);
	world_put_policy(0, 0, &pol);
	for (i = 0; i < 50; i++)
		assert_int_equal(world_syn(.sport = 1), XDP_PASS);
	world_counted(0, .seen = 50, .verdict[SYNHOLD_VERDICT_ADMIT] = 50, .started = 1, .offered = 1,
		      .retransmits = 49);
	assert_int_equal(world_syn(.sport = 2), XDP_PASS);
	pol.closed = 1;
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_syn(.sport = 1), XDP_PASS);
	world_counted(0, .seen = 52, .verdict[SYNHOLD_VERDICT_ADMIT] = 52, .started = 2, .offered = 2,
		      .retransmits = 50);
	pol.closed = 0;
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_syn(.sport = 3), XDP_DROP); /* of the two in the burst, two are used */
	assert_int_equal(world_counters(0).over_limit[SYNHOLD_REASON_SERVICE_RATE], 1);
}

static void closed_flips_at_its_time(void **state)
{
	struct synhold_policy pol = world_policy();

	(void)state;
	pol.action = SYNHOLD_ACTION_DROP;
	pol.closed = 1;
	pol.closed_flip_ns = world_now() + WORLD_HOUR;
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_syn(.sport = 1), XDP_DROP);
	pol.closed_flip_ns = world_now();
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_syn(.sport = 1), XDP_PASS);
	pol.closed = 0;
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_syn(.sport = 2), XDP_DROP);
	world_counted(0, .seen = 3, .verdict[SYNHOLD_VERDICT_ADMIT] = 1, .verdict[SYNHOLD_VERDICT_DROP] = 2,
		      .offered = 2, .started = 1, .over_limit[SYNHOLD_REASON_CLOSED] = 2);
}

static void fallback_open_admits_what_the_limits_would_not(void **state)
{
	struct synhold_policy pol = world_policy();

	(void)state;
	pol.fallback = SYNHOLD_FALLBACK_OPEN;
	raise_obstacles(&pol, STEP_CLOSED);
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_syn(.sport = 1), XDP_DROP);
	world_drain();
	assert_int_equal(world.held_count, 1);
	world.daemon->heartbeat_ns = 0;
	assert_int_equal(world_syn(.sport = 2), XDP_PASS);
	world_counted(0, .seen = 2, .verdict[SYNHOLD_VERDICT_HOLD] = 1, .verdict[SYNHOLD_VERDICT_ADMIT] = 1,
		      .offered = 2, .over_limit[SYNHOLD_REASON_CLOSED] = 1);
	world_put_list(LIST_DENY, "198.51.100.1", 32, SYNHOLD_FOREVER, 0, 0);
	assert_int_equal(world_syn(.sport = 3), XDP_DROP); /* deny holds in either fallback */
}

/* Dead daemon, static fallback: the limits stay in force, and what conforms is admitted though the queue's last word
 * was "not empty". */
static void fallback_static_keeps_the_limits(void **state)
{
	struct synhold_policy pol = world_policy();

	(void)state;
	world_set_rate(&pol, WORLD_HOUR, 1);
	world_put_policy(0, 0, &pol);
	world.runtime[0].queued = 5;
	world.daemon->heartbeat_ns = world_now() - SYNHOLD_HEARTBEAT_STALE_NS;
	assert_int_equal(world_syn(.sport = 1), XDP_PASS);
	assert_int_equal(world_syn(.sport = 2), XDP_DROP);
	world_counted(0, .seen = 2, .verdict[SYNHOLD_VERDICT_ADMIT] = 1, .verdict[SYNHOLD_VERDICT_DROP] = 1,
		      .offered = 2, .started = 1, .over_limit[SYNHOLD_REASON_FALLBACK] = 1, .bites = 1);
}

/* Only SYNs of protected ports are anyone's business; the rest passes without a trace. */
static void the_rest_passes_untouched(void **state)
{
	static const uint8_t flags[] = {FRAMES_ACK, FRAMES_ACK | FRAMES_PSH, FRAMES_SYN | FRAMES_ACK, FRAMES_RST,
					FRAMES_FIN | FRAMES_ACK};
	struct synhold_policy pol = world_policy();
	size_t i;

	(void)state;
	raise_obstacles(&pol, STEP_DENY);
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_syn(.dport = 444), XDP_PASS);
	assert_int_equal(world_syn(.dport = 442, .v6 = true), XDP_PASS);
	for (i = 0; i < COUNT(flags); i++)
		assert_int_equal(world_syn(.flags = flags[i], .data = 10), XDP_PASS);
	assert_int_equal(world_syn(.null_flags = true), XDP_PASS);
	assert_int_equal(world_syn(.fragment = 1480, .more = true), XDP_PASS);
	world_counted(0, .seen = 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(conforming_is_admitted_and_started),
		world_test(each_reason_and_fate),
		world_test(each_reason_in_monitor_mode),
		world_test(bypass_wins_over_everything),
		world_test(allow_wins_over_limits_and_deny_over_allow),
		world_test(in_flight_is_admitted_uncharged),
		world_test(closed_flips_at_its_time),
		world_test(fallback_open_admits_what_the_limits_would_not),
		world_test(fallback_static_keeps_the_limits),
		world_test(the_rest_passes_untouched),
	};

	return world_run(tests);
}
