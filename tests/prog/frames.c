// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/prog/frames.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_HOP_BY_HOP 0
#define FRAMES_FRAGMENT 44
#define FRAMES_AH 51
#define FRAMES_TCP 6

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value & 0xffff);
}

uint16_t frames_get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

uint32_t frames_get32(const uint8_t *at)
{
	return (uint32_t)frames_get16(at) << 16 | frames_get16(at + 2);
}

void frames_address(const char *text, uint8_t *to)
{
	memset(to, 0, 16);
	to[10] = to[11] = 0xff;
	if (inet_pton(AF_INET, text, to + 12) != 1 && inet_pton(AF_INET6, text, to) != 1)
		abort();
}

static uint32_t sum_add(uint32_t sum, const uint8_t *at, size_t len)
{
	size_t i;

	for (i = 0; i + 1 < len; i += 2)
		sum += frames_get16(at + i);
	return len & 1 ? sum + ((uint32_t)at[len - 1] << 8) : sum;
}

static uint32_t sum_fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static uint32_t sum_pseudo(const uint8_t *ip, size_t tcp_len)
{
	bool v6 = ip[0] >> 4 == 6;

	return sum_add(FRAMES_TCP + (uint32_t)tcp_len, ip + (v6 ? 8 : 12), v6 ? 32 : 8);
}

uint32_t frames_tcp_sum(const uint8_t *frame, size_t l3, size_t l4, size_t tcp_len)
{
	return sum_fold(sum_add(sum_pseudo(frame + l3, tcp_len), frame + l4, tcp_len));
}

uint32_t frames_ip_sum(const uint8_t *ip, size_t len)
{
	return sum_fold(sum_add(0, ip, len));
}

static void addresses(const struct frame_spec *spec, struct synhold_tuple *tuple)
{
	frames_address(spec->src ? spec->src : spec->v6 ? "2001:db8:1::1" : "198.51.100.1", tuple->saddr);
	frames_address(spec->dst ? spec->dst : spec->v6 ? "2001:db8::10" : "192.0.2.10", tuple->daddr);
	if (spec->src4)
		put32(tuple->saddr + 12, spec->src4);
	if (spec->net6 || spec->host6) {
		put32(tuple->saddr + 4, spec->net6);
		put32(tuple->saddr + 12, spec->host6);
	}
	tuple->sport = htons(spec->sport ? spec->sport : 40000);
	tuple->dport = htons(spec->dport ? spec->dport : 443);
}

/* Ethernet header and tags; the outer of two is 802.1ad (IEEE 802.1Q-2018, 9.6). */
static uint8_t *link_header(uint8_t *at, const struct frame_spec *spec)
{
	static const uint8_t server_mac[6] = {0x02, 0, 0, 0, 0, 0x10}, client_mac[6] = {0x02, 0, 0, 0, 0, 0x01};
	unsigned int i;

	memcpy(at, spec->reply ? client_mac : server_mac, 6);
	memcpy(at + 6, spec->reply ? server_mac : client_mac, 6);
	at += 12;
	for (i = 0; i < spec->vlans; i++, at += 4) {
		put16(at, i + 1 < spec->vlans ? 0x88a8 : 0x8100);
		put16(at + 2, 100 + i);
	}
	put16(at, spec->v6 ? 0x86dd : 0x0800);
	return at + 2;
}

static uint8_t *ipv4_header(uint8_t *ip, const struct frame_spec *spec, const uint8_t *from, const uint8_t *to,
			    size_t tcp_len)
{
	size_t len = 20 + spec->ip_options;

	ip[0] = (uint8_t)(0x40 | len / 4);
	put16(ip + 2, (uint32_t)(len + tcp_len));
	put16(ip + 4, 0x1234);
	put16(ip + 6, spec->fragment / 8 | (spec->more ? 0x2000 : spec->fragment ? 0 : 0x4000));
	ip[8] = 57;
	ip[9] = FRAMES_TCP;
	memcpy(ip + 12, from + 12, 4);
	memcpy(ip + 16, to + 12, 4);
	memset(ip + 20, 1, spec->ip_options); /* no-operation, RFC 791 */
	put16(ip + 10, ~frames_ip_sum(ip, len) & 0xffff);
	return ip + len;
}

