/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What address lists say of a source, as plainly as possible: every entry is looked at. And random lists that make it
 * hard: prefixes that lie inside one another, side by side, at both ends of the address space and around the IPv4
 * addresses. For the unit test of the image and the program test of the data plane.
 */
#ifndef TESTS_UNIT_LISTS_MODEL_H
#define TESTS_UNIT_LISTS_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lib/lists_set.h"

struct lists_answer {
	bool denied;
	const struct list_entry *allow; /* the longest that has not ended */
	uint64_t weight;                /* 0 = none */
};

static inline bool lists_model_contains(const struct list_entry *entry, const uint8_t addr[16])
{
	for (unsigned int bit = 0; bit < entry->prefixlen; bit++)
		if ((entry->addr[bit / 8] ^ addr[bit / 8]) & (0x80 >> bit % 8))
			return false;
	return true;
}

static inline const struct list_entry *lists_model_longest(const struct config_lists *lists, enum list_kind kind,
							   const uint8_t addr[16], uint64_t now_ns)
{
	const struct list_entry *longest = NULL;

	for (unsigned int i = 0; i < lists->count[kind]; i++) {
		const struct list_entry *entry = &lists->entry[kind][i];

		if (entry->value.until_ns > now_ns && lists_model_contains(entry, addr) &&
		    (!longest || entry->prefixlen > longest->prefixlen))
			longest = entry;
	}
	return longest;
}

static inline struct lists_answer lists_model(const struct config_lists *lists, const uint8_t addr[16], uint64_t now_ns)
{
	const struct list_entry *preferred = lists_model_longest(lists, LIST_PREFER, addr, now_ns);

	return (struct lists_answer){lists_model_longest(lists, LIST_DENY, addr, now_ns) != NULL,
				     lists_model_longest(lists, LIST_ALLOW, addr, now_ns),
				     preferred ? preferred->value.rate_pps : 0};
}

static inline uint32_t lists_model_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*state >> 33);
}

static inline void lists_model_random_addr(uint64_t *state, const struct config_lists *lists, uint8_t addr[16])
{
	static const uint8_t starts[][16] = {
		{0},
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 0},
		{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 255, 255, 255, 255},
		{0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
		{0x20, 0x01, 0x0d, 0xb8},
	};
	uint32_t kind = lists_model_random(state) % LIST_KINDS, keep = lists_model_random(state) % 129;
	const uint8_t *base = starts[lists_model_random(state) % (sizeof(starts) / sizeof(*starts))];

	/* beside an entry as often as anywhere */
	if (lists_model_random(state) % 4 && lists->count[kind])
		base = lists->entry[kind][lists_model_random(state) % lists->count[kind]].addr;
	memcpy(addr, base, 16);
	if (lists_model_random(state) % 2) /* close by: IPv4 stays IPv4 */
		keep = 96 + keep % 33;
	for (unsigned int bit = keep; bit < 128; bit++)
		if (lists_model_random(state) % 2)
			addr[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
	if (lists_model_random(state) % 4 == 0) /* an end of a prefix */
		for (unsigned int bit = keep; bit < 128; bit++)
			addr[bit / 8] =
				(uint8_t)((addr[bit / 8] & ~(0x80 >> bit % 8)) | (keep % 2 ? 0x80 >> bit % 8 : 0));
}

/* Up to `most` entries; a third has ended, a third will end in an hour. Sorted. */
static inline int lists_model_fill(uint64_t *state, unsigned int most, uint64_t now_ns, struct config_lists *lists)
{
	unsigned int count = 1 + lists_model_random(state) % most;
	int ret = 0;

	for (unsigned int i = 0; i < count && !ret; i++) {
		enum list_kind kind = (enum list_kind)(lists_model_random(state) % LIST_KINDS);
		uint32_t third = lists_model_random(state) % 3;
		struct list_entry entry = {.prefixlen = (uint8_t)(lists_model_random(state) % 129)};

		lists_model_random_addr(state, lists, entry.addr);
		if (lists_model_random(state) % 2)
			entry.prefixlen = (uint8_t)(96 + entry.prefixlen % 33);
		for (unsigned int bit = entry.prefixlen; bit < 128; bit++)
			entry.addr[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
		entry.value.until_ns = third == 0 || kind == LIST_PREFER ? SYNHOLD_FOREVER :
				       third == 1 ? now_ns - 1 - lists_model_random(state) % 1000 :
						    now_ns + 3600000000000ULL + lists_model_random(state);
		entry.value.rate_pps = 1 + lists_model_random(state) % 3;
		ret = config_lists_add(lists, kind, &entry);
	}
	for (int kind = 0; kind < LIST_KINDS && !ret; kind++)
		ret = lists_sort(lists, (enum list_kind)kind);
	return ret;
}

#endif
