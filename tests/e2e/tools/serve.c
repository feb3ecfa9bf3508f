// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A server of one worker: serve ADDR PORT [mode=echo|banner|silent|deaf] [delay_us=N] [cpu_us=N] [backlog=N]
 *
 * echo: the first request of a connection costs delay_us of the worker's time, then everything comes back as it went;
 * so its capacity is 1000000 / delay_us connections a second. With cpu_us it spends that much CPU time as well, and
 * gets less done where it has less of the CPU. banner: sends a line and closes. silent: accepts and reads, never
 * answers. deaf: never accepts.
 */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tool.h"

#define EVENTS 256
#define FILES 20000

enum mode { ECHO, BANNER, SILENT, DEAF };

static unsigned char served[FILES]; /* by descriptor: the first request is paid for */

static enum mode parse_mode(const char *text)
{
	static const char *const names[] = {"echo", "banner", "silent", "deaf"};

	for (int i = 0; text && i < 4; i++)
		if (!strcmp(text, names[i]))
			return (enum mode)i;
	if (text)
		tool_die("mode=%s: not understood", text);
	return ECHO;
}

static uint64_t cpu_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void work(long us, long cpu_us)
{
	struct timespec ts = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
	uint64_t until = cpu_us ? cpu_now_us() + (uint64_t)cpu_us : 0;

	while (cpu_us && cpu_now_us() < until)
		;

	while (us && nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static void accept_all(int listener, int epoll, enum mode mode)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP};
	int fd, one = 1;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		if (fd >= FILES) {
			close(fd);
			continue;
		}
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (mode == BANNER) {
			if (send(fd, "welcome\n", 8, MSG_NOSIGNAL) < 0)
				perror("send");
			close(fd);
			continue;
		}
		served[fd] = 0;
		event.data.fd = fd;
		epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
	}
}

/* Data that the client is too slow to take blocks the worker: the tests send little at a time. */
static int reply(int fd, const char *data, size_t length)
{
	int flags = fcntl(fd, F_GETFL);
	ssize_t n = 0;

	fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	while (length && (n = send(fd, data, length, MSG_NOSIGNAL)) > 0) {
		data += n;
		length -= (size_t)n;
	}
	fcntl(fd, F_SETFL, flags);
	return n < 0 ? -1 : 0;
}

static void read_one(int fd, enum mode mode, long delay_us, long cpu_us)
{
	char data[65536];
	ssize_t n = recv(fd, data, sizeof(data), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		close(fd);
		return;
	}
	if (mode != ECHO)
		return;
	if (!served[fd])
		work(delay_us, cpu_us);
	served[fd] = 1;
	if (reply(fd, data, (size_t)n))
		close(fd);
}

int main(int argc, char **argv)
{
	static const char *const keys[] = {"mode", "delay_us", "cpu_us", "backlog", NULL};
	struct epoll_event events[EVENTS], event = {.events = EPOLLIN};
	int listener, epoll, one = 1, zero = 0;
	union tool_addr addr;
	enum mode mode;
	long delay_us, cpu_us;

	if (argc < 3)
		tool_die("usage: serve ADDR PORT [mode=echo|banner|silent|deaf] [delay_us=N] [cpu_us=N] [backlog=N]");
	tool_check_keys(argc, argv, 3, keys);
	mode = parse_mode(tool_word(argc, argv, 3, "mode"));
	delay_us = tool_number(argc, argv, 3, "delay_us", 0);
	cpu_us = tool_number(argc, argv, 3, "cpu_us", 0);
	tool_raise_files();
	tool_address(argv[1], argv[2], &addr);
	listener = socket(addr.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (addr.any.sa_family == AF_INET6)
		setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	if (bind(listener, &addr.any, tool_length(&addr)) ||
	    listen(listener, (int)tool_number(argc, argv, 3, "backlog", 4096)))
		tool_die("%s port %s: %s", argv[1], argv[2], strerror(errno));
	epoll = epoll_create1(EPOLL_CLOEXEC);
	event.data.fd = listener;
	if (mode != DEAF)
		epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
	puts("ready");
	fflush(stdout);
	for (;;) {
		int n = epoll_wait(epoll, events, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			if (events[i].data.fd == listener)
				accept_all(listener, epoll, mode);
			else
				read_one(events[i].data.fd, mode, delay_us, cpu_us);
		}
	}
}
