/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is in force for a packet: the bank of the policy, the service of an address and port, the panic lever, the
 * daemon. */
#ifndef SYNHOLD_BPF_LOCATE_H
#define SYNHOLD_BPF_LOCATE_H

#include "maps.h"

static __always_inline __u32 service_of(__u32 bank, const __u8 *local_addr, __be16 local_port)
{
	__u32 index = bank * SYNHOLD_PORTS + bpf_ntohs(local_port);
	__u32 *entry = bpf_map_lookup_elem(&ports, &index);

	if (!entry || !*entry)
		return SYNHOLD_SERVICES;
	if (*entry & SYNHOLD_PORT_ADDRS) {
		struct synhold_addr_key key = {.prefixlen = 160, .bank = bpf_htons((__u16)bank), .port = local_port};
		__u32 *service;

		__builtin_memcpy(key.addr, local_addr, 16);
		service = bpf_map_lookup_elem(&addrs, &key);
		if (service)
			return *service;
	}
	return (*entry & SYNHOLD_PORT_SERVICE) ? (*entry & SYNHOLD_PORT_SERVICE) - 1 : SYNHOLD_SERVICES;
}

/*
 * Whether the port has a word in a bank that may be in force. So little is asked of SYNs to other ports before anything
 * is made of them; which service it is, if any, is service_of()'s to say. Host order.
 */
static __always_inline int port_has_word(__u32 local_port)
{
	struct synhold_control *ctl;
	__u32 zero = 0, index, *entry;
	__u64 word;

	ctl = bpf_map_lookup_elem(&control, &zero);
	if (!ctl)
		return 0;
	word = *(volatile const __u64 *)&ctl->active;
	index = SYNHOLD_ACTIVE_BANK(word) * SYNHOLD_PORTS + (local_port & (SYNHOLD_PORTS - 1));
	entry = bpf_map_lookup_elem(&ports, &index);
	if (entry && *entry)
		return 1;
	if (!SYNHOLD_ACTIVE_PENDING(word))
		return 0;
	index ^= SYNHOLD_PORTS; /* the other bank, which may take over */
	entry = bpf_map_lookup_elem(&ports, &index);
	return entry && *entry;
}

/* Bank in force. The clock is read only while a change waits to be confirmed; *now is set then, if it was 0. */
static __always_inline __u32 bank_of(const struct synhold_control *ctl, __u64 *now)
{
	__u64 word = *(volatile const __u64 *)&ctl->active;
	__u32 bank = SYNHOLD_ACTIVE_BANK(word);

	if (!SYNHOLD_ACTIVE_PENDING(word))
		return bank;
	if (!*now)
		*now = bpf_ktime_get_ns();
	return *now >= SYNHOLD_ACTIVE_DEADLINE_NS(word) ? !bank : bank;
}

static __always_inline int daemon_alive(__u64 now)
{
	__u32 zero = 0;
	struct synhold_daemon *self = bpf_map_lookup_elem(&daemon, &zero);

	return self && self->heartbeat_ns && now < self->heartbeat_ns + SYNHOLD_HEARTBEAT_STALE_NS;
}

/* Whether the daemon wants to know which handshakes are completed. */
static __always_inline int acks_watched(void)
{
	__u32 zero = 0;
	struct synhold_daemon *self = bpf_map_lookup_elem(&daemon, &zero);

	return self && *(volatile const __u32 *)&self->watch_acks;
}

static __always_inline int bypassed(const struct synhold_control *ctl, __u64 now)
{
	__u64 until = *(volatile const __u64 *)&ctl->bypass_until_ns;

	return until && now < until;
}

#endif
