/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_NET_H
#define DRILL_NET_H

#include <arpa/inet.h>
#include <linux/types.h>
#include <stdint.h>

#include "drill/world.h"

/*
 * clients (10.10.0.0/16, the witness 10.11.0.1) -TUN- delay line -TUN- router -veth- node I (10.99.I.2)
 *                                                                           -veth- front (10.97.0.2), if any
 * The router is also where health checkers stand, at 10.96.0.1: no delay between them and what they probe.
 * The line stays in place without a round-trip time: thousands of SYNs that are sent again in one go
 * overflow the kernel's queue behind a veth (netdev_max_backlog, 1000, host-wide), and a TUN device's queue
 * takes them.
 */

#define NET_NODE_BASE 0x0a630002u /* host order, as are all of these */
#define NET_FRONT_ADDR 0x0a610002u
#define NET_CHECKER_ADDR 0x0a600001u
#define NET_CHECKER_TEXT "10.96.0.1"
#define NET_CLIENT_BASE 0x0a0a0000u
#define NET_WITNESS_ADDR 0x0a0b0001u
#define NET_SHIELD_IFACE "eth0" /* each node's card */

static inline __be32 net_client_addr(uint32_t index)
{
	return htonl(NET_CLIENT_BASE + 1 + index);
}

static inline __be32 net_node_addr(int node)
{
	return htonl(NET_NODE_BASE + ((uint32_t)node << 8));
}

/* Creates the namespaces and links of a world. Returns 0, or -1 with board->error set. */
int net_build(struct world *world);

/* SYNs the clients' kernel has sent so far, retransmissions included. */
uint64_t net_syns_sent(const struct world *world);

#endif
