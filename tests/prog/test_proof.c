// SPDX-License-Identifier: GPL-2.0-or-later
/* Proof mode: a SYN is judged when its second copy comes in due time; the first is remembered and dropped, and a flood
 * of first ones takes nothing from anybody. */
#include "tests/prog/world.h"

#include "bpf/proof.h"

#define DROPPED verdict[SYNHOLD_VERDICT_DROP]
#define ADMITTED verdict[SYNHOLD_VERDICT_ADMIT]
#define HELD verdict[SYNHOLD_VERDICT_HOLD]
#define OVER_WINDOW over_limit[SYNHOLD_REASON_WINDOW]
#define MS_UNITS(ms) ((uint64_t)(ms)*1000000 >> PROOF_UNIT_SHIFT)

static struct synhold_policy pol;

static void proof_mode(void)
{
	pol = world_policy();
	world_put_policy(0, 0, &pol);
	world.runtime[0].state_flags = SYNHOLD_FLAG_PROOF;
	world.proofs_used = true;
}

static uint64_t hash_of(const struct frame *frame)
{
	return proof_hash(world.control->hash_key[0], world.control->hash_key[1], &frame->tuple,
			  frames_get32(frame->bytes + frame->l4 + 4));
}

/* Makes what is remembered of a frame, and of those that share its set, `ms` older. */
static void age(const struct frame *frame, uint64_t ms)
{
	uint64_t hash = hash_of(frame);
	struct synhold_proof_set set;
	uint32_t key = proof_set(hash);
	unsigned int i, found = 0;

	world_ok(bpf_map_lookup_elem(world.proofs, &key, &set));
	for (i = 0; i < SYNHOLD_PROOF_WAYS; i++) {
		uint64_t time = set.entry[i] & PROOF_TIME_MASK;

		if (!set.entry[i])
			continue;
		found += set.entry[i] >> PROOF_TAG_SHIFT == hash >> PROOF_TAG_SHIFT;
		set.entry[i] = (set.entry[i] & ~PROOF_TIME_MASK) | ((time - MS_UNITS(ms)) & PROOF_TIME_MASK);
	}
	assert_int_equal(found, 1);
	world_ok(bpf_map_update_elem(world.proofs, &key, &set, BPF_ANY));
}

static bool remembered(const struct frame *frame)
{
	uint64_t hash = hash_of(frame);
	struct synhold_proof_set set;
	uint32_t key = proof_set(hash);
	unsigned int i;

	world_ok(bpf_map_lookup_elem(world.proofs, &key, &set));
	for (i = 0; i < SYNHOLD_PROOF_WAYS; i++)
		if (set.entry[i] >> PROOF_TAG_SHIFT == hash >> PROOF_TAG_SHIFT)
			return true;
	return false;
}

static void the_second_copy_in_due_time_is_judged(void **state)
{
	struct frame frame;

	(void)state;
	proof_mode();
	frames_build(&frame, &(struct frame_spec){.seq = 77, .tcp_options = 20});
	assert_int_equal(world_shield(&frame), XDP_DROP);
	world_counted(0, .seen = 1, .DROPPED = 1, .OVER_WINDOW = 1, .bites = 1, .offered = 1, .unproved = 1);
	assert_int_equal(world_shield(&frame), XDP_DROP); /* doubled on the way */
	age(&frame, 600);
	assert_int_equal(world_shield(&frame), XDP_DROP);
	world_counted(0, .seen = 3, .DROPPED = 3, .OVER_WINDOW = 3, .bites = 3, .offered = 1, .unproved = 3);
	age(&frame, 300);
	assert_int_equal(world_shield(&frame), XDP_PASS);
	world_counted(0, .seen = 4, .DROPPED = 3, .ADMITTED = 1, .OVER_WINDOW = 3, .bites = 3, .offered = 1,
		      .unproved = 3, .proved = 1, .started = 1);
	assert_int_equal(world_shield(&frame), XDP_PASS); /* in flight now */
	world_counted(0, .seen = 5, .DROPPED = 3, .ADMITTED = 2, .OVER_WINDOW = 3, .bites = 3, .offered = 1,
		      .unproved = 3, .proved = 1, .started = 1, .retransmits = 1);
}

/* By the client's schedule: first copy at 0, and the copy that is to prove it so many ms later. */
static void spacing(void **state)
{
	static const struct {
		uint32_t ms;
		bool proves;
	} rows[] = {{0, false},   {250, false},  {650, false},  {800, true},   {1000, true},
		    {3000, true}, {35000, true}, {67000, true}, {69000, true}, {71000, false}};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct frame frame;

		world_check(state);
		world_reset(state);
		proof_mode();
		snprintf(world.row, sizeof(world.row), "%u ms:", rows[i].ms);
		frames_build(&frame, &(struct frame_spec){.seq = 5});
		assert_int_equal(world_shield(&frame), XDP_DROP);
		age(&frame, rows[i].ms);
		assert_int_equal(world_shield(&frame), rows[i].proves ? XDP_PASS : XDP_DROP);
		assert_int_equal(world_counters(0).proved, rows[i].proves);
		if (rows[i].proves)
			continue;
		age(&frame, 1000); /* too late was a first copy again; too early did not start anew */
		assert_int_equal(world_shield(&frame), XDP_PASS);
	}
}

