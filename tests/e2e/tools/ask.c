// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Asks on a control socket, or hurts it: ask PATH TEXT | ask PATH flood=HOW [peers=N] [ms=MS]
 *
 * TEXT is sent as a line and the answer printed; the exit status is 1 when there is none. HOW: `half` peers say half a
 * line and stay, `noise` ones send bytes that mean nothing, `held` ones ask for all that is held and for more when they
 * have it. Each of N peers comes again when it is thrown out, until the time is over. Prints `connected=N answers=N`.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#include "tool.h"

static struct sockaddr_un to = {.sun_family = AF_UNIX};

static int dial(int flags)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	if (fd < 0)
		tool_die("socket: %s", strerror(errno));
	if (!connect(fd, (const struct sockaddr *)&to, sizeof(to)))
		return fd;
	close(fd);
	return -1;
}

static int ask(const char *text)
{
	int fd = dial(0), got = 0;
	char answer[4096];
	ssize_t n;

	if (fd < 0)
		tool_die("connect: %s", strerror(errno));
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0 || send(fd, "\n", 1, MSG_NOSIGNAL) < 0)
		got = 0; /* thrown out before it could speak: there may be an answer all the same */
	while ((n = read(fd, answer, sizeof(answer))) > 0) {
		fwrite(answer, 1, (size_t)n, stdout);
		got = 1;
	}
	close(fd);
	return !got;
}

static void speak(int fd, const char *how, unsigned int *seed)
{
	static const char half[] = "{\"ask\":\"held\",", held[] = "{\"ask\":\"held\",\"service\":\"web\"}\n";
	char noise[2000];

	if (!strcmp(how, "half")) {
		send(fd, half, sizeof(half) - 1, MSG_NOSIGNAL);
	} else if (!strcmp(how, "held")) {
		send(fd, held, sizeof(held) - 1, MSG_NOSIGNAL);
	} else {
		for (size_t i = 0; i < sizeof(noise); i++)
			noise[i] = (char)rand_r(seed);
		send(fd, noise, sizeof(noise), MSG_NOSIGNAL);
	}
}

int main(int argc, char **argv)
{
	static const char *const keys[] = {"flood", "peers", "ms", NULL};
	unsigned long connected = 0, answers = 0;
	unsigned int seed = 1;
	struct pollfd *pfd;
	const char *how;
	uint32_t count;
	uint64_t end;
	char bytes[4096];

	if (argc < 3 || strlen(argv[1]) >= sizeof(to.sun_path))
		tool_die("usage: ask PATH TEXT | ask PATH flood=half|noise|held [peers=N] [ms=MS]");
	memcpy(to.sun_path, argv[1], strlen(argv[1]));
	if (strncmp(argv[2], "flood=", 6))
		return ask(argv[2]);
	how = argv[2] + 6;
	tool_check_keys(argc, argv, 2, keys);
	tool_raise_files();
	count = (uint32_t)tool_number(argc, argv, 3, "peers", 1000);
	end = tool_now_us() + (uint64_t)tool_number(argc, argv, 3, "ms", 3000) * 1000;
	pfd = calloc(count, sizeof(*pfd));
	if (!pfd)
		tool_die("out of memory");
	for (uint32_t i = 0; i < count; i++)
		pfd[i].fd = -1;
	while (tool_now_us() < end) {
		for (uint32_t i = 0; i < count; i++) {
			if (pfd[i].fd >= 0)
				continue;
			pfd[i] = (struct pollfd){.fd = dial(SOCK_NONBLOCK), .events = POLLIN};
			if (pfd[i].fd < 0) /* the queue is full */
				break;
			connected++;
			speak(pfd[i].fd, how, &seed);
		}
		poll(pfd, count, 5);
		for (uint32_t i = 0; i < count; i++) {
			ssize_t n = pfd[i].fd >= 0 && pfd[i].revents ? read(pfd[i].fd, bytes, sizeof(bytes)) : 1;

			answers += pfd[i].fd >= 0 && pfd[i].revents && n > 0;
			if (n > 0 || (n < 0 && errno == EAGAIN))
				continue;
			close(pfd[i].fd);
			pfd[i].fd = -1;
		}
	}
	printf("connected=%lu answers=%lu\n", connected, answers);
	return 0;
}
