// SPDX-License-Identifier: GPL-2.0-or-later
/* What is believed of a client's later segments: by their sequence numbers; and when its ACKs are looked at. */
#include "tests/prog/world.h"

#define ISN 0xfffffff0u /* the numbers wrap behind it */

static const struct {
	uint32_t behind; /* the SYN's number */
	bool believed;
} numbers[] = {
	{1, true},         {0, true},
	{2, true},         {1u << 16, true},
	{1u << 20, true},  {(1u << 20) + 1, false},
	{1u << 31, false}, {0xffffffffu, false},
	{12345678, false}, {0u - (1u << 20), false},
};

static struct synhold_policy pol;

/* RST and FIN of a handshake in flight. */
static void in_flight(void **state)
{
	static const uint8_t flags[] = {FRAMES_RST, FRAMES_RST | FRAMES_ACK, FRAMES_FIN | FRAMES_ACK};
	size_t i, f;

	for (f = 0; f < sizeof(flags); f++) {
		for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
			world_check(state);
			world_reset(state);
			snprintf(world.row, sizeof(world.row), "flags %u, number %zu:", flags[f], i);
			assert_int_equal(world_syn(.seq = ISN), XDP_PASS);
			assert_int_equal(world_syn(.seq = ISN + numbers[i].behind, .flags = flags[f]), XDP_PASS);
			assert_int_equal(world.gates[0].inflight, !numbers[i].believed);
			assert_int_equal(world_counters(0).outcome[SYNHOLD_OUTCOME_ABANDONED], numbers[i].believed);
			assert_int_equal(world_counters(0).heard, numbers[i].believed);
		}
	}
}

static void held(void **state)
{
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct synhold_mark mark;
		struct frame frame;

		world_check(state);
		world_reset(state);
		snprintf(world.row, sizeof(world.row), "number %zu:", i);
		pol = world_policy();
		pol.closed = 1;
		world_put_policy(0, 0, &pol);
		frames_build(&frame, &(struct frame_spec){.seq = ISN});
		assert_int_equal(world_shield(&frame), XDP_DROP);
		assert_int_equal(world_syn(.seq = ISN + numbers[i].behind, .flags = FRAMES_RST), XDP_PASS);
		assert_int_equal(world_mark(&frame.tuple, &mark), !numbers[i].believed);
		world_drain();
		assert_int_equal(world.wake_count, numbers[i].believed);
	}
}

/* A client that gave up and tries anew from the same port: the newest number counts, and a RST that answers the old
 * attempt's SYN-ACK does not end the new one. */
static void a_new_attempt_of_a_held_tuple(void **state)
{
	struct synhold_mark mark;
	struct frame frame;

	(void)state;
	pol = world_policy();
	pol.closed = 1;
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_syn(.seq = 1000), XDP_DROP);
	frames_build(&frame, &(struct frame_spec){.seq = 500000000});
	assert_int_equal(world_shield(&frame), XDP_DROP);
	assert_int_equal(world_syn(.seq = 1001, .flags = FRAMES_RST), XDP_PASS);
	assert_true(world_mark(&frame.tuple, &mark));
	assert_int_equal(mark.isn, 500000000);
	assert_int_equal(world_syn(.seq = 500000001, .flags = FRAMES_RST), XDP_PASS);
	assert_false(world_mark(&frame.tuple, &mark));
}

/* The number survives the release. */
static void released(void **state)
{
	struct synhold_mark mark;
	struct frame frame;

	(void)state;
	pol = world_policy();
	pol.closed = 1;
	world_put_policy(0, 0, &pol);
	frames_build(&frame, &(struct frame_spec){.seq = ISN});
	assert_int_equal(world_shield(&frame), XDP_DROP);
	pol.closed = 0;
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_release(&frame, 0, 0), SYNHOLD_RELEASE_DONE);
	assert_true(world_mark(&frame.tuple, &mark));
	assert_int_equal(mark.state, SYNHOLD_MARK_INFLIGHT);
	assert_int_equal(mark.isn, ISN);
	assert_int_equal(world_syn(.seq = 0x40000000, .flags = FRAMES_RST), XDP_PASS);
	assert_int_equal(world.gates[0].inflight, 1);
	assert_int_equal(world_syn(.seq = ISN + 1, .flags = FRAMES_RST), XDP_PASS);
	assert_int_equal(world.gates[0].inflight, 0);
}

