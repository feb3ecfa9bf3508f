// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A flood of SYNs with random false addresses, as raw frames: flood ADDR PORT dev=NAME mac=XX:XX:XX:XX:XX:XX
 * [key=value...]
 *
 * Sources are of 10.64.0.0/10 or fd64::/16, each with a random port and sequence number, and nobody answers for them.
 * count=N in all;  rate=R a second (0: as fast as can be);  seed=S of the random numbers
 */
#define _GNU_SOURCE 1
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/random.h"
#include "tool.h"

#define BATCH 32
#define LENGTH_MAX 80

static uint64_t random_state;

static uint64_t draw(void)
{
	return random_draw(&random_state);
}

static uint32_t sum_words(const void *data, size_t length, uint32_t sum)
{
	const uint8_t *byte = data;

	for (size_t i = 0; i + 1 < length; i += 2)
		sum += (uint32_t)byte[i] << 8 | byte[i + 1];
	return sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

/* One SYN with an MSS option, from the IP header on; returns its length. */
static size_t compose(uint8_t *packet, const union tool_addr *to)
{
	static const uint8_t mss[4] = {2, 4, 0x05, 0xb4};
	int v4 = to->any.sa_family == AF_INET;
	struct tcphdr *tcp = (struct tcphdr *)(packet + (v4 ? sizeof(struct iphdr) : sizeof(struct ip6_hdr)));
	size_t length = sizeof(*tcp) + sizeof(mss);
	uint64_t who = draw(), what = draw();
	uint32_t pseudo = IPPROTO_TCP + (uint32_t)length;

	memset(packet, 0, LENGTH_MAX);
	if (v4) {
		struct iphdr *ip = (struct iphdr *)packet;

		ip->version = 4;
		ip->ihl = 5;
		ip->ttl = 64;
		ip->protocol = IPPROTO_TCP;
		ip->tot_len = htons((uint16_t)(sizeof(*ip) + length));
		ip->saddr = htonl(0x0a400000U | (who & 0x3fffff));
		ip->daddr = to->v4.sin_addr.s_addr;
		ip->check = fold(sum_words(ip, sizeof(*ip), 0));
		pseudo = sum_words(&ip->saddr, 8, pseudo);
	} else {
		struct ip6_hdr *ip = (struct ip6_hdr *)packet;

		ip->ip6_vfc = 6 << 4;
		ip->ip6_plen = htons((uint16_t)length);
		ip->ip6_nxt = IPPROTO_TCP;
		ip->ip6_hlim = 64;
		memcpy(&ip->ip6_src.s6_addr[2], &who, 6); /* another /64 each */
		memcpy(&ip->ip6_src.s6_addr[8], &what, 8);
		ip->ip6_src.s6_addr[0] = 0xfd;
		ip->ip6_src.s6_addr[1] = 0x64;
		ip->ip6_dst = to->v6.sin6_addr;
		pseudo = sum_words(&ip->ip6_src, 32, pseudo);
	}
	tcp->source = htons((uint16_t)(1024 + (who >> 32) % 64000));
	tcp->dest = v4 ? to->v4.sin_port : to->v6.sin6_port;
	tcp->seq = (uint32_t)what;
	tcp->doff = 6;
	tcp->syn = 1;
	tcp->window = htons(64240);
	memcpy(tcp + 1, mss, sizeof(mss));
	tcp->check = fold(sum_words(tcp, length, pseudo));
	return (size_t)((uint8_t *)tcp - packet) + length;
}

static void send_batch(int fd, struct sockaddr_ll *where, const union tool_addr *to, unsigned int count)
{
	static uint8_t packet[BATCH][LENGTH_MAX] __attribute__((aligned(8)));
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
	unsigned int done = 0;

	memset(messages, 0, sizeof(messages));
	for (unsigned int i = 0; i < count; i++) {
		parts[i] = (struct iovec){.iov_base = packet[i], .iov_len = compose(packet[i], to)};
		messages[i].msg_hdr.msg_name = where;
		messages[i].msg_hdr.msg_namelen = sizeof(*where);
		messages[i].msg_hdr.msg_iov = &parts[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	while (done < count) {
		int n = sendmmsg(fd, messages + done, count - done, 0);

		if (n > 0)
			done += (unsigned int)n;
		else if (errno != ENOBUFS && errno != EAGAIN)
			tool_die("sendmmsg: %s", strerror(errno));
		else
			usleep(1000);
	}
}

int main(int argc, char **argv)
{
	static const char *const keys[] = {"dev", "mac", "count", "rate", "seed", NULL};
	struct sockaddr_ll where = {.sll_family = AF_PACKET, .sll_halen = ETH_ALEN};
	const char *dev, *mac;
	union tool_addr to;
	uint64_t count, rate, sent = 0, began;
	int fd;

	if (argc < 3)
		tool_die("usage: flood ADDR PORT dev=NAME mac=MAC [key=value...]");
	tool_check_keys(argc, argv, 3, keys);
	tool_address(argv[1], argv[2], &to);
	dev = tool_word(argc, argv, 3, "dev");
	mac = tool_word(argc, argv, 3, "mac");
	count = (uint64_t)tool_number(argc, argv, 3, "count", 1000);
	rate = (uint64_t)tool_number(argc, argv, 3, "rate", 0);
	random_state = (uint64_t)tool_number(argc, argv, 3, "seed", 1) * 0x9e3779b97f4a7c15ULL | 1;
	where.sll_ifindex = dev ? (int)if_nametoindex(dev) : 0;
	where.sll_protocol = htons(to.any.sa_family == AF_INET ? ETH_P_IP : ETH_P_IPV6);
	if (!where.sll_ifindex || !mac ||
	    sscanf(mac, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &where.sll_addr[0], &where.sll_addr[1], &where.sll_addr[2],
		   &where.sll_addr[3], &where.sll_addr[4], &where.sll_addr[5]) != 6)
		tool_die("dev=NAME and mac=XX:XX:XX:XX:XX:XX are needed");
	fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		tool_die("socket: %s", strerror(errno));
	began = tool_now_us();
	while (sent < count) {
		uint64_t due = rate ? (tool_now_us() - began) * rate / 1000000 + 1 : count;
		unsigned int batch = due > sent ? (unsigned int)(due - sent < BATCH ? due - sent : BATCH) : 0;

		if (batch > count - sent)
			batch = (unsigned int)(count - sent);
		if (batch)
			send_batch(fd, &where, &to, batch);
		else
			usleep(500);
		sent += batch;
	}
	printf("sent=%lu elapsed_ms=%lu\n", (unsigned long)sent, (unsigned long)((tool_now_us() - began) / 1000));
	return 0;
}
