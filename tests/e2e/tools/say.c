// SPDX-License-Identifier: GPL-2.0-or-later
/* One datagram to a socket in the file system, as an application would send it: say PATH TEXT */
#include <sys/un.h>
#include <unistd.h>

#include "tool.h"

int main(int argc, char **argv)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (argc != 3 || strlen(argv[1]) >= sizeof(addr.sun_path))
		tool_die("usage: say PATH TEXT");
	strcpy(addr.sun_path, argv[1]);
	if (fd < 0 || sendto(fd, argv[2], strlen(argv[2]), 0, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		tool_die("%s: %s", argv[1], strerror(errno));
	close(fd);
	return 0;
}
