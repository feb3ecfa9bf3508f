// SPDX-License-Identifier: GPL-2.0-or-later
/* Small messages on connections that are kept, as of a chat: one at a time, each answered by the server. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "drill/client_parts.h"

static bool client_in_storm(const struct client *c)
{
	return BOARD_GET(c->crowd->board->start_ns);
}

void client_talk_begin(struct client *c)
{
	uint64_t every = c->crowd->job->talk_every_ns;

	c->asked_ns = 0;
	if (!every)
		return;
	/* Connected long ago, they would be spread evenly over the interval. */
	client_timer_set(c, client_in_storm(c) ? every : board_mix(c->random ^ c->index) % every);
}

void client_ask(struct client *c)
{
	c->asked_ns = board_now_ns();
	c->epoch = client_in_storm(c) ? BOARD_GET(c->crowd->board->epoch) : CLIENT_BEFORE;
	c->late = false;
	if (c->epoch != CLIENT_BEFORE)
		BOARD_ADD(c->crowd->out->talk[c->epoch].sent, 1);
}

uint64_t client_answered(struct client *c)
{
	uint64_t took = board_now_ns() - c->asked_ns;

	if (c->epoch != CLIENT_BEFORE)
		latency_add(&c->crowd->out->talk[c->epoch].latency, took);
	c->asked_ns = 0;
	return took;
}

void client_talk_time(struct client *c)
{
	static const char message[16] = "still there?\r\n";

	if (c->asked_ns) {
		if (c->epoch != CLIENT_BEFORE && !c->late)
			BOARD_ADD(c->crowd->out->talk[c->epoch].late, 1);
		c->late = true;
		return;
	}
	/* With one message under way at most, the socket has room for it; a connection that is gone shows by itself. */
	if (send(c->fd, message, sizeof(message), MSG_NOSIGNAL) != sizeof(message))
		return;
	client_ask(c);
	client_timer_set(c, c->crowd->job->talk_timeout_ns);
}

void client_talk_heard(struct client *c)
{
	uint64_t took, every = c->crowd->job->talk_every_ns;

	if (!c->asked_ns) /* the rest of the first reply */
		return;
	took = client_answered(c);
	client_timer_set(c, took < every ? every - took : 0);
}

void client_talk_end(struct client *c)
{
	if (c->state == CLIENT_SERVED && c->asked_ns)
		client_answered(c);
	c->asked_ns = 0;
}
