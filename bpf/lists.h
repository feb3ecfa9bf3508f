/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The address lists of a bank. User space has compiled them into ranges of addresses in order, each with what holds
 * in it whatever entries lie inside one another: one search answers for all lists, and no entry hides another. An index
 * over the leading bits leaves few ranges to search through.
 */
#ifndef SYNHOLD_BPF_LISTS_H
#define SYNHOLD_BPF_LISTS_H

#include <synhold/addr.h>

#include "maps.h"

#define LISTS_SEARCH_STEPS 20 /* halves more ranges than three full lists can make */
#define LISTS_NESTED 128      /* entries one inside the other, each past its end */

/*
 * The question about a source and the answer, one in the place of the other: the stack of the shield is nearly full.
 * What the search goes by is here and not on the stack, for the verifier not to follow each number.
 */
struct lists_match {
	union {
		__u64 high;     /* in: the source */
		__u64 step;     /* out: number of its allow entry; 0 = none */
		__u64 interval; /* out of lists_allow(): rate of the entry */
	};
	union {
		__u64 low;
		__u64 limit;
	};
	union {
		struct {
			__u32 first;
			__u32 count;
		};
		__u64 deny_until_ns; /* out: 0 = nothing denies it */
	};
};

static __always_inline void *lists_row(void *image, __u32 row)
{
	return bpf_map_lookup_elem(image, &row);
}

/* The ranges to search through: from first on, count of them. 0, or -1 for an image that says nothing. */
static __always_inline int lists_bucket(struct lists_match *match, void *image, const struct synhold_list_head *head)
{
	struct synhold_list_index *index;
	__u32 row, bucket;

	if (synhold_addr_halves_ipv4(match->high, match->low)) {
		bucket = (__u32)match->low >> ((32 - head->index_bits[1]) & 31);
		row = head->index_row[1];
	} else {
		bucket = (__u32)(match->high >> ((64 - head->index_bits[0]) & 63));
		row = head->index_row[0];
	}
	index = lists_row(image, row + bucket / 4);
	if (!index)
		return -1;
	index += bucket & 3;
	match->first = index->first;
	match->count = index->count;
	return 0;
}

/* The range that the source is in; NULL when there is none. */
static __always_inline struct synhold_list_range *lists_search(struct lists_match *match, __u32 bank)
{
	struct synhold_list_range *range;
	struct synhold_list_head *head;
	__u32 i, half;
	void *image;

	image = bpf_map_lookup_elem(&lists, &bank);
	if (!image)
		return NULL;
	head = lists_row(image, 0);
	if (!head || lists_bucket(match, image, head))
		return NULL;
	match->first += head->ranges_row;
	for (i = 0; i < LISTS_SEARCH_STEPS && match->count > 1; i++) {
		half = match->count / 2;
		range = lists_row(image, match->first + half);
		if (!range)
			return NULL;
		if (range->high < match->high || (range->high == match->high && range->low <= match->low)) {
			match->first += half;
			match->count -= half;
		} else {
			match->count = half;
		}
	}
	return lists_row(image, match->first);
}

/* Says for the source what denies it and which allow entry is its own. Call only when the bank has entries. Global:
 * verified once. */
COMPAT_GLOBAL int lists_find(struct lists_match *match, __u32 bank)
{
	struct synhold_list_range *range;

	if (!match)
		return 0;
	range = lists_search(match, bank);
	match->deny_until_ns = range ? range->deny_until_ns : 0;
	match->step = range ? range->step : 0;
	return 0;
}

/* Whether the source's allow entry, or a shorter one around it, has not ended: 1 with its rate. Global: verified once.
 */
COMPAT_GLOBAL int lists_allow(struct lists_match *match, __u32 bank, __u64 now)
{
	struct synhold_list_head *head;
	struct synhold_list_step *step;
	__u32 i, steps;
	void *image;

	if (!match)
		return 0;
	image = bpf_map_lookup_elem(&lists, &bank);
	if (!image)
		return 0;
	head = lists_row(image, 0);
	if (!head)
		return 0;
	steps = head->steps_row;
	for (i = 0; i < LISTS_NESTED && match->step; i++) {
		step = lists_row(image, steps + (__u32)match->step);
		if (!step)
			return 0;
		if (step->until_ns > now) {
			match->interval = step->interval;
			match->limit = step->limit;
			return 1;
		}
		match->step = step->next;
	}
	return 0;
}

#endif