/* ACKs are looked at only while the daemon asks for it, each handshake counts once, and whoever settles was heard. */
static void completed_handshakes(void **state)
{
	static const uint8_t flags[] = {FRAMES_ACK, FRAMES_ACK | FRAMES_PSH};
	int i;

	(void)state;
	for (i = 1; i <= 6; i++)
		assert_int_equal(world_syn(.sport = (uint16_t)i, .seq = ISN), XDP_PASS);
	assert_int_equal(world_syn(.sport = 1, .seq = ISN + 1, .flags = FRAMES_ACK), XDP_PASS);
	assert_int_equal(world_counters(0).heard, 0);
	world.daemon->watch_acks = 1;
	for (i = 0; i < 4; i++)
		assert_int_equal(world_syn(.sport = 1, .seq = ISN + 1, .flags = flags[i % 2], .data = 10), XDP_PASS);
	assert_int_equal(world_counters(0).heard, 1);
	assert_int_equal(world_syn(.sport = 2, .seq = ISN - 7, .flags = FRAMES_ACK), XDP_PASS); /* not of this one */
	assert_int_equal(world_syn(.sport = 9, .seq = ISN + 1, .flags = FRAMES_ACK), XDP_PASS); /* nobody's */
	assert_int_equal(world_syn(.sport = 2, .seq = ISN, .flags = FRAMES_SYN | FRAMES_ACK), XDP_PASS);
	assert_int_equal(world_counters(0).heard, 1);
	world_reply(.sport = 1, .data = 5); /* heard already */
	world_reply(.sport = 2, .data = 5);
	assert_int_equal(world_counters(0).heard, 2);
	assert_int_equal(world_syn(.sport = 3, .seq = ISN + 1, .flags = FRAMES_FIN | FRAMES_ACK), XDP_PASS);
	world_reply(.sport = 3, .data = 5);
	assert_int_equal(world_syn(.sport = 4, .seq = ISN + 1, .flags = FRAMES_RST), XDP_PASS);
	assert_int_equal(world_counters(0).heard, 4);
	assert_int_equal(world.gates[0].inflight, 2);
	assert_int_equal(world_counters(0).started, 6);
}

static int load_in_private_net(void **state)
{
	world_private_net();
	return world_load(state);
}

/* Where the server's SYN-ACK was seen, a client has to acknowledge it: who sends false SYNs has not seen its number. */
static void false_acks(void **state)
{
	static const struct {
		uint32_t ack;
		uint8_t flags;
		bool heard;
	} rows[] = {
		{501, FRAMES_ACK, true},
		{501, FRAMES_ACK | FRAMES_PSH, true},
		{901, FRAMES_ACK, true},
		{500, FRAMES_ACK, false},
		{0, FRAMES_ACK, false},
		{0x80000000, FRAMES_ACK, false},
		{77, FRAMES_FIN | FRAMES_ACK, false},
		{501, FRAMES_FIN | FRAMES_ACK, true},
		{0, FRAMES_RST, true},
	};
	size_t i, syn_acks;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (syn_acks = 0; syn_acks < 3; syn_acks++) {
			world_check(state);
			world_reset(state);
			snprintf(world.row, sizeof(world.row), "row %zu, %zu SYN-ACKs:", i, syn_acks);
			world.daemon->watch_acks = syn_acks < 2;
			assert_int_equal(world_syn(.seq = ISN), XDP_PASS);
			if (syn_acks)
				world_reply(.flags = FRAMES_SYN | FRAMES_ACK, .seq = 500, .ack = ISN + 1);
			world.daemon->watch_acks = 1;
			assert_int_equal(world_syn(.seq = ISN + 1, .ack = rows[i].ack, .flags = rows[i].flags),
					 XDP_PASS);
			/* not seen, or not looked at: anything counts */
			assert_int_equal(world_counters(0).heard, rows[i].heard || syn_acks != 1);
			assert_int_equal(world_counters(0).outcome[SYNHOLD_OUTCOME_SETTLED], 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(in_flight),
		world_test(held),
		world_test(a_new_attempt_of_a_held_tuple),
		world_test(released),
		world_test(completed_handshakes),
		world_test(false_acks),
	};

	return cmocka_run_group_tests(tests, load_in_private_net, world_unload);
}
