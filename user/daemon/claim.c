// SPDX-License-Identifier: GPL-2.0-or-later
/* Who is the daemon of an instance, and how to ask it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/daemon.h"

#define ASK_TIMEOUT_MS 3000
#define ANSWER_MAX (16U << 20)

int daemon_claim(struct instance *inst, int *fd, struct error *err)
{
	char path[192], text[16] = "";
	int file;

	mkdir(INSTANCE_RUN_ROOT, 0755);
	mkdir(inst->run_dir, 0750);
	snprintf(path, sizeof(path), "%s/daemon.pid", inst->run_dir);
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (file < 0)
		return error_set(err, -errno, "%s: %s", path, strerror(errno));
	if (flock(file, LOCK_EX | LOCK_NB)) {
		int code = errno == EWOULDBLOCK ? -EBUSY : -errno;

		if (read(file, text, sizeof(text) - 1) < 0)
			text[0] = '\0';
		text[strcspn(text, "\n")] = '\0';
		close(file);
		error_set(err, code, "instance '%s' has a daemon already, pid %s", inst->name,
			  text[0] ? text : "unknown");
		return error_hint(err, code, "change it with synhold set, or end it with kill %s", text);
	}
	if (ftruncate(file, 0) || dprintf(file, "%d\n", getpid()) < 0) {
		close(file);
		return error_set(err, -EIO, "%s cannot be written", path);
	}
	*fd = file;
	return 0;
}

int daemon_ask(const struct instance *inst, const char *request, char **answer)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	size_t used = 0, room = 0;
	char *text = NULL;
	int fd, ret = 0;

	if (snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/control.sock", inst->run_dir) >=
	    (int)sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		ret = errno == ECONNREFUSED ? -ENOENT : -errno;
		close(fd);
		return ret;
	}
	if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0 || send(fd, "\n", 1, MSG_NOSIGNAL) < 0)
		ret = -errno;
	while (!ret) {
		struct pollfd pfd = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (used + 1 >= room) {
			char *more = realloc(text, room = room ? room * 2 : 4096);

			if (!more || room > ANSWER_MAX) {
				ret = -ENOMEM;
				break;
			}
			text = more;
		}
		if (poll(&pfd, 1, ASK_TIMEOUT_MS) != 1) {
			ret = -ETIMEDOUT;
			break;
		}
		n = read(fd, text + used, room - used - 1);
		if (n < 0)
			ret = -errno;
		else if (n == 0)
			break;
		else
			used += (size_t)n;
	}
	close(fd);
	if (!ret && !used)
		ret = -EPROTO;
	if (ret) {
		free(text);
		return ret;
	}
	text[used] = '\0';
	*answer = text;
	return 0;
}
