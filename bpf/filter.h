/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What stands before a table of many megabytes: small words, which stay in a core's own caches, that say whether there
 * is anything to be found behind them. Under a flood there is not, and a look-up that finds nothing still costs a miss
 * in every cache. "No" is certain; "maybe" is not. Pure: time is an argument.
 */
#ifndef SYNHOLD_BPF_FILTER_H
#define SYNHOLD_BPF_FILTER_H

#include <synhold/abi.h>
#include <synhold/addr.h>

#include "compat.h"
#include "gate.h"

#define FILTER_TRIES 8

/* Before `sources`: until when one of the sources behind the word has a debt, as an epoch of the gates. */
static __always_inline void filter_note_debt(__u32 *word, __u64 until_ns)
{
	__u32 until = gate_epoch(until_ns) + 1, i;

	for (i = 0; i < FILTER_TRIES; i++) {
		__u32 old = *(volatile __u32 *)word;

		if (old >= until || COMPAT_CAS(word, old, until) == old)
			return;
	}
	*(volatile __u32 *)word = until; /* a crowd of others, whose debts end at about the same time */
}

static __always_inline int filter_may_owe(const __u32 *word, __u64 now_ns)
{
	return *(const volatile __u32 *)word > gate_epoch(now_ns);
}

/*
 * Before `marks`: until << 20 | tag << 6 | turn. The tag tells whose mark is behind the word, 0 nobody's,
 * FILTER_MANY that there was more than one; each note is another turn, so that who takes his mark away does not take a
 * later one's note with it. A mark that nobody takes away is over at `until`, in units of 4.3 s: a circle of 4.9 hours,
 * of which a quarter is to come, more than the longest hold-time.
 */
#define FILTER_UNTIL_SHIFT 20
#define FILTER_UNTIL_MASK 0xfffU
#define FILTER_TAG_MASK 0xfffc0U
#define FILTER_TURN_MASK 0x3fU
#define FILTER_MANY FILTER_TAG_MASK

static __always_inline __u32 filter_units(__u64 ns)
{
	return (__u32)(ns >> 32) & FILTER_UNTIL_MASK;
}

/* Units from now until then; none when it is past. */
static __always_inline __u32 filter_left(__u32 until, __u32 now)
{
	__u32 left = (until - now) & FILTER_UNTIL_MASK;

	return left <= FILTER_UNTIL_MASK / 4 ? left : 0;
}

/* Not keyed: who makes many connections fall on one word makes the table be looked at, as it would be without. */
static __always_inline __u64 filter_hash(const struct synhold_tuple *tuple)
{
	__u64 mixed = synhold_addr_high(tuple->saddr) * 0xd6e8feb86659fd93ULL ^ synhold_addr_low(tuple->saddr);

	mixed += ((__u64)tuple->sport << 16 | tuple->dport) * 0x9e3779b97f4a7c15ULL;
	mixed ^= mixed >> 32;
	mixed *= 0xff51afd7ed558ccdULL;
	return mixed ^ mixed >> 29;
}

static __always_inline __u32 filter_place(__u64 hash)
{
	return (__u32)(hash >> 40) & (SYNHOLD_MARK_FILTER * SYNHOLD_FILTER_WORDS - 1);
}

static __always_inline __u32 filter_tag(__u64 hash)
{
	return ((__u32)hash & FILTER_TAG_MASK & FILTER_TAG_MASK >> 1) | (FILTER_TURN_MASK + 1); /* neither 0 nor MANY */
}

static __always_inline void filter_note_mark(__u32 *word, __u32 tag, __u64 now_ns, __u64 until_ns)
{
	__u32 now = filter_units(now_ns), until = filter_units(until_ns) + 1, i;

	for (i = 0; i < FILTER_TRIES; i++) {
		__u32 old = *(volatile __u32 *)word, others = old >> FILTER_UNTIL_SHIFT, whose = old & FILTER_TAG_MASK;
		__u32 left = whose ? filter_left(others, now) : 0;

		if (left < filter_left(until, now))
			others = until;
		whose = !left || whose == tag ? tag : FILTER_MANY;
		if (COMPAT_CAS(word, old, others << FILTER_UNTIL_SHIFT | whose | ((old + 1) & FILTER_TURN_MASK)) == old)
			return;
	}
	*(volatile __u32 *)word =
		until << FILTER_UNTIL_SHIFT | FILTER_MANY; /* a crowd, whose marks end at about the same time */
}

/* now_ns = 0: also one that is over. */
static __always_inline int filter_may_mark(__u32 word, __u32 tag, __u64 now_ns)
{
	__u32 whose = word & FILTER_TAG_MASK;

	return (whose == tag || whose == FILTER_MANY) &&
	       (!now_ns || filter_left(word >> FILTER_UNTIL_SHIFT, filter_units(now_ns)));
}

/* The mark is gone; `seen` is what the word was before it was taken away. */
static __always_inline void filter_clear_mark(__u32 *word, __u32 tag, __u32 seen)
{
	if ((seen & FILTER_TAG_MASK) == tag)
		COMPAT_CAS(word, seen, seen & FILTER_TURN_MASK);
}

#endif
