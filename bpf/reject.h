/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns a SYN frame into the RST that answers it (RFC 9293, 3.5.2: no ACK in the segment, so SEQ = 0, ACK = SEQ + LEN).
 */
#ifndef SYNHOLD_BPF_REJECT_H
#define SYNHOLD_BPF_REJECT_H

#include "maps.h"
#include "parse.h"
#include "verdict.h"

#define REJECT_TTL 64

static __always_inline __u16 reject_fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16)sum;
}

static __always_inline __u64 reject_sum(const void *from, __u32 words)
{
	const __u16 *word = from;
	__u64 sum = 0;
	__u32 i;

	COMPAT_UNROLL
	for (i = 0; i < words; i++)
		sum += word[i];
	return sum;
}

/* Pseudo-header sum (RFC 9293, 3.1; RFC 8200, 8.1) of a TCP segment of `length` bytes between the two mapped or IPv6
 * addresses. */
static __always_inline __u64 reject_pseudo(const struct synhold_tuple *tuple, __u32 ipv6, __u32 length)
{
	__u64 sum = bpf_htons(IPPROTO_TCP) + (__u64)bpf_htons((__u16)length);

	if (ipv6)
		return sum + reject_sum(tuple->saddr, 8) + reject_sum(tuple->daddr, 8);
	return sum + reject_sum(tuple->saddr + 12, 2) + reject_sum(tuple->daddr + 12, 2);
}

/*
 * Rewrites the frame in place and cuts it to size. Returns XDP_TX where that reaches the wire, else XDP_PASS with
 * metadata for the tc ingress program, which sends it back; XDP_DROP when the kernel would not let us.
 */
COMPAT_GLOBAL int reject_frame(struct xdp_md *ctx, struct verdict_request *rq)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	struct synhold_tuple *tuple;
	__u64 l3_offset;
	__u32 header, ifindex = ctx->ingress_ifindex;
	int partial;
	struct synhold_interface *iface;
	struct tcphdr rst = {0};
	struct ethhdr *eth = data;
	__u8 mac[ETH_ALEN];
	__u64 sum;
	void *l3;
	__u32 *meta;

	if (!rq)
		return XDP_DROP;
	tuple = &rq->tuple;
	header = rq->ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	partial = rq->check == reject_fold(reject_pseudo(tuple, rq->ipv6, rq->segment));
	l3_offset = rq->l3_offset;
	COMPAT_OPAQUE(l3_offset); /* the bound must be seen on the register that is added */
	if (l3_offset > sizeof(*eth) + 8)
		return XDP_DROP;
	l3 = data + l3_offset;
	if ((void *)(eth + 1) > data_end)
		return XDP_DROP;
	__builtin_memcpy(mac, eth->h_dest, ETH_ALEN);
	__builtin_memcpy(eth->h_dest, eth->h_source, ETH_ALEN);
	__builtin_memcpy(eth->h_source, mac, ETH_ALEN);
	rst.source = tuple->dport;
	rst.dest = tuple->sport;
	rst.ack_seq = bpf_htonl(rq->seq + rq->segment - rq->tcp_header + 1 + !!(rq->tcp_flags & PARSE_FIN));
	rst.doff = sizeof(rst) / 4;
	rst.rst = 1;
	rst.ack = 1;
	sum = reject_pseudo(tuple, rq->ipv6, sizeof(rst));
	rst.check = partial ? reject_fold(sum) : (__u16)~reject_fold(sum + reject_sum(&rst, sizeof(rst) / 2));
	if (rq->ipv6) {
		struct ipv6hdr ip = {
			.version = 6,
			.payload_len = bpf_htons(sizeof(rst)),
			.nexthdr = IPPROTO_TCP,
			.hop_limit = REJECT_TTL,
		};

		__builtin_memcpy(&ip.saddr, tuple->daddr, 16);
		__builtin_memcpy(&ip.daddr, tuple->saddr, 16);
		if (l3 + sizeof(ip) + sizeof(rst) > data_end)
			return XDP_DROP;
		__builtin_memcpy(l3, &ip, sizeof(ip));
		__builtin_memcpy(l3 + sizeof(ip), &rst, sizeof(rst));
	} else {
		struct iphdr ip = {
			.version = 4,
			.ihl = 5,
			.tot_len = bpf_htons(sizeof(ip) + sizeof(rst)),
			.frag_off = bpf_htons(0x4000),
			.ttl = REJECT_TTL,
			.protocol = IPPROTO_TCP,
		};

		__builtin_memcpy(&ip.saddr, tuple->daddr + 12, 4);
		__builtin_memcpy(&ip.daddr, tuple->saddr + 12, 4);
		ip.check = (__u16)~reject_fold(reject_sum(&ip, sizeof(ip) / 2));
		if (l3 + sizeof(ip) + sizeof(rst) > data_end)
			return XDP_DROP;
		__builtin_memcpy(l3, &ip, sizeof(ip));
		__builtin_memcpy(l3 + sizeof(ip), &rst, sizeof(rst));
	}
	bpf_xdp_adjust_tail(ctx, (int)(l3_offset + header + sizeof(rst)) - (int)((long)data_end - (long)data));

	iface = bpf_map_lookup_elem(&interfaces, &ifindex);
	if (iface && iface->flags & SYNHOLD_IFACE_TX)
		return XDP_TX;
	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(*meta)))
		return XDP_DROP;
	data = (void *)(long)ctx->data;
	meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 1) > data)
		return XDP_DROP;
	*meta = SYNHOLD_REJECT_MAGIC;
	return XDP_PASS;
}

#endif
