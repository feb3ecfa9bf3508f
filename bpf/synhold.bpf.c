// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The programs. synhold_shield judges what comes in, synhold_egress sees what the server answers, synhold_reject sends refusals back
 * where XDP_TX cannot, synhold_release lets a held SYN in, synhold_sweep forgets what is over. The way of a packet is docs/design.md.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include "compat.h"
#include "hash.h"
#include "maps.h"
#include "parse.h"
#include "reject.h"
#include "slots.h"
#include "verdict.h"

#define FIRST_FLIGHT_SEGMENTS 64
#define SWEEP_MARKS 512 /* forgotten by one run of synhold_sweep */

/* A test run repeats one frame: benchmarks compile this file with a definition that makes its sources many. */
#ifndef BENCH_VARY_SOURCE
#define BENCH_VARY_SOURCE(addr)
#endif

/* This kernel has what holding needs (bpf_xdp_load_bytes, live frames: 5.18). Without it the helper must not even be verified. */
const volatile __u32 hold_supported = 1;

static __always_inline __u32 service_of(__u32 bank, const __u8 *local_addr, __be16 local_port)
{
	__u32 index = bank * SYNHOLD_PORTS + bpf_ntohs(local_port);
	__u32 *entry = bpf_map_lookup_elem(&ports, &index);

	if (!entry || !*entry)
		return SYNHOLD_SERVICES;
	if (*entry & SYNHOLD_PORT_ADDRS) {
		struct synhold_addr_key key = {
			.prefixlen = 160, .bank = bpf_htons((__u16)bank), .port = local_port};
		__u32 *service;

		__builtin_memcpy(key.addr, local_addr, 16);
		service = bpf_map_lookup_elem(&addrs, &key);
		if (service)
			return *service;
	}
	return (*entry & SYNHOLD_PORT_SERVICE) ? (*entry & SYNHOLD_PORT_SERVICE) - 1 : SYNHOLD_SERVICES;
}

/* Bank in force. The clock is read only while a change waits to be confirmed; *now is set then, if it was 0. */
static __always_inline __u32 bank_of(const struct synhold_control *ctl, __u64 *now)
{
	__u64 word = *(volatile const __u64 *)&ctl->active;
	__u32 bank = SYNHOLD_ACTIVE_BANK(word);

	if (!SYNHOLD_ACTIVE_PENDING(word))
		return bank;
	if (!*now)
		*now = bpf_ktime_get_ns();
	return *now >= SYNHOLD_ACTIVE_DEADLINE_NS(word) ? !bank : bank;
}

static __always_inline int daemon_alive(__u64 now)
{
	__u32 zero = 0;
	struct synhold_daemon *self = bpf_map_lookup_elem(&daemon, &zero);

	return self && self->heartbeat_ns && now < self->heartbeat_ns + SYNHOLD_HEARTBEAT_STALE_NS;
}

static __always_inline int bypassed(const struct synhold_control *ctl, __u64 now)
{
	__u64 until = *(volatile const __u64 *)&ctl->bypass_until_ns;

	return until && now < until;
}

/* A FIN before the answer: the handshake is over, the request is not. Returns 1 when a place in the window became free. */
static __always_inline int client_closed(struct synhold_mark *mark, struct synhold_gate *gate, __u32 service,
					 struct synhold_counters *count, __u64 now)
{
	struct synhold_gate *beside = bpf_map_lookup_elem(&owed, &service);
	__u32 expired = 0;

	if (!beside || __sync_val_compare_and_swap(&mark->left, SYNHOLD_LEFT_NOT, SYNHOLD_LEFT_EXPIRED) != SYNHOLD_LEFT_NOT)
		return 0; /* a copy of that FIN */
	if (!gate_end(gate, mark->epoch))
		return 0;
	count->outcome[SYNHOLD_OUTCOME_ABANDONED]++;
	if (gate_start(beside, gate_epoch(now), 0, &expired))
		return 1;
	count->left++;
	mark->epoch = gate_epoch(now);
	mark->left = SYNHOLD_LEFT_OWED;
	return 0;
}

