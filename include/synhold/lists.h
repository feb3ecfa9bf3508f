/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * map `lists`: each bank's address lists, compiled, as an array of rows of 32 bytes. An image never changes; another
 * takes its place. It begins with the head; then come, each from a row of its own: ranges, steps, two indexes, records,
 * notes. Rules and versions are those of abi.h.
 */
#ifndef SYNHOLD_LISTS_H
#define SYNHOLD_LISTS_H

#include <linux/types.h>

#define SYNHOLD_LIST_INDEX_BITS 18 /* most */
#define SYNHOLD_LIST_MAKE 0

struct synhold_list_head {
	__u32 ranges_row;
	__u32 ranges;
	__u32 steps_row;
	__u32 index_row[2];  /* of IPv6, of IPv4 */
	__u32 index_bits[2]; /* leading bits of the address that choose an entry: 1 to SYNHOLD_LIST_INDEX_BITS */
	__u32 records_row;
	/* second row */
	__u32 notes_row;
	__u32 notes;
	__u32 entries[3];  /* records by list: allow, deny, prefer */
	__u32 make;        /* SYNHOLD_LIST_MAKE: goes up with every change of what is in an image */
	__u64 next_end_ns; /* when the first entry ends */
};
/* What holds from an address (mapped, as two numbers) up to the next range. */
struct synhold_list_range {
	__u64 high;
	__u64 low;
	__u64 deny_until_ns; /* the last end of the deny entries around it; 0 = none */
	__u32 step;          /* the longest allow entry around it; 0 = none */
	__u32 weight;        /* of the longest prefer entry; 0 = none */
};
/* An allow entry: when its time is over, the next longest that ends later. */
struct synhold_list_step {
	__u64 until_ns;
	__u64 interval; /* SYNHOLD_SOURCE_TICK_SHIFT units */
	__u64 limit;
	__u32 next; /* 0 = none */
	__u32 pad;
};
/* Four a row: the range in which the addresses of the entry begin, and how many there are to look through. */
struct synhold_list_index {
	__u32 first;
	__u32 count;
};
/* What the operator gave; for user space. */
struct synhold_list_record {
	__u8 addr[16];
	__u64 until_ns;           /* SYNHOLD_FOREVER, or when it stops to match */
	__u64 confirmed_until_ns; /* what until_ns becomes by `confirm`; 0 = nothing pending */
	__u64 rate_pps;           /* allow: 0 = default; prefer: the weight */
	__u32 note;               /* number of its note, from 1; 0 = none */
	__u8 prefixlen;
	__u8 list;
	__u8 origin;
	__u8 pad;
};
struct synhold_list_row {
	__u64 word[4];
};

_Static_assert(sizeof(struct synhold_list_head) == 64, "struct synhold_list_head has changed size");
_Static_assert(sizeof(struct synhold_list_range) == 32, "struct synhold_list_range has changed size");
_Static_assert(sizeof(struct synhold_list_step) == 32, "struct synhold_list_step has changed size");
_Static_assert(sizeof(struct synhold_list_index) == 8, "struct synhold_list_index has changed size");
_Static_assert(sizeof(struct synhold_list_record) == 48, "struct synhold_list_record has changed size");
_Static_assert(sizeof(struct synhold_list_row) == 32, "struct synhold_list_row has changed size");

#endif
