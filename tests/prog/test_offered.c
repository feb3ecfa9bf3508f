// SPDX-License-Identifier: GPL-2.0-or-later
/* How many connections were asked for: each SYN once, however often its copies come and whatever became of them. */
#include "tests/prog/world.h"

#include "bpf/gate.h"
#include "bpf/proof.h"

#include <unistd.h>

#define CLIENTS 50

static struct synhold_policy pol;

static void start(uint32_t action, bool is_closed)
{
	pol = world_policy();
	pol.action = (uint8_t)action;
	pol.closed = is_closed;
	world_put_policy(0, 0, &pol);
	world.proofs_used = true;
}

static uint64_t offered(void)
{
	return world_counters(0).offered;
}

/* SYNs of CLIENTS clients, `copies` of each in turn. */
static void knock(unsigned int copies, uint32_t seq)
{
	uint32_t i, k;

	for (k = 0; k < copies; k++)
		for (i = 0; i < CLIENTS; i++)
			world_syn(.src4 = 0x0a000000 + i, .seq = seq);
}

static uint32_t remembered(void)
{
	struct synhold_proof_set set;
	uint32_t i, way, count = 0;

	for (i = 0; i < SYNHOLD_PROOF_SETS; i++) {
		world_ok(bpf_map_lookup_elem(world.proofs, &i, &set));
		for (way = 0; way < SYNHOLD_PROOF_WAYS; way++)
			count += set.entry[way] != 0;
	}
	return count;
}

/* Whatever becomes of them, and then they are let in. */
static void copies_are_counted_once(void **state)
{
	static const struct {
		const char *name;
		uint32_t action;
		bool full, dead;
		enum synhold_verdict verdict;
	} rows[] = {
		{"dropped", SYNHOLD_ACTION_DROP, false, false, SYNHOLD_VERDICT_DROP},
		{"rejected", SYNHOLD_ACTION_REJECT, false, false, SYNHOLD_VERDICT_REJECT},
		{"held", SYNHOLD_ACTION_HOLD, false, false, SYNHOLD_VERDICT_HOLD},
		{"no room in the queue", SYNHOLD_ACTION_HOLD, true, false, SYNHOLD_VERDICT_DROP},
		{"no daemon", SYNHOLD_ACTION_HOLD, false, true, SYNHOLD_VERDICT_DROP},
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		world_check(state);
		world_reset(state);
		snprintf(world.row, sizeof(world.row), "%s:", rows[i].name);
		start(rows[i].action, true);
		world.runtime[0].hold_full = rows[i].full;
		if (rows[i].dead)
			world.daemon->heartbeat_ns = 0;
		knock(4, 1);
		assert_int_equal(world_counters(0).verdict[rows[i].verdict], 4 * CLIENTS);
		assert_int_equal(offered(), CLIENTS);
		start(rows[i].action, false);
		knock(2, 1);
		assert_int_equal(world_counters(0).verdict[SYNHOLD_VERDICT_ADMIT],
				 rows[i].verdict == SYNHOLD_VERDICT_HOLD ? 0 : 2 * CLIENTS);
		assert_int_equal(offered(), CLIENTS);
		knock(2, 2); /* of tuples that are known by now */
		assert_int_equal(offered(), CLIENTS);
		assert_int_equal(world_syn(.src4 = 0x0b000000), XDP_PASS);
		assert_int_equal(offered(), CLIENTS + 1);
	}
}

/* What the daemon discards leaves no mark. */
static void one_that_the_queue_gave_up_is_known(void **state)
{
	struct frame frame;

	(void)state;
	start(SYNHOLD_ACTION_HOLD, true);
	frames_build(&frame, &(struct frame_spec){.seq = 9});
	assert_int_equal(world_shield(&frame), XDP_DROP);
	world_ok(bpf_map_delete_elem(world.marks, &frame.tuple));
	assert_int_equal(world_shield(&frame), XDP_DROP);
	world_counted(0, .seen = 2, .verdict[SYNHOLD_VERDICT_HOLD] = 2, .over_limit[SYNHOLD_REASON_CLOSED] = 2,
		      .offered = 1);
}

