// SPDX-License-Identifier: GPL-2.0-or-later
/* The parser as the kernel runs it, with everything it says in a map: for tests/prog/test_parse.c. */
#include <linux/bpf.h>

#include "parse.h"

#include "tests/fuzz/parse_answer.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct parse_answer);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
} answer SEC(".maps");

SEC("xdp")
int parse_and_tell(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	struct parse_answer *to;
	struct parse_packet pkt;
	__u32 zero = 0;
	int result;

	to = bpf_map_lookup_elem(&answer, &zero);
	if (!to)
		return XDP_ABORTED;
	result = parse_frame(data, data_end, &pkt);
	to->result = result;
	if (result != PARSE_TCP)
		return XDP_PASS;
	to->l3 = (__u32)((long)pkt.l3 - (long)data);
	to->l4 = (__u32)((long)pkt.tcp - (long)data);
	to->ip_payload = pkt.ip_payload;
	to->l3_offset = pkt.l3_offset;
	to->flags = pkt.flags;
	to->ipv6 = pkt.ipv6;
	to->fragment = pkt.fragment;
	parse_tuple(&pkt, 0, &to->in);
	parse_tuple(&pkt, 1, &to->out);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
