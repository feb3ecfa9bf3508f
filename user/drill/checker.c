// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/checker.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drill/net.h"
#include "drill/server.h"

static int checker_connect(const struct checker_job *job, uint16_t port)
{
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(NET_CHECKER_ADDR)};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = job->addr, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&from, sizeof(from)) ||
	    (connect(fd, (struct sockaddr *)&to, sizeof(to)) && errno != EINPROGRESS)) {
		close(fd);
		return -ECONNREFUSED;
	}
	return fd;
}

/* Waits for the event until the time. Returns true when it came. */
static bool checker_wait(int fd, short events, uint64_t until_ns)
{
	uint64_t now = board_now_ns();
	struct pollfd p = {.fd = fd, .events = events};

	return now < until_ns && poll(&p, 1, (until_ns - now) / 1000000 + 1) == 1;
}

static bool checker_probe(const struct checker_job *job, uint16_t port)
{
	uint64_t until = board_now_ns() + job->timeout_ns;
	int fd = checker_connect(job, port);
	bool answered = false;
	char byte;

	if (fd < 0)
		return false;
	if (checker_wait(fd, POLLOUT, until) &&
	    send(fd, SERVER_PROBE, sizeof(SERVER_PROBE) - 1, MSG_NOSIGNAL) == sizeof(SERVER_PROBE) - 1 &&
	    checker_wait(fd, POLLIN, until))
		answered = recv(fd, &byte, 1, MSG_DONTWAIT) == 1;
	close(fd);
	return answered;
}

struct checker {
	const struct checker_job *job;
	struct board_checker *out;
	uint32_t in_a_row; /* answered ones, while it is down */
};

/* Returns true when a restart was ordered. */
static bool checker_note(struct checker *c, bool answered)
{
	struct board_checker *out = c->out;

	if (answered) {
		out->in_a_row = 0;
		if (!out->up && ++c->in_a_row >= c->job->rise)
			BOARD_SET(out->up, 1);
		return false;
	}
	c->in_a_row = 0;
	/* What is down already can only be marked down once, but restarted again and again. */
	if (++out->in_a_row < c->job->fall || (!out->up && c->job->orders < 0))
		return false;
	BOARD_SET(out->up, 0);
	BOARD_ADD(out->falls, 1);
	if (c->job->orders < 0)
		return false;
	out->in_a_row = 0;
	return write(c->job->orders, "K", 1) == 1;
}

int checker_actor(struct world *world, int ctl, const void *arg)
{
	struct checker c = {.job = arg, .out = &world->board->node[((const struct checker_job *)arg)->node].checker};
	struct board *board = world->board;
	uint64_t next = board_now_ns();

	BOARD_SET(c.out->up, 1);
	if (write(ctl, "R", 1) != 1)
		return 1;
	for (;;) {
		uint64_t begin = board_now_ns();
		bool counts = BOARD_GET(board->start_ns), answered = checker_probe(c.job, board->params->port);
		uint64_t took = board_now_ns() - begin;

		if (counts) {
			BOARD_ADD(c.out->sent, 1);
			BOARD_ADD(*(answered ? &c.out->answered : &c.out->lost), 1);
			if (answered && took > c.out->longest_ns)
				BOARD_SET(c.out->longest_ns, took);
		}
		next += c.job->interval_ns;
		if (checker_note(&c, answered))
			next = board_now_ns() + c.job->grace_ns;
		/* A server that is restarted is believed from its first answer on. */
		world_sleep_until(next);
	}
}
