/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The accept queue of the listener a SYN goes to. Servers that accept lazily keep handshakes there that the gate may
 * not count any more: their slots have expired, or they were let in beside it. A SYN that the kernel would not queue is
 * better held.
 */
#ifndef SYNHOLD_BPF_ACCEPT_H
#define SYNHOLD_BPF_ACCEPT_H

#include "maps.h"

/* This kernel has what looking at it needs (bpf_skc_to_tcp_sock, 5.9). Without it the helper must not even be verified.
 * In a section of its own, so that it lies at the same place however the programs are made. */
const volatile __u32 accept_supported SEC(".rodata.accept") = 1;

/* What is read of the kernel's own structures; where in them, its BTF says when the programs are loaded. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sock_common {
	unsigned char skc_state;
};
struct sock {
	struct sock_common __sk_common;
	__u32 sk_ack_backlog;
	__u32 sk_max_ack_backlog;
};
struct inet_sock {
	struct sock sk;
};
struct inet_connection_sock {
	struct inet_sock icsk_inet;
};
struct tcp_sock {
	struct inet_connection_sock inet_conn;
};
#pragma clang attribute pop

#define ACCEPT_LISTEN 10 /* TCP_LISTEN */

/*
 * Whether the queue of this socket has no room for another: as many as the window (0 = none) wait there, or three
 * quarters of what it takes. A listener of a SO_REUSEPORT group stands for its own queue only, and it is the one that
 * the kernel would give this SYN.
 */
static __always_inline int accept_full(void *skc, __u32 window)
{
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(skc);
	const struct sock *sk;
	__u32 length, most;

	if (!tcp)
		return 0;
	sk = &tcp->inet_conn.icsk_inet.sk;
	if (sk->__sk_common.skc_state != ACCEPT_LISTEN)
		return 0;
	length = sk->sk_ack_backlog;
	most = sk->sk_max_ack_backlog;
	return (window && length >= window) || (length && (__u64)length * 4 >= (__u64)most * 3);
}

#endif
