/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The judgement of a SYN, in the order of docs/design.md: bypass, deny, allow, in flight, closed, share, source rate,
 * service and global rate, window. Nothing is charged unless every limit allows it: each take that came too early is
 * given back.
 */
#ifndef SYNHOLD_BPF_VERDICT_H
#define SYNHOLD_BPF_VERDICT_H

#include "accept.h"
#include "hash.h"
#include "lists.h"
#include "maps.h"
#include "rate.h"
#include "request.h"
#include "slots.h"
#include "source.h"

#define VERDICT_RATE_SERVICE 0
#define VERDICT_RATE_CEILING 1
#define VERDICT_RATE_GLOBAL 2

static __always_inline __u64 *verdict_tat(__u32 service, __u32 which)
{
	__u32 zero = 0;

	if (which == VERDICT_RATE_GLOBAL) {
		struct synhold_global *shared = bpf_map_lookup_elem(&global, &zero);

		return shared ? &shared->rate_tat_ns : NULL;
	} else {
		struct synhold_gate *gate = bpf_map_lookup_elem(&gates, &service);

		if (!gate)
			return NULL;
		return which == VERDICT_RATE_SERVICE ? &gate->rate_tat_ns : &gate->ceiling_tat_ns;
	}
}

/* Takes from a shared rate: 1, or 0 with retry_ns. Global: verified once. */
COMPAT_GLOBAL int verdict_rate_take(struct verdict_request *rq, __u32 which, __u64 interval, __u64 limit)
{
	__u64 *tat;

	if (!rq || !interval)
		return 1;
	tat = verdict_tat(rq->service, which);
	return tat ? rate_take(tat, rq->now, interval, limit, &rq->retry_ns) : 1;
}

static __always_inline void verdict_lists(struct verdict_request *rq)
{
	rq->list.high = synhold_addr_high(rq->tuple.saddr);
	rq->list.low = synhold_addr_low(rq->tuple.saddr);
	lists_find(&rq->list, rq->bank);
}

/* Whether the source is admitted by its entry of the allow list, within that entry's own rate. After
 * verdict_lists(). */
static __always_inline int verdict_allowed(struct verdict_request *rq)
{
	return rq->list.step && lists_allow(&rq->list, rq->bank, rq->now) &&
	       verdict_source_take(COMPAT_GIVE(rq), SYNHOLD_SERVICES, rq->list.interval, rq->list.limit);
}

static __always_inline int verdict_closed(const struct synhold_policy *pol, __u64 now)
{
	return pol->closed_flip_ns && now >= pol->closed_flip_ns ? !pol->closed : pol->closed;
}

/* Sources with a hash below it are in (of 2^32): a ramp's share is the daemon's to move. */
static __always_inline __u64 verdict_share(const struct synhold_policy *pol, const struct synhold_runtime *run)
{
	return pol->ramp_over_ns && run->share_threshold ? run->share_threshold - 1 : pol->share_threshold;
}

/* The window in force: 0 = none. */
static __always_inline __u32 verdict_window(const struct synhold_policy *pol, const struct synhold_runtime *run,
					    const struct synhold_gate *gate)
{
	__u32 window = 0;

	if (pol->window_mode == SYNHOLD_WINDOW_FIXED)
		window = pol->window;
	else if (pol->window_mode == SYNHOLD_WINDOW_AUTO)
		window = run->window;
	return window && gate_suspended(gate, window) ? 0 : window;
}

/* Whether the queue of that listener is full, where there is a window. */
static __always_inline int verdict_accept_full(const struct verdict_request *rq, void *sk)
{
	__u32 service = rq->service, index = rq->bank * SYNHOLD_SERVICES + service, window;
	struct synhold_policy *pol = bpf_map_lookup_elem(&policy, &index);
	struct synhold_runtime *run = bpf_map_lookup_elem(&runtime, &service);
	struct synhold_gate *gate = bpf_map_lookup_elem(&gates, &service);

	if (!pol || !run || !gate)
		return 0;
	window = verdict_window(pol, run, gate);
	return window && accept_full(sk, window);
}

#define VERDICT_LISTENER_THERE 0 /* or not looked at */
#define VERDICT_LISTENER_NONE 1
#define VERDICT_LISTENER_FULL 2 /* its queue has no room, see accept.h */

/*
 * Who listens where the SYN goes, in the namespace of the interface (bpf_skc_lookup_tcp, 5.2). A socket that is no
 * listener, such as one in TIME_WAIT with the same addresses, counts as one: the stack decides. guard: look at
 * its queue, too. Global: verified once.
 */
