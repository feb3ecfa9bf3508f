// SPDX-License-Identifier: GPL-2.0-or-later
/* Starting and stopping the metrics processes. */
#include <errno.h>
#include <linux/close_range.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "export/export.h"
#include "export/http_impl.h"

#define BACKLOG 32

/* Numbers only: a name that must be looked up would be a wait, and a surprise. */
static int parse_address(const char *address, struct addrinfo **result, struct error *err)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
	const char *colon = strrchr(address, ':'), *from = address, *end = colon;
	char host[64] = "";
	char *rest;
	long port;

	if (!colon)
		goto refuse;
	if (*address == '[') {
		from++;
		end--;
		if (end < from || *end != ']')
			goto refuse;
		hints.ai_family = AF_INET6;
	} else if (strchr(address, ':') != colon) { /* IPv6 without brackets */
		goto refuse;
	}
	if ((size_t)(end - from) >= sizeof(host))
		goto refuse;
	memcpy(host, from, (size_t)(end - from));
	port = strtol(colon + 1, &rest, 10);
	if (colon[1] < '0' || colon[1] > '9' || *rest || port < 1 || port > 65535)
		goto refuse;
	if (!getaddrinfo(host[0] ? host : NULL, colon + 1, &hints, result))
		return 0;
refuse:
	error_set(err, -EINVAL, "--metrics '%s' is not accepted", address);
	return error_hint(err, -EINVAL, "accepted: " EXPORT_HTTP_FORM);
}

int export_http_check(const char *address, struct error *err)
{
	struct addrinfo *list = NULL;
	int ret = parse_address(address, &list, err);

	if (!ret)
		freeaddrinfo(list);
	return ret;
}

int export_http_listen(struct export_http *http, const char *address, struct error *err)
{
	struct addrinfo *list = NULL;
	int ret = parse_address(address, &list, err), on = 1, fd;

	if (ret)
		return ret;
	fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, list->ai_addr, list->ai_addrlen) || listen(fd, BACKLOG)) {
		ret = error_set(err, -errno, "cannot listen on %s for --metrics: %s", address, strerror(errno));
		error_hint(err, ret,
			   ret == -EADDRINUSE    ? "give another port, or end what listens there: ss -ltnp names it" :
			   ret == -EADDRNOTAVAIL ? "give an address of this machine: ip -br addr lists them" :
						   "give another address or port");
		if (fd >= 0)
			close(fd);
	} else {
		http->fd = fd;
	}
	freeaddrinfo(list);
	return ret;
}

int export_http_start(struct export_http *http, const char *instance, struct error *err)
{
	int life[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, life))
		return error_set(err, -errno, "the metrics processes cannot start: %s", strerror(errno));
	http->pid = fork();
	if (http->pid < 0) {
		int ret = -errno;

		close(life[0]);
		close(life[1]);
		http->pid = 0;
		return error_set(err, ret, "the metrics processes cannot start: %s", strerror(-ret));
	}
	if (!http->pid) {
		/* only these two, at known places: no lock, no pid file, no map is ours */
		dup2(http->fd, 3);
		dup2(life[1], 4);
		close_range(5, ~0U, 0);
		http_reader(instance, 3, 4);
	}
	close(life[1]);
	close(http->fd);
	http->fd = -1;
	http->life = life[0];
	return 0;
}

void export_http_stop(struct export_http *http)
{
	if (http->fd >= 0)
		close(http->fd);
	if (http->life >= 0)
		close(http->life);
	if (http->pid > 0)
		while (waitpid(http->pid, NULL, 0) < 0 && errno == EINTR)
			;
	http->fd = http->life = -1;
	http->pid = 0;
}
