// SPDX-License-Identifier: GPL-2.0-or-later
/* The feed of verdicts through its library, and the names of offenders: what each SYN tells, to whom, and how much of
 * it. */
#include "tests/prog/world.h"

#include <arpa/inet.h>
#include <unistd.h>

#include "lib/events.h"
#include "lib/offenders.h"

#define MOST 512

static struct synhold_policy pol;
static struct synhold_event got[MOST];
static unsigned int got_count;

static struct events_maps maps(void)
{
	return (struct events_maps){world.events, world.tap, world.tap_state, (unsigned int)libbpf_num_possible_cpus()};
}

static struct events *feed(struct events_options options)
{
	const struct events_maps all = maps();
	struct events *ev = NULL;
	struct error err;

	got_count = 0;
	if (events_open(&ev, &all, &options, &err))
		fail_msg("%s", err.message);
	return ev;
}

static void keep(void *ctx, const struct synhold_event *event)
{
	(void)ctx;
	if (got_count < MOST)
		got[got_count] = *event;
	got_count++;
}

/* All that is there. */
static void read_all(struct events *ev)
{
	while (events_poll(ev, 0, keep, NULL) > 0)
		;
}

static void each_verdict_is_told(void **state)
{
	static const struct {
		uint8_t action, verdict, reason;
		bool monitor, denied, full, odd;
	} rows[] = {
		{SYNHOLD_ACTION_HOLD, SYNHOLD_VERDICT_HOLD, SYNHOLD_REASON_CLOSED, false, false, false, false},
		{SYNHOLD_ACTION_DROP, SYNHOLD_VERDICT_DROP, SYNHOLD_REASON_CLOSED, false, false, false, false},
		{SYNHOLD_ACTION_REJECT, SYNHOLD_VERDICT_REJECT, SYNHOLD_REASON_CLOSED, false, false, false, false},
		{SYNHOLD_ACTION_HOLD, SYNHOLD_VERDICT_DROP, SYNHOLD_REASON_HOLD_FULL, false, false, true, false},
		{SYNHOLD_ACTION_HOLD, SYNHOLD_VERDICT_DROP, SYNHOLD_REASON_DENY, false, true, false, false},
		{SYNHOLD_ACTION_HOLD, SYNHOLD_VERDICT_ADMIT, SYNHOLD_REASON_CLOSED, true, false, false, false},
		{SYNHOLD_ACTION_HOLD, SYNHOLD_VERDICT_DROP, SYNHOLD_REASON_CLOSED, false, false, false, true},
	};
	struct events *ev = feed((struct events_options){.service = -1});
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t before = world_now();
		struct frame frame;

		world_check(state);
		world_reset(state);
		snprintf(world.row, sizeof(world.row), "row %zu:", i);
		pol = world_policy();
		pol.closed = 1;
		pol.action = rows[i].action;
		pol.mode = rows[i].monitor ? SYNHOLD_MODE_MONITOR : SYNHOLD_MODE_ENFORCE;
		world_put_policy(0, 0, &pol);
		world.runtime[0].hold_full = rows[i].full;
		if (rows[i].denied)
			world_put_list(LIST_DENY, "198.51.100.1", 32, SYNHOLD_FOREVER, 0, 0);
		frames_build(&frame, &(struct frame_spec){.sport = (uint16_t)(100 + i),
							  .flags = FRAMES_SYN | (rows[i].odd ? FRAMES_FIN : 0)});
		world_shield(&frame);
		got_count = 0;
		read_all(ev);
		assert_int_equal(got_count, 1);
		assert_int_equal(got[0].verdict, rows[i].verdict);
		assert_int_equal(got[0].reason, rows[i].reason);
		assert_memory_equal(&got[0].tuple, &frame.tuple, sizeof(frame.tuple));
		assert_int_equal(got[0].service, 0);
		assert_int_equal(got[0].ifindex, WORLD_IFINDEX);
		assert_int_equal(got[0].tcp_flags, frame.bytes[frame.l4 + 13]);
		assert_in_range(got[0].when_ns, before, world_now());
	}
	/* admitted for no reason; and what nobody judged is not told */
	world_check(state);
	world_reset(state);
	got_count = 0;
	assert_int_equal(world_syn(.sport = 1), XDP_PASS);
	assert_int_equal(world_syn(.sport = 1), XDP_PASS);
	assert_int_equal(world_syn(.dport = 444), XDP_PASS);
	assert_int_equal(world_syn(.sport = 1, .seq = 1, .flags = FRAMES_ACK), XDP_PASS);
	read_all(ev);
	assert_int_equal(got_count, 2);
	assert_int_equal(got[1].verdict, SYNHOLD_VERDICT_ADMIT);
	assert_int_equal(got[1].reason, SYNHOLD_REASON_NONE);
	assert_int_equal(events_suppressed(ev), 0);
	events_close(ev);
}

