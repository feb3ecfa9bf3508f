/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a frame to its TCP header: Ethernet, up to two VLAN tags (802.1Q, 802.1ad), IPv4 with options, IPv6 with up to
 * six extension headers. Pure: compiled into the BPF programs and natively, for tests and fuzzers.
 *
 * What cannot be parsed is never an obstacle: the caller lets it pass and counts it under the reason given here.
 */
#ifndef SYNHOLD_BPF_PARSE_H
#define SYNHOLD_BPF_PARSE_H

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>

#include <synhold/abi.h>

#include "compat.h"

#define PARSE_TCP 0
#define PARSE_OTHER (-1)
/* Malformed: -2 - enum synhold_unparsed. */
#define PARSE_BAD(reason) (-2 - SYNHOLD_UNPARSED_##reason)
#define PARSE_BAD_REASON(result) ((__u32)(-2 - (result)))

#define PARSE_VLAN_MAX 2
#define PARSE_EXTENSIONS_MAX 6

#define PARSE_FIN 0x01
#define PARSE_SYN 0x02
#define PARSE_RST 0x04
#define PARSE_ACK 0x10

struct parse_packet {
	void *l3;
	struct tcphdr *tcp;
	__u32 ip_payload; /* bytes from the TCP header on, as the IP header tells */
	__u32 l3_offset;  /* from the start of the frame: 14, 18 or 22 */
	__u8 flags;       /* PARSE_FIN ... */
	__u8 ipv6;
	__u8 fragment; /* the first one of several */
};

struct parse_vlan {
	__be16 tci;
	__be16 proto;
};

struct parse_extension {
	__u8 next;
	__u8 len;
	__be16 fragment_offset; /* fragment header only; low three bits: reserved and M */
};

static __always_inline int parse_tcp(void *l4, void *data_end, struct parse_packet *pkt)
{
	struct tcphdr *tcp = l4;

	if ((void *)(tcp + 1) > data_end)
		return PARSE_BAD(TCP_HEADER);
	if (tcp->doff < 5 || pkt->ip_payload < tcp->doff * 4U)
		return PARSE_BAD(TCP_HEADER);
	pkt->tcp = tcp;
	pkt->flags = ((__u8 *)tcp)[13];
	return PARSE_TCP;
}

static __always_inline int parse_ipv4(void *l3, void *data_end, struct parse_packet *pkt)
{
	struct iphdr *ip = l3;
	__u32 header, total;
	__u16 fragment;

	if ((void *)(ip + 1) > data_end)
		return PARSE_BAD(IP_HEADER);
	if (ip->protocol != IPPROTO_TCP)
		return PARSE_OTHER;
	header = ip->ihl * 4U;
	total = bpf_ntohs(ip->tot_len);
	if (ip->version != 4 || header < sizeof(*ip) || total < header)
		return PARSE_BAD(IP_HEADER);
	fragment = bpf_ntohs(ip->frag_off);
	if (fragment & 0x1fff)
		return PARSE_OTHER;
	pkt->fragment = !!(fragment & 0x2000);
	pkt->l3 = l3;
	pkt->ipv6 = 0;
	pkt->ip_payload = total - header;
	return parse_tcp(l3 + header, data_end, pkt);
}

/* 1 when the two header numbers are the same, else 0: without a branch, as six headers of three kinds would be 3^6 ways
 * to the verifier. */
static __always_inline __u64 parse_same(__u64 one, __u64 other)
{
	__u64 same = ((one ^ other) - 1) >> 63;

	COMPAT_OPAQUE(same);
	return same;
}

