/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a card and the devices around it are, as far as it matters to XDP. */
#ifndef SYNHOLD_CLI_NIC_H
#define SYNHOLD_CLI_NIC_H

#include <stdint.h>

#include "lib/error.h"

struct nic {
	uint32_t index;
	uint32_t mtu;
	char name[16];
	char driver[32]; /* empty: unknown */
	char kind[32];   /* veth, bond, bridge, vlan, ...; empty: a real card, or unknown */
	char master[16]; /* bond or bridge it belongs to */
	char master_kind[32];
	char vlan[16];    /* a VLAN device on top of it */
	char macvlan[16]; /* a macvlan or ipvlan device on top of it */
	char below[128];  /* what this is made of: members of a bond or bridge, the card of a macvlan or VLAN; by spaces
			   */
	int up;
	/* features: 1 on, 0 off, -1 unknown */
	int lro, gro_hw, rxvlan;
	uint32_t queues, queues_max; /* 0 = unknown */
	char queues_word[12];        /* how ethtool -L calls them: combined or rx */
	uint64_t xdp_features;       /* of the driver, linux/netdev.h; NIC_XDP_UNKNOWN before 6.3 */
};
#define NIC_XDP_UNKNOWN (~0ULL)
#define NIC_XDP_BASIC 1ULL  /* runs XDP natively */
#define NIC_XDP_RX_SG 32ULL /* takes frames of several pages */

/* 0, or -ENODEV. */
int nic_read(const char *name, struct nic *nic);

/*
 * Whether frames held on this interface would lose their VLAN tag: 0, or -EOPNOTSUPP with the line that helps. For veth
 * the tag depends on the peer, which may be out of sight: there it is 0, and `check` says what to look at.
 */
int nic_check_vlan(const char *name, struct error *err);

#endif
