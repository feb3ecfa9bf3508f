// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One connection to an echo server that is never quiet: stream ADDR PORT SECONDS
 *
 * Sends 1,000 bytes every 5 ms, numbered, and reads what comes back. Prints sent, received, wrong bytes, and the
 * longest time in which nothing came. SIGINT ends it early.
 */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "tool.h"

#define CHUNK 1000
#define PACE_US 5000

static volatile sig_atomic_t told;

static void on_interrupt(int number)
{
	(void)number;
	told = 1;
}

static uint8_t pattern(uint64_t offset)
{
	return (uint8_t)(offset ^ offset >> 8 ^ offset >> 16);
}

struct state {
	int fd;
	uint64_t sent, received, wrong, last_us, longest_us;
};

static void take(struct state *s)
{
	uint8_t data[65536];
	ssize_t n;

	while ((n = recv(s->fd, data, sizeof(data), 0)) > 0) {
		uint64_t now = tool_now_us();

		for (ssize_t i = 0; i < n; i++)
			s->wrong += data[i] != pattern(s->received + (uint64_t)i);
		s->received += (uint64_t)n;
		if (now - s->last_us > s->longest_us)
			s->longest_us = now - s->last_us;
		s->last_us = now;
	}
	if (n == 0 || (n < 0 && errno != EAGAIN))
		tool_die("the connection broke after %llu bytes: %s", (unsigned long long)s->received,
			 n ? strerror(errno) : "closed");
}

int main(int argc, char **argv)
{
	struct state s = {0};
	union tool_addr to, from;
	uint64_t end, next;
	int one = 1;

	if (argc != 4)
		tool_die("usage: stream ADDR PORT SECONDS");
	tool_address(argv[1], argv[2], &to);
	s.fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(s.fd, SOL_IP, IP_FREEBIND, &one, sizeof(one));
	tool_source(to.any.sa_family, TOOL_SOURCES_PER_PORT - 1, 0, 0, &from);
	if (bind(s.fd, &from.any, tool_length(&from)) || connect(s.fd, &to.any, tool_length(&to)))
		tool_die("%s port %s: %s", argv[1], argv[2], strerror(errno));
	setsockopt(s.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	fcntl(s.fd, F_SETFL, fcntl(s.fd, F_GETFL) | O_NONBLOCK);
	s.last_us = next = tool_now_us();
	end = next + strtoul(argv[3], NULL, 10) * 1000000;
	signal(SIGINT, on_interrupt);
	puts("streaming");
	fflush(stdout);
	/* what was sent must also come back: half a minute for the rest */
	while (tool_now_us() < end || (s.received < s.sent && tool_now_us() < end + 30000000)) {
		struct pollfd pfd = {.fd = s.fd, .events = POLLIN};
		uint8_t data[CHUNK];

		poll(&pfd, 1, 1);
		take(&s);
		if (told && end > tool_now_us())
			end = tool_now_us();
		if (tool_now_us() < next || tool_now_us() >= end)
			continue;
		next += PACE_US;
		for (int i = 0; i < CHUNK; i++)
			data[i] = pattern(s.sent + (uint64_t)i);
		for (size_t put = 0; put < CHUNK;) {
			ssize_t n = send(s.fd, data + put, CHUNK - put, MSG_NOSIGNAL);

			if (n < 0 && errno != EAGAIN)
				tool_die("send: %s", strerror(errno));
			if (n < 0 && poll(&(struct pollfd){.fd = s.fd, .events = POLLOUT}, 1, 1000) < 0)
				tool_die("poll: %s", strerror(errno));
			if (n < 0) {
				take(&s);
				continue;
			}
			put += (size_t)n;
			s.sent += (uint64_t)n;
		}
	}
	printf("sent=%llu received=%llu wrong=%llu longest_gap_ms=%llu\n", (unsigned long long)s.sent,
	       (unsigned long long)s.received, (unsigned long long)s.wrong, (unsigned long long)s.longest_us / 1000);
	return 0;
}