static __always_inline int parse_ipv6(void *l3, void *data_end, struct parse_packet *pkt)
{
	struct ipv6hdr *ip = l3;
	void *cursor = ip + 1;
	__u32 left, i;
	__u8 next;

	if (cursor > data_end)
		return PARSE_BAD(IP_HEADER);
	if (ip->version != 6)
		return PARSE_BAD(IP_HEADER);
	pkt->l3 = l3;
	pkt->ipv6 = 1;
	pkt->fragment = 0;
	next = ip->nexthdr;
	left = bpf_ntohs(ip->payload_len);
	COMPAT_UNROLL
	for (i = 0; i <= PARSE_EXTENSIONS_MAX; i++) {
		struct parse_extension *ext = cursor;
		__u64 is_fragment = parse_same(next, IPPROTO_FRAGMENT), is_auth = parse_same(next, IPPROTO_AH), size;
		__u64 field;

		if (next == IPPROTO_TCP) {
			pkt->ip_payload = left;
			return parse_tcp(cursor, data_end, pkt);
		}
		if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS &&
		    next != IPPROTO_FRAGMENT && next != IPPROTO_AH)
			return PARSE_OTHER;
		if (i == PARSE_EXTENSIONS_MAX || (void *)(ext + 1) > data_end)
			return PARSE_BAD(EXTENSION);
		/* fragment: RFC 8200, 4.5; offset 0 without M is an atomic one, RFC 6946 */
		field = bpf_ntohs(ext->fragment_offset) * is_fragment;
		if (field & 0xfff8)
			return PARSE_OTHER;
		pkt->fragment |= field & 1;
		/* 8-byte units not counting the first (RFC 8200, 4.2); AH: 4-byte ones not counting two (RFC 4302, 2.2)
		 */
		size = (ext->len * (1 - is_fragment) + 1 + is_auth) * (8 - 4 * is_auth);
		if (size > left)
			return PARSE_BAD(EXTENSION);
		next = ext->next;
		left -= (__u32)size;
		cursor += size & 0xfff; /* for verifiers before 5.11, which forget bounds of what lay on the stack */
	}
	return PARSE_BAD(EXTENSION);
}

/*
 * Finds the TCP header of the frame [data, data_end). Returns PARSE_TCP with *pkt filled, PARSE_OTHER for what is none
 * of our business (not TCP, or a later fragment), or PARSE_BAD(reason). Pointers in *pkt are good for the fixed part of
 * their headers.
 */
static __always_inline int parse_frame(void *data, void *data_end, struct parse_packet *pkt)
{
	struct ethhdr *eth = data;
	void *l3 = eth + 1;
	__be16 proto;
	int i;

	if (l3 > data_end)
		return PARSE_BAD(SHORT_FRAME);
	proto = eth->h_proto;
	pkt->l3_offset = sizeof(*eth);
	COMPAT_UNROLL
	for (i = 0; i < PARSE_VLAN_MAX; i++) {
		struct parse_vlan *vlan = l3;

		if (proto != bpf_htons(ETH_P_8021Q) && proto != bpf_htons(ETH_P_8021AD))
			break;
		l3 = vlan + 1;
		if (l3 > data_end)
			return PARSE_BAD(SHORT_FRAME);
		proto = vlan->proto;
		pkt->l3_offset += sizeof(*vlan);
	}
	if (proto == bpf_htons(ETH_P_IP))
		return parse_ipv4(l3, data_end, pkt);
	if (proto == bpf_htons(ETH_P_IPV6))
		return parse_ipv6(l3, data_end, pkt);
	if (proto == bpf_htons(ETH_P_8021Q) || proto == bpf_htons(ETH_P_8021AD))
		return PARSE_BAD(VLAN_DEPTH);
	return PARSE_OTHER;
}

/* An IPv4 address as a mapped IPv6 one; `to` is in network order. */
static __always_inline void parse_map_ipv4(__u8 *to, __be32 addr)
{
	__u32 words[4] = {0, 0, bpf_htonl(0xffff), addr};

	__builtin_memcpy(to, words, sizeof(words));
}

/*
 * The connection of a parsed frame, seen from the client: from_server says that the frame goes the other way.
 * The tuple has no padding, so it is fully written.
 */
static __always_inline void parse_tuple(const struct parse_packet *pkt, int from_server, struct synhold_tuple *tuple)
{
	__u8 *source = from_server ? tuple->daddr : tuple->saddr;
	__u8 *destination = from_server ? tuple->saddr : tuple->daddr;

	if (pkt->ipv6) {
		const struct ipv6hdr *ip = pkt->l3;

		__builtin_memcpy(source, &ip->saddr, 16);
		__builtin_memcpy(destination, &ip->daddr, 16);
	} else {
		const struct iphdr *ip = pkt->l3;

		parse_map_ipv4(source, ip->saddr);
		parse_map_ipv4(destination, ip->daddr);
	}
	tuple->sport = from_server ? pkt->tcp->dest : pkt->tcp->source;
	tuple->dport = from_server ? pkt->tcp->source : pkt->tcp->dest;
}

#endif
