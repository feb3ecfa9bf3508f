/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many connections clients ask for, each counted once however often its SYN comes. What is let in or held has a
 * mark. What is in excess may leave without one, and its copies come for more than a minute, so the memory of first
 * copies (proof.h) takes it in as well.
 */
#ifndef SYNHOLD_BPF_OFFERED_H
#define SYNHOLD_BPF_OFFERED_H

#include "proof.h"
#include "slots.h"
#include "verdict.h"

#define OFFERED_STALE_NS 1000000000ULL /* how late excess_ns may be, so that a flood does not write it all the time */
#define OFFERED_MEMORY_NS (((__u64)PROOF_MAX_UNITS << PROOF_UNIT_SHIFT) + OFFERED_STALE_NS)

/*
 * Whether there is time for a look into that memory, which misses every cache: SYNHOLD_OFFERED_LOOKS in a bucket's time
 * for each service, 15,000 a second. More of them are a flood, and each SYN of it counts. Two CPUs that write the word
 * at the same time lose a look, no more.
 */
static __always_inline int offered_time(struct synhold_gate *gate, __u64 now)
{
	__u64 looks = *(volatile __u64 *)&gate->offered_looks, epoch = (__u64)gate_epoch(now) << 32;

	if (looks >> 32 != epoch >> 32)
		looks = epoch;
	if ((__u32)looks >= SYNHOLD_OFFERED_LOOKS)
		return 0;
	*(volatile __u64 *)&gate->offered_looks = looks + 1;
	return 1;
}

/* Counts a judged SYN whose tuple has no mark, unless an earlier copy of it was in excess. Global: verified once. */
COMPAT_GLOBAL int offered_count(struct verdict_request *rq)
{
	struct synhold_counters *count;
	struct synhold_proof_set *set;
	struct synhold_control *ctl;
	struct synhold_gate *gate;
	__u32 zero = 0, index, ago;
	__u64 hash, excess;

	if (!rq)
		return 0;
	gate = bpf_map_lookup_elem(&gates, &rq->service);
	count = slots_counters(rq->service);
	ctl = bpf_map_lookup_elem(&control, &zero);
	if (!gate || !count || !ctl)
		return 0;
	excess = *(volatile __u64 *)&gate->excess_ns;
	if (rq->verdict != SYNHOLD_VERDICT_ADMIT) {
		if (!excess || excess + OFFERED_STALE_NS < rq->now)
			*(volatile __u64 *)&gate->excess_ns = rq->now;
	} else if (!excess || excess + OFFERED_MEMORY_NS < rq->now) {
		count->offered++; /* nothing was in excess: there is no earlier copy */
		return 0;
	}
	if (offered_time(gate, rq->now)) {
		hash = proof_hash(ctl->hash_key[0], ctl->hash_key[1], &rq->tuple, rq->seq);
		index = proof_set(hash);
		set = bpf_map_lookup_elem(&proofs, &index);
		if (set && proof_take(set, hash, proof_units(rq->now), &ago) >= PROOF_EARLY)
			return 0;
	}
	count->offered++;
	return 0;
}

#endif
