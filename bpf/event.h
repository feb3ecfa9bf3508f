/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verdicts for whoever watches: one record each, at a limited rate, and only while somebody reads. */
#ifndef SYNHOLD_BPF_EVENT_H
#define SYNHOLD_BPF_EVENT_H

#include "maps.h"
#include "rate.h"
#include "verdict.h"

/* Whether the reader wants to know of this one. */
static __always_inline int event_wanted(const struct synhold_tap *wants, const struct verdict_request *rq)
{
	__u64 source[2];

	if (wants->until_ns <= rq->now || !(wants->verdicts >> (rq->verdict & 31) & 1))
		return 0;
	if (wants->service && wants->service != rq->service + 1)
		return 0;
	__builtin_memcpy(source, rq->tuple.saddr, 16);
	return (source[0] & wants->mask[0]) == wants->addr[0] && (source[1] & wants->mask[1]) == wants->addr[1];
}

/* Whether there is a reader at all: all that a SYN is asked otherwise. */
static __always_inline int event_read(__u64 now)
{
	__u32 zero = 0;
	struct synhold_tap *wants = bpf_map_lookup_elem(&tap, &zero);

	return wants && *(volatile __u64 *)&wants->until_ns > now;
}

/* Tells of a judged SYN. Global: verified once. */
COMPAT_GLOBAL int event_judged(struct xdp_md *ctx, struct verdict_request *rq)
{
	struct synhold_tap_state *state;
	struct synhold_event *event;
	struct synhold_tap *wants;
	__u64 debt;
	__u32 zero = 0;

	wants = bpf_map_lookup_elem(&tap, &zero);
	if (!rq || !wants || !event_wanted(wants, rq))
		return 0;
	state = bpf_map_lookup_elem(&tap_state, &zero);
	if (!state)
		return 0;
	debt = rate_debt(state->tat_ns, rq->now);
	event = rate_conforms(debt, wants->interval_ns, wants->limit_ns) ?
			bpf_ringbuf_reserve(&events, sizeof(*event), 0) :
			NULL;
	if (!event) {
		state->suppressed++;
		return 0;
	}
	state->tat_ns = rq->now + debt + wants->interval_ns;
	event->when_ns = rq->now;
	event->tuple = rq->tuple;
	event->ifindex = ctx->ingress_ifindex;
	event->service = (__u16)rq->service;
	event->verdict = rq->verdict;
	event->reason = rq->reason;
	event->tcp_flags = rq->tcp_flags;
	event->pad[0] = event->pad[1] = event->pad[2] = 0;
	bpf_ringbuf_submit(event, 0);
	return 0;
}

#endif