/* Anything else in tuple or sequence number is another SYN. */
static void nothing_else_proves_it(void **state)
{
	static const struct frame_spec others[] = {
		{.seq = 6},
		{.seq = 5, .sport = 40001},
		{.seq = 5, .src = "198.51.100.2"},
		{.seq = 5, .dst = "192.0.2.11"},
		{.seq = 5, .v6 = true},
	};
	struct frame frame;
	size_t i;

	(void)state;
	proof_mode();
	frames_build(&frame, &(struct frame_spec){.seq = 5});
	assert_int_equal(world_shield(&frame), XDP_DROP);
	age(&frame, 1000);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(world_shield_spec(others[i]), XDP_DROP);
	assert_int_equal(world_counters(0).proved, 0);
	/* a copy may look different: with data, tagged, without the options of the first */
	assert_int_equal(world_syn(.seq = 5, .vlans = 1, .tcp_options = 12, .data = 20), XDP_PASS);
}

/* Proved, it is like any other: held under the limit's reason, and a window has to have room for it. */
static void proved_ones_meet_the_limits(void **state)
{
	struct frame frame;

	(void)state;
	proof_mode();
	pol.closed = 1;
	world_put_policy(0, 0, &pol);
	frames_build(&frame, &(struct frame_spec){.seq = 1});
	assert_int_equal(world_shield(&frame), XDP_DROP);
	age(&frame, 1000);
	assert_int_equal(world_shield(&frame), XDP_DROP);
	world_counted(0, .seen = 2, .DROPPED = 1, .HELD = 1, .OVER_WINDOW = 1, .bites = 1, .offered = 1, .unproved = 1,
		      .proved = 1, .over_limit[SYNHOLD_REASON_CLOSED] = 1);
	assert_int_equal(world_shield(&frame), XDP_DROP); /* what is held has been proved */
	assert_int_equal(world_counters(0).verdict[SYNHOLD_VERDICT_HOLD], 2);
	assert_int_equal(world_counters(0).unproved, 1);
}

/* A full queue may turn a proved one away: its next copy needs no new proof, and is not counted as another one. */
static void proof_lasts(void **state)
{
	struct frame frame;

	(void)state;
	proof_mode();
	pol.closed = 1;
	world_put_policy(0, 0, &pol);
	world.runtime[0].hold_full = 1;
	frames_build(&frame, &(struct frame_spec){.seq = 1});
	assert_int_equal(world_shield(&frame), XDP_DROP);
	age(&frame, 1000);
	assert_int_equal(world_shield(&frame), XDP_DROP);
	assert_int_equal(world_shield(&frame), XDP_DROP);
	world_counted(0, .seen = 3, .DROPPED = 3, .OVER_WINDOW = 1, .bites = 1, .offered = 1, .unproved = 1,
		      .proved = 1, .over_limit[SYNHOLD_REASON_HOLD_FULL] = 2);
	world.runtime[0].hold_full = 0;
	assert_int_equal(world_shield(&frame), XDP_DROP);
	assert_int_equal(world_counters(0).verdict[SYNHOLD_VERDICT_HOLD], 1);
}

/* Those who need no proof: allowed, in flight, held before, let in before with the same sequence number. */
static void who_needs_none(void **state)
{
	struct synhold_mark mark;
	struct frame frame;

	(void)state;
	frames_build(&frame, &(struct frame_spec){.seq = 9, .sport = 3});
	assert_int_equal(world_shield(&frame), XDP_PASS);
	pol = world_policy();
	pol.closed = 1;
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_syn(.sport = 1), XDP_DROP);
	proof_mode();
	assert_int_equal(world_syn(.sport = 1), XDP_DROP);
	assert_int_equal(world_shield(&frame), XDP_PASS);
	world_counted(0, .seen = 4, .HELD = 2, .ADMITTED = 2, .over_limit[SYNHOLD_REASON_CLOSED] = 2, .offered = 2,
		      .started = 1, .retransmits = 1);
	/* its slot is over, its mark is still there */
	assert_true(world_mark(&frame.tuple, &mark));
	mark.since_ns -= 2 * WORLD_SECOND;
	mark.epoch -= 20;
	world_ok(bpf_map_update_elem(world.marks, &frame.tuple, &mark, BPF_EXIST));
	world.gates[0].retired = mark.epoch + 1;
	memset(world.gates[0].buckets, 0, sizeof(world.gates[0].buckets));
	world.gates[0].inflight = 0;
	world_clear_counters();
	world.foreign_held = 2;
	assert_int_equal(world_shield(&frame), XDP_PASS);
	assert_int_equal(world_syn(.sport = 3, .seq = 10), XDP_PASS); /* in flight: a copy */
	assert_int_equal(world_counters(0).started, 1);
	assert_int_equal(world_counters(0).unproved, 0);
	world_put_list(LIST_ALLOW, "198.51.100.1", 32, SYNHOLD_FOREVER, WORLD_SECOND, 40);
	assert_int_equal(world_syn(.sport = 4), XDP_PASS);
	assert_int_equal(world_counters(0).allowed, 1);
	assert_int_equal(world_counters(0).unproved, 0);
}