COMPAT_GLOBAL int verdict_listener(struct xdp_md *ctx, struct verdict_request *rq, __u32 guard)
{
	int result = VERDICT_LISTENER_THERE;
	struct bpf_sock_tuple tuple = {0};
	struct bpf_sock *sk;
	__u32 size = sizeof(tuple.ipv6);

	if (!rq)
		return 0;
	if (rq->ipv6) {
		__builtin_memcpy(tuple.ipv6.saddr, rq->tuple.saddr, 16);
		__builtin_memcpy(tuple.ipv6.daddr, rq->tuple.daddr, 16);
		tuple.ipv6.sport = rq->tuple.sport;
		tuple.ipv6.dport = rq->tuple.dport;
	} else {
		__builtin_memcpy(&tuple.ipv4.saddr, rq->tuple.saddr + 12, 4);
		__builtin_memcpy(&tuple.ipv4.daddr, rq->tuple.daddr + 12, 4);
		tuple.ipv4.sport = rq->tuple.sport;
		tuple.ipv4.dport = rq->tuple.dport;
		size = sizeof(tuple.ipv4);
	}
	sk = bpf_skc_lookup_tcp(ctx, &tuple, size, BPF_F_CURRENT_NETNS, 0);
	if (!sk)
		return VERDICT_LISTENER_NONE;
	if (accept_supported && guard && verdict_accept_full(rq, sk))
		result = VERDICT_LISTENER_FULL;
	bpf_sk_release(sk);
	return result;
}

/* Whether nothing listens and SYNs wait for somebody to. */
static __always_inline int verdict_down(const struct synhold_policy *pol, const struct synhold_runtime *run,
					const struct verdict_request *rq)
{
	return pol->hold_down_ns && rq->listener == VERDICT_LISTENER_NONE && run->listener_seen &&
	       !(run->down_since_ns && rq->now > run->down_since_ns + pol->hold_down_ns);
}

/* Looks at the listener where something depends on it: with hold-down, or where its queue has been seen filling. */
static __always_inline void verdict_look(struct xdp_md *ctx, struct verdict_request *rq,
					 const struct synhold_policy *pol, const struct synhold_runtime *run)
{
	if (pol->hold_down_ns || run->accept_guard)
		rq->listener = verdict_listener(ctx, rq, run->accept_guard);
}

/*
 * Whether a limit behind the source's own refuses this SYN as things stand: the reason it will have, or
 * SYNHOLD_REASON_NONE. Reads only: under a flood nearly every SYN ends here, and CPUs that charge and give back would
 * take the same few lines from one another. Global: verified once.
 */
COMPAT_HOT int verdict_foreseen(struct verdict_request *rq, __u32 window)
{
	struct synhold_global_policy *all;
	__u32 index, service, reason;
	struct synhold_policy *pol;
	struct synhold_runtime *run;
	struct synhold_gate *gate;
	__u64 *tat;

	if (!rq)
		return SYNHOLD_REASON_NONE;
	service = rq->service;
	index = rq->bank * SYNHOLD_SERVICES + service;
	pol = bpf_map_lookup_elem(&policy, &index);
	run = bpf_map_lookup_elem(&runtime, &service);
	gate = bpf_map_lookup_elem(&gates, &service);
	index = rq->bank;
	all = bpf_map_lookup_elem(&globals, &index);
	tat = verdict_tat(service, VERDICT_RATE_GLOBAL);
	if (!all || !pol || !run || !gate || !tat)
		return SYNHOLD_REASON_NONE;
	if (rate_refuses(&gate->rate_tat_ns, rq->now, pol->rate_interval_ns, pol->rate_limit_ns, &rq->retry_ns) ||
	    rate_refuses(&gate->ceiling_tat_ns, rq->now, run->ceiling_interval_ns, run->ceiling_limit_ns,
			 &rq->retry_ns))
		reason = SYNHOLD_REASON_SERVICE_RATE;
	else if (rate_refuses(tat, rq->now, all->rate_interval_ns, all->rate_limit_ns, &rq->retry_ns))
		reason = SYNHOLD_REASON_GLOBAL_RATE;
	else if (rq->queued || rq->listener == VERDICT_LISTENER_FULL ||
		 (window && *(const volatile __s64 *)&gate->inflight >= (__s64)window))
		reason = SYNHOLD_REASON_WINDOW;
	else
		return SYNHOLD_REASON_NONE;
	if (pol->source_interval && verdict_source_refuses(rq, pol))
		reason = SYNHOLD_REASON_SOURCE_RATE;
	return (int)reason;
}

/*
 * What a SYN that also says FIN or RST is over: the first limit in force, as no client sends such, no kernel answers
 * it, and a slot would only wait for its end. SYNHOLD_REASON_NONE when nothing is limited. Global: verified once.
 */
