/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients for the tests of the hold queue: SYNs from numbers. */
#ifndef SYNHOLD_TESTS_HOLDQ_HELP_H
#define SYNHOLD_TESTS_HOLDQ_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/holdq.h"

#define MS 1000000ULL
#define SECOND 1000000000ULL
#define START (1000 * SECOND)
#define HELP_L4 34
#define HELP_FRAME_LEN (HELP_L4 + 32)

static const uint64_t help_seed[2] = {0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL};

/*
 * The SYN of connection `id` from `source`: sequence number and TSval as given, timestamps option behind two
 * NOPs.
 */
static inline void help_frame(uint8_t frame[HELP_FRAME_LEN], uint32_t seq, uint32_t tsval)
{
	unsigned int i;

	memset(frame, 0, HELP_FRAME_LEN);
	frame[14] = 0x45;
	frame[HELP_L4 + 12] = 0x80;
	frame[HELP_L4 + 13] = 2;
	frame[HELP_L4 + 20] = 1;
	frame[HELP_L4 + 21] = 1;
	frame[HELP_L4 + 22] = 8;
	frame[HELP_L4 + 23] = 10;
	for (i = 0; i < 4; i++) {
		frame[HELP_L4 + 4 + i] = seq >> (24 - 8 * i);
		frame[HELP_L4 + 24 + i] = tsval >> (24 - 8 * i);
	}
}

static inline struct synhold_tuple help_tuple(uint32_t id)
{
	struct synhold_tuple tuple = {.saddr = {[10] = 0xff, [11] = 0xff}, .dport = 443};

	memcpy(tuple.saddr + 12, &id, sizeof(id));
	tuple.sport = id * 7;
	return tuple;
}

static inline uint32_t help_id(const struct holdq_entry *e)
{
	uint32_t id;

	memcpy(&id, e->tuple.saddr + 12, sizeof(id));
	return id;
}

struct help_syn {
	uint32_t id;
	uint64_t source;
	uint8_t wait;
	uint16_t weight;
	uint32_t share_hash;
	uint32_t seq;
	uint32_t tsval;
	uint64_t proved_ns;
};

static inline int help_send(struct holdq *q, struct help_syn s, uint64_t now_ns)
{
	uint8_t frame[HELP_FRAME_LEN];
	struct holdq_syn syn = {
		.tuple = help_tuple(s.id),
		.source = s.source,
		.share_hash = s.share_hash,
		.ifindex = 3,
		.wait = s.wait,
		.frame_len = HELP_FRAME_LEN,
		.l3_offset = 14,
		.l4_offset = HELP_L4,
		.weight = s.weight,
		.seen_ns = now_ns,
		.proved_ns = s.proved_ns,
		.frame = frame,
	};

	help_frame(frame, s.seq, s.tsval);
	return holdq_offer(q, &syn, now_ns, NULL);
}

static inline struct holdq_entry *help_find(struct holdq *q, uint32_t id)
{
	struct synhold_tuple tuple = help_tuple(id);

	return holdq_find(q, &tuple);
}

static inline void help_check_invariant(const struct holdq *q)
{
	const struct holdq_counters *c = holdq_counters(q);
	uint64_t discarded = 0, held = 0;
	unsigned int i;

	for (i = 0; i < SYNHOLD_DISCARD_COUNT; i++)
		discarded += c->discarded[i];
	for (i = 0; i < HOLDQ_WAIT_COUNT; i++)
		held += c->held_class[i];
	assert_int_equal(c->entered, c->released + discarded + c->held);
	assert_int_equal(c->held, held);
}

#endif
