/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients that go before they were served. */
#ifndef SYNHOLD_BPF_LEFT_H
#define SYNHOLD_BPF_LEFT_H

#include "slots.h"

/* A FIN before the answer: the handshake is over, the request is not. Returns 1 when a place in the window became free.
 */
static __always_inline int client_closed(struct synhold_mark *mark, struct synhold_gate *gate, __u32 service,
					 struct synhold_counters *count, __u64 now)
{
	struct synhold_gate *beside = bpf_map_lookup_elem(&owed, &service);
	__u32 expired = 0;

	if (!beside || COMPAT_CAS(&mark->left, SYNHOLD_LEFT_NOT, SYNHOLD_LEFT_EXPIRED) != SYNHOLD_LEFT_NOT)
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
 * would hand a slot from one to the next and fill the server with requests of the dead.
 */
COMPAT_GLOBAL int client_left(struct synhold_tuple *tuple, __u32 reset)
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

#endif
