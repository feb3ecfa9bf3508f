// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/pool.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "drill/server.h"

#define POOL_EVENTS 256
#define POOL_LOOK_NS 50000000u     /* between two looks at the kernel's queue, and at the profile */
#define POOL_CATCH_UP_NS 20000000u /* a worker that this process noticed late goes on from when it was done */
#define POOL_LAST_CHUNK "0\r\n\r\n"
#define POOL_LAST_CHUNK_LEN (sizeof(POOL_LAST_CHUNK) - 1)

enum pool_state { POOL_FREE, POOL_AWAITING, POOL_QUEUED, POOL_UPLOAD };

struct pool_connection {
	uint8_t state;
	bool probe;
	char tail[POOL_LAST_CHUNK_LEN]; /* of an upload: the last bytes that have come */
};

struct pool_worker {
	int fd;
	uint64_t until_ns;
};

struct pool {
	struct board *board;
	const struct pool_job *job;
	struct board_server *out;
	int ep, listener, timer;
	bool listening;
	uint32_t max, open;
	struct pool_connection *connection; /* by descriptor */
	int *queue;                         /* ring of `max` descriptors that wait for a worker */
	uint32_t head, queued;
	struct pool_worker worker[POOL_WORKERS_MAX];
	uint32_t busy;
	uint64_t looked_ns;
};

double pool_capacity(const struct pool_job *job, const struct drill_params *params)
{
	return job->workers * 1e9 / params->cost_ns;
}

static void pool_watch(struct pool *p, int op, int fd)
{
	epoll_ctl(p->ep, op, fd, &(struct epoll_event){.events = EPOLLIN, .data.fd = fd});
}

static void pool_close(struct pool *p, int fd)
{
	close(fd);
	p->connection[fd].state = POOL_FREE;
	BOARD_SET(p->out->open, --p->open);
}

static double pool_share(const struct pool *p)
{
	uint64_t start = BOARD_GET(p->board->start_ns), now = board_now_ns();

	return profile_share(p->job->profile, start ? (double)(int64_t)(now - start) / 1e9 : -1);
}

/* Gives free workers something to do, as from the time `at_ns`. */
static void pool_start(struct pool *p, uint64_t at_ns)
{
	double share = pool_share(p);
	uint32_t workers = p->job->fewer ? p->job->workers * share + 0.5 : p->job->workers;
	uint64_t cost_ns;

	if (share <= 0)
		return;
	cost_ns = p->board->params->cost_ns / (p->job->fewer ? 1 : share);

	while (p->queued && p->busy < workers) {
		int fd = p->queue[p->head];

		p->head = (p->head + 1) % p->max;
		BOARD_SET(p->out->queue, --p->queued);
		p->worker[p->busy++] = (struct pool_worker){.fd = fd, .until_ns = at_ns + cost_ns};
	}
}

static void pool_reply(struct pool *p, int fd)
{
	static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n";

	/* Whoever has left gets it, too: the server does not know. */
	send(fd, reply, sizeof(reply) - 1, MSG_NOSIGNAL);
	pool_close(p, fd);
}

static void pool_finish(struct pool *p, uint32_t worker, uint64_t now)
{
	struct pool_worker done = p->worker[worker];

	p->worker[worker] = p->worker[--p->busy];
	if (p->connection[done.fd].probe)
		BOARD_ADD(p->out->probed, 1);
	else
		BOARD_ADD(p->out->worked, 1);
	pool_reply(p, done.fd);
	pool_start(p, now - done.until_ns < POOL_CATCH_UP_NS ? done.until_ns : now);
}

static void pool_upload(struct pool *p, int fd, const char *data, size_t len)
{
	struct pool_connection *c = &p->connection[fd];
	size_t keep = len < POOL_LAST_CHUNK_LEN ? POOL_LAST_CHUNK_LEN - len : 0;

	memmove(c->tail, c->tail + sizeof(c->tail) - keep, keep);
	memcpy(c->tail + keep, data + len - (sizeof(c->tail) - keep), sizeof(c->tail) - keep);
	if (!memcmp(c->tail, POOL_LAST_CHUNK, sizeof(c->tail)))
		pool_reply(p, fd);
}

