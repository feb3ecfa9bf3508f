/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A SYN, from the policy in force to what happens to its frame. The limits themselves are in verdict.h. */
#ifndef SYNHOLD_BPF_JUDGE_H
#define SYNHOLD_BPF_JUDGE_H

#include "locate.h"
#include "offender.h"
#include "proof.h"
#include "reject.h"
#include "verdict.h"

/* This kernel has what holding needs (bpf_xdp_load_bytes, live frames: 5.18). Without it the helper must not even be
 * verified, and action=hold drops. In a section of its own: the makes of the programs differ in their constants. */
const volatile __u32 hold_supported SEC(".rodata.hold") = 1;
/* Linux 5.10 refuses types that tell of a section, here clang's own constants, but of nothing in it. */
const volatile __u32 programs_abi_version = SYNHOLD_ABI_VERSION;

/* Of a held SYN that no hold-time ends: longer than any stack goes on sending copies, each of which renews it. */
#define HOLD_MARK_LIFE_NS 3600000000000ULL

/* Hands the frame to the daemon. 0; 1 when another CPU let a copy of it in meanwhile; -1 when it cannot be held now. */
COMPAT_GLOBAL int hold_frame(struct xdp_md *ctx, struct verdict_request *rq, __u32 reason)
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
	record->first_ms = rq->first_ms;
	failed = bpf_xdp_load_bytes(ctx, 0, record->frame, (__u32)length);
	if (!failed && known && record->retransmit) {
		known->syn_seen_ns = rq->now;
		known->isn = rq->seq;
	} else if (!failed) {
		struct synhold_mark fresh = {
			.since_ns = rq->now,
			.service = (__u16)rq->service,
			.state = SYNHOLD_MARK_HELD,
			.reason = (__u8)reason,
			.syn_seen_ns = rq->now,
			.isn = rq->seq,
		};

		failed = bpf_map_update_elem(&marks, &rq->tuple, &fresh, known ? BPF_ANY : BPF_NOEXIST);
		if (failed == -EEXIST) { /* another CPU has a copy of the same SYN */
			known = bpf_map_lookup_elem(&marks, &rq->tuple);
			if (known && known->state == SYNHOLD_MARK_INFLIGHT) {
				bpf_ringbuf_discard(record, 0);
				return 1;
			}
			record->retransmit = 1;
			failed = known ? 0 : -1;
		}
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
	int action = XDP_DROP, failed;

	if (reason == SYNHOLD_REASON_DENY)
		goto count_it;
	if (reason == SYNHOLD_REASON_WINDOW || reason == SYNHOLD_REASON_SERVICE_RATE ||
	    reason == SYNHOLD_REASON_GLOBAL_RATE)
		count->bites++;
	if (rq->silent)
		goto count_it;
	if (pol->action == SYNHOLD_ACTION_REJECT) {
		action = reject_frame(ctx, rq);
		if (action != XDP_DROP)
			verdict = SYNHOLD_VERDICT_REJECT;
	} else if (pol->action == SYNHOLD_ACTION_HOLD && hold_supported) { /* without, it is drop */
		/* data would be lost, a frame that ends before its header is no use, and what is no clean SYN is not
		 * worth waiting for */
		int plain = (rq->tcp_flags & (PARSE_SYN | PARSE_FIN | PARSE_RST)) == PARSE_SYN && !rq->fragment &&
			    rq->segment == rq->tcp_header &&
			    rq->l4_offset + rq->tcp_header <= ctx->data_end - ctx->data;

		if (!alive)
			reason = SYNHOLD_REASON_FALLBACK;
		else if (plain && (is_held || !run->hold_full)) {
			slots_note(&rq->syn, rq->now,
				   rq->now + (pol->hold_time_ns ? pol->hold_time_ns : HOLD_MARK_LIFE_NS));
			failed = hold_frame(ctx, rq, reason);
			if (failed > 0) {
				count->retransmits++;
				count->verdict[SYNHOLD_VERDICT_ADMIT]++;
				rq->verdict = SYNHOLD_VERDICT_ADMIT;
				rq->reason = SYNHOLD_REASON_NONE;
				return XDP_PASS;
			}
			if (failed)
				reason = SYNHOLD_REASON_HOLD_FULL;
			else
				verdict = SYNHOLD_VERDICT_HOLD;
		} else if (plain) {
			reason = SYNHOLD_REASON_HOLD_FULL;
		}
	}
count_it:
	rq->verdict = (__u8)verdict;
	rq->reason = (__u8)reason;
	count->verdict[verdict]++;
	reason &= 15;
	if (reason < SYNHOLD_REASON_COUNT)
		count->over_limit[reason]++;
	return action;
}

