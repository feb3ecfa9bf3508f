/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_NET_H
#define DRILL_NET_H

#include <arpa/inet.h>
#include <linux/types.h>
#include <stdint.h>

#include "drill/world.h"

/*
 * clients (10.10.0.0/16, the witness 10.11.0.1) -TUN- delay line -TUN- router -veth- server (10.99.0.2).
 * The line stays in place without a round-trip time: thousands of SYNs that are sent again in one go
 * overflow the kernel's queue behind a veth (netdev_max_backlog, 1000, host-wide), and a TUN device's queue
 * takes them.
 */

#define NET_SERVER_ADDR 0x0a630002u /* host order */
#define NET_CLIENT_BASE 0x0a0a0000u
#define NET_WITNESS_ADDR 0x0a0b0001u
#define NET_SHIELD_IFACE "eth0" /* the server's card */

static inline __be32 net_client_addr(uint32_t index)
{
	return htonl(NET_CLIENT_BASE + 1 + index);
}

/* Creates the namespaces and links of a world. Returns 0, or -1 with board->error set. */
int net_build(struct world *world);

/* SYNs the clients' kernel has sent so far, retransmissions included. */
uint64_t net_syns_sent(const struct world *world);

#endif
