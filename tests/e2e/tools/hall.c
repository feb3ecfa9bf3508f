// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A server that stops accepting: hall ADDR PORT accept=N [close=K] [pace=US] [backlog=B]
 *
 * Accepts N connections and echoes what they send; the first K of them it closes at once. Later ones wait in the accept
 * queue. On SIGUSR1 it says `accepting` and accepts all that wait, one every so many microseconds, then prints how many
 * were alive, how many of those were reset afterwards (spoiled), and how many had been reset before; and goes on
 * accepting.
 */
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tool.h"

#define EVENTS 64
#define FILES 20000
#define QUIET_US 100000

static unsigned char held[FILES]; /* by descriptor: accepted alive and not closed since */
static long left, to_close;

/* The descriptor of the one that it accepted, 0: nothing waits. Whether it was alive when it came is counted. */
static int take(int listener, int epoll, long counts[2])
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct tcp_info info;
	socklen_t length = sizeof(info);

	if (fd < 0)
		return 0;
	if (fd >= FILES)
		tool_die("too many connections");
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length))
		tool_die("TCP_INFO: %s", strerror(errno));
	counts[info.tcpi_state == TCP_CLOSE]++;
	if (to_close > 0 || info.tcpi_state == TCP_CLOSE) {
		to_close--;
		close(fd);
		return fd;
	}
	held[fd] = 1;
	event.data.fd = fd;
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
	return fd;
}

/* Whether it has been reset: one that its client has closed is in another state. */
static int is_reset(int fd)
{
	struct tcp_info info;
	socklen_t length = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) || info.tcpi_state == TCP_CLOSE;
}

static void take_all(int listener, int epoll, long pace_us)
{
	long counts[2] = {0, 0}, spoiled = 0;
	uint64_t quiet = tool_now_us();
	int last = 0;

	puts("accepting");
	fflush(stdout);
	while (tool_now_us() < quiet + QUIET_US) { /* others may be on their way */
		uint64_t next = tool_now_us() + (uint64_t)pace_us;
		int fd = take(listener, epoll, counts);

		if (fd)
			quiet = tool_now_us();
		last = fd > last ? fd : last;
		while (tool_now_us() < next)
			;
	}
	for (int fd = listener + 1; fd <= last; fd++)
		spoiled += held[fd] && is_reset(fd);
	printf("alive=%ld spoiled=%ld reset=%ld\n", counts[0], spoiled, counts[1]);
	fflush(stdout);
}

static void echo(int fd)
{
	char data[65536];
	ssize_t n = recv(fd, data, sizeof(data), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || send(fd, data, (size_t)n, MSG_NOSIGNAL) != n) {
		held[fd] = 0;
		close(fd);
	}
}

static int signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int listen_on(int argc, char **argv)
{
	union tool_addr addr;
	int fd, one = 1, zero = 0;

	tool_address(argv[1], argv[2], &addr);
	fd = socket(addr.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (addr.any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	if (bind(fd, &addr.any, tool_length(&addr)) || listen(fd, (int)tool_number(argc, argv, 3, "backlog", 4096)))
		tool_die("%s port %s: %s", argv[1], argv[2], strerror(errno));
	return fd;
}

int main(int argc, char **argv)
{
	static const char *const keys[] = {"accept", "close", "pace", "backlog", NULL};
	struct epoll_event events[EVENTS], event = {.events = EPOLLIN};
	int listener, epoll, wake;
	long pace_us;

	if (argc < 4)
		tool_die("usage: hall ADDR PORT accept=N [close=K] [pace=US] [backlog=B]");
	tool_check_keys(argc, argv, 3, keys);
	left = tool_number(argc, argv, 3, "accept", 0);
	to_close = tool_number(argc, argv, 3, "close", 0);
	pace_us = tool_number(argc, argv, 3, "pace", 0);
	tool_raise_files();
	listener = listen_on(argc, argv);
	wake = signals();
	epoll = epoll_create1(EPOLL_CLOEXEC);
	event.data.fd = wake;
	epoll_ctl(epoll, EPOLL_CTL_ADD, wake, &event);
	event.data.fd = listener;
	if (left)
		epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
	puts("ready");
	fflush(stdout);
	for (;;) {
		int n = epoll_wait(epoll, events, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			long counts[2] = {0, 0};

			if (events[i].data.fd == wake) {
				struct signalfd_siginfo info;

				if (read(wake, &info, sizeof(info)) != sizeof(info))
					tool_die("signalfd: %s", strerror(errno));
				take_all(listener, epoll, pace_us);
				if (left <= 0) {
					event.data.fd = listener;
					epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
				}
				left = 1L << 30;
			} else if (events[i].data.fd == listener) {
				while (left > 0 && take(listener, epoll, counts))
					left--;
				if (left <= 0)
					epoll_ctl(epoll, EPOLL_CTL_DEL, listener, NULL);
			} else {
				echo(events[i].data.fd);
			}
		}
	}
}