/* Service, bank and time of a SYN; SYNHOLD_SERVICES when the port is not protected. The clock is read only when it is.
 */
static __always_inline void locate(struct verdict_request *rq, const struct synhold_control *ctl)
{
	rq->verdict = SYNHOLD_VERDICT_COUNT;
	rq->now = 0;
	rq->bank = (__u8)bank_of(ctl, &rq->now);
	rq->service = service_of(rq->bank, rq->tuple.daddr, rq->tuple.dport);
	if (rq->service < SYNHOLD_SERVICES && !rq->now)
		rq->now = bpf_ktime_get_ns();
}

/* Remembers who is over his own rate. Global: verified once. */
COMPAT_GLOBAL int judge_offender(struct verdict_request *rq)
{
	struct synhold_offender_set *set;
	__u32 index;
	__u64 source;

	if (!rq)
		return 0;
	source = rq->source;
	index = offender_set(source);
	set = bpf_map_lookup_elem(&offenders, &index);
	if (set)
		offender_refused(set, source, rq->tuple.saddr, rq->service, rq->now, bpf_get_prandom_u32());
	return 0;
}

/*
 * Proof mode: what the memory of first copies says of this one, enum proof_result. A mark left by an earlier copy is as
 * good a memory. Global: verified once.
 */
COMPAT_GLOBAL int judge_proof(struct verdict_request *rq)
{
	struct synhold_proof_set *set;
	struct synhold_control *ctl;
	struct synhold_mark *known;
	__u32 zero = 0, index;
	__u64 hash;

	ctl = rq ? bpf_map_lookup_elem(&control, &zero) : NULL;
	if (!ctl || !rq)
		return PROOF_NO_ROOM;
	known = bpf_map_lookup_elem(&marks, &rq->tuple);
	if (known && known->isn == rq->seq && rq->now > known->since_ns + PROOF_MIN_NS) {
		rq->first_ms = (__u32)((rq->now - known->since_ns) / 1000000);
		return PROOF_SHOWN_BEFORE;
	}
	hash = proof_hash(ctl->hash_key[0], ctl->hash_key[1], &rq->tuple, rq->seq);
	index = proof_set(hash);
	set = bpf_map_lookup_elem(&proofs, &index);
	return set ? proof_take(set, hash, proof_units(rq->now), &rq->first_ms) : PROOF_NO_ROOM;
}

/* A SYN that also says FIN or RST. */
static __always_inline __u32 judge_odd(const struct verdict_request *rq)
{
	__u32 flags = *(volatile const __u8 *)&rq->tcp_flags; /* from memory: there is no register or stack to spare */

	return flags & (PARSE_FIN | PARSE_RST);
}

