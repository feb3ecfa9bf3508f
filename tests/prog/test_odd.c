// SPDX-License-Identifier: GPL-2.0-or-later
/* SYNs that also say FIN or RST: never a slot, never a place in the queue, and never admitted while a limit is in
 * force; and SYNs with data, which are never held cut. */
#include "tests/prog/world.h"

static const uint8_t odd[] = {FRAMES_SYN | FRAMES_FIN, FRAMES_SYN | FRAMES_RST, FRAMES_SYN | FRAMES_FIN | FRAMES_RST};

static struct synhold_policy pol;

static void closed(void)
{
	pol.closed = 1;
}

static void share(void)
{
	world_set_share(&pol, 999999);
}

static void source_rate(void)
{
	world_set_source_rate(&pol, WORLD_SECOND, 1000);
}

static void service_rate(void)
{
	world_set_rate(&pol, 1000, 1000);
}

static void ceiling(void)
{
	world.runtime[0].ceiling_interval_ns = 1000;
	world.runtime[0].ceiling_limit_ns = 1000000;
}

static void global_rate(void)
{
	world_put_global_rate(0, 1000, 1000);
}

static void window(void)
{
	world_set_window(&pol, 1000);
}

static void window_of_the_daemon(void)
{
	pol.window_mode = SYNHOLD_WINDOW_AUTO;
	world.runtime[0].window = 1000;
}

static void deny(void)
{
	world_put_list(LIST_DENY, "198.51.100.1", 32, SYNHOLD_FOREVER, 0, 0);
}

/* Each with all the room there is: an ordinary SYN would pass (all but closed and deny). */
static const struct {
	void (*raise)(void);
	uint8_t reason;
} limits[] = {
	{closed, SYNHOLD_REASON_CLOSED},
	{share, SYNHOLD_REASON_SHARE},
	{source_rate, SYNHOLD_REASON_SOURCE_RATE},
	{service_rate, SYNHOLD_REASON_SERVICE_RATE},
	{ceiling, SYNHOLD_REASON_SERVICE_RATE},
	{global_rate, SYNHOLD_REASON_GLOBAL_RATE},
	{window, SYNHOLD_REASON_WINDOW},
	{window_of_the_daemon, SYNHOLD_REASON_WINDOW},
	{deny, SYNHOLD_REASON_DENY},
};

static void begin(void **state, size_t l, size_t o, uint8_t action)
{
	world_check(state);
	world_reset(state);
	pol = world_policy();
	pol.action = action;
	limits[l].raise();
	world_put_policy(0, 0, &pol);
	snprintf(world.row, sizeof(world.row), "limit %zu, odd %zu, action %u:", l, o, action);
}

static void each_limit_refuses_it(void **state)
{
	static const uint8_t actions[] = {SYNHOLD_ACTION_HOLD, SYNHOLD_ACTION_DROP, SYNHOLD_ACTION_REJECT};
	size_t l, o, a;

	for (l = 0; l < sizeof(limits) / sizeof(limits[0]); l++) {
		for (o = 0; o < sizeof(odd); o++) {
			for (a = 0; a < 3; a++) {
				bool denied = limits[l].reason == SYNHOLD_REASON_DENY;
				/* a RST is never answered */
				bool rejected =
					actions[a] == SYNHOLD_ACTION_REJECT && !denied && !(odd[o] & FRAMES_RST);
				struct synhold_counters expected = {.seen = 1, .offered = !denied};

				begin(state, l, o, actions[a]);
				expected.over_limit[limits[l].reason] = 1;
				expected.bites = limits[l].reason >= SYNHOLD_REASON_SERVICE_RATE;
				expected.verdict[rejected ? SYNHOLD_VERDICT_REJECT : SYNHOLD_VERDICT_DROP] = 1;
				assert_int_equal(world_syn(.flags = odd[o]), rejected ? XDP_PASS : XDP_DROP);
				world_expect(0, &expected);
				assert_int_equal(world.gates[0].inflight, 0);
			}
		}
	}
}

static void without_a_limit_it_passes_without_a_slot(void **state)
{
	size_t o;

	(void)state;
	for (o = 0; o < sizeof(odd); o++)
		assert_int_equal(world_syn(.sport = (uint16_t)(o + 1), .flags = odd[o]), XDP_PASS);
	world_counted(0, .seen = 3, .offered = 3, .verdict[SYNHOLD_VERDICT_ADMIT] = 3);
	assert_int_equal(world.gates[0].inflight, 0);
}

static void monitor_counts_and_admits(void **state)
{
	size_t l, o;

	for (l = 0; l < sizeof(limits) / sizeof(limits[0]); l++) {
		for (o = 0; o < sizeof(odd); o++) {
			bool denied = limits[l].reason == SYNHOLD_REASON_DENY;
			struct synhold_counters expected = {.seen = 1,
							    .verdict[SYNHOLD_VERDICT_ADMIT] = 1,
							    .offered = !denied};

			begin(state, l, o, SYNHOLD_ACTION_HOLD);
			pol.mode = SYNHOLD_MODE_MONITOR;
			world_put_policy(0, 0, &pol);
			expected.would_limit[limits[l].reason] = 1;
			assert_int_equal(world_syn(.flags = odd[o]), XDP_PASS);
			world_expect(0, &expected);
		}
	}
}

/* It does not pass as a copy of a SYN in flight either, and ends nothing. */
static void a_tuple_in_flight_does_not_help_it(void **state)
{
	size_t o;

	(void)state;
	pol = world_policy();
	window();
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_syn(.seq = 5), XDP_PASS);
	for (o = 0; o < sizeof(odd); o++)
		assert_int_equal(world_syn(.seq = 5, .flags = odd[o]), XDP_DROP);
	world_counted(0, .seen = 4, .offered = 1, .verdict[SYNHOLD_VERDICT_ADMIT] = 1, .started = 1,
		      .verdict[SYNHOLD_VERDICT_DROP] = 3, .over_limit[SYNHOLD_REASON_WINDOW] = 3, .bites = 3);
	assert_int_equal(world.gates[0].inflight, 1);
}

/* Data in the SYN (TCP fast open, RFC 7413): admitted when there is room, dropped otherwise, its plain copy is held. */
static void fast_open(void **state)
{
	(void)state;
	pol = world_policy();
	world_set_window(&pol, 1);
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_syn(.sport = 1, .data = 500, .tcp_options = 20), XDP_PASS);
	assert_int_equal(world_syn(.sport = 2, .data = 500, .tcp_options = 20), XDP_DROP);
	world_counted(0, .seen = 2, .offered = 2, .verdict[SYNHOLD_VERDICT_ADMIT] = 1, .started = 1,
		      .verdict[SYNHOLD_VERDICT_DROP] = 1, .over_limit[SYNHOLD_REASON_WINDOW] = 1, .bites = 1);
	assert_int_equal(world_syn(.sport = 2, .tcp_options = 20), XDP_DROP);
	world_drain();
	assert_int_equal(world.held_count, 1);
	assert_int_equal(world.held[0].frame_len, 14 + 20 + 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(each_limit_refuses_it),
		world_test(without_a_limit_it_passes_without_a_slot),
		world_test(monitor_counts_and_admits),
		world_test(a_tuple_in_flight_does_not_help_it),
		world_test(fast_open),
	};

	return world_run(tests);
}
