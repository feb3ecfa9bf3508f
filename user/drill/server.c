// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drill/net.h"
#include "drill/server_parts.h"
#include "drill/witness.h"

#define SERVER_EVENTS 256
#define SERVER_LOOK_EVERY 16        /* pieces of work between two looks at the kernel's queue */
#define SERVER_REQUEST_WAIT_MS 1000 /* lazy: for a request that comes after its connection */

uint32_t server_connections_max(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	return limit.rlim_cur > SERVER_SPARE_FDS ? limit.rlim_cur - SERVER_SPARE_FDS : 0;
}

static void server_watch_listener(struct server *s, bool on)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = s->listener};

	if (on == s->listening)
		return;
	epoll_ctl(s->ep, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, s->listener, &event);
	s->listening = on;
}

/* The listener must not live on in it when the server is killed. */
static void server_hand_over(struct server *s, int fd)
{
	if (fork())
		return;
	fd = dup2(fd, 3);
	close_range(4, ~0U, 0);
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
	s->state[fd] = (struct server_connection){.state = SERVER_AWAITING};
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
	if (s->state[fd].state != SERVER_AWAITING && s->state[fd].state != SERVER_DONE)
		return;
	len = recv(fd, request, sizeof(request), 0);
	if (len < 0 && errno == EAGAIN)
		return;
	if (len <= 0)
		server_close(s, fd);
	else
		server_enqueue(s, fd, request, len);
}

static void server_look(struct server *s)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);
	unsigned long long waited;
	char text[96];
	ssize_t got;

	/* Of a listener, tcpi_unacked is the length of the accept queue (since Linux 2.6.24). */
	if (!getsockopt(s->listener, IPPROTO_TCP, TCP_INFO, &info, &len))
		BOARD_SET(s->out->accept_queue, info.tcpi_unacked);
	got = s->schedstat < 0 ? -1 : pread(s->schedstat, text, sizeof(text) - 1, 0);
	if (got <= 0)
		return;
	text[got] = '\0';
	if (sscanf(text, "%*u %llu", &waited) != 1)
		return;
	BOARD_ADD(s->out->waited_ns, waited - s->waited_ns);
	s->waited_ns = waited;
}

static void server_poll(struct server *s, int timeout_ms)
{
	struct epoll_event events[SERVER_EVENTS];
	int n = epoll_wait(s->ep, events, SERVER_EVENTS, timeout_ms);

	for (int i = 0; i < n; i++) {
		int fd = events[i].data.fd;

		if (fd != s->listener)
			server_read(s, fd);
		else if (!s->job->lazy)
			server_accept_all(s);
	}
	if (s->open < s->max)
		server_watch_listener(s, true);
}

static void server_eager(struct server *s)
{
	server_poll(s, s->queued ? 0 : -1);
	if (s->queued)
		server_work(s);
}

static void server_lazy(struct server *s)
{
	bool again;
	int fd = s->open < s->max ? server_accept(s, &again) : -1;

	server_poll(s, fd < 0 && !s->queued ? -1 : 0);
	if (fd >= 0 && s->state[fd].state == SERVER_AWAITING) {
		/* As a worker that blocks in read() does. */
		if (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, SERVER_REQUEST_WAIT_MS) == 1)
			server_read(s, fd);
		else
			server_close(s, fd);
	}
	while (s->queued)
		server_work(s);
}

static int server_listen(struct server *s)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(s->world->board->params->port)};
	int on = 1;

	s->ep = epoll_create1(EPOLL_CLOEXEC);
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->ep < 0 || s->listener < 0 || setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(s->listener, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(s->listener, s->job->backlog ? s->job->backlog : SERVER_BACKLOG))
		return -errno;
	s->max = server_connections_max();
	s->state = calloc(s->max + SERVER_SPARE_FDS, sizeof(*s->state));
	s->queue = calloc(s->max, sizeof(*s->queue));
	if (!s->state || !s->queue)
		return -ENOMEM;
	s->schedstat = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	server_watch_listener(s, true);
	return 0;
}

int server_run(struct world *world, const struct server_job *job, int ready)
{
	struct server s = {.world = world, .job = job, .node = &world->board->node[job->node]};

	s.out = &s.node->server;
	world_roam(world);
	if (server_listen(&s))
		return 1;
	/* One that was killed leaves its last figures behind. */
	BOARD_SET(s.out->open, 0);
	BOARD_SET(s.out->queue, 0);
	BOARD_SET(s.out->accept_queue, 0);
	BOARD_ADD(s.out->starts, 1);
	if (ready >= 0 && write(ready, "R", 1) != 1)
		return 1;
	for (uint32_t turn = 0;; turn++) {
		if (job->lazy)
			server_lazy(&s);
		else
			server_eager(&s);
		if (turn % SERVER_LOOK_EVERY == 0)
			server_look(&s);
	}
}

int server_actor(struct world *world, int ctl, const void *arg)
{
	return server_run(world, arg, ctl);
}