static void pool_read(struct pool *p, int fd)
{
	struct pool_connection *c = &p->connection[fd];
	char data[4096];
	ssize_t len = recv(fd, data, sizeof(data), 0);

	if (len < 0 && errno == EAGAIN)
		return;
	if (len <= 0) {
		pool_close(p, fd);
	} else if (c->state == POOL_UPLOAD) {
		pool_upload(p, fd, data, len);
	} else if (len > 4 && !memcmp(data, "PUT ", 4)) {
		c->state = POOL_UPLOAD;
		pool_upload(p, fd, data, len);
	} else {
		/* Not looked at again before its reply. */
		pool_watch(p, EPOLL_CTL_DEL, fd);
		c->state = POOL_QUEUED;
		c->probe = len > 4 && memmem(data, len, " /health ", 9);
		p->queue[(p->head + p->queued++) % p->max] = fd;
		BOARD_SET(p->out->queue, p->queued);
		pool_start(p, board_now_ns());
	}
}

static void pool_accept(struct pool *p)
{
	int fd;

	while (p->open < p->max && (fd = accept4(p->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		p->connection[fd] = (struct pool_connection){.state = POOL_AWAITING};
		BOARD_ADD(p->out->accepted, 1);
		BOARD_SET(p->out->open, ++p->open);
		pool_watch(p, EPOLL_CTL_ADD, fd);
	}
	if (p->open >= p->max && p->listening) {
		BOARD_ADD(p->out->full, 1);
		pool_watch(p, EPOLL_CTL_DEL, p->listener);
		p->listening = false;
	}
}

static void pool_look(struct pool *p)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	/* Of a listener, tcpi_unacked is the length of the accept queue (since Linux 2.6.24). */
	if (!getsockopt(p->listener, IPPROTO_TCP, TCP_INFO, &info, &len))
		BOARD_SET(p->out->accept_queue, info.tcpi_unacked);
	if (!p->listening && p->open < p->max) {
		pool_watch(p, EPOLL_CTL_ADD, p->listener);
		p->listening = true;
	}
}

static void pool_arm(struct pool *p)
{
	uint64_t next = p->looked_ns + POOL_LOOK_NS;
	struct itimerspec at = {0};

	for (uint32_t i = 0; i < p->busy; i++)
		if (p->worker[i].until_ns < next)
			next = p->worker[i].until_ns;
	at.it_value.tv_sec = next / 1000000000;
	at.it_value.tv_nsec = next % 1000000000;
	timerfd_settime(p->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

static void pool_turn(struct pool *p)
{
	struct epoll_event events[POOL_EVENTS];
	uint64_t expired, now;
	int n;

	pool_arm(p);
	n = epoll_wait(p->ep, events, POOL_EVENTS, -1);
	for (int i = 0; i < n; i++) {
		int fd = events[i].data.fd;

		if (fd == p->listener)
			pool_accept(p);
		else if (fd != p->timer)
			pool_read(p, fd);
		else if (read(fd, &expired, sizeof(expired)) < 0)
			continue; /* armed anew in the meantime */
	}
	now = board_now_ns();
	for (uint32_t i = 0; i < p->busy;) {
		if (p->worker[i].until_ns <= now)
			pool_finish(p, i, now);
		else
			i++;
	}
	if (now - p->looked_ns < POOL_LOOK_NS)
		return;
	p->looked_ns = now;
	pool_look(p);
	pool_start(p, now); /* the profile may have given workers back */
}

static int pool_listen(struct pool *p)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(p->board->params->port)};
	int on = 1;

	p->ep = epoll_create1(EPOLL_CLOEXEC);
	p->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	p->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (p->ep < 0 || p->timer < 0 || p->listener < 0 ||
	    setsockopt(p->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(p->listener, (struct sockaddr *)&addr, sizeof(addr)) || listen(p->listener, SERVER_BACKLOG))
		return -errno;
	p->max = server_connections_max();
	/* Descriptors are as many as the limit allows, and some of them are no connections. */
	p->connection = calloc(p->max + 1024, sizeof(*p->connection));
	p->queue = calloc(p->max, sizeof(*p->queue));
	if (!p->connection || !p->queue)
		return -ENOMEM;
	pool_watch(p, EPOLL_CTL_ADD, p->timer);
	pool_watch(p, EPOLL_CTL_ADD, p->listener);
	p->listening = true;
	p->looked_ns = board_now_ns();
	return 0;
}

int pool_actor(struct world *world, int ctl, const void *arg)
{
	const struct pool_job *job = arg;
	struct pool p = {.board = world->board, .job = job, .out = &world->board->node[job->node].server};

	world_roam(world);
	prctl(PR_SET_TIMERSLACK, 1ul);
	if (pool_listen(&p))
		return 1;
	/* One that was there before leaves its last figures behind. */
	BOARD_SET(p.out->open, 0);
	BOARD_SET(p.out->queue, 0);
	BOARD_SET(p.out->accept_queue, 0);
	BOARD_ADD(p.out->starts, 1);
	if (write(ctl, "R", 1) != 1)
		return 1;
	for (;;)
		pool_turn(&p);
}
