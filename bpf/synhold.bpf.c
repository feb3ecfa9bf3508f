// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The programs. synhold_shield judges what comes in, synhold_egress sees what the server answers, synhold_reject sends
 * refusals back where XDP_TX cannot, synhold_release lets a held SYN in, synhold_sweep forgets what is over. The way of
 * a packet is docs/design.md.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include "event.h"
#include "judge.h"
#include "left.h"
#include "locate.h"
#include "maps.h"
#include "offered.h"
#include "parse.h"
#include "settle.h"
#include "slots.h"
#include "verdict.h"

#define FIRST_FLIGHT_SEGMENTS 64
#define EGRESS_HEADERS 256 /* bytes; two tags and all options of IPv4 and TCP are 142 */
#define SWEEP_MARKS 512    /* forgotten by one run of synhold_sweep */

/* A test run repeats one frame: benchmarks compile this file with a definition that makes its sources many. */
#ifndef BENCH_VARY_SOURCE
#define BENCH_VARY_SOURCE(addr)
#endif

SEC("xdp")
int synhold_shield(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	struct verdict_request *rq;
	struct parse_packet pkt;
	int result;

	result = parse_frame(data, data_end, &pkt);
	if (result == PARSE_OTHER)
		return XDP_PASS;
	if (result != PARSE_TCP) {
		__u32 reason = PARSE_BAD_REASON(result);
		__u64 *count = bpf_map_lookup_elem(&unparsed, &reason);

		if (count)
			++*count;
		return XDP_PASS;
	}
	if ((pkt.flags & (PARSE_SYN | PARSE_ACK)) == (PARSE_SYN | PARSE_ACK))
		return XDP_PASS;
	if (!(pkt.flags & (PARSE_SYN | PARSE_RST | PARSE_FIN)) && !acks_watched())
		return XDP_PASS;
	if (pkt.flags & PARSE_SYN && !port_has_word(bpf_ntohs(pkt.tcp->dest)))
		return XDP_PASS;
	rq = COMPAT_ROOM(request_room);
	if (!rq)
		return XDP_PASS;
	__builtin_memset(rq, 0, sizeof(*rq));
	parse_tuple(&pkt, 0, &rq->tuple);
	rq->seq = bpf_ntohl(pkt.tcp->seq);
	if (!(pkt.flags & PARSE_SYN)) { /* the mark itself says whether the port is ours */
		client_sent(&rq->syn, pkt.flags, bpf_ntohl(pkt.tcp->ack_seq));
		return XDP_PASS;
	}
	BENCH_VARY_SOURCE(rq->tuple.saddr);
	rq->segment = pkt.ip_payload;
	rq->check = pkt.tcp->check;
	rq->tcp_header = pkt.tcp->doff * 4;
	rq->tcp_flags = pkt.flags;
	rq->l3_offset = (__u8)pkt.l3_offset;
	rq->l4_offset = (__u8)((long)pkt.tcp - (long)data);
	rq->ipv6 = pkt.ipv6;
	rq->fragment = pkt.fragment;
	result = judge_syn(ctx, rq);
	if (rq->fresh)
		offered_count(rq);
	if (event_read(rq->now))
		event_judged(ctx, rq);
	return result;
}

/*
 * Whether there is more of the headers than can be read: raw frames of user-space stacks (packet sockets with a
 * transmit ring) lie in pages but for their first bytes. What a local socket sends and what GRO has put together do
 * not.
 */
static __always_inline int egress_scattered(const struct __sk_buff *skb, int result)
{
	return result < PARSE_OTHER && (__u64)skb->data_end - skb->data < skb->len;
}

/* Such a one, once its headers are in one place (bpf_skb_pull_data, 4.9). Apart, as it costs a copy of the header where
 * others hold the packet, too. */
COMPAT_GLOBAL int egress_gathered(struct __sk_buff *skb)
{
	struct sent_segment *seg = COMPAT_ROOM(segment_room);
	void *data, *data_end;
	struct parse_packet pkt;
	__u32 length = skb->len;

	if (!seg || bpf_skb_pull_data(skb, length < EGRESS_HEADERS ? length : EGRESS_HEADERS))
		return 0;
	data = (void *)(long)skb->data;
	data_end = (void *)(long)skb->data_end;
	if (parse_frame(data, data_end, &pkt) != PARSE_TCP)
		return 0;
	sent_read(&pkt, seg);
	return server_sent(seg);
}

