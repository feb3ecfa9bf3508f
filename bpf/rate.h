/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rate arithmetic: GCRA (ITU-T I.371, virtual scheduling form). A limit is an interval (1 / rate, rounded up) and a
 * limit of debt (burst * interval); over any time t at most burst + rate * t events conform. Pure: time is an argument.
 */
#ifndef SYNHOLD_BPF_RATE_H
#define SYNHOLD_BPF_RATE_H

#include <synhold/abi.h>

#include "compat.h"

/* Time still owed at `now`; both of one clock. */
static __always_inline __u64 rate_debt(__u64 tat, __u64 now)
{
	return tat > now ? tat - now : 0;
}

/* Whether one more event conforms. */
static __always_inline int rate_conforms(__u64 debt, __u64 interval, __u64 limit)
{
	return debt + interval <= limit;
}

/*
 * Takes one event from the limit kept in *tat. Returns 1 and moves *tat, or 0 and leaves it. *retry is when the next
 * one conforms. Safe against other CPUs; one that loses the race eight times over is told no, which errs on the side of
 * the limit.
 */
static __always_inline int rate_take(__u64 *tat, __u64 now, __u64 interval, __u64 limit, __u64 *retry)
{
	int i;

	for (i = 0; i < 8; i++) {
		__u64 old = *(volatile __u64 *)tat;
		__u64 debt = rate_debt(old, now);

		if (!rate_conforms(debt, interval, limit)) {
			*retry = now + debt + interval - limit;
			return 0;
		}
		if (COMPAT_CAS(tat, old, now + debt + interval) == old)
			return 1;
	}
	*retry = now;
	return 0;
}

/* Whether rate_take() would refuse now; *retry is set only then. */
static __always_inline int rate_refuses(const __u64 *tat, __u64 now, __u64 interval, __u64 limit, __u64 *retry)
{
	__u64 debt = rate_debt(*(const volatile __u64 *)tat, now);

	if (!interval || rate_conforms(debt, interval, limit))
		return 0;
	*retry = now + debt + interval - limit;
	return 1;
}

/* Gives back what rate_take() took, when a later limit said no. Additions by others in between stay exact. */
static __always_inline void rate_return(__u64 *tat, __u64 interval)
{
	COMPAT_FETCH_ADD(tat, -interval);
}

/*
 * Per-source state: sets of eight words, each a 24-bit tag of the keyed hash and a 40-bit GCRA time in ticks of 256 ns.
 * Exact while at most eight sources with debt share a set; beyond, the one with least debt is forgotten, which can only
 * let more through.
 */
#define RATE_TAG_SHIFT 40
#define RATE_TICK_MASK ((1ULL << RATE_TAG_SHIFT) - 1)
#define RATE_SOURCE_DEBT_MAX (1ULL << 38) /* 19 h: longest burst / rate that the 40-bit clock can carry */
#define RATE_SOURCE_DEBT_COMMON \
	((1ULL << 32) -         \
	 1) /* 18 min: debts up to this one are told from times long past when others' entries are ranked */

static __always_inline __u64 rate_ticks(__u64 now_ns)
{
	return (now_ns >> SYNHOLD_SOURCE_TICK_SHIFT) & RATE_TICK_MASK;
}

/*
 * Debt left in an entry; none when it is more than `most`, as what the limit cannot leave behind is a time long past,
 * seen from the other side of the 40-bit circle. Without branches: eight of these in a row would cost the verifier 2^8
 * ways.
 */
static __always_inline __u64 rate_source_debt(__u64 entry, __u64 now_ticks, __u64 most)
{
	__u64 debt = ((entry & RATE_TICK_MASK) - now_ticks) & RATE_TICK_MASK;
	__u64 within = ((most - debt) >> 63) ^ 1;

	COMPAT_OPAQUE(within);
	return debt * within;
}

/* Index of the set of a source; the tag comes from other bits. */
static __always_inline __u32 rate_source_set(__u64 source)
{
	return (__u32)source & (SYNHOLD_SOURCE_SETS - 1);
}

/*
 * Takes one event for a source. interval and limit in ticks. Returns 1 with *slot (0..7) and *taken telling
 * rate_source_return() what to undo, or 0 with *wait_ticks until one more conforms.
 */
