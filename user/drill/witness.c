// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/witness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drill/net.h"

#define WITNESS_TICK_NS 10000000u
#define WITNESS_CHUNK 64u
#define WITNESS_END_NS (5 * 1000000000ull) /* for the rest of the data, once told to stop */

struct witness {
	struct board *board;
	struct board_witness *out;
	int fd;
	int ctl;          /* -1: the end that stops when the other does */
	uint64_t last_ns; /* of the last data that came in */
	uint64_t stop_ns; /* when it was told to stop; 0: it was not */
	bool shut;        /* our half is closed */
	bool over;        /* theirs is */
};

/* The stream is a function of the position: byte i belongs to the 64-bit number i / 8. */
static unsigned char witness_byte(uint64_t at)
{
	return board_mix(at / 8) >> at % 8 * 8;
}

static int witness_send(struct witness *w)
{
	unsigned char data[WITNESS_CHUNK];
	ssize_t len;

	for (uint32_t i = 0; i < WITNESS_CHUNK; i++)
		data[i] = witness_byte(w->out->sent_bytes + i);
	len = send(w->fd, data, sizeof(data), MSG_NOSIGNAL | MSG_DONTWAIT);
	if (len < 0)
		return errno == EAGAIN ? 0 : -errno;
	w->out->sent_bytes += len;
	return 0;
}

static int witness_receive(struct witness *w)
{
	unsigned char data[4096];
	ssize_t len = recv(w->fd, data, sizeof(data), MSG_DONTWAIT);
	uint64_t now = board_now_ns(), start = BOARD_GET(w->board->start_ns);

	if (len < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (len == 0) {
		w->over = true;
		return 0;
	}
	for (ssize_t i = 0; i < len; i++)
		w->out->corrupt_bytes += data[i] != witness_byte(w->out->received_bytes + i);
	w->out->received_bytes += len;
	/* What passed before the storm began is not its doing. */
	if (start && now > start && w->last_ns && now - w->last_ns > w->out->longest_stall_ns)
		BOARD_SET(w->out->longest_stall_ns, now - w->last_ns);
	w->last_ns = now;
	return 0;
}

static int witness_stream(struct witness *w)
{
	uint64_t next = board_now_ns();

	while (!w->over || !w->shut) {
		uint64_t now = board_now_ns();
		struct pollfd p[2] = {{.fd = w->fd, .events = w->over ? 0 : POLLIN},
				      {.fd = w->stop_ns ? -1 : w->ctl, .events = POLLIN}};
		struct timespec wait = {.tv_nsec = next > now ? next - now : 0};

		if (ppoll(p, 2, &wait, NULL) < 0)
			return -errno;
		now = board_now_ns();
		if (p[1].revents && !w->stop_ns)
			w->stop_ns = now;
		if (p[0].revents && witness_receive(w))
			return -EPIPE;
		if (!w->shut && (w->stop_ns || (w->ctl < 0 && w->over))) {
			shutdown(w->fd, SHUT_WR);
			w->shut = true;
		}
		if (w->over && !w->shut) /* they closed first, unasked */
			return -EPIPE;
		if (w->stop_ns && now > w->stop_ns + WITNESS_END_NS)
			return -ETIMEDOUT;
		if (now < next)
			continue;
		next = now - now % WITNESS_TICK_NS + WITNESS_TICK_NS;
		if (!w->shut && witness_send(w))
			return -EPIPE;
	}
	return 0;
}

int witness_answer(struct board *board, int fd)
{
	struct witness w = {.board = board, .out = &board->witness[1], .fd = fd, .ctl = -1};

	if (witness_stream(&w))
		BOARD_SET(w.out->broken, 1);
	return 0;
}

static int witness_connect(const struct drill_params *params, int node)
{
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(NET_WITNESS_ADDR)};
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_addr.s_addr = net_node_addr(node),
				 .sin_port = htons(params->port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&from, sizeof(from)) ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return -errno;
	return fd;
}

int witness_actor(struct world *world, int ctl, const void *arg)
{
	struct board *board = world->board;
	struct witness w = {.board = board, .out = &board->witness[0], .ctl = ctl};

	w.fd = witness_connect(board->params, *(const int *)arg);
	if (w.fd < 0 || write(ctl, "R", 1) != 1)
		return 1;
	if (witness_stream(&w))
		BOARD_SET(w.out->broken, 1);
	return write(ctl, "D", 1) != 1;
}
