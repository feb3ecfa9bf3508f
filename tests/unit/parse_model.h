/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What bpf/parse.h must say of a frame, written once more as plainly as possible: byte by byte, one bound check for
 * each read. For the unit test and the fuzzer, which compare the two.
 */
#ifndef TESTS_UNIT_PARSE_MODEL_H
#define TESTS_UNIT_PARSE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bpf/parse.h"

struct parse_model {
	const uint8_t *bytes;
	size_t len;
	bool past_end; /* a read outside was wanted */
	/* results */
	size_t l3, l4;
	uint32_t ip_payload;
	uint8_t flags, ipv6, fragment;
	uint8_t source[16], destination[16]; /* mapped */
};

static inline uint32_t parse_model_read(struct parse_model *m, size_t offset, size_t size)
{
	uint32_t value = 0;
	size_t i;

	for (i = 0; i < size; i++) {
		if (offset + i >= m->len)
			m->past_end = true;
		else
			value = value << 8 | m->bytes[offset + i];
	}
	return value;
}

static inline bool parse_model_lacks(const struct parse_model *m, size_t offset, size_t size)
{
	return offset + size > m->len;
}

static inline int parse_model_tcp(struct parse_model *m, size_t at, uint32_t payload)
{
	uint32_t header;

	if (parse_model_lacks(m, at, 20))
		return PARSE_BAD(TCP_HEADER);
	header = parse_model_read(m, at + 12, 1) >> 4;
	if (header < 5 || payload < header * 4)
		return PARSE_BAD(TCP_HEADER);
	m->l4 = at;
	m->ip_payload = payload;
	m->flags = (uint8_t)parse_model_read(m, at + 13, 1);
	return PARSE_TCP;
}

static inline int parse_model_ipv4(struct parse_model *m, size_t at)
{
	uint32_t header, total, fragment;

	if (parse_model_lacks(m, at, 20))
		return PARSE_BAD(IP_HEADER);
	if (parse_model_read(m, at + 9, 1) != 6)
		return PARSE_OTHER;
	header = (parse_model_read(m, at, 1) & 15) * 4;
	total = parse_model_read(m, at + 2, 2);
	fragment = parse_model_read(m, at + 6, 2);
	if (parse_model_read(m, at, 1) >> 4 != 4 || header < 20 || total < header)
		return PARSE_BAD(IP_HEADER);
	if (fragment % 8192)
		return PARSE_OTHER;
	m->fragment = (fragment & 0x2000) != 0;
	m->source[10] = m->source[11] = m->destination[10] = m->destination[11] = 0xff;
	memcpy(m->source + 12, m->bytes + at + 12, 4);
	memcpy(m->destination + 12, m->bytes + at + 16, 4);
	return parse_model_tcp(m, at + header, total - header);
}

static inline int parse_model_ipv6(struct parse_model *m, size_t at)
{
	uint32_t left, type, size, seen;

	if (parse_model_lacks(m, at, 40) || parse_model_read(m, at, 1) >> 4 != 6)
		return PARSE_BAD(IP_HEADER);
	m->ipv6 = 1;
	memcpy(m->source, m->bytes + at + 8, 16);
	memcpy(m->destination, m->bytes + at + 24, 16);
	left = parse_model_read(m, at + 4, 2);
	type = parse_model_read(m, at + 6, 1);
	at += 40;
	for (seen = 0; type != 6; seen++) {
		if (type != 0 && type != 43 && type != 44 && type != 51 && type != 60)
			return PARSE_OTHER;
		if (seen == PARSE_EXTENSIONS_MAX || parse_model_lacks(m, at, 4))
			return PARSE_BAD(EXTENSION);
		size = parse_model_read(m, at + 1, 1);
		size = type == 44 ? 8 : type == 51 ? size * 4 + 8 : size * 8 + 8;
		if (type == 44) {
			uint32_t field = parse_model_read(m, at + 2, 2);

			if (field >= 8)
				return PARSE_OTHER;
			m->fragment |= field & 1;
		}
		if (size > left)
			return PARSE_BAD(EXTENSION);
		type = parse_model_read(m, at, 1);
		left -= size;
		at += size;
	}
	return parse_model_tcp(m, at, left);
}

static inline int parse_model_frame(struct parse_model *m, const uint8_t *bytes, size_t len)
{
	uint32_t type;
	int tags = 0;
	size_t at = 12;

	memset(m, 0, sizeof(*m));
	m->bytes = bytes;
	m->len = len;
	if (parse_model_lacks(m, 0, 14))
		return PARSE_BAD(SHORT_FRAME);
	for (type = parse_model_read(m, at, 2); type == 0x8100 || type == 0x88a8; type = parse_model_read(m, at, 2)) {
		if (++tags > PARSE_VLAN_MAX)
			return PARSE_BAD(VLAN_DEPTH);
		at += 4;
		if (parse_model_lacks(m, at, 2))
			return PARSE_BAD(SHORT_FRAME);
	}
	m->l3 = at + 2;
	if (type == 0x0800)
		return parse_model_ipv4(m, m->l3);
	return type == 0x86dd ? parse_model_ipv6(m, m->l3) : PARSE_OTHER;
}

/* Whether the two agree on a frame, in what they return and in every field that is good then. */
static inline bool parse_model_agrees(uint8_t *bytes, size_t len)
{
	struct synhold_tuple in, out;
	struct parse_packet pkt;
	struct parse_model m;
	int expected = parse_model_frame(&m, bytes, len), result;

	memset(&pkt, 0xa5, sizeof(pkt));
	result = parse_frame(bytes, bytes + len, &pkt);
	if (m.past_end || result != expected)
		return false;
	if (result != PARSE_TCP)
		return true;
	memset(&in, 0xa5, sizeof(in));
	memset(&out, 0x5a, sizeof(out));
	parse_tuple(&pkt, 0, &in);
	parse_tuple(&pkt, 1, &out);
	return (uint8_t *)pkt.l3 == bytes + m.l3 && (uint8_t *)pkt.tcp == bytes + m.l4 && pkt.l3_offset == m.l3 &&
	       pkt.ip_payload == m.ip_payload && pkt.flags == m.flags && pkt.ipv6 == m.ipv6 &&
	       pkt.fragment == m.fragment && !memcmp(in.saddr, m.source, 16) && !memcmp(in.daddr, m.destination, 16) &&
	       !memcmp(&in.sport, bytes + m.l4, 2) && !memcmp(&in.dport, bytes + m.l4 + 2, 2) &&
	       !memcmp(out.saddr, in.daddr, 16) && !memcmp(out.daddr, in.saddr, 16) && out.sport == in.dport &&
	       out.dport == in.sport;
}

#endif
