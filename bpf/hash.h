/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keyed hash of a source address. SipHash-1-3 (Aumasson, Bernstein 2012; one compression round as in hash tables of
 * several language runtimes): sources choose their addresses, so an unkeyed hash would let them choose whom they
 * collide with.
 */
#ifndef SYNHOLD_BPF_HASH_H
#define SYNHOLD_BPF_HASH_H

#include <synhold/abi.h>
#include <synhold/addr.h>

#include "compat.h"

#define HASH_ROTL(x, b) (((x) << (b)) | ((x) >> (64 - (b))))

#define HASH_ROUND(v0, v1, v2, v3)           \
	do {                                 \
		v0 += v1;                    \
		v1 = HASH_ROTL(v1, 13) ^ v0; \
		v0 = HASH_ROTL(v0, 32);      \
		v2 += v3;                    \
		v3 = HASH_ROTL(v3, 16) ^ v2; \
		v0 += v3;                    \
		v3 = HASH_ROTL(v3, 21) ^ v0; \
		v2 += v1;                    \
		v1 = HASH_ROTL(v1, 17) ^ v2; \
		v2 = HASH_ROTL(v2, 32);      \
	} while (0)

/* SipHash-1-3 of the 16 bytes a, b (little-endian words), as the reference implementation gives it. */
static __always_inline __u64 hash_pair(__u64 k0, __u64 k1, __u64 a, __u64 b)
{
	__u64 v0 = k0 ^ 0x736f6d6570736575ULL, v1 = k1 ^ 0x646f72616e646f6dULL;
	__u64 v2 = k0 ^ 0x6c7967656e657261ULL, v3 = k1 ^ 0x7465646279746573ULL;
	const __u64 length = 16ULL << 56;

	v3 ^= a;
	HASH_ROUND(v0, v1, v2, v3);
	v0 ^= a;
	v3 ^= b;
	HASH_ROUND(v0, v1, v2, v3);
	v0 ^= b;
	v3 ^= length;
	HASH_ROUND(v0, v1, v2, v3);
	v0 ^= length;
	v2 ^= 0xff;
	HASH_ROUND(v0, v1, v2, v3);
	HASH_ROUND(v0, v1, v2, v3);
	HASH_ROUND(v0, v1, v2, v3);
	return v0 ^ v1 ^ v2 ^ v3;
}

/* 64-bit mask, in network order in memory, of the first `bits` (0..64) bits. */
static __always_inline __u64 hash_prefix_mask(__u32 bits)
{
	__u64 mask = bits == 0 ? 0 : ~0ULL << (64 - (bits > 64 ? 64 : bits));

	return ((__u64)bpf_htonl((__u32)mask) << 32) | bpf_htonl((__u32)(mask >> 32));
}

/*
 * Hash of a source: the address (mapped when IPv4) cut to prefix4 (0..32) or prefix6 (0..128) bits. Same for every
 * service, so that a share of the sources is the same clients everywhere.
 */
static __always_inline __u64 hash_source(__u64 k0, __u64 k1, const __u8 *addr, __u32 prefix4, __u32 prefix6)
{
	__u64 high, low;
	__u32 bits;

	__builtin_memcpy(&high, addr, 8);
	__builtin_memcpy(&low, addr + 8, 8);
	bits = synhold_addr_is_ipv4(addr) ? prefix4 + SYNHOLD_ADDR_MAPPED_BITS : prefix6;
	if (bits < 64) {
		high &= hash_prefix_mask(bits);
		low = 0;
	} else if (bits < 128) {
		low &= hash_prefix_mask(bits - 64);
	}
	return hash_pair(k0, k1, high, low);
}

/* The source as one service sees it: limits of two services on the same client do not add up. */
static __always_inline __u64 hash_for_service(__u64 source, __u32 service)
{
	return source ^ (service + 1) * 0x9e3779b97f4a7c15ULL;
}

/* Place of a source in the sticky order of admission by share: it is in when this is below the threshold (of 2^32). */
static __always_inline __u32 hash_share(__u64 source)
{
	return (__u32)(source >> 8);
}

#endif