/* No answer goes to an address that may be somebody else's; monitor admits; a dead daemon leaves the mode in force. */
static void other_actions_and_modes(void **state)
{
	(void)state;
	proof_mode();
	pol.action = SYNHOLD_ACTION_REJECT;
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_syn(.sport = 1), XDP_DROP);
	pol.action = SYNHOLD_ACTION_DROP;
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_syn(.sport = 2), XDP_DROP);
	world.daemon->heartbeat_ns = 0;
	assert_int_equal(world_syn(.sport = 3), XDP_DROP);
	world_counted(0, .seen = 3, .DROPPED = 3, .OVER_WINDOW = 3, .bites = 3, .offered = 3, .unproved = 3);
	pol.fallback = SYNHOLD_FALLBACK_OPEN;
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_syn(.sport = 4), XDP_PASS);
	world.daemon->heartbeat_ns = world_now() + WORLD_HOUR;
	pol.mode = SYNHOLD_MODE_MONITOR;
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_syn(.sport = 5), XDP_PASS);
	world_counted(0, .seen = 5, .DROPPED = 3, .ADMITTED = 2, .OVER_WINDOW = 3, .bites = 3, .offered = 5,
		      .unproved = 4, .started = 1, .would_limit[SYNHOLD_REASON_WINDOW] = 1);
	world.runtime[0].state_flags = 0;
	pol.mode = SYNHOLD_MODE_ENFORCE;
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_syn(.sport = 6), XDP_PASS);
}

/* A set with eight young entries takes no ninth; the oldest one gives way once it is 3.6 s old. */
static void a_full_set_keeps_the_young(void **state)
{
	struct synhold_proof_set set;
	struct frame frame;
	uint32_t key, i;
	uint64_t now;

	(void)state;
	proof_mode();
	frames_build(&frame, &(struct frame_spec){.seq = 1});
	key = proof_set(hash_of(&frame));
	now = proof_units(world_now());
	for (i = 0; i < SYNHOLD_PROOF_WAYS; i++)
		set.entry[i] = (uint64_t)(i + 1) << PROOF_TAG_SHIFT |
			       ((now - MS_UNITS(i == 5 ? 3400 : 100)) & PROOF_TIME_MASK);
	world_ok(bpf_map_update_elem(world.proofs, &key, &set, BPF_ANY));
	assert_int_equal(world_shield(&frame), XDP_DROP);
	assert_false(remembered(&frame));
	set.entry[5] -= MS_UNITS(300);
	world_ok(bpf_map_update_elem(world.proofs, &key, &set, BPF_ANY));
	assert_int_equal(world_shield(&frame), XDP_DROP);
	assert_true(remembered(&frame));
	world_ok(bpf_map_lookup_elem(world.proofs, &key, &set));
	assert_int_equal(set.entry[5] >> PROOF_TAG_SHIFT, hash_of(&frame) >> PROOF_TAG_SHIFT);
	age(&frame, 1000);
	assert_int_equal(world_shield(&frame), XDP_PASS);
}

/* A flood of first copies: no slot, no mark, no place in the queue, and those who came before it are still known. */
static void a_flood_takes_nothing(void **state)
{
	struct frame clients[50];
	uint32_t i, flood = 100000;
	uint8_t key[64];

	(void)state;
	proof_mode();
	world_set_window(&pol, 8);
	world_put_policy(0, 0, &pol);
	for (i = 0; i < 50; i++) {
		frames_build(&clients[i], &(struct frame_spec){.src4 = 0x0b000000 + i, .seq = i});
		assert_int_equal(world_shield(&clients[i]), XDP_DROP);
	}
	for (i = 0; i < flood; i++)
		assert_int_equal(world_syn(.src4 = 0x0c000000 + i * 7919, .sport = (uint16_t)(i * 31), .seq = i * 977),
				 XDP_DROP);
	assert_int_equal(world.gates[0].inflight, 0);
	assert_true(bpf_map_get_next_key(world.marks, NULL, key) < 0);
	world_counted(0, .seen = flood + 50, .DROPPED = flood + 50, .OVER_WINDOW = flood + 50, .bites = flood + 50,
		      .offered = flood + 50, .unproved = flood + 50);
	for (i = 0; i < 8; i++) {
		age(&clients[i], 1000);
		assert_int_equal(world_shield(&clients[i]), XDP_PASS);
	}
	assert_int_equal(world.gates[0].inflight, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(the_second_copy_in_due_time_is_judged),
		world_test(spacing),
		world_test(nothing_else_proves_it),
		world_test(proved_ones_meet_the_limits),
		world_test(proof_lasts),
		world_test(who_needs_none),
		world_test(other_actions_and_modes),
		world_test(a_full_set_keeps_the_young),
		world_test(a_flood_takes_nothing),
	};

	return world_run(tests);
}
