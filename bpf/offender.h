/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sources over their own limit, by name. Space-saving in sets of eight with randomized admission (Ben Basat et al.,
 * "Randomized admission policy", 2017): a newcomer takes the place of the lightest one with a chance of 1 in its weight
 * + 1, and inherits that weight. A flood of sources that are refused once fights over the light places; who is refused
 * again and again keeps his. Pure: time and randomness are arguments; the caller sees to it that a set has one writer.
 */
#ifndef SYNHOLD_BPF_OFFENDER_H
#define SYNHOLD_BPF_OFFENDER_H

#include <synhold/abi.h>

#include "compat.h"

#define OFFENDER_FORGET_NS 600000000000ULL /* not refused for this long: the place is free */

static __always_inline __u32 offender_set(__u64 source)
{
	return (__u32)(source >> 20) & (SYNHOLD_OFFENDER_SETS - 1);
}

/* Counts a refusal. source: its keyed hash; addr: to name it by. */
static __always_inline void offender_refused(struct synhold_offender_set *set, __u64 source, const __u8 *addr,
					     __u32 service, __u64 now_ns, __u32 random)
{
	__u64 least = ~0ULL;
	__u32 lightest = 0, i;
	struct synhold_offender *place;

	for (i = 0; i < SYNHOLD_OFFENDER_WAYS; i++) {
		__u64 weight = set->place[i].weight;

		if (set->place[i].source == source && set->place[i].service == service) {
			set->place[i].refused++;
			set->place[i].weight++;
			set->place[i].last_ns = now_ns;
			return;
		}
		if (set->place[i].last_ns + OFFENDER_FORGET_NS < now_ns)
			weight = 0;
		if (weight < least) {
			least = weight;
			lightest = i;
		}
	}
	if (least >= 1ULL << 31 || ((__u64)random * (least + 1)) >> 32)
		return;
	place = &set->place[lightest & (SYNHOLD_OFFENDER_WAYS - 1)];
	place->source = source;
	__builtin_memcpy(place->addr, addr, 16);
	place->service = service;
	place->refused = 1;
	place->weight = least + 1;
	place->last_ns = now_ns;
}

#endif