COMPAT_GLOBAL int verdict_odd(struct verdict_request *rq)
{
	struct synhold_global_policy *all;
	struct synhold_policy *pol;
	struct synhold_runtime *run;
	struct synhold_gate *gate;
	__u32 index, service;

	if (!rq)
		return SYNHOLD_REASON_NONE;
	service = rq->service;
	index = rq->bank * SYNHOLD_SERVICES + service;
	pol = bpf_map_lookup_elem(&policy, &index);
	run = bpf_map_lookup_elem(&runtime, &service);
	gate = bpf_map_lookup_elem(&gates, &service);
	index = rq->bank;
	all = bpf_map_lookup_elem(&globals, &index);
	if (!all || !pol || !run || !gate)
		return SYNHOLD_REASON_NONE;
	if (verdict_closed(pol, rq->now) || verdict_down(pol, run, rq))
		return SYNHOLD_REASON_CLOSED;
	if (verdict_share(pol, run) >> 32 == 0)
		return SYNHOLD_REASON_SHARE;
	if (pol->source_interval)
		return SYNHOLD_REASON_SOURCE_RATE;
	if (pol->rate_interval_ns || run->ceiling_interval_ns)
		return SYNHOLD_REASON_SERVICE_RATE;
	if (all->rate_interval_ns)
		return SYNHOLD_REASON_GLOBAL_RATE;
	return verdict_window(pol, run, gate) ? SYNHOLD_REASON_WINDOW : SYNHOLD_REASON_NONE;
}

/*
 * Steps 5 to 10 of the order. Returns SYNHOLD_REASON_NONE when the SYN conforms, and then everything is charged and its
 * handshake started; otherwise the one reason, and nothing is charged. A global function: the kernel verifies it once,
 * not once for each way here.
 */
COMPAT_GLOBAL int verdict_limits(struct verdict_request *rq)
{
	struct synhold_global_policy *all;
	__u32 window, reason, index, service;
	struct synhold_policy *pol;
	struct synhold_runtime *run;
	struct synhold_gate *gate;
	__u64 *tat;
	int started;

	if (!rq)
		return SYNHOLD_REASON_NONE;
	rq->retry_ns = 0;
	service = rq->service;
	index = rq->bank * SYNHOLD_SERVICES + service;
	pol = bpf_map_lookup_elem(&policy, &index);
	run = bpf_map_lookup_elem(&runtime, &service);
	gate = bpf_map_lookup_elem(&gates, &service);
	index = rq->bank;
	all = bpf_map_lookup_elem(&globals, &index);
	if (!all || !pol || !run || !gate)
		return SYNHOLD_REASON_NONE;
	if (verdict_closed(pol, rq->now) || verdict_down(pol, run, rq))
		return SYNHOLD_REASON_CLOSED;
	if (hash_share(rq->source) >= verdict_share(pol, run))
		return SYNHOLD_REASON_SHARE;
	window = verdict_window(pol, run, gate);
	reason = verdict_foreseen(rq, window);
	if (reason != SYNHOLD_REASON_NONE)
		return (int)reason;
	if (pol->source_interval &&
	    !verdict_source_take(COMPAT_GIVE(rq), service, pol->source_interval, pol->source_limit))
		return SYNHOLD_REASON_SOURCE_RATE;
	reason = SYNHOLD_REASON_SERVICE_RATE;
	if (!verdict_rate_take(rq, VERDICT_RATE_SERVICE, pol->rate_interval_ns, pol->rate_limit_ns))
		goto return_source;
	if (!verdict_rate_take(rq, VERDICT_RATE_CEILING, run->ceiling_interval_ns, run->ceiling_limit_ns))
		goto return_rate;
	reason = SYNHOLD_REASON_GLOBAL_RATE;
	if (!verdict_rate_take(rq, VERDICT_RATE_GLOBAL, all->rate_interval_ns, all->rate_limit_ns))
		goto return_ceiling;
	reason = SYNHOLD_REASON_WINDOW;
	if (rq->queued || rq->listener == VERDICT_LISTENER_FULL)
		goto return_global;
	started = slots_start(&rq->syn, service, rq->now, window, rq->flags);
	if (started < 0)
		goto return_global;
	if (started == 0)
		return SYNHOLD_REASON_NONE;
	reason = SYNHOLD_REASON_NONE; /* another CPU admitted the same SYN: this copy passes uncharged */

return_global:
	tat = verdict_tat(service, VERDICT_RATE_GLOBAL);
	if (tat && all->rate_interval_ns)
		rate_return(tat, all->rate_interval_ns);
return_ceiling:
	if (run->ceiling_interval_ns)
		rate_return(&gate->ceiling_tat_ns, run->ceiling_interval_ns);
return_rate:
	if (pol->rate_interval_ns)
		rate_return(&gate->rate_tat_ns, pol->rate_interval_ns);
return_source:
	if (pol->source_interval) {
		struct synhold_source_set *set;

		index = rate_source_set(hash_for_service(rq->source, service));
		set = bpf_map_lookup_elem(&sources, &index);
		if (set)
			rate_source_return(set, rq->source_slot, rq->source_taken, pol->source_interval);
	}
	return reason;
}

#endif