/*
 * A client that leaves before it was served. A RST, as it answers a SYN-ACK that comes too late, gives the slot back at once, or the place in the
 * queue. A FIN says that the handshake was completed: the server has the request and will work on it, so its place in the window is owed until it
 * has. Otherwise, on short paths, clients about to give up would hand a slot from one to the next and fill the server with requests of the dead.
 */
__noinline int client_left(struct synhold_tuple *tuple, __u32 reset)
{
	struct synhold_runtime *run;
	struct synhold_gate *gate, *beside;
	struct synhold_mark *mark;
	struct synhold_counters *count;
	__u32 service, epoch, left;
	__u64 now;

	if (!tuple)
		return 0;
	mark = bpf_map_lookup_elem(&marks, tuple);
	if (!mark)
		return 0;
	service = mark->service;
	epoch = mark->epoch;
	left = mark->left;
	gate = bpf_map_lookup_elem(&gates, &service);
	beside = bpf_map_lookup_elem(&owed, &service);
	run = bpf_map_lookup_elem(&runtime, &service);
	count = slots_counters(service);
	if (!gate || !beside || !run || !count)
		return 0;
	now = bpf_ktime_get_ns();
	if (mark->state == SYNHOLD_MARK_HELD) {
		if (!bpf_map_delete_elem(&marks, tuple))
			slots_wake_reset(tuple, service, now);
		return 0;
	}
	if (!reset) {
		if (client_closed(mark, gate, service, count, now))
			slots_wake(run, service, now);
		return 0;
	}
	if (left == SYNHOLD_LEFT_OWED) {
		if (slots_end(tuple, beside, epoch) == 1)
			slots_wake(run, service, now);
	} else if (slots_end(tuple, gate, epoch) == 1) {
		count->outcome[SYNHOLD_OUTCOME_ABANDONED]++;
		slots_wake(run, service, now);
	}
	return 0;
}

/* Hands the frame to the daemon. 0, or -1 when it cannot be held now. */
__noinline int hold_frame(struct xdp_md *ctx, struct verdict_request *rq, __u32 reason)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	__u64 length = (long)data_end - (long)data;
	struct synhold_held *record;
	struct synhold_mark *known;
	long failed;

	if (!hold_supported || !rq)
		return -1;
	COMPAT_OPAQUE(length);
	if (length < 54 || length > SYNHOLD_FRAME_LEN)
		return -1;
	record = bpf_ringbuf_reserve(&held, sizeof(*record), 0);
	if (!record)
		return -1;
	known = bpf_map_lookup_elem(&marks, &rq->tuple);
	record->seen_ns = rq->now;
	record->source = rq->source;
	record->share_hash = hash_share(rq->source);
	record->ifindex = ctx->ingress_ifindex;
	record->tuple = rq->tuple;
	record->service = (__u16)rq->service;
	record->frame_len = (__u16)length;
	record->l3_offset = rq->l3_offset;
	record->l4_offset = rq->l4_offset;
	record->reason = (__u8)reason;
	record->retransmit = known && known->state == SYNHOLD_MARK_HELD;
	record->pad = 0;
	failed = bpf_xdp_load_bytes(ctx, 0, record->frame, (__u32)length);
	if (!failed && known && record->retransmit) {
		known->syn_seen_ns = rq->now;
	} else if (!failed) {
		struct synhold_mark fresh = {
			.since_ns = rq->now,
			.service = (__u16)rq->service,
			.state = SYNHOLD_MARK_HELD,
			.reason = (__u8)reason,
			.syn_seen_ns = rq->now,
		};

		failed = bpf_map_update_elem(&marks, &rq->tuple, &fresh, known ? BPF_ANY : BPF_NOEXIST);
	}
	if (failed) {
		bpf_ringbuf_discard(record, 0);
		return -1;
	}
	bpf_ringbuf_submit(record, 0);
	return 0;
}

