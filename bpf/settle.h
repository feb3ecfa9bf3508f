/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the server sends: its first bytes, or its end, settle the handshake. */
#ifndef SYNHOLD_BPF_SETTLE_H
#define SYNHOLD_BPF_SETTLE_H

#include "locate.h"
#include "parse.h"
#include "slots.h"

/* Bucket of a delay in the histograms of abi.h. */
static __always_inline __u32 delay_bucket(__u64 ns)
{
	__u32 shift = SYNHOLD_HIST_MIN_SHIFT, i;

	if (ns < 1ULL << SYNHOLD_HIST_MIN_SHIFT)
		return 0;
	if (ns >= 1ULL << (SYNHOLD_HIST_MIN_SHIFT + SYNHOLD_HIST_OCTAVES))
		return SYNHOLD_HIST_BUCKETS - 1;
	COMPAT_UNROLL
	for (i = 16; i; i >>= 1)
		if (shift + i < 64 && ns >> (shift + i))
			shift += i;
	return 1 + (shift - SYNHOLD_HIST_MIN_SHIFT) * 4 + ((ns >> (shift - 2)) & 3);
}

/* Whether some service settles by more than the first byte: then small segments have to be followed for longer. */
static __always_inline int settle_counts_bytes(void)
{
	struct synhold_global_policy *all;
	struct synhold_control *ctl;
	__u32 zero = 0, bank;
	__u64 now = 0;

	ctl = bpf_map_lookup_elem(&control, &zero);
	if (!ctl)
		return 0;
	bank = bank_of(ctl, &now);
	all = bpf_map_lookup_elem(&globals, &bank);
	return all && all->settle_bytes_most > 1;
}

/* payload: it sent data, and not only an end. */
static __always_inline void settle(const struct synhold_tuple *tuple, struct synhold_mark *mark, __u32 srtt_us,
				   __u32 payload)
{
	__u32 service = mark->service, epoch = mark->epoch, left = mark->left, bucket;
	__u32 heard = mark->flags & SYNHOLD_MARK_HEARD;
	__u64 since = mark->since_ns, now, delay, rtt = srtt_us * 1000ULL;
	struct synhold_gate *gate = left == SYNHOLD_LEFT_OWED ? bpf_map_lookup_elem(&owed, &service) :
								bpf_map_lookup_elem(&gates, &service);
	struct synhold_runtime *run = bpf_map_lookup_elem(&runtime, &service);
	struct synhold_counters *count = slots_counters(service);
	struct synhold_delays *hist = bpf_map_lookup_elem(&delays, &service);
	int ended, waited;

	if (!gate || !run || !count || !hist)
		return;
	waited = slots_unask(mark, SYNHOLD_LEFT_NOT);
	ended = slots_end(tuple, gate, epoch);
	if (ended < 0)
		return;
	if (!heard)
		count->heard++;
	if (ended && payload) { /* here, where the verifier has few states to follow */
		if (waited)
			count->asked_settled++;
		else if (!left)
			count->greeted++;
	}
	now = bpf_ktime_get_ns();
	/* an end that answers the client's own, however late, says nothing of how quick the server is */
	if (left && left != SYNHOLD_LEFT_ASKED && !payload) {
		if (ended)
			slots_wake(run, service, now);
		return;
	}
	delay = now > since ? now - since : 0;
	bucket = delay_bucket(delay);
	if (bucket < SYNHOLD_HIST_BUCKETS)
		hist->first_byte[bucket]++;
	count->first_byte_sum_ns += delay;
	if (rtt) {
		delay = delay > rtt ? delay - rtt : 0;
		bucket = delay_bucket(delay);
		if (bucket < SYNHOLD_HIST_BUCKETS)
			hist->server[bucket]++;
		count->rtt_sum_ns += rtt;
		count->rtt_count++;
		count->delay_sum_ns += delay;
	}
	if (!ended) {
		count->late++;
		return;
	}
	if (left == SYNHOLD_LEFT_OWED)
		count->answered++;
	else
		count->outcome[SYNHOLD_OUTCOME_SETTLED]++;
	slots_wake(run, service, now);
}

/* A segment of a server, apart from its frame: see struct verdict_request. */
struct sent_segment {
	struct synhold_tuple tuple;
	__u32 seq;     /* host order */
	__u32 payload; /* bytes */
	__u32 srtt_us; /* 0 = unknown */
	__u32 flags;   /* PARSE_FIN ... */
	__u32 asked;   /* the client has sent data and none has been sent to it before, as far as a socket here tells */
};
COMPAT_DEFINE_ROOM(segment_room, struct sent_segment);

/* What the frame itself says; nothing of a socket. */
static __always_inline void sent_read(const struct parse_packet *pkt, struct sent_segment *seg)
{
	parse_tuple(pkt, 1, &seg->tuple);
	seg->seq = bpf_ntohl(pkt->tcp->seq);
	seg->payload =
		pkt->ip_payload - pkt->tcp->doff * 4; /* not to the end of the frame: bridged ones carry padding */
	seg->srtt_us = 0;
	seg->flags = pkt->flags;
	seg->asked = 0;
}

COMPAT_GLOBAL int server_sent(struct sent_segment *seg)
{
	struct synhold_control *ctl;
	struct synhold_policy *pol;
	struct synhold_gate *gate;
	struct synhold_mark *mark;
	__u32 zero = 0, bank, service, index, closes;
	__u64 now = 0;

	ctl = bpf_map_lookup_elem(&control, &zero);
	if (!ctl || !seg)
		return 0;
	bank = bank_of(ctl, &now);
	service = service_of(bank, seg->tuple.daddr, seg->tuple.dport);
	if (service >= SYNHOLD_SERVICES)
		return 0;
	gate = bpf_map_lookup_elem(&gates, &service);
	if (!gate)
		return 0;
	if (!gate->egress_seen)
		gate->egress_seen = 1;
	closes = seg->flags & (PARSE_FIN | PARSE_RST);
	if (!seg->payload && !closes && !seg->asked && !(seg->flags & PARSE_SYN && acks_watched()))
		return 0;
	mark = slots_mark(&seg->tuple, 0);
	if (!mark || mark->state != SYNHOLD_MARK_INFLIGHT)
		return 0;
	if (seg->flags & PARSE_SYN) { /* what a client that is there will acknowledge */
		seg->seq++;
		mark->server_seq = seg->seq;
		mark->flags |= SYNHOLD_MARK_SEQ_KNOWN;
		if (!seg->payload && !closes)
			return 0;
	}
	if (seg->asked)
		slots_ask(mark);
	if (!seg->payload && !closes)
		return 0;
	index = bank * SYNHOLD_SERVICES + service;
	pol = bpf_map_lookup_elem(&policy, &index);
	if (!closes && pol && pol->settle_bytes > 1) {
		if (!(mark->flags & SYNHOLD_MARK_SEQ_KNOWN)) {
			mark->server_seq = seg->seq;
			mark->flags |= SYNHOLD_MARK_SEQ_KNOWN;
		}
		if (seg->seq + seg->payload - mark->server_seq < pol->settle_bytes)
			return 0;
	}
	settle(&seg->tuple, mark, seg->srtt_us, seg->payload);
	return 0;
}

#endif
