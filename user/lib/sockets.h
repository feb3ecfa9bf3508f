/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Listening sockets of this network namespace, by socket diagnostics (sock_diag(7)). */
#ifndef SYNHOLD_LIB_SOCKETS_H
#define SYNHOLD_LIB_SOCKETS_H

#include <stdint.h>

#include <synhold/abi.h>

struct sockets_listener {
	uint8_t addr[16]; /* mapped; all zero: any */
	uint16_t port;    /* host order */
	uint32_t queue;   /* connections that wait to be accepted */
	uint32_t limit;   /* most that may wait */
	uint32_t inode;
	uint32_t drops; /* sk_drops since it was made, modulo 2^32: what overflowed, but also handshakes that were reset
			 */
};

/* Calls fn for every TCP listener, IPv4 and IPv6, members of a SO_REUSEPORT group one by one. 0 or -errno. */
int sockets_listeners(void (*fn)(void *ctx, const struct sockets_listener *listener), void *ctx);

/*
 * Calls fn for every handshake that waits for its last ACK (SYN-RECV); addr and port are the local ones, the rest is 0.
 * The kernel walks its whole table of connections for this: not for every tick. 0 or -errno.
 */
int sockets_handshakes(void (*fn)(void *ctx, const struct sockets_listener *local), void *ctx);

/* Whether connections to one of the specifications can end at this listener. */
int sockets_serves(const struct sockets_listener *listener, const struct synhold_specs *specs);

#endif