static uint8_t *ipv6_headers(uint8_t *ip, const struct frame_spec *spec, const uint8_t *from, const uint8_t *to,
			     size_t tcp_len)
{
	uint8_t *next = ip + 6, *at = ip + 40;
	unsigned int i = 0, type = spec->ext[0];

	ip[0] = 0x60;
	ip[7] = 57;
	memcpy(ip + 8, from, 16);
	memcpy(ip + 24, to, 16);
	if (spec->hop_by_hop) {
		*next = FRAMES_HOP_BY_HOP;
		next = at;
		at += 8;
	}
	for (; type; type = ++i < FRAMES_EXTENSIONS ? spec->ext[i] : 0) {
		size_t size = type == FRAMES_AH ? 24 : type == FRAMES_FRAGMENT ? 8 : 16;

		*next = (uint8_t)type;
		next = at;
		if (type == FRAMES_FRAGMENT)
			put16(at + 2, spec->fragment | spec->more);
		else /* 32-bit words less two (RFC 4302), or 8-byte units less one (RFC 8200) */
			at[1] = type == FRAMES_AH ? 24 / 4 - 2 : 16 / 8 - 1;
		at += size;
	}
	*next = FRAMES_TCP;
	put16(ip + 4, (uint32_t)((size_t)(at - ip) - 40 + tcp_len));
	return at;
}

void frames_complete_checksum(struct frame *frame, size_t l3)
{
	uint8_t *tcp = frame->bytes + frame->l4;
	size_t tcp_len = (size_t)(tcp[12] >> 4) * 4;

	put16(tcp + 16, 0);
	put16(tcp + 16, ~frames_tcp_sum(frame->bytes, l3, frame->l4, tcp_len) & 0xffff);
}

void frames_build(struct frame *frame, const struct frame_spec *spec)
{
	size_t tcp_header = 20 + spec->tcp_options, tcp_len = tcp_header + spec->data, i;
	struct synhold_tuple *tuple = &frame->tuple;
	uint8_t *ip, *tcp, *from, *to, flags = spec->flags;

	memset(frame, 0, sizeof(*frame));
	addresses(spec, tuple);
	from = spec->reply ? tuple->daddr : tuple->saddr;
	to = spec->reply ? tuple->saddr : tuple->daddr;
	ip = link_header(frame->bytes, spec);
	tcp = spec->v6 ? ipv6_headers(ip, spec, from, to, tcp_len) : ipv4_header(ip, spec, from, to, tcp_len);

	memcpy(tcp, spec->reply ? &tuple->dport : &tuple->sport, 2);
	memcpy(tcp + 2, spec->reply ? &tuple->sport : &tuple->dport, 2);
	put32(tcp + 4, spec->seq);
	put32(tcp + 8, spec->ack);
	tcp[12] = (uint8_t)(tcp_header / 4 << 4);
	if (!flags && !spec->null_flags)
		flags = spec->reply ? FRAMES_ACK | FRAMES_PSH : FRAMES_SYN;
	tcp[13] = flags;
	put16(tcp + 14, 64240);
	memset(tcp + 20, 1, spec->tcp_options); /* no-operation, RFC 9293 */
	for (i = 0; i < spec->data; i++)
		tcp[tcp_header + i] = (uint8_t)(i * 7 + 1);

	frame->l3 = (size_t)(ip - frame->bytes);
	frame->l4 = (size_t)(tcp - frame->bytes);
	frame->len = frame->l4 + tcp_len + spec->padding;
	put16(tcp + 16, spec->partial ? sum_fold(sum_pseudo(ip, tcp_len)) :
					~frames_tcp_sum(frame->bytes, frame->l3, frame->l4, tcp_len) & 0xffff);
}
