// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which clients get in: who ADDR PORT clients=N [first=I] [wait=MS] [port=P]
 *
 * Each of them tries once to connect to a server that echoes, for so many ms. Prints the numbers of those that did, one
 * a line, then `in=N refused=N lost=N`.
 */
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "tool.h"

enum outcome { OPEN, IN, REFUSED, LOST };

static int dial(const union tool_addr *to, uint32_t number, uint16_t port)
{
	union tool_addr from;
	int fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		tool_die("socket: %s", strerror(errno));
	setsockopt(fd, SOL_IP, IP_FREEBIND, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	tool_source(to->any.sa_family, number, 0, port, &from);
	if (bind(fd, &from.any, tool_length(&from)))
		tool_die("client %u: bind: %s", number, strerror(errno));
	if (connect(fd, &to->any, tool_length(to)) && errno != EINPROGRESS)
		tool_die("client %u: connect: %s", number, strerror(errno));
	return fd;
}

/* Connected is not in: with the answer to a request it has been served. */
static enum outcome look(struct pollfd *pfd, int *asked)
{
	int error = 0;
	socklen_t length = sizeof(error);
	char byte = 'x';

	getsockopt(pfd->fd, SOL_SOCKET, SO_ERROR, &error, &length);
	if (error)
		return error == ECONNREFUSED ? REFUSED : LOST;
	if (!*asked && pfd->revents & POLLOUT) {
		*asked = send(pfd->fd, &byte, 1, MSG_NOSIGNAL) == 1;
		pfd->events = POLLIN;
		return OPEN;
	}
	if (pfd->revents & (POLLIN | POLLHUP))
		return recv(pfd->fd, &byte, 1, 0) == 1 ? IN : LOST;
	return OPEN;
}

int main(int argc, char **argv)
{
	static const char *const keys[] = {"clients", "first", "wait", "port", NULL};
	uint32_t count, first, left, totals[4] = {0};
	enum outcome *outcome;
	struct pollfd *pfd;
	union tool_addr to;
	uint64_t end;
	int *asked;

	if (argc < 4)
		tool_die("usage: who ADDR PORT clients=N [first=I] [wait=MS] [port=P]");
	tool_check_keys(argc, argv, 3, keys);
	tool_raise_files();
	tool_address(argv[1], argv[2], &to);
	count = (uint32_t)tool_number(argc, argv, 3, "clients", 1);
	first = (uint32_t)tool_number(argc, argv, 3, "first", 0);
	pfd = calloc(count, sizeof(*pfd));
	asked = calloc(count, sizeof(*asked));
	outcome = calloc(count, sizeof(*outcome));
	if (!pfd || !asked || !outcome)
		tool_die("out of memory");
	for (uint32_t i = 0; i < count; i++)
		pfd[i] = (struct pollfd){.fd = dial(&to, first + i, (uint16_t)tool_number(argc, argv, 3, "port", 0)),
					 .events = POLLOUT};
	end = tool_now_us() + (uint64_t)tool_number(argc, argv, 3, "wait", 500) * 1000;
	for (left = count; left && tool_now_us() < end;) {
		poll(pfd, count, 20);
		for (uint32_t i = 0; i < count; i++) {
			if (pfd[i].fd < 0 || !pfd[i].revents)
				continue;
			outcome[i] = look(&pfd[i], &asked[i]);
			if (outcome[i] == OPEN)
				continue;
			close(pfd[i].fd);
			pfd[i].fd = -1;
			left--;
		}
	}
	for (uint32_t i = 0; i < count; i++) {
		totals[outcome[i] == OPEN ? LOST : outcome[i]]++;
		if (outcome[i] == IN)
			printf("%u\n", first + i);
	}
	printf("in=%u refused=%u lost=%u\n", totals[IN], totals[REFUSED], totals[LOST]);
	return 0;
}