COMPAT_GLOBAL int judge_syn(struct xdp_md *ctx, struct verdict_request *rq)
{
	__u32 index = 0, reason = SYNHOLD_REASON_NONE, is_held, in_flight;
	int proof = PROOF_NOT_ASKED;
	struct synhold_counters *count;
	struct synhold_control *ctl;
	struct synhold_runtime *run;
	struct synhold_policy *pol;
	struct synhold_gate *gate;
	struct synhold_mark *known;
	int alive = 0;

	ctl = bpf_map_lookup_elem(&control, &index);
	if (!ctl || !rq)
		return XDP_PASS;
	locate(rq, ctl);
	if (rq->service >= SYNHOLD_SERVICES)
		return XDP_PASS;
	index = rq->bank * SYNHOLD_SERVICES + rq->service;
	pol = bpf_map_lookup_elem(&policy, &index);
	run = bpf_map_lookup_elem(&runtime, &rq->service);
	gate = bpf_map_lookup_elem(&gates, &rq->service);
	count = slots_counters(rq->service);
	if (!pol || !run || !gate || !count)
		return XDP_PASS;

	known = slots_mark(&rq->tuple, rq->now);
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
		slots_retire(rq->service, rq->now);
	in_flight = known && known->state == SYNHOLD_MARK_INFLIGHT && gate_slot_live(gate, known->epoch);
	if (ctl->listed[rq->bank & 1])
		verdict_lists(rq);
	if (rq->list.deny_until_ns > rq->now) {
		reason = SYNHOLD_REASON_DENY;
		goto decide;
	}
	rq->source = hash_source(ctl->hash_key[0], ctl->hash_key[1], rq->tuple.saddr, pol->source_prefix4,
				 pol->source_prefix6);
	if (verdict_allowed(rq)) {
		count->allowed++;
		goto admit_aside;
	}
	verdict_look(ctx, rq, pol, run);
	if (judge_odd(rq)) {
		rq->silent = rq->tcp_flags & PARSE_RST; /* nobody answers a RST (RFC 9293, 3.5.2) */
		reason = verdict_odd(rq);
		rq->fresh = !known;
		if (reason == SYNHOLD_REASON_NONE)
			goto admit;
		alive = daemon_alive(rq->now);
		goto decide;
	}
	/* the listener took this handshake down with it: let in, its copy would be refused by the stack */
	if (in_flight && !verdict_down(pol, run, rq)) {
		known->syn_seen_ns = rq->now;
		count->retransmits++;
		goto admit;
	}
	alive = daemon_alive(rq->now);
	if (run->state_flags & SYNHOLD_FLAG_PROOF && !is_held && (alive || pol->fallback == SYNHOLD_FALLBACK_STATIC))
		proof = judge_proof(rq);
	rq->fresh = !known && proof == PROOF_NOT_ASKED;
	count->offered += !known && (proof == PROOF_FIRST || proof == PROOF_NO_ROOM);
	if (!alive && pol->fallback == SYNHOLD_FALLBACK_OPEN)
		goto admit_aside;
	if (is_held && alive && pol->mode == SYNHOLD_MODE_ENFORCE) {
		reason = known->reason; /* it waits for the same thing as before */
		goto decide;
	}
	if (proof != PROOF_NOT_ASKED && proof < PROOF_SHOWN) {
		count->unproved++;
		rq->silent = 1;
		reason = SYNHOLD_REASON_WINDOW;
		goto decide;
	}
	count->proved += proof == PROOF_SHOWN;
	rq->queued = alive && pol->action == SYNHOLD_ACTION_HOLD && run->queued;
	rq->flags = known ? SLOTS_KNOWN : 0;
	reason = verdict_limits(rq);
	if (reason == SYNHOLD_REASON_NONE)
		goto admit;
decide:
	if (reason == SYNHOLD_REASON_SOURCE_RATE && !judge_odd(rq))
		judge_offender(rq);
	if (pol->mode == SYNHOLD_MODE_MONITOR) {
		reason &= 15;
		if (reason < SYNHOLD_REASON_COUNT)
			count->would_limit[reason]++;
		if (!judge_odd(rq) && !in_flight) /* else a copy of a denied one */
			slots_start(&rq->syn, rq->service, rq->now, 0, known ? SLOTS_KNOWN : 0);
		goto admit;
	}
	return excess(ctx, rq, pol, run, count, is_held, reason, alive);
admit_aside: /* without a slot; a copy that waits in the queue must not follow it */
	if (is_held)
		slots_unmark(&rq->tuple);
admit:
	rq->verdict = SYNHOLD_VERDICT_ADMIT;
	rq->reason = (__u8)reason;
	count->verdict[SYNHOLD_VERDICT_ADMIT]++;
	return XDP_PASS;
}

#endif