static __always_inline int rate_source_take(struct synhold_source_set *set, __u64 source, __u64 now_ticks,
					    __u64 interval, __u64 limit, __u32 *slot, __u64 *taken, __u64 *wait_ticks)
{
	const __u64 tag = source >> RATE_TAG_SHIFT, common = limit | RATE_SOURCE_DEBT_COMMON;
	__u32 attempt;

	for (attempt = 0; attempt < 3; attempt++) {
		__u64 best = 1ULL << 62, old, debt, fresh;
		__u32 i, chosen;

		/* the source's own entry, else the one with least debt: smallest of (debt + 1) << 3 | place, own ones
		 * with debt -1 */
		COMPAT_UNROLL
		for (i = 0; i < SYNHOLD_SOURCE_WAYS; i++) {
			__u64 entry = *(volatile __u64 *)&set->entry[i];
			__u64 differs = (entry >> RATE_TAG_SHIFT) ^ tag;
			__u64 rank = (rate_source_debt(entry, now_ticks, common) + 1) << 3;
			__u64 other = (differs | (0 - differs)) >> 63, ahead;

			COMPAT_OPAQUE(other);
			rank = rank * other + i;
			ahead = (rank - best) >> 63;
			COMPAT_OPAQUE(ahead);
			best += (rank - best) * ahead;
		}
		chosen = best & (SYNHOLD_SOURCE_WAYS - 1);
		old = *(volatile __u64 *)&set->entry[chosen];
		debt = 0;
		if (old >> RATE_TAG_SHIFT == tag) /* also when another CPU has put it there since the look above */
			debt = rate_source_debt(old, now_ticks, limit);
		else if (best < SYNHOLD_SOURCE_WAYS)
			continue; /* taken over by another source since */
		if (!rate_conforms(debt, interval, limit)) {
			*wait_ticks = debt + interval - limit;
			return 0;
		}
		fresh = tag << RATE_TAG_SHIFT | ((now_ticks + debt + interval) & RATE_TICK_MASK);
		if (COMPAT_CAS(&set->entry[chosen], old, fresh) == old) {
			*slot = chosen;
			*taken = fresh;
			return 1;
		}
	}
	*wait_ticks = 0;
	return 0;
}

/*
 * Whether rate_source_take() would take one, without touching anything: for what is going to be refused anyway, so that
 * a flood from everywhere neither dirties the table nor pushes those out that have debts in it.
 */
static __always_inline int rate_source_look(const struct synhold_source_set *set, __u64 source, __u64 now_ticks,
					    __u64 interval, __u64 limit, __u64 *wait_ticks)
{
	const __u64 tag = source >> RATE_TAG_SHIFT;
	__u64 debt = 0, missing = 1;
	__u32 i;

	COMPAT_NO_UNROLL /* a loop needs less of the stack */
		for (i = 0; i < SYNHOLD_SOURCE_WAYS; i++)
	{
		__u64 entry = *(const volatile __u64 *)&set->entry[i];
		__u64 differs = (entry >> RATE_TAG_SHIFT) ^ tag;
		__u64 other = (differs | (0 - differs)) >> 63;

		COMPAT_OPAQUE(other);
		debt += rate_source_debt(entry, now_ticks, limit) * (1 - other) * missing;
		missing &= other;
	}
	if (rate_conforms(debt, interval, limit))
		return 1;
	*wait_ticks = debt + interval - limit;
	return 0;
}

/* Undoes rate_source_take(). What others have charged to the entry since stays; one that another source has taken over
 * is left alone. */
static __always_inline void rate_source_return(struct synhold_source_set *set, __u32 slot, __u64 taken, __u64 interval)
{
	__u64 *entry = &set->entry[slot & (SYNHOLD_SOURCE_WAYS - 1)];
	const __u64 tag = taken >> RATE_TAG_SHIFT;
	__u32 attempt;

	for (attempt = 0; attempt < 3; attempt++) {
		__u64 old = *(volatile __u64 *)entry;

		if (old >> RATE_TAG_SHIFT != tag ||
		    COMPAT_CAS(entry, old, tag << RATE_TAG_SHIFT | ((old - interval) & RATE_TICK_MASK)) == old)
			return;
	}
}

#endif
