/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A SYN on its way through the judgement. */
#ifndef SYNHOLD_BPF_REQUEST_H
#define SYNHOLD_BPF_REQUEST_H

#include "lists.h"
#include "slots.h"

/* A SYN apart from its frame: numbers only, so that each function below is verified once whatever the way through the
 * parser was. */
struct verdict_request {
	union {
		struct slots_syn syn;
		struct {
			struct synhold_tuple tuple;
			__u32 seq; /* host order */
		};
	};
	__u32 service;
	__u32 flags;    /* SLOTS_KNOWN, and what the mark is to carry */
	__u32 segment;  /* TCP header and data, bytes */
	__u32 first_ms; /* proof mode: since the first copy */
	__u64 now;
	__u64 source;
	__u64 retry_ns;     /* out: when a refused one may conform; 0 = unknown */
	__u64 source_taken; /* what to give back when a later limit says no */
	struct lists_match list;
	__u16 check; /* the TCP checksum as it stands; small from here on: the stack of all callers is 512 bytes */
	__u8 bank;
	__u8 source_slot;
	__u8 tcp_header; /* bytes */
	__u8 tcp_flags;  /* PARSE_SYN ... */
	__u8 l3_offset;
	__u8 l4_offset;
	__u8 ipv6;
	__u8 fragment;
	__u8 queued;   /* whether SYNs that wait in the queue go first */
	__u8 listener; /* VERDICT_LISTENER_..., where it was looked at */
	__u8 silent;   /* in excess it is dropped, whatever the action: no answer, no place in the queue */
	__u8 fresh;    /* out: no earlier copy is known, nor was looked for: offered_count() does */
	__u8 verdict;  /* out: enum synhold_verdict */
	__u8 reason;   /* out: enum synhold_reason, or SYNHOLD_REASON_NONE */
};
COMPAT_DEFINE_ROOM(request_room, struct verdict_request);

#endif
