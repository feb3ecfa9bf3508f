// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A bulk flow from a server to one client: bulk serve PORT, which says `ready`; bulk take ADDR PORT SECONDS. The server
 * ends with its client.
 */
#include <unistd.h>

#include "tests/e2e/tools/tool.h"

static char data[65536];

static int serve(const char *port)
{
	union tool_addr addr;
	int listener, fd;

	tool_address("0.0.0.0", port, &addr);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, &addr.any, tool_length(&addr)) || listen(listener, 1))
		tool_die("port %s: %s", port, strerror(errno));
	puts("ready");
	fflush(stdout);
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		tool_die("accept: %s", strerror(errno));
	while (send(fd, data, sizeof(data), MSG_NOSIGNAL) > 0)
		;
	return 0;
}

static int take(const char *host, const char *port, uint64_t seconds)
{
	union tool_addr addr;
	uint64_t end = tool_now_us() + seconds * 1000000, taken = 0;
	ssize_t n;
	int fd;

	tool_address(host, port, &addr);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, &addr.any, tool_length(&addr)))
		tool_die("%s port %s: %s", host, port, strerror(errno));
	while (tool_now_us() < end && (n = recv(fd, data, sizeof(data), 0)) > 0)
		taken += (uint64_t)n;
	printf("bytes=%llu\n", (unsigned long long)taken);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "serve"))
		return serve(argv[2]);
	if (argc == 5 && !strcmp(argv[1], "take"))
		return take(argv[2], argv[3], strtoul(argv[4], NULL, 10));
	tool_die("usage: bulk serve PORT | bulk take ADDR PORT SECONDS");
}
