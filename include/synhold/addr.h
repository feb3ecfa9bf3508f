/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses as all maps hold them: 16 bytes, IPv4 mapped into IPv6 (RFC 4291, 2.5.5.2). */
#ifndef SYNHOLD_ADDR_H
#define SYNHOLD_ADDR_H

#include <linux/types.h>

#define SYNHOLD_ADDR_MAPPED_BITS 96 /* of the prefix ::ffff:0:0 in front of an IPv4 address */

/* The two halves of an address as numbers, first bytes highest: what can be compared. */
static inline __attribute__((always_inline)) __u64 synhold_addr_high(const __u8 *addr)
{
	__u64 half;

	__builtin_memcpy(&half, addr, sizeof(half));
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap64(half) : half;
}

static inline __attribute__((always_inline)) __u64 synhold_addr_low(const __u8 *addr)
{
	return synhold_addr_high(addr + 8);
}

static inline __attribute__((always_inline)) int synhold_addr_halves_ipv4(__u64 high, __u64 low)
{
	return high == 0 && low >> 32 == 0xffff;
}

static inline __attribute__((always_inline)) int synhold_addr_is_ipv4(const __u8 *addr)
{
	return synhold_addr_halves_ipv4(synhold_addr_high(addr), synhold_addr_low(addr));
}

/* An IPv4 address in network order, mapped. */
static inline __attribute__((always_inline)) void synhold_addr_map(__be32 from, __u8 *addr)
{
	__builtin_memset(addr, 0, 10);
	addr[10] = addr[11] = 0xff;
	__builtin_memcpy(addr + 12, &from, sizeof(from));
}

#endif