SEC("tc")
int synhold_egress(struct __sk_buff *skb)
{
	void *data, *data_end;
	struct bpf_tcp_sock *tcp = NULL;
	struct parse_packet pkt;
	struct sent_segment *seg;
	struct bpf_sock *sk = skb->sk;
	int result;

	if (sk) {
		tcp = bpf_tcp_sock(sk); /* NULL for what is no TCP socket, or none that is full */
		/* past the first flight, and past all bytes that settle-bytes may want to see */
		if (tcp && tcp->data_segs_out > skb->gso_segs + FIRST_FLIGHT_SEGMENTS &&
		    (tcp->bytes_acked > SYNHOLD_SETTLE_BYTES_MAX || !settle_counts_bytes()))
			return TC_ACT_UNSPEC;
	}
	data = (void *)(long)skb->data;
	data_end = (void *)(long)skb->data_end;
	result = parse_frame(data, data_end, &pkt);
	if (result != PARSE_TCP) {
		if (egress_scattered(skb, result))
			egress_gathered(skb);
		return TC_ACT_UNSPEC;
	}
	seg = COMPAT_ROOM(segment_room);
	if (!seg)
		return TC_ACT_UNSPEC;
	sent_read(&pkt, seg);
	seg->srtt_us = tcp ? tcp->srtt_us >> 3 : 0;
	/*
	 * The kernel acknowledges a client's first data at once, or when its delayed ACK is due, after 40 to 200 ms:
	 * long before a server that is busy answers. The ACKs of a long upload tell nothing new.
	 */
	seg->asked = tcp && tcp->data_segs_in &&
		     (seg->payload ? tcp->data_segs_out <= (skb->gso_segs ? skb->gso_segs : 1) :
				     !tcp->data_segs_out && tcp->data_segs_in <= FIRST_FLIGHT_SEGMENTS);
	server_sent(seg);
	return TC_ACT_UNSPEC;
}

/* Sends back what synhold_shield has turned into a RST, on interfaces where XDP_TX would not arrive. */
SEC("tc")
int synhold_reject(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	__u32 *meta = (void *)(long)skb->data_meta;

	if ((void *)(meta + 1) > data || *meta != SYNHOLD_REJECT_MAGIC)
		return TC_ACT_UNSPEC;
	return (int)bpf_redirect(skb->ifindex, 0);
}

/*
 * Runs on a held frame on its way back in, by BPF_PROG_TEST_RUN with live frames: judges it again, marks it in flight
 * and charges it in one step. The request and the answer are in release_io.
 */
SEC("xdp")
int synhold_release(struct xdp_md *ctx)
{
	struct synhold_release_io *io;
	struct verdict_request *rq = COMPAT_ROOM(request_room);
	struct synhold_control *ctl;
	struct synhold_policy *pol;
	struct synhold_runtime *run;
	struct synhold_mark *mark;
	__u32 zero = 0, index;

	io = bpf_map_lookup_elem(&release_io, &zero);
	ctl = bpf_map_lookup_elem(&control, &zero);
	if (!io || !ctl || !rq)
		return XDP_DROP;
	__builtin_memset(rq, 0, sizeof(*rq));
	rq->tuple = io->tuple;
	rq->service = io->service;
	mark = bpf_map_lookup_elem(&marks, &rq->tuple);
	if (!mark || mark->state != SYNHOLD_MARK_HELD) {
		io->result = SYNHOLD_RELEASE_LOST;
		return XDP_DROP;
	}
	rq->seq = mark->isn;
	rq->flags = SLOTS_KNOWN | (io->flags & SYNHOLD_RELEASE_GENERIC ? SYNHOLD_MARK_FRESH : 0);
	rq->now = bpf_ktime_get_ns();
	rq->bank = (__u8)bank_of(ctl, &rq->now);
	index = rq->bank * SYNHOLD_SERVICES + rq->service;
	pol = bpf_map_lookup_elem(&policy, &index);
	index = rq->service;
	run = bpf_map_lookup_elem(&runtime, &index);
	if (!pol || !run)
		return XDP_DROP;
	if (!pol->name[0] || pol->mode == SYNHOLD_MODE_MONITOR || bypassed(ctl, rq->now)) {
		slots_start(&rq->syn, rq->service, rq->now, 0, rq->flags);
		io->result = SYNHOLD_RELEASE_DONE;
		return XDP_PASS;
	}
	if (ctl->listed[rq->bank & 1])
		verdict_lists(rq);
	if (rq->list.deny_until_ns > rq->now) {
		io->reason = SYNHOLD_REASON_DENY; /* denied since it was held */
		io->result = SYNHOLD_RELEASE_REFUSED;
		return XDP_DROP;
	}
	rq->source = hash_source(ctl->hash_key[0], ctl->hash_key[1], rq->tuple.saddr, pol->source_prefix4,
				 pol->source_prefix6);
	rq->ipv6 = !!(io->flags & SYNHOLD_RELEASE_IPV6);
	verdict_look(ctx, rq, pol, run);
	io->reason = verdict_limits(rq);
	if (io->reason != SYNHOLD_REASON_NONE) {
		io->retry_ns = rq->retry_ns;
		io->result = SYNHOLD_RELEASE_REFUSED;
		return XDP_DROP;
	}
	io->result = SYNHOLD_RELEASE_DONE;
	return XDP_PASS;
}

/* Run by the daemon and by readers: expires slots of services that no SYN comes to, and forgets old marks. */
SEC("xdp")
int synhold_sweep(struct xdp_md *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 i;

	for (i = 0; i < SYNHOLD_SERVICES; i++)
		slots_retire(i, now);
	for (i = 0; i < SWEEP_MARKS && slots_forget(now); i++)
		;
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
