// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames through the programs, and what they counted. */
#define _GNU_SOURCE 1
#include "tests/prog/world.h"

#include <linux/pkt_cls.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

void world_shield_out(const struct frame *frame, struct world_out *out)
{
	struct xdp_md ctx = {.data_end = (uint32_t)frame->len, .ingress_ifindex = 0}, after = {0};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame->bytes, .data_size_in = (uint32_t)frame->len,
		    .data_out = out->bytes, .data_size_out = sizeof(out->bytes), .ctx_in = &ctx,
		    .ctx_size_in = sizeof(ctx), .ctx_out = &after, .ctx_size_out = sizeof(after), .repeat = 1);

	world_ok(bpf_prog_test_run_opts(world.shield, &opts));
	out->action = opts.retval;
	out->meta_len = after.data - after.data_meta;
	out->len = opts.data_size_out;
}

uint32_t world_shield_repeat(const struct frame *frame, uint32_t repeat)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame->bytes, .data_size_in = (uint32_t)frame->len,
		    .repeat = (int)repeat);

	world_ok(bpf_prog_test_run_opts(world.shield, &opts));
	return opts.retval;
}

uint32_t world_shield(const struct frame *frame)
{
	return world_shield_repeat(frame, 1);
}

uint32_t world_shield_spec(struct frame_spec spec)
{
	struct frame frame;

	frames_build(&frame, &spec);
	return world_shield(&frame);
}

void world_egress_spec(struct frame_spec spec)
{
	struct frame frame;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame.bytes, .repeat = 1);

	frames_build(&frame, &spec);
	opts.data_size_in = (uint32_t)frame.len;
	world_ok(bpf_prog_test_run_opts(world.egress, &opts));
	assert_int_equal((int)opts.retval, TC_ACT_UNSPEC);
}

void world_sweep(void)
{
	uint8_t bytes[64] = {0};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = bytes, .data_size_in = sizeof(bytes), .repeat = 1);

	world_ok(bpf_prog_test_run_opts(world.sweep, &opts));
}

uint32_t world_release(const struct frame *frame, uint32_t service, uint8_t flags)
{
	return world_release_on(WORLD_IFINDEX, frame, service, flags);
}

uint32_t world_release_on(int ifindex, const struct frame *frame, uint32_t service, uint8_t flags)
{
	struct xdp_md ctx = {.data_end = (uint32_t)frame->len, .ingress_ifindex = (uint32_t)ifindex};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame->bytes, .data_size_in = (uint32_t)frame->len,
		    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx), .repeat = 1, .flags = BPF_F_TEST_XDP_LIVE_FRAMES);
	struct synhold_release_io io = {.tuple = frame->tuple, .service = (uint16_t)service, .flags = flags};

	*world.release_io = io;
	world_ok(bpf_prog_test_run_opts(world.release, &opts));
	return world.release_io->result;
}

void world_private_net(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd;

	world_ok(unshare(CLONE_NEWNET));
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	world_ok(fd);
	world_ok(ioctl(fd, SIOCSIFFLAGS, &lo));
	close(fd);
}

static void sum_percpu(int fd, uint32_t key, size_t words, uint64_t *sums)
{
	size_t cpus = (size_t)libbpf_num_possible_cpus(), i;
	uint64_t *values = calloc(cpus * words, sizeof(*values));

	assert_non_null(values);
	world_ok(bpf_map_lookup_elem(fd, &key, values));
	memset(sums, 0, words * sizeof(*sums));
	for (i = 0; i < cpus * words; i++)
		sums[i % words] += values[i];
	free(values);
}

struct synhold_counters world_counters(uint32_t service)
{
	struct synhold_counters sums;

	sum_percpu(world.counters, service, sizeof(sums) / sizeof(uint64_t), (uint64_t *)&sums);
	return sums;
}

uint64_t world_unparsed(uint32_t reason)
{
	uint64_t sum;

	sum_percpu(world.unparsed, reason, 1, &sum);
	return sum;
}

void world_expect(uint32_t service, const struct synhold_counters *expected)
{
#define WORLD_VERDICT(e, t) "verdict " t,
#define WORLD_OVER(e, t) "over_limit " t,
#define WORLD_WOULD(e, t) "would_limit " t,
#define WORLD_OUTCOME(e, t) "outcome " t,
	static const char *const names[] = {
		"seen",
		SYNHOLD_VERDICTS(WORLD_VERDICT) SYNHOLD_REASONS(WORLD_OVER) SYNHOLD_REASONS(WORLD_WOULD) "started",
		SYNHOLD_OUTCOMES(WORLD_OUTCOME) "late",
		"left",
		"answered",
		"offered",
		"bypassed",
		"allowed",
		"retransmits",
	};
	struct synhold_counters now = world_counters(service);
	const uint64_t *is = (const uint64_t *)&now, *want = (const uint64_t *)expected;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is[i] != want[i])
			fail_msg("%s service %u: %s is %llu, expected %llu", world.row, service, names[i],
				 (unsigned long long)is[i], (unsigned long long)want[i]);
	if (now.bites != expected->bites)
		fail_msg("%s service %u: bites is %llu, expected %llu", world.row, service,
			 (unsigned long long)now.bites, (unsigned long long)expected->bites);
	if (now.unproved != expected->unproved || now.proved != expected->proved)
		fail_msg("%s service %u: unproved is %llu and proved %llu, expected %llu and %llu", world.row, service,
			 (unsigned long long)now.unproved, (unsigned long long)now.proved,
			 (unsigned long long)expected->unproved, (unsigned long long)expected->proved);
}

bool world_mark(const struct synhold_tuple *tuple, struct synhold_mark *mark)
{
	return !bpf_map_lookup_elem(world.marks, tuple, mark);
}
