// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/server_parts.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

uint64_t server_cost_ns(const struct server_job *job, uint64_t base_ns, uint32_t worked)
{
	double more = job->cold - 1;

	if (more <= 0 || worked >= job->warm_after)
		return base_ns;
	return base_ns * (1 + more * (job->warm_after - worked) / job->warm_after);
}

void server_close(struct server *s, int fd)
{
	close(fd);
	s->state[fd] = (struct server_connection){.state = SERVER_FREE};
	BOARD_SET(s->out->open, --s->open);
}

static void server_push(struct server *s, int fd)
{
	s->queue[(s->head + s->queued++) % s->max] = fd;
	BOARD_SET(s->out->queue, s->queued);
}

void server_enqueue(struct server *s, int fd, const char *request, size_t len)
{
	struct server_connection *c = &s->state[fd];
	bool probe = len >= strlen(SERVER_PROBE) && !memcmp(request, SERVER_PROBE, strlen("GET /health"));

	c->kind = c->state == SERVER_DONE ? SERVER_TALK : probe ? SERVER_HEALTH : SERVER_CONNECTION;
	c->turns = c->kind == SERVER_CONNECTION && s->job->steps > 1 ? s->job->steps : 1;
	c->state = SERVER_QUEUED;
	server_push(s, fd);
}

static bool server_reply(struct server *s, int fd)
{
	static const char upgraded[SERVER_REPLY_BYTES] = "HTTP/1.1 101 Switching Protocols\r\n\r\n";
	/* A body of as many bytes as it says, for the proxies between us and the client. */
	static const char answered[] = "HTTP/1.1 200 OK\r\nContent-Length: 61\r\nConnection: close\r\n\r\n"
				       "0123456789012345678901234567890123456789012345678901234567890";

	if (s->job->closes || s->state[fd].kind == SERVER_HEALTH)
		return send(fd, answered, sizeof(answered) - 1, MSG_NOSIGNAL) > 0;
	return send(fd, upgraded, s->state[fd].kind == SERVER_TALK ? 16 : sizeof(upgraded), MSG_NOSIGNAL) > 0;
}

/* Whoever has left in the meantime is noticed here; what he has said in the meantime is a message. */
static void server_look_again(struct server *s, int fd)
{
	char rest[SERVER_REQUEST_MAX];
	ssize_t len = recv(fd, rest, sizeof(rest), 0);

	if (len == 0 || (len < 0 && errno != EAGAIN))
		server_close(s, fd);
	else if (len > 0)
		server_enqueue(s, fd, rest, len);
}

void server_work(struct server *s)
{
	int fd = s->queue[s->head];
	struct server_connection *c = &s->state[fd];

	s->head = (s->head + 1) % s->max;
	BOARD_SET(s->out->queue, --s->queued);
	if (c->kind == SERVER_CONNECTION) {
		uint64_t cost = server_cost_ns(s->job, BOARD_GET(s->node->cost_ns), s->worked);

		if (s->job->steps > 1)
			cost /= s->job->steps;
		server_spend(cost);
		BOARD_ADD(s->out->spent_ns, cost);
		if (--c->turns) {
			server_push(s, fd);
			return;
		}
		s->worked++;
		BOARD_ADD(s->out->worked, 1);
	} else {
		server_spend(c->kind == SERVER_TALK ? s->job->talk_cost_ns : s->job->probe_cost_ns);
		if (c->kind == SERVER_TALK)
			BOARD_ADD(s->out->talked, 1);
		else
			BOARD_ADD(s->out->probed, 1);
	}
	if (!server_reply(s, fd) || s->job->closes || c->kind == SERVER_HEALTH) {
		server_close(s, fd);
		return;
	}
	c->state = SERVER_DONE;
	server_look_again(s, fd);
}