/* An excess SYN in enforce mode: the service's action, or what is left of it. */
static __always_inline int excess(struct xdp_md *ctx, struct verdict_request *rq, const struct synhold_policy *pol,
				  const struct synhold_runtime *run, struct synhold_counters *count, __u32 is_held,
				  __u32 reason, int alive)
{
	__u32 verdict = SYNHOLD_VERDICT_DROP;
	int action = XDP_DROP;

	if (reason == SYNHOLD_REASON_DENY)
		goto count_it;
	if (reason == SYNHOLD_REASON_WINDOW || reason == SYNHOLD_REASON_SERVICE_RATE ||
	    reason == SYNHOLD_REASON_GLOBAL_RATE)
		count->bites++;
	if (pol->action == SYNHOLD_ACTION_REJECT) {
		action = reject_frame(ctx, rq);
		if (action != XDP_DROP)
			verdict = SYNHOLD_VERDICT_REJECT;
	} else if (pol->action == SYNHOLD_ACTION_HOLD) {
		/* data would be lost with a cut frame, and what is no clean SYN is not worth waiting for */
		int plain = (rq->tcp_flags & (PARSE_SYN | PARSE_FIN | PARSE_RST)) == PARSE_SYN && !rq->fragment &&
			    rq->segment == rq->tcp_header;

		if (!alive)
			reason = SYNHOLD_REASON_FALLBACK;
		else if (plain && (is_held || !run->hold_full) && !hold_frame(ctx, rq, reason))
			verdict = SYNHOLD_VERDICT_HOLD;
		else if (plain)
			reason = SYNHOLD_REASON_HOLD_FULL;
	}
count_it:
	count->verdict[verdict]++;
	reason &= 15;
	if (reason < SYNHOLD_REASON_COUNT)
		count->over_limit[reason]++;
	return action;
}

/* Service, bank and time of a SYN; SYNHOLD_SERVICES when the port is not protected. The clock is read only when it is. */
static __always_inline void locate(struct verdict_request *rq, const struct synhold_control *ctl)
{
	rq->now = 0;
	rq->bank = bank_of(ctl, &rq->now);
	rq->service = service_of(rq->bank, rq->tuple.daddr, rq->tuple.dport);
	if (rq->service < SYNHOLD_SERVICES && !rq->now)
		rq->now = bpf_ktime_get_ns();
}

__noinline int judge_syn(struct xdp_md *ctx, struct verdict_request *rq)
{
	__u32 index, zero = 0, reason = SYNHOLD_REASON_NONE, is_held, in_flight, service;
	struct synhold_counters *count;
	struct synhold_control *ctl;
	struct synhold_runtime *run;
	struct synhold_policy *pol;
	struct synhold_gate *gate;
	struct synhold_mark *known;
	int alive = 0;

	ctl = bpf_map_lookup_elem(&control, &zero);
	if (!ctl || !rq)
		return XDP_PASS;
	locate(rq, ctl);
	service = rq->service;
	if (service >= SYNHOLD_SERVICES)
		return XDP_PASS;
	index = rq->bank * SYNHOLD_SERVICES + service;
	pol = bpf_map_lookup_elem(&policy, &index);
	run = bpf_map_lookup_elem(&runtime, &service);
	gate = bpf_map_lookup_elem(&gates, &service);
	count = slots_counters(service);
	if (!pol || !run || !gate || !count)
		return XDP_PASS;

	known = bpf_map_lookup_elem(&marks, &rq->tuple);
	if (known && known->flags & SYNHOLD_MARK_FRESH) { /* our own re-injection passing again (generic mode) */
		known->flags &= ~SYNHOLD_MARK_FRESH;
		return XDP_PASS;
	}
	is_held = known && known->state == SYNHOLD_MARK_HELD;
	count->seen++;
	if (bypassed(ctl, rq->now)) {
		count->bypassed++;
		goto admit_aside;
	}
	if (slots_overdue(gate, run, rq->now))
		slots_retire(service, rq->now);
	in_flight = known && known->state == SYNHOLD_MARK_INFLIGHT && gate_slot_live(gate, known->epoch);
	if (ctl->deny_entries && verdict_listed(rq, VERDICT_DENY)) {
		reason = SYNHOLD_REASON_DENY;
		goto decide;
	}
	rq->source = hash_source(ctl->hash_key[0], ctl->hash_key[1], rq->tuple.saddr, pol->source_prefix4,
				 pol->source_prefix6);
	if (ctl->allow_entries && verdict_allowed(rq)) {
		count->allowed++;
		goto admit_aside;
	}
	if (in_flight) {
		known->syn_seen_ns = rq->now;
		count->retransmits++;
		goto admit;
	}
	if (!known)
		count->offered++;
	alive = daemon_alive(rq->now);
	if (!alive && pol->fallback == SYNHOLD_FALLBACK_OPEN)
		goto admit_aside;
	if (is_held && alive && pol->mode == SYNHOLD_MODE_ENFORCE) {
		reason = known->reason; /* it waits for the same thing as before */
		goto decide;
	}
	rq->queued = alive && pol->action == SYNHOLD_ACTION_HOLD && run->queued;
	rq->flags = known ? SLOTS_KNOWN : 0;
	rq->no_listener = pol->hold_down_ns && verdict_no_listener(ctx, rq);
	reason = verdict_limits(rq);
	if (reason == SYNHOLD_REASON_NONE)
		goto admit;
decide:
	if (pol->mode == SYNHOLD_MODE_MONITOR) {
		reason &= 15;
		if (reason < SYNHOLD_REASON_COUNT)
			count->would_limit[reason]++;
		if (!in_flight) /* else a copy of a denied one */
			slots_start(&rq->tuple, service, rq->now, 0, known ? SLOTS_KNOWN : 0);
		goto admit;
	}
	return excess(ctx, rq, pol, run, count, is_held, reason, alive);
admit_aside: /* without a slot; a copy that waits in the queue must not follow it */
	if (is_held)
		bpf_map_delete_elem(&marks, &rq->tuple);
admit:
	count->verdict[SYNHOLD_VERDICT_ADMIT]++;
	return XDP_PASS;
}

