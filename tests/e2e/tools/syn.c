// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sends bare SYNs with addresses that nobody has to own: syn ADDR PORT [key=value...]
 *
 * count=N first=I sources=M port=P  as for storm;  repeat=K each of them K times, gap_ms=MS between the rounds;
 * data=BYTES of payload;  flags=HEX TCP flags instead of SYN
 */
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "tool.h"

#define DATA_MAX 1000

static uint32_t sum_bytes(const void *data, size_t length, uint32_t sum)
{
	const uint8_t *byte = data;

	for (size_t i = 0; i < length; i++)
		sum += i & 1 ? byte[i] : (uint32_t)byte[i] << 8;
	return sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

struct segment {
	struct tcphdr tcp;
	uint8_t mss[4];
	uint8_t data[DATA_MAX];
};

/* The TCP part; pseudo is the sum over both addresses. */
static size_t fill_segment(struct segment *seg, uint16_t sport, uint16_t dport, uint32_t seq, unsigned int flags,
			   size_t data, uint32_t pseudo)
{
	static const uint8_t mss[4] = {2, 4, 0x05, 0xb4};
	size_t length = sizeof(seg->tcp) + sizeof(seg->mss) + data;

	memset(seg, 0, sizeof(*seg));
	seg->tcp.source = sport;
	seg->tcp.dest = dport;
	seg->tcp.seq = htonl(seq);
	seg->tcp.doff = 6;
	((uint8_t *)&seg->tcp)[13] = (uint8_t)flags;
	seg->tcp.window = htons(64240);
	memcpy(seg->mss, mss, sizeof(mss));
	memset(seg->data, 'd', data);
	seg->tcp.check = fold(sum_bytes(seg, length, pseudo + IPPROTO_TCP + (uint32_t)length));
	return length;
}

static void send_one(int fd, const union tool_addr *from, const union tool_addr *to, unsigned int flags, size_t data)
{
	union tool_addr where = *to;
	struct segment seg;
	uint8_t packet[1500];
	size_t length, header;

	if (to->any.sa_family == AF_INET) {
		struct iphdr ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_TCP};

		ip.saddr = from->v4.sin_addr.s_addr;
		ip.daddr = to->v4.sin_addr.s_addr;
		length = fill_segment(&seg, from->v4.sin_port, to->v4.sin_port, ntohl(ip.saddr), flags, data,
				      sum_bytes(&ip.saddr, 4, sum_bytes(&ip.daddr, 4, 0)));
		ip.tot_len = htons((uint16_t)(sizeof(ip) + length));
		memcpy(packet, &ip, header = sizeof(ip));
		where.v4.sin_port = 0;
	} else {
		struct ip6_hdr ip = {.ip6_src = from->v6.sin6_addr, .ip6_dst = to->v6.sin6_addr};

		length = fill_segment(&seg, from->v6.sin6_port, to->v6.sin6_port, ip.ip6_src.s6_addr32[1], flags, data,
				      sum_bytes(&ip.ip6_src, 16, sum_bytes(&ip.ip6_dst, 16, 0)));
		ip.ip6_vfc = 6 << 4;
		ip.ip6_plen = htons((uint16_t)length);
		ip.ip6_nxt = IPPROTO_TCP;
		ip.ip6_hlim = 64;
		memcpy(packet, &ip, header = sizeof(ip));
		where.v6.sin6_port = 0;
	}
	memcpy(packet + header, &seg, length);
	while (sendto(fd, packet, header + length, 0, &where.any, tool_length(&where)) < 0) {
		if (errno != ENOBUFS && errno != EAGAIN)
			tool_die("sendto: %s", strerror(errno));
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	static const char *const keys[] = {"count",  "first", "sources", "port", "repeat",
					   "gap_ms", "data",  "flags",   NULL};
	long count, first, sources, port, repeat, gap_ms, data;
	const char *flags;
	union tool_addr to, from;
	int fd;

	if (argc < 3)
		tool_die("usage: syn ADDR PORT [key=value...]");
	tool_check_keys(argc, argv, 3, keys);
	tool_address(argv[1], argv[2], &to);
	count = tool_number(argc, argv, 3, "count", 1);
	first = tool_number(argc, argv, 3, "first", 0);
	sources = tool_number(argc, argv, 3, "sources", 0);
	port = tool_number(argc, argv, 3, "port", 10000);
	repeat = tool_number(argc, argv, 3, "repeat", 1);
	gap_ms = tool_number(argc, argv, 3, "gap_ms", 0);
	data = tool_number(argc, argv, 3, "data", 0);
	flags = tool_word(argc, argv, 3, "flags");
	if (data < 0 || data > DATA_MAX)
		tool_die("data=%ld: at most %d", data, DATA_MAX);
	fd = socket(to.any.sa_family, SOCK_RAW, IPPROTO_RAW);
	if (fd < 0)
		tool_die("socket: %s", strerror(errno));
	for (long round = 0; round < repeat; round++) {
		if (round && gap_ms)
			usleep((useconds_t)gap_ms * 1000);
		for (long i = 0; i < count; i++) {
			tool_source(to.any.sa_family, (uint32_t)(first + i), (uint32_t)sources, (uint16_t)port, &from);
			send_one(fd, &from, &to, flags ? (unsigned int)strtoul(flags, NULL, 16) : TH_SYN, (size_t)data);
		}
	}
	printf("sent=%ld\n", count * repeat);
	return 0;
}
