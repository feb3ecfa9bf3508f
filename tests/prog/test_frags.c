// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Frames that span several buffers, with the shield declared for them as it is where the MTU needs it: judged by the
 * headers in the first one, and never held cut. Where the first buffer ends is said with the frame (6.18); older
 * kernels put the first 3 KiB into it.
 */
#include "tests/prog/world.h"

#define LONG_MAX 9000

static struct synhold_policy pol;

/* The programs loaded anew, with the shield declared. */
static int load_declared(void **state)
{
	struct bpf_object *object = bpf_object__open_file(getenv("SYNHOLD_BPF_OBJECT") ? getenv("SYNHOLD_BPF_OBJECT") :
											 "build/synhold.bpf.o",
							  NULL);
	struct bpf_program *shield = object ? bpf_object__find_program_by_name(object, "synhold_shield") : NULL;

	if (!shield || world_load(state))
		return -1;
	/* the maps of the world, so that what it counts is seen there */
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		int fd = bpf_object__find_map_fd_by_name(world.object, bpf_map__name(map));

		if (fd >= 0 && bpf_map__type(map) != BPF_MAP_TYPE_ARRAY_OF_MAPS && bpf_map__reuse_fd(map, fd))
			return -1;
	}
	bpf_program__set_flags(shield, BPF_F_XDP_HAS_FRAGS);
	if (bpf_object__load(object))
		return -1;
	world.shield = bpf_program__fd(shield);
	return 0;
}

/* A run with a frame of `len` bytes, of which the first buffer has `linear` (0: as much as the kernel likes);
 * UINT32_MAX when this kernel cannot. */
static uint32_t run(const struct frame *frame, size_t len, size_t linear)
{
	static uint8_t bytes[LONG_MAX];
	struct xdp_md ctx = {.data_end = (uint32_t)(linear ? linear : len)};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = bytes, .data_size_in = (uint32_t)len, .repeat = 1);

	assert_true(len >= frame->len && len <= LONG_MAX);
	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, frame->bytes, frame->len);
	if (linear) {
		opts.ctx_in = &ctx;
		opts.ctx_size_in = sizeof(ctx);
	}
	return bpf_prog_test_run_opts(world.shield, &opts) ? UINT32_MAX : opts.retval;
}

static void closed(void)
{
	pol = world_policy();
	pol.closed = 1;
	world_put_policy(0, 0, &pol);
}

static void a_long_frame_is_judged(void **state)
{
	struct frame frame;

	(void)state;
	frames_build(&frame, &(struct frame_spec){.sport = 1, .tcp_options = 20});
	assert_int_equal(run(&frame, 6000, 0), XDP_PASS); /* padded, whatever for */
	closed();
	frames_build(&frame, &(struct frame_spec){.sport = 2, .data = 900});
	assert_int_equal(run(&frame, 8000, 0), XDP_DROP);
	frames_build(&frame, &(struct frame_spec){.sport = 3, .v6 = true, .hop_by_hop = true});
	assert_int_equal(run(&frame, 5000, 0), XDP_DROP);
	world_counted(0, .seen = 3, .offered = 3, .verdict[SYNHOLD_VERDICT_ADMIT] = 1, .started = 1,
		      .verdict[SYNHOLD_VERDICT_DROP] = 2, .over_limit[SYNHOLD_REASON_CLOSED] = 1,
		      .over_limit[SYNHOLD_REASON_HOLD_FULL] = 1);
}

/* Wherever the first buffer ends: a SYN whose header is in it is judged, and held whole if it is held; one whose is not
 * passes and is counted. */
static void each_end_of_the_first_buffer(void **state)
{
	/* about Ethernet, its tag, the IP header, the fixed part of TCP, its options, the end of 108 bytes */
	static const size_t ends[] = {14, 17, 18, 19, 37, 38, 57, 58, 77, 78, 79, 107};
	struct frame frame;
	size_t i;

	frames_build(&frame, &(struct frame_spec){.vlans = 1, .tcp_options = 20, .padding = 30});
	assert_int_equal(frame.len, 108);
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t linear = ends[i];
		uint64_t read;
		uint32_t action;

		world_check(state);
		world_reset(state);
		closed();
		snprintf(world.row, sizeof(world.row), "%zu bytes in the first buffer:", linear);
		action = run(&frame, frame.len, linear);
		if (action == UINT32_MAX)
			skip(); /* this kernel cannot say where it ends */
		read = linear >= frame.l4 + 20;
		assert_int_equal(action, read ? XDP_DROP : XDP_PASS);
		assert_int_equal(world_counters(0).seen, read);
		assert_int_equal(world_unparsed(SYNHOLD_UNPARSED_SHORT_FRAME) +
					 world_unparsed(SYNHOLD_UNPARSED_IP_HEADER) +
					 world_unparsed(SYNHOLD_UNPARSED_TCP_HEADER),
				 !read);
		world_drain();
		assert_int_equal(world.held_count, linear >= frame.l4 + 40);
		if (world.held_count)
			assert_memory_equal(world.held[0].frame, frame.bytes, frame.l4 + 40);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(a_long_frame_is_judged),
		world_test(each_end_of_the_first_buffer),
	};

	return cmocka_run_group_tests(tests, load_declared, world_unload);
}
