// SPDX-License-Identifier: GPL-2.0-or-later
/* Marks that nothing will ever end are forgotten: by the sweep once they are old, by new admissions when the ring comes
 * round to them. */
#include "tests/prog/world.h"

#define OLD (2 * SYNHOLD_EXPIRE_MAX_NS + WORLD_SECOND)

/* A SYN admitted, as if `age_ns` ago, in the ring's place `place`. */
static void admitted(struct frame *frame, uint16_t port, uint32_t place, uint64_t age_ns)
{
	struct synhold_admission admission;
	struct synhold_mark mark;

	frames_build(frame, &(struct frame_spec){.sport = port});
	assert_int_equal(world_shield(frame), XDP_PASS);
	assert_int_equal(world.global->admission_head, place + 1);
	assert_true(world_mark(&frame->tuple, &mark));
	world_ok(bpf_map_lookup_elem(world.admissions, &place, &admission));
	assert_memory_equal(&admission.tuple, &frame->tuple, sizeof(frame->tuple));
	assert_int_equal(admission.since_ns, mark.since_ns);
	admission.since_ns = mark.since_ns -= age_ns;
	world_ok(bpf_map_update_elem(world.admissions, &place, &admission, BPF_ANY));
	world_ok(bpf_map_update_elem(world.marks, &frame->tuple, &mark, BPF_EXIST));
}

static bool marked(const struct frame *frame)
{
	struct synhold_mark mark;

	return world_mark(&frame->tuple, &mark);
}

static void old_marks_are_forgotten(void **state)
{
	struct frame one, two, young;

	(void)state;
	if (world_now() < OLD + WORLD_SECOND)
		skip(); /* the machine has not been up for that long */
	admitted(&one, 1, 0, OLD);
	admitted(&two, 2, 1, OLD);
	admitted(&young, 3, 2, OLD / 2);
	world_sweep();
	assert_false(marked(&one));
	assert_false(marked(&two));
	assert_true(marked(&young));
	assert_int_equal(world.global->admission_tail, 2);
	world_sweep();
	assert_int_equal(world.global->admission_tail, 2);
}

/* What has ended and come again since is another handshake: its mark stays. So does one that is held now. */
static void newer_marks_of_the_same_tuple_stay(void **state)
{
	struct synhold_policy pol = world_policy();
	struct synhold_mark mark;
	struct frame again, held;

	(void)state;
	if (world_now() < OLD + WORLD_SECOND)
		skip();
	admitted(&again, 1, 0, OLD);
	world_reply(.sport = 1, .data = 1);
	admitted(&held, 2, 1, OLD);
	world_reply(.sport = 2, .data = 1);
	assert_int_equal(world_shield(&again), XDP_PASS);
	pol.closed = 1;
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_shield(&held), XDP_DROP);
	world_sweep();
	assert_int_equal(world.global->admission_tail, 2);
	assert_true(marked(&again));
	assert_true(world_mark(&held.tuple, &mark));
	assert_int_equal(mark.state, SYNHOLD_MARK_HELD);
}

/* One sweep is bounded; several get through. */
static void many_old_marks_take_several_sweeps(void **state)
{
	struct frame frame;
	uint32_t i;

	(void)state;
	if (world_now() < OLD + WORLD_SECOND)
		skip();
	for (i = 0; i < 1200; i++)
		admitted(&frame, (uint16_t)(1 + i), i, OLD);
	for (i = 0; i < 10 && world.global->admission_tail < 1200; i++)
		world_sweep();
	assert_in_range(i, 2, 9);
	assert_int_equal(world.global->admission_tail, 1200);
	assert_int_equal(bpf_map_get_next_key(world.marks, NULL, &(struct synhold_tuple){0}), -ENOENT);
}

/* Without any sweep the ring itself forgets: the admission that overwrites a place deletes the mark it stood for. */
static void the_ring_comes_round(void **state)
{
	struct frame first, second, next;

	(void)state;
	admitted(&first, 1, 0, 0);
	admitted(&second, 2, 1, 0);
	world.global->admission_head = SYNHOLD_ADMISSIONS;
	frames_build(&next, &(struct frame_spec){.sport = 3});
	assert_int_equal(world_shield(&next), XDP_PASS);
	assert_false(marked(&first));
	assert_true(marked(&second));
	assert_true(marked(&next));
	/* its slot is not lost: it ends with its bucket, like any that nobody ends */
	assert_int_equal(world.gates[0].inflight, 3);
	/* and the sweep knows that places were overwritten: it begins at the oldest that is left */
	world.global->admission_head += 100;
	world_sweep();
	assert_true(world.global->admission_tail >= 101);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(old_marks_are_forgotten),
		world_test(newer_marks_of_the_same_tuple_stay),
		world_test(many_old_marks_take_several_sweeps),
		world_test(the_ring_comes_round),
	};

	return world_run(tests);
}
