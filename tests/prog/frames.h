/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Composes frames for the program tests: Ethernet, VLAN tags, IPv4 or IPv6, TCP, with right checksums. */
#ifndef TESTS_PROG_FRAMES_H
#define TESTS_PROG_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <synhold/abi.h>

#define FRAMES_MAX 1024
#define FRAMES_EXTENSIONS 8

#define FRAMES_FIN 0x01
#define FRAMES_SYN 0x02
#define FRAMES_RST 0x04
#define FRAMES_PSH 0x08
#define FRAMES_ACK 0x10

/*
 * What a frame is to be; whatever is left zero has a default: a SYN from 198.51.100.1:40000 (2001:db8:1::1) to
 * 192.0.2.10:443 (2001:db8::10). With `reply` it is the server's, addresses and ports the other way, and the default is
 * ACK|PSH.
 */
struct frame_spec {
	bool v6;
	bool reply;
	const char *src, *dst; /* the client's and the server's address, as text */
	uint32_t src4;         /* the client's IPv4 address in host order, instead of the text */
	uint32_t net6, host6;  /* 2001:db8:NET6::HOST6: bits 32..63 and 96..127, instead of the text */
	uint16_t sport, dport; /* host order; the client's and the server's */
	uint8_t flags;
	bool null_flags; /* really no flag */
	uint32_t seq, ack;
	unsigned int vlans;
	unsigned int ip_options;  /* bytes, a multiple of 4 */
	unsigned int tcp_options; /* the same */
	unsigned int data, padding;
	uint8_t ext[FRAMES_EXTENSIONS]; /* IPv6 extension headers by number, 0 with hop_by_hop for the first */
	bool hop_by_hop;                /* a hop-by-hop header (number 0) comes first */
	unsigned int fragment;          /* offset in bytes, a multiple of 8 */
	bool more;                      /* more fragments */
	bool partial;                   /* the checksum is only the pseudo header's, as offloads leave it */
};

struct frame {
	uint8_t bytes[FRAMES_MAX];
	size_t len;
	size_t l3, l4; /* offsets */
	struct synhold_tuple tuple;
};

void frames_build(struct frame *frame, const struct frame_spec *spec);

/* Writes the checksum of a TCP segment without data that an offload left unfinished. */
void frames_complete_checksum(struct frame *frame, size_t l3);

/* 16-bit one's complement sum (RFC 1071) of the TCP segment of `tcp_len` bytes with its pseudo header; 0xffff when
 * right. */
uint32_t frames_tcp_sum(const uint8_t *frame, size_t l3, size_t l4, size_t tcp_len);

/* The same of an IPv4 header. */
uint32_t frames_ip_sum(const uint8_t *ip, size_t len);

/* An address as text, IPv4 mapped into IPv6, in network order. */
void frames_address(const char *text, uint8_t *to);

uint16_t frames_get16(const uint8_t *at);
uint32_t frames_get32(const uint8_t *at);

#endif
