/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Proof mode's memory of first copies. Whoever sends a SYN from an address that is not his own sees no answer and, at
 * random, does not come again; a client's stack sends the same SYN once more after a second (RFC 6298, 2.1; older
 * Windows: three). Sets of eight words, each a 40-bit tag of the keyed hash of tuple and sequence number, whether it
 * has come again, and a 23-bit time of the first copy in steps of 17 ms. Pure: time is an argument.
 *
 * A flood must not push out what is needed: an entry younger than PROOF_KEEP_UNITS is never replaced, and a SYN that
 * finds no room is not remembered. So everybody is remembered up to sets * 8 / 3.6 s = 580,000 first copies a second,
 * and beyond that each copy by chance, in proportion, instead of nobody.
 */
#ifndef SYNHOLD_BPF_PROOF_H
#define SYNHOLD_BPF_PROOF_H

#include <synhold/abi.h>

#include "compat.h"
#include "hash.h"

#define PROOF_UNIT_SHIFT 24
#define PROOF_TIME_MASK ((1ULL << 23) - 1)
#define PROOF_SHOWN_BIT (1ULL << 23)
#define PROOF_TAG_SHIFT 24
#define PROOF_MIN_UNITS 42 /* 0.7 s: sooner, it is a copy made on the way */
#define PROOF_MIN_NS ((__u64)PROOF_MIN_UNITS << PROOF_UNIT_SHIFT)
#define PROOF_KEEP_UNITS 215  /* 3.6 s: all stacks have sent their second copy by then */
#define PROOF_MAX_UNITS 4173U /* 70 s: the seventh copy of a Linux client comes after 67 s */

/* In this order: below PROOF_EARLY not known from an earlier copy, below PROOF_SHOWN not proved. */
enum proof_result {
	PROOF_NOT_ASKED = -1,
	PROOF_NO_ROOM,
	PROOF_FIRST,
	PROOF_EARLY,
	PROOF_SHOWN, /* just now */
	PROOF_SHOWN_BEFORE
};

static __always_inline __u64 proof_units(__u64 now_ns)
{
	return (now_ns >> PROOF_UNIT_SHIFT) & PROOF_TIME_MASK;
}

static __always_inline __u64 proof_hash(__u64 k0, __u64 k1, const struct synhold_tuple *tuple, __u32 seq)
{
	__u64 source[2], local[2], rest = (__u64)seq << 32 | (__u32)tuple->sport << 16 | tuple->dport;

	__builtin_memcpy(source, tuple->saddr, 16);
	__builtin_memcpy(local, tuple->daddr, 16);
	/* the local address is ours: nobody chooses it to collide */
	return hash_pair(hash_pair(k0, k1, source[0], source[1]), k1, local[0] ^ local[1], rest);
}

static __always_inline __u32 proof_set(__u64 hash)
{
	return (__u32)hash & (SYNHOLD_PROOF_SETS - 1);
}

/* Looks for the SYN, and remembers it when it is new and there is room. Of two CPUs after the same place one goes
 * without: its client's next copy will find another. *first_ms: how long ago the first copy of a proved one came. */
static __always_inline int proof_take(struct synhold_proof_set *set, __u64 hash, __u64 now_units, __u32 *first_ms)
{
	const __u64 tag = hash >> PROOF_TAG_SHIFT;
	__u64 best = 1ULL << 62, old, age;
	__u32 i, chosen, own;

	/* its own entry, else the oldest one: smallest of (time left + 1) << 3 | place, its own with no time; without
	 * branches, which would be 2^8 ways */
	COMPAT_UNROLL
	for (i = 0; i < SYNHOLD_PROOF_WAYS; i++) {
		__u64 entry = *(volatile __u64 *)&set->entry[i];
		__u64 differs = (entry >> PROOF_TAG_SHIFT) ^ tag;
		__u64 same = (differs - 1) >> 63, rank, ahead;

		COMPAT_OPAQUE(same);
		rank = PROOF_TIME_MASK - ((now_units - entry) & PROOF_TIME_MASK);
		rank = ((rank + 1) << 3) * (1 - same) + i;
		ahead = (rank - best) >> 63;
		COMPAT_OPAQUE(ahead);
		best += (rank - best) * ahead;
	}
	chosen = best & (SYNHOLD_PROOF_WAYS - 1);
	old = *(volatile __u64 *)&set->entry[chosen];
	own = old >> PROOF_TAG_SHIFT == tag;
	age = (now_units - old) & PROOF_TIME_MASK;
	if (own && age < PROOF_MIN_UNITS)
		return PROOF_EARLY;
	if (own && age <= PROOF_MAX_UNITS) {
		*first_ms = (__u32)((age << PROOF_UNIT_SHIFT) / 1000000);
		if (old & PROOF_SHOWN_BIT || COMPAT_CAS(&set->entry[chosen], old, old | PROOF_SHOWN_BIT) != old)
			return PROOF_SHOWN_BEFORE;
		return PROOF_SHOWN;
	}
	if (!own && old && age < PROOF_KEEP_UNITS)
		return PROOF_NO_ROOM;
	return COMPAT_CAS(&set->entry[chosen], old, tag << PROOF_TAG_SHIFT | now_units) == old ? PROOF_FIRST :
												 PROOF_NO_ROOM;
}

#endif
