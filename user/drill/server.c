// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drill/net.h"
#include "drill/witness.h"

#define SERVER_EVENTS 256
#define SERVER_SPARE_FDS 64
#define SERVER_LOOK_EVERY 16        /* connections between two looks at the kernel's queue */
#define SERVER_REQUEST_WAIT_MS 1000 /* lazy: for a request that comes after its connection */

enum server_state { SERVER_FREE, SERVER_AWAITING, SERVER_QUEUED, SERVER_DONE };

struct server {
	struct world *world;
	const struct drill_params *params;
	struct board_server *out;
	int ep;
	int listener;
	bool listening; /* the listener is in the epoll set */
	uint32_t max;
	uint32_t open;
	uint8_t *state; /* by descriptor */
	int *queue;     /* ring of `max` descriptors whose work is to be done */
	uint32_t head, queued;
};

uint32_t server_connections_max(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	return limit.rlim_cur > SERVER_SPARE_FDS ? limit.rlim_cur - SERVER_SPARE_FDS : 0;
}

/* CPU time, not wall-clock time: a server that is not scheduled gets nothing done. */
static void server_spend(uint64_t ns)
{
	struct timespec ts;
	uint64_t end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	end = (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec + ns;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	while ((uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec < end);
}

static void server_watch_listener(struct server *s, bool on)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = s->listener};

	if (on == s->listening)
		return;
	epoll_ctl(s->ep, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, s->listener, &event);
	s->listening = on;
}

static void server_close(struct server *s, int fd)
{
	close(fd);
	s->state[fd] = SERVER_FREE;
	BOARD_SET(s->out->open, --s->open);
}

static void server_work(struct server *s, int fd)
{
	static const char reply[SERVER_REPLY_BYTES] = "HTTP/1.1 101 Switching Protocols\r\n\r\n";
	char rest[SERVER_REQUEST_MAX];
	ssize_t len;

	server_spend(s->params->cost_ns);
	BOARD_ADD(s->out->worked, 1);
	if (send(fd, reply, sizeof(reply), MSG_NOSIGNAL) < 0) {
		server_close(s, fd);
		return;
	}
	s->state[fd] = SERVER_DONE;
	len = recv(fd, rest, sizeof(rest), 0);
	if (len == 0 || (len < 0 && errno != EAGAIN))
		server_close(s, fd);
}

static void server_hand_over(struct server *s, int fd)
{
	if (fork())
		return;
	setpriority(PRIO_PROCESS, 0, WITNESS_NICE);
	_exit(witness_answer(s->world->board, fd));
}

/* One connection out of the kernel's queue, or -1 when there is none that counts. */
static int server_accept(struct server *s, bool *again)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	int fd = accept4(s->listener, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

	*again = fd >= 0 || errno == ECONNABORTED || errno == EINTR;
	if (fd < 0)
		return -1;
	if (from.sin_addr.s_addr == htonl(NET_WITNESS_ADDR)) {
		server_hand_over(s, fd);
		close(fd);
		return -1;
	}
	BOARD_ADD(s->out->accepted, 1);
	BOARD_SET(s->out->open, ++s->open);
	s->state[fd] = SERVER_AWAITING;
	epoll_ctl(s->ep, EPOLL_CTL_ADD, fd,
		  &(struct epoll_event){.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.fd = fd});
	return fd;
}

static void server_accept_all(struct server *s)
{
	bool again = true;

	while (again && s->open < s->max)
		server_accept(s, &again);
	if (s->open >= s->max && s->listening) {
		BOARD_ADD(s->out->full, 1);
		server_watch_listener(s, false);
	}
}

static void server_read(struct server *s, int fd)
{
	char request[SERVER_REQUEST_MAX];
	ssize_t len;

	/* A queued connection is not looked at again before its turn. */
	if (s->state[fd] != SERVER_AWAITING && s->state[fd] != SERVER_DONE)
		return;
	len = recv(fd, request, sizeof(request), 0);
	if (len < 0 && errno == EAGAIN)
		return;
	if (len <= 0) {
		server_close(s, fd);
	} else if (s->state[fd] == SERVER_AWAITING) {
		s->state[fd] = SERVER_QUEUED;
		s->queue[(s->head + s->queued++) % s->max] = fd;
		BOARD_SET(s->out->queue, s->queued);
	}
}

static void server_look(struct server *s)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	/* Of a listener, tcpi_unacked is the length of the accept queue (since Linux 2.6.24). */
	if (!getsockopt(s->listener, IPPROTO_TCP, TCP_INFO, &info, &len))
		BOARD_SET(s->out->accept_queue, info.tcpi_unacked);
}

static void server_poll(struct server *s, int timeout_ms)
{
	struct epoll_event events[SERVER_EVENTS];
	int n = epoll_wait(s->ep, events, SERVER_EVENTS, timeout_ms);

	for (int i = 0; i < n; i++) {
		int fd = events[i].data.fd;

		if (fd != s->listener)
			server_read(s, fd);
		else if (!s->params->lazy)
			server_accept_all(s);
	}
	if (s->open < s->max)
		server_watch_listener(s, true);
}

static void server_eager(struct server *s)
{
	server_poll(s, s->queued ? 0 : -1);
	if (s->queued) {
		int fd = s->queue[s->head];

		s->head = (s->head + 1) % s->max;
		BOARD_SET(s->out->queue, --s->queued);
		server_work(s, fd);
	}
}

static void server_lazy(struct server *s)
{
	bool again;
	int fd = s->open < s->max ? server_accept(s, &again) : -1;

	server_poll(s, fd < 0 && !s->queued ? -1 : 0);
	if (fd >= 0 && s->state[fd] == SERVER_AWAITING) {
		/* As a worker that blocks in read() does. */
		if (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, SERVER_REQUEST_WAIT_MS) == 1)
			server_read(s, fd);
		else
			server_close(s, fd);
	}
	while (s->queued) {
		fd = s->queue[s->head];
		s->head = (s->head + 1) % s->max;
		BOARD_SET(s->out->queue, --s->queued);
		server_work(s, fd);
	}
}

static int server_listen(struct server *s)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(s->params->port)};

	s->ep = epoll_create1(EPOLL_CLOEXEC);
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->ep < 0 || s->listener < 0 || bind(s->listener, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(s->listener, SERVER_BACKLOG))
		return -errno;
	s->max = server_connections_max();
	s->state = calloc(s->max + SERVER_SPARE_FDS, sizeof(*s->state));
	s->queue = calloc(s->max, sizeof(*s->queue));
	if (!s->state || !s->queue)
		return -ENOMEM;
	server_watch_listener(s, true);
	return 0;
}

int server_actor(struct world *world, int ctl, const void *arg)
{
	struct server s = {.world = world, .params = world->board->params, .out = &world->board->server};

	(void)arg;
	world_roam(world);
	if (server_listen(&s) || write(ctl, "R", 1) != 1)
		return 1;
	for (uint32_t turn = 0;; turn++) {
		if (s.params->lazy)
			server_lazy(&s);
		else
			server_eager(&s);
		if (turn % SERVER_LOOK_EVERY == 0)
			server_look(&s);
	}
}