/* The same ports again with a number of their own are another attempt. */
static void another_attempt_counts(void **state)
{
	(void)state;
	start(SYNHOLD_ACTION_DROP, true);
	knock(3, 1);
	knock(3, 2);
	assert_int_equal(offered(), 2 * CLIENTS);
}

/* Calm traffic pays nothing: the memory is not touched, and once nothing has been in excess for long it is not asked.
 */
static void calm_is_not_remembered(void **state)
{
	(void)state;
	start(SYNHOLD_ACTION_DROP, false);
	knock(2, 1);
	assert_int_equal(remembered(), 0);
	assert_int_equal(world.gates[0].excess_ns, 0);
	start(SYNHOLD_ACTION_DROP, true);
	assert_int_equal(world_syn(.src4 = 0x0b000000), XDP_DROP);
	assert_in_range(world_now() - world.gates[0].excess_ns, 0, WORLD_SECOND);
	assert_int_equal(remembered(), 1);
	world.gates[0].excess_ns = world_now() - 72 * WORLD_SECOND;
	start(SYNHOLD_ACTION_DROP, false);
	assert_int_equal(world_syn(.src4 = 0x0b000001), XDP_PASS);
	assert_int_equal(remembered(), 1);
	assert_int_equal(offered(), CLIENTS + 2);
}

/* Beyond so many a bucket's time it is not asked either, and each copy counts. */
static void a_flood_does_not_ask(void **state)
{
	uint32_t epoch;
	int tries = 0;

	(void)state;
	start(SYNHOLD_ACTION_DROP, true);
	assert_int_equal(world_syn(.seq = 1), XDP_DROP);
	do {
		assert_true(tries++ < 100); /* the time of a bucket is over at any moment */
		world_clear_counters();
		epoch = gate_epoch(world_now());
		world.gates[0].offered_looks = (uint64_t)epoch << 32 | SYNHOLD_OFFERED_LOOKS;
		assert_int_equal(world_syn(.seq = 1), XDP_DROP);
		assert_int_equal(world_syn(.seq = 1), XDP_DROP);
	} while (world.gates[0].offered_looks != ((uint64_t)epoch << 32 | SYNHOLD_OFFERED_LOOKS));
	assert_int_equal(offered(), 2);
	world_clear_counters();
	world.gates[0].offered_looks = (uint64_t)(epoch - 1) << 32 | SYNHOLD_OFFERED_LOOKS;
	assert_int_equal(world_syn(.seq = 1), XDP_DROP);
	assert_int_equal(offered(), 0);
}

/* A client dropped before proof mode came has sent its first copy. */
static void it_is_a_proof_as_well(void **state)
{
	(void)state;
	start(SYNHOLD_ACTION_DROP, true);
	assert_int_equal(world_syn(.seq = 5), XDP_DROP);
	start(SYNHOLD_ACTION_DROP, false);
	world.runtime[0].state_flags = SYNHOLD_FLAG_PROOF;
	usleep(800000); /* a copy that comes sooner proves nothing */
	assert_int_equal(world_syn(.seq = 6), XDP_DROP);
	assert_int_equal(world_syn(.seq = 5), XDP_PASS);
	world_counted(0, .seen = 3, .verdict[SYNHOLD_VERDICT_DROP] = 2, .verdict[SYNHOLD_VERDICT_ADMIT] = 1,
		      .over_limit[SYNHOLD_REASON_CLOSED] = 1, .over_limit[SYNHOLD_REASON_WINDOW] = 1, .bites = 1,
		      .offered = 2, .started = 1, .unproved = 1, .proved = 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(copies_are_counted_once), world_test(one_that_the_queue_gave_up_is_known),
		world_test(another_attempt_counts),  world_test(calm_is_not_remembered),
		world_test(a_flood_does_not_ask),    world_test(it_is_a_proof_as_well),
	};

	return world_run(tests);
}