SEC("xdp")
int synhold_shield(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	struct verdict_request rq;
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
	if (!(pkt.flags & (PARSE_SYN | PARSE_RST | PARSE_FIN)) ||
	    (pkt.flags & (PARSE_SYN | PARSE_ACK)) == (PARSE_SYN | PARSE_ACK))
		return XDP_PASS;
	if (!(pkt.flags & PARSE_SYN)) { /* RST or FIN: the mark itself says whether the port is ours */
		parse_tuple(&pkt, 0, &rq.tuple);
		client_left(&rq.tuple, pkt.flags & PARSE_RST);
		return XDP_PASS;
	}
	__builtin_memset(&rq, 0, sizeof(rq));
	parse_tuple(&pkt, 0, &rq.tuple);
	BENCH_VARY_SOURCE(rq.tuple.saddr);
	rq.segment = pkt.ip_payload;
	rq.seq = bpf_ntohl(pkt.tcp->seq);
	rq.check = pkt.tcp->check;
	rq.tcp_header = pkt.tcp->doff * 4;
	rq.tcp_flags = pkt.flags;
	rq.l3_offset = (__u8)pkt.l3_offset;
	rq.l4_offset = (__u8)((long)pkt.tcp - (long)data);
	rq.ipv6 = pkt.ipv6;
	rq.fragment = pkt.fragment;
	return judge_syn(ctx, &rq);
}

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

static __always_inline void settle(const struct synhold_tuple *tuple, const struct synhold_mark *mark, __u32 srtt_us)
{
	__u32 service = mark->service, epoch = mark->epoch, left = mark->left, bucket;
	__u64 since = mark->since_ns, now, delay, rtt = srtt_us * 1000ULL;
	struct synhold_gate *gate = left == SYNHOLD_LEFT_OWED ? bpf_map_lookup_elem(&owed, &service) :
								bpf_map_lookup_elem(&gates, &service);
	struct synhold_runtime *run = bpf_map_lookup_elem(&runtime, &service);
	struct synhold_counters *count = slots_counters(service);
	struct synhold_delays *hist = bpf_map_lookup_elem(&delays, &service);
	int ended;

	if (!gate || !run || !count || !hist)
		return;
	ended = slots_end(tuple, gate, epoch);
	if (ended < 0)
		return;
	now = bpf_ktime_get_ns();
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
	__u32 closes;  /* FIN or RST */
};

