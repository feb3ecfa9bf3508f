// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/turn.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "drill/progress.h"

/* An abstract name: it needs no file system, and goes away with whoever holds it. */
#define TURN_NAME "synhold-drill"

static socklen_t turn_address(struct sockaddr_un *addr)
{
	*addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(addr->sun_path + 1, TURN_NAME, sizeof(TURN_NAME) - 1);
	return offsetof(struct sockaddr_un, sun_path) + sizeof(TURN_NAME);
}

/* Nobody ever accepts: a connection hangs up when the one who listens is gone. */
static int turn_wait(void)
{
	struct sockaddr_un addr;
	socklen_t len = turn_address(&addr);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), ret = 0;

	if (fd < 0)
		return -errno;
	if (!connect(fd, (struct sockaddr *)&addr, len)) {
		if (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1) < 0)
			ret = -errno;
	} else if (errno != ECONNREFUSED && errno != ECONNRESET) {
		ret = -errno;
	}
	close(fd);
	return ret;
}

int turn_take(void)
{
	struct sockaddr_un addr;
	socklen_t len = turn_address(&addr);
	bool told = false;
	int ret;

	for (;;) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			return -errno;
		if (!bind(fd, (struct sockaddr *)&addr, len)) {
			if (!listen(fd, SOMAXCONN))
				return fd;
			ret = -errno;
			close(fd);
			return ret;
		}
		ret = -errno;
		close(fd);
		if (ret != -EADDRINUSE)
			return ret;
		if (!told)
			progress_say("another drill is running on this machine: waiting for it to end");
		told = true;
		ret = turn_wait();
		if (ret)
			return ret;
	}
}
