/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients that go before they were served. */
#ifndef SYNHOLD_BPF_LEFT_H
#define SYNHOLD_BPF_LEFT_H

#include "parse.h"
#include "slots.h"

/* How far behind its SYN a client's segment may be for us to believe it: nobody sends more unanswered in a slot's life,
 * and who cannot see the connection has to guess 4,096 times. */
#define LEFT_SPAN_BYTES (1U << 20)

/*
 * The client was heard after its SYN: the handshake is completed, or ended by whom it was meant for. Where the number
 * of the server's SYN-ACK is known, it must have been acknowledged: whoever sends a false SYN could send a false ACK
 * after it, but has not seen that number. A RST frees the slot, whoever sent it.
 */
static __always_inline void client_heard(struct synhold_mark *mark, struct synhold_counters *count, __u32 flags,
					 __u32 ack)
{
	if (mark->flags & SYNHOLD_MARK_HEARD)
		return;
	if (!(flags & PARSE_RST) && mark->flags & SYNHOLD_MARK_SEQ_KNOWN && ack - mark->server_seq > LEFT_SPAN_BYTES)
		return;
	mark->flags |= SYNHOLD_MARK_HEARD; /* one flow, one CPU */
	count->heard++;
}

/* A FIN before the answer: the handshake is over, the request is not. Returns 1 when a place in the window became free.
 */
static __always_inline int client_closed(struct synhold_mark *mark, struct synhold_gate *gate, __u32 service,
					 struct synhold_counters *count, __u64 now)
{
	struct synhold_gate *beside = bpf_map_lookup_elem(&owed, &service);
	__u32 expired = 0;

	if (!beside || (COMPAT_CAS(&mark->left, SYNHOLD_LEFT_NOT, SYNHOLD_LEFT_EXPIRED) != SYNHOLD_LEFT_NOT &&
			!slots_unask(mark, SYNHOLD_LEFT_EXPIRED)))
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
 * A client that leaves before it was served. A RST, as it answers a SYN-ACK that comes too late, gives the slot back at
 * once, or the place in the queue. A FIN says that the handshake was completed: the server has the request and will
 * work on it, so its place in the window is owed until it has. Otherwise, on short paths, clients about to give up
 * would hand a slot from one to the next and fill the server with requests of the dead. Neither is believed with a
 * sequence number that does not follow the SYN's (RFC 9293, 3.5.2: a RST that answers a SYN-ACK carries the number that
 * the SYN-ACK acknowledges): it is of an older connection of the tuple, or of somebody else. An ACK, looked at only
 * while the daemon wants to know, says that the handshake was completed.
 */
COMPAT_GLOBAL int client_sent(struct slots_syn *segment, __u32 flags, __u32 ack)
{
	struct synhold_runtime *run;
	struct synhold_gate *gate, *beside;
	struct synhold_mark *mark;
	struct synhold_counters *count;
	__u32 service, epoch, left;
	struct synhold_tuple *tuple;
	__u64 now;

	if (!segment)
		return 0;
	tuple = &segment->tuple;
	mark = slots_mark(tuple, 0);
	if (!mark || segment->isn - mark->isn > LEFT_SPAN_BYTES)
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
	if (mark->state == SYNHOLD_MARK_INFLIGHT)
		client_heard(mark, count, flags, ack);
	if (!(flags & (PARSE_RST | PARSE_FIN)))
		return 0;
	now = bpf_ktime_get_ns();
	if (mark->state == SYNHOLD_MARK_HELD) {
		if (!slots_unmark(tuple))
			slots_wake_reset(tuple, service, now);
		return 0;
	}
	if (!(flags & PARSE_RST)) {
		if (client_closed(mark, gate, service, count, now))
			slots_wake(run, service, now);
		return 0;
	}
	slots_unask(mark, SYNHOLD_LEFT_NOT);
	if (left == SYNHOLD_LEFT_OWED) {
		if (slots_end(tuple, beside, epoch) == 1)
			slots_wake(run, service, now);
	} else if (slots_end(tuple, gate, epoch) == 1) {
		count->outcome[SYNHOLD_OUTCOME_ABANDONED]++;
		slots_wake(run, service, now);
	}
	return 0;
}

#endif
