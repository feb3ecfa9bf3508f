// SPDX-License-Identifier: GPL-2.0-or-later
/* The RST that answers a SYN: every byte of it, both ways out, and the program that sends it back. */
#include "tests/prog/world.h"

#include <linux/pkt_cls.h>

static void rejecting(bool tx)
{
	struct synhold_policy pol = world_policy();
	struct synhold_interface iface = {.flags = tx ? SYNHOLD_IFACE_TX : 0};
	uint32_t ifindex = WORLD_IFINDEX;

	pol.action = SYNHOLD_ACTION_REJECT;
	pol.closed = 1;
	world_put_policy(0, 0, &pol);
	world_ok(bpf_map_update_elem(world.interfaces, &ifindex, &iface, BPF_ANY));
}

static const struct {
	const char *name;
	struct frame_spec spec;
} rows[] = {
	{"plain", {.seq = 0x01020304}},
	{"sequence number wraps", {.seq = 0xffffffff}},
	{"TCP options", {.seq = 7, .tcp_options = 40}},
	{"IP options are stripped", {.seq = 7, .ip_options = 40, .tcp_options = 20}},
	{"a tag", {.seq = 7, .vlans = 1}},
	{"two tags", {.seq = 7, .vlans = 2, .tcp_options = 20}},
	{"data counts in the acknowledgement", {.seq = 0xfffffff0, .data = 100, .tcp_options = 20}},
	{"odd data", {.seq = 1, .data = 33}},
	{"padding does not", {.seq = 9, .padding = 6}},
	{"IPv6", {.v6 = true, .seq = 0x01020304, .tcp_options = 20}},
	{"IPv6, extension headers are stripped", {.v6 = true, .seq = 5, .hop_by_hop = true, .ext = {43, 60}}},
	{"IPv6, two tags, data", {.v6 = true, .seq = 5, .vlans = 2, .data = 50}},
	{"SYN|FIN", {.seq = 5, .flags = FRAMES_SYN | FRAMES_FIN}},
};

static void check_frame(const struct frame *syn, const uint8_t *rst, size_t len, const struct frame_spec *spec)
{
	size_t ip_header = spec->v6 ? 40 : 20, l3 = syn->l3, l4 = l3 + ip_header;
	const uint8_t *ip = rst + l3, *tcp = rst + l4;
	uint32_t sum;

	assert_int_equal(len, l4 + 20);
	assert_memory_equal(rst, syn->bytes + 6, 6);
	assert_memory_equal(rst + 6, syn->bytes, 6);
	assert_memory_equal(rst + 12, syn->bytes + 12, l3 - 12); /* tags and protocol */
	if (spec->v6) {
		assert_int_equal(ip[0], 0x60);
		assert_int_equal(frames_get16(ip + 4), 20);
		assert_int_equal(ip[6], 6);
		assert_true(ip[7] >= 32);
		assert_memory_equal(ip + 8, syn->tuple.daddr, 16);
		assert_memory_equal(ip + 24, syn->tuple.saddr, 16);
	} else {
		assert_int_equal(ip[0], 0x45);
		assert_int_equal(frames_get16(ip + 2), 40);
		assert_int_equal(ip[9], 6);
		assert_true(ip[8] >= 32);
		assert_int_equal(frames_get16(ip + 6) & 0xbfff, 0); /* no fragment */
		assert_int_equal(frames_ip_sum(ip, 20), 0xffff);
		assert_memory_equal(ip + 12, syn->tuple.daddr + 12, 4);
		assert_memory_equal(ip + 16, syn->tuple.saddr + 12, 4);
	}
	assert_memory_equal(tcp, &syn->tuple.dport, 2);
	assert_memory_equal(tcp + 2, &syn->tuple.sport, 2);
	assert_int_equal(frames_get32(tcp + 4), 0);
	/* RFC 9293, 3.10.7.1: SEG.SEQ + SEG.LEN, where SYN and FIN count one each */
	assert_int_equal(frames_get32(tcp + 8), spec->seq + spec->data + 1 + !!(spec->flags & FRAMES_FIN));
	assert_int_equal(tcp[12], 0x50);
	assert_int_equal(tcp[13], FRAMES_RST | FRAMES_ACK);
	assert_int_equal(frames_get16(tcp + 14), 0);
	assert_int_equal(frames_get16(tcp + 18), 0);
	sum = frames_tcp_sum(rst, l3, l4, 20);
	if (spec->partial) { /* as the offload left the SYN: only the pseudo header's sum; the card or the stack
				completes it */
		uint8_t copy[FRAMES_MAX];

		memcpy(copy, rst, len);
		memset(copy + l4, 0, 20);
		assert_int_equal(frames_tcp_sum(copy, l3, l4, 20), frames_get16(tcp + 16));
	} else {
		assert_int_equal(sum, 0xffff);
	}
}

static void each_frame_both_ways_out(void **state)
{
	size_t i, partial, tx;

	for (tx = 0; tx < 2; tx++) {
		for (partial = 0; partial < 2; partial++) {
			for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
				struct frame_spec spec = rows[i].spec;
				struct world_out out;
				struct frame syn;

				world_check(state);
				world_reset(state);
				rejecting(tx);
				snprintf(world.row, sizeof(world.row), "%s:", rows[i].name);
				spec.partial = partial;
				frames_build(&syn, &spec);
				world_shield_out(&syn, &out);
				assert_int_equal(out.action, tx ? XDP_TX : XDP_PASS);
				assert_int_equal(out.meta_len, tx ? 0 : 4);
				if (!tx)
					assert_memory_equal(out.bytes, &(uint32_t){SYNHOLD_REJECT_MAGIC}, 4);
				check_frame(&syn, out.bytes + out.meta_len, out.len - out.meta_len, &spec);
				world_counted(0, .seen = 1, .offered = 1, .verdict[SYNHOLD_VERDICT_REJECT] = 1,
					      .over_limit[SYNHOLD_REASON_CLOSED] = 1);
			}
		}
	}
}

/* Not a byte of an admitted frame changes. */
static void an_admitted_frame_is_left_alone(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct frame_spec spec = rows[i].spec;
		struct world_out out;
		struct frame syn;

		spec.sport = (uint16_t)(100 + i);
		frames_build(&syn, &spec);
		world_shield_out(&syn, &out);
		assert_int_equal(out.action, XDP_PASS);
		assert_int_equal(out.meta_len, 0);
		assert_int_equal(out.len, syn.len);
		assert_memory_equal(out.bytes, syn.bytes, syn.len);
	}
}

/* Frames without the shield's metadata are none of the reject program's business. */
static void others_pass_the_reject_program(void **state)
{
	struct frame frame;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame.bytes, .repeat = 1);

	(void)state;
	frames_build(&frame, &(struct frame_spec){0});
	opts.data_size_in = (uint32_t)frame.len;
	world_ok(bpf_prog_test_run_opts(world.reject, &opts));
	assert_int_equal((int)opts.retval, TC_ACT_UNSPEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(each_frame_both_ways_out),
		world_test(an_admitted_frame_is_left_alone),
		world_test(others_pass_the_reject_program),
	};

	return world_run(tests);
}