__noinline int server_sent(struct sent_segment *seg)
{
	struct synhold_control *ctl;
	struct synhold_policy *pol;
	struct synhold_gate *gate;
	struct synhold_mark *mark;
	__u32 zero = 0, bank, service, index;
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
	if (!seg->payload && !seg->closes)
		return 0;
	mark = bpf_map_lookup_elem(&marks, &seg->tuple);
	if (!mark || mark->state != SYNHOLD_MARK_INFLIGHT)
		return 0;
	index = bank * SYNHOLD_SERVICES + service;
	pol = bpf_map_lookup_elem(&policy, &index);
	if (!seg->closes && pol && pol->settle_bytes > 1) {
		if (!(mark->flags & SYNHOLD_MARK_SEQ_KNOWN)) {
			mark->server_seq = seg->seq;
			mark->flags |= SYNHOLD_MARK_SEQ_KNOWN;
		}
		if (seg->seq + seg->payload - mark->server_seq < pol->settle_bytes)
			return 0;
	}
	settle(&seg->tuple, mark, seg->srtt_us);
	return 0;
}

SEC("tc")
int synhold_egress(struct __sk_buff *skb)
{
	void *data, *data_end;
	struct bpf_tcp_sock *tcp = NULL;
	struct parse_packet pkt;
	struct sent_segment seg;
	struct bpf_sock *sk = skb->sk;
	__u32 header;

	if (sk) {
		sk = bpf_sk_fullsock(sk);
		if (sk && sk->protocol == IPPROTO_TCP)
			tcp = bpf_tcp_sock(sk);
		if (tcp && tcp->data_segs_out > skb->gso_segs + FIRST_FLIGHT_SEGMENTS)
			return TC_ACT_UNSPEC;
	}
	data = (void *)(long)skb->data;
	data_end = (void *)(long)skb->data_end;
	if (parse_frame(data, data_end, &pkt) != PARSE_TCP)
		return TC_ACT_UNSPEC;
	parse_tuple(&pkt, 1, &seg.tuple);
	header = pkt.tcp->doff * 4;
	seg.seq = bpf_ntohl(pkt.tcp->seq);
	seg.payload = pkt.ip_payload - header; /* not to the end of the frame: bridged ones carry padding */
	seg.srtt_us = tcp ? tcp->srtt_us >> 3 : 0;
	seg.closes = pkt.flags & (PARSE_FIN | PARSE_RST);
	server_sent(&seg);
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
 * Runs on a held frame on its way back in, by BPF_PROG_TEST_RUN with live frames: judges it again, marks it in flight and charges it in one
 * step. The request and the answer are in release_io.
 */
SEC("xdp")
int synhold_release(struct xdp_md *ctx)
{
	struct synhold_release_io *io;
	struct verdict_request rq = {0};
	struct synhold_control *ctl;
	struct synhold_policy *pol;
	struct synhold_mark *mark;
	__u32 zero = 0, index;

	io = bpf_map_lookup_elem(&release_io, &zero);
	ctl = bpf_map_lookup_elem(&control, &zero);
	if (!io || !ctl)
		return XDP_DROP;
	rq.tuple = io->tuple;
	rq.service = io->service;
	mark = bpf_map_lookup_elem(&marks, &rq.tuple);
	if (!mark || mark->state != SYNHOLD_MARK_HELD) {
		io->result = SYNHOLD_RELEASE_LOST;
		return XDP_DROP;
	}
	rq.flags = SLOTS_KNOWN | (io->flags & SYNHOLD_RELEASE_GENERIC ? SYNHOLD_MARK_FRESH : 0);
	rq.now = bpf_ktime_get_ns();
	rq.bank = bank_of(ctl, &rq.now);
	index = rq.bank * SYNHOLD_SERVICES + rq.service;
	pol = bpf_map_lookup_elem(&policy, &index);
	if (!pol)
		return XDP_DROP;
	if (!pol->name[0] || pol->mode == SYNHOLD_MODE_MONITOR || bypassed(ctl, rq.now)) {
		slots_start(&rq.tuple, rq.service, rq.now, 0, rq.flags);
		io->result = SYNHOLD_RELEASE_DONE;
		return XDP_PASS;
	}
	rq.source = hash_source(ctl->hash_key[0], ctl->hash_key[1], rq.tuple.saddr, pol->source_prefix4, pol->source_prefix6);
	rq.ipv6 = !!(io->flags & SYNHOLD_RELEASE_IPV6);
	rq.no_listener = pol->hold_down_ns && verdict_no_listener(ctx, &rq);
	io->reason = verdict_limits(&rq);
	if (io->reason != SYNHOLD_REASON_NONE) {
		io->retry_ns = rq.retry_ns;
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