static void only_what_was_asked_for(void **state)
{
	struct events_options options = {.service = -1, .verdicts = 1U << SYNHOLD_VERDICT_DROP, .prefixlen = 120};
	struct events *ev;

	(void)state;
	pol = world_policy();
	world_put_policy(0, 7, &pol);
	world_put_port(0, 80, 8);
	pol.closed = 1;
	pol.action = SYNHOLD_ACTION_DROP;
	world_put_policy(0, 0, &pol);
	frames_address("198.51.100.77", options.addr);
	ev = feed(options);
	assert_int_equal(world_syn(.sport = 1, .src = "198.51.100.200"), XDP_DROP);
	assert_int_equal(world_syn(.sport = 2, .src = "198.51.101.77"), XDP_DROP);
	assert_int_equal(world_syn(.sport = 3, .src = "2001:db8::1", .v6 = true), XDP_DROP);
	assert_int_equal(world_syn(.sport = 4, .dport = 80), XDP_PASS);
	read_all(ev);
	assert_int_equal(got_count, 1);
	assert_int_equal(got[0].tuple.sport, htons(1));
	events_close(ev);
	ev = feed((struct events_options){.service = 7});
	assert_int_equal(world_syn(.sport = 5), XDP_DROP);
	assert_int_equal(world_syn(.sport = 6, .dport = 80), XDP_PASS);
	read_all(ev);
	assert_int_equal(got_count, 1);
	assert_int_equal(got[0].service, 7);
	events_close(ev);
}

/* As many at once as the rate says, then no more; what was left out is counted, and told + left out is all. */
static void a_flood_is_told_in_part(void **state)
{
	struct events *ev = feed((struct events_options){.service = -1, .rate_pps = 50});
	uint64_t began = world_now();
	uint32_t i, sent = 5000;

	(void)state;
	for (i = 0; i < sent; i++)
		assert_int_equal(world_syn(.src4 = 0x0a000000 + i), XDP_PASS);
	read_all(ev);
	assert_in_range(got_count, 50,
			(50 + (world_now() - began) * 50 / WORLD_SECOND + 1) * (uint64_t)libbpf_num_possible_cpus());
	assert_int_equal(got_count + events_suppressed(ev), sent);
	events_close(ev);
}

static void off_unless_somebody_reads(void **state)
{
	const struct events_maps all = maps();
	struct events *ev, *other = NULL;
	struct error err = {0};

	(void)state;
	assert_int_equal(world_syn(.sport = 1), XDP_PASS);
	ev = feed((struct events_options){.service = -1});
	read_all(ev);
	assert_int_equal(got_count, 0);
	/* one reader at a time, by name */
	assert_int_equal(events_open(&other, &all, &(struct events_options){.service = -1}, &err), -EBUSY);
	assert_non_null(strstr(err.message, "process"));
	assert_null(other);
	assert_int_equal(world_syn(.sport = 2), XDP_PASS);
	events_close(ev); /* unread */
	assert_int_equal(world_syn(.sport = 3), XDP_PASS);
	ev = feed((struct events_options){.service = -1});
	read_all(ev);
	assert_int_equal(got_count, 0);
	/* a reader that died: nothing is recorded when its lease is over, and another one may come */
	world.tap_word->until_ns = world_now();
	assert_int_equal(world_syn(.sport = 4), XDP_PASS);
	assert_int_equal(events_open(&other, &all, &(struct events_options){.service = -1}, &err), 0);
	read_all(other);
	assert_int_equal(got_count, 0);
	assert_int_equal(world_syn(.sport = 5), XDP_PASS);
	read_all(other);
	assert_int_equal(got_count, 1);
	events_close(other);
	events_close(ev);
}

/* --- offenders --- */

static size_t offenders(struct offender list[OFFENDERS_SHOWN])
{
	size_t cpus = (size_t)libbpf_num_possible_cpus(), count = 0;
	struct synhold_offender_set *sets = calloc(cpus * SYNHOLD_OFFENDER_SETS, sizeof(*sets));
	uint32_t i;

	assert_non_null(sets);
	for (i = 0; i < SYNHOLD_OFFENDER_SETS; i++)
		world_ok(bpf_map_lookup_elem(world.offenders, &i, sets + i * cpus));
	count = offenders_of(sets, cpus * SYNHOLD_OFFENDER_SETS, 0, &pol, world_now(), list);
	free(sets);
	return count;
}

static void sources_over_their_rate_are_known_by_name(void **state)
{
	struct offender list[OFFENDERS_SHOWN];
	uint8_t addr[16];
	uint32_t i;

	(void)state;
	pol = world_policy();
	pol.action = SYNHOLD_ACTION_DROP;
	world_set_source_rate(&pol, WORLD_HOUR, 3);
	world_set_window(&pol, 100);
	world_put_policy(0, 0, &pol);
	for (i = 0; i < 10; i++)
		world_syn(.src = "203.0.113.9", .sport = (uint16_t)(1 + i));
	for (i = 0; i < 8; i++)
		world_syn(.v6 = true, .src = "2001:db8:9::9", .sport = (uint16_t)(1 + i));
	world_syn(.src = "203.0.113.9", .sport = 99, .flags = FRAMES_SYN | FRAMES_FIN); /* not by its rate */
	for (i = 0; i < 200; i++)
		world_syn(.src4 = 0x0a000000 + i); /* over the window, not over their own rate */
	assert_int_equal(offenders(list), 2);
	frames_address("203.0.113.9", addr);
	assert_memory_equal(list[0].addr, addr, 16);
	assert_int_equal(list[0].refused, 7);
	assert_int_equal(list[0].prefixlen, 128);
	assert_in_range(list[0].last_ns, world_now() - 60 * WORLD_SECOND, world_now());
	frames_address("2001:db8:9::", addr);
	assert_memory_equal(list[1].addr, addr, 16);
	assert_int_equal(list[1].refused, 5);
	assert_int_equal(list[1].prefixlen, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(each_verdict_is_told),
		world_test(only_what_was_asked_for),
		world_test(a_flood_is_told_in_part),
		world_test(off_unless_somebody_reads),
		world_test(sources_over_their_rate_are_known_by_name),
	};

	return world_run(tests);
}
