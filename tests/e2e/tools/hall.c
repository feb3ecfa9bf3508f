// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A server that stops accepting: hall ADDR PORT accept=N [close=K] [backlog=B]
 *
 * Accepts N connections and echoes what they send; the first K of them it closes at once. Later ones wait in the accept
 * queue. On SIGUSR1 it accepts all that wait, prints how many of them were still connections and how many had been
 * reset, and goes on accepting.
 */
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tool.h"

#define EVENTS 64

static long left, to_close;

/* 1: it accepted one, 0: nothing waits. Whether it was alive when it came is counted. */
static int take(int listener, int epoll, long counts[2])
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct tcp_info info;
	socklen_t length = sizeof(info);

	if (fd < 0)
		return 0;
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length))
		tool_die("TCP_INFO: %s", strerror(errno));
	counts[info.tcpi_state == TCP_CLOSE]++;
	if (to_close > 0 || info.tcpi_state == TCP_CLOSE) {
		to_close--;
		close(fd);
		return 1;
	}
	event.data.fd = fd;
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
	return 1;
}

static void echo(int fd)
{
	char data[65536];
	ssize_t n = recv(fd, data, sizeof(data), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || send(fd, data, (size_t)n, MSG_NOSIGNAL) != n)
		close(fd);
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
	static const char *const keys[] = {"accept", "close", "backlog", NULL};
	struct epoll_event events[EVENTS], event = {.events = EPOLLIN};
	int listener, epoll, wake;

	if (argc < 4)
		tool_die("usage: hall ADDR PORT accept=N [close=K] [backlog=B]");
	tool_check_keys(argc, argv, 3, keys);
	left = tool_number(argc, argv, 3, "accept", 0);
	to_close = tool_number(argc, argv, 3, "close", 0);
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
				while (take(listener, epoll, counts))
					;
				printf("alive=%ld reset=%ld\n", counts[0], counts[1]);
				fflush(stdout);
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
