// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drill/client_parts.h"
#include "drill/net.h"

#define CLIENT_START_BATCH 64 /* connects between two looks at the sockets, while all start */

static void client_connect(struct client *c);
static void client_ready(evutil_socket_t fd, short what, void *arg);

void client_timer_set(struct client *c, uint64_t ns)
{
	struct timeval tv = {.tv_sec = ns / 1000000000, .tv_usec = ns % 1000000000 / 1000};

	evtimer_add(&c->timer, &tv);
}

static void client_hang_up(struct client *c)
{
	if (event_initialized(&c->io))
		event_del(&c->io);
	close(c->fd);
	c->fd = -1;
	c->state = CLIENT_ASLEEP;
}

static void client_fail(struct client *c)
{
	const struct drill_params *params = c->crowd->params;

	client_hang_up(c);
	evtimer_del(&c->timer);
	c->log->failures++;
	c->random = board_mix(c->random + c->log->failures);
	client_timer_set(c, retry_delay_ns(&params->retry, c->log->failures, c->random));
}

static void client_refused(struct client *c)
{
	BOARD_ADD(c->crowd->out->refused, 1);
	client_fail(c);
}

static void client_lap(struct client *c)
{
	struct crowd *crowd = c->crowd;

	BOARD_ADD(crowd->out->laps, 1);
	client_answered(c);
	client_hang_up(c);
	if (crowd->job->think_ns)
		client_timer_set(c, crowd->job->think_ns);
	else
		client_connect(c);
}

static void client_served(struct client *c)
{
	const struct client_job *job = c->crowd->job;

	evtimer_del(&c->timer);
	if (!c->log->served_ns) {
		c->log->served_ns = board_now_ns();
		BOARD_ADD(c->crowd->out->served, 1);
	}
	if (job->again) {
		client_lap(c);
	} else if (job->closes) {
		client_hang_up(c);
		c->state = CLIENT_DONE;
	} else {
		c->state = CLIENT_SERVED;
		client_talk_begin(c);
	}
}

static void client_lost(struct client *c)
{
	c->log->lost++;
	BOARD_ADD(c->crowd->out->lost, 1);
	client_talk_end(c);
	if (c->crowd->job->returns) {
		client_fail(c);
		return;
	}
	evtimer_del(&c->timer);
	client_hang_up(c);
	c->state = CLIENT_DONE;
}

/* A proxy that has nobody to ask says so in a reply of its own. */
static bool client_error_page(const char *reply, ssize_t len)
{
	return len > 9 && !memcmp(reply, "HTTP/1.", 7) && reply[9] == '5';
}

static void client_read(struct client *c)
{
	char reply[512];
	ssize_t len;

	/* Edge-triggered: read until there is nothing left. */
	while ((len = recv(c->fd, reply, sizeof(reply), 0)) > 0) {
		if (c->state == CLIENT_SERVED) {
			client_talk_heard(c);
			continue;
		}
		if (client_error_page(reply, len)) {
			client_refused(c);
			return;
		}
		client_served(c);
		if (c->state != CLIENT_SERVED)
			return;
	}
	if (len < 0 && errno == EAGAIN)
		return;
	if (c->state == CLIENT_SERVED)
		client_lost(c);
	else
		client_refused(c);
}

static void client_ready(evutil_socket_t fd, short what, void *arg)
{
	static const char request[] = "GET /socket HTTP/1.1\r\nHost: drill\r\nUpgrade: websocket\r\n\r\n";
	struct client *c = arg;

	if (c->state == CLIENT_CONNECTING && (what & EV_WRITE)) {
		if (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0) {
			client_refused(c);
			return;
		}
		c->state = CLIENT_ASKED;
	}
	if (what & EV_READ)
		client_read(c);
}

static void client_connect(struct client *c)
{
	const struct drill_params *params = c->crowd->params;
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = net_client_addr(c->index)};
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_addr.s_addr = c->crowd->job->server,
				 .sin_port = htons(params->port)};
	int on = 1;

	c->state = CLIENT_CONNECTING;
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (!c->asked_ns && c->crowd->job->again)
		client_ask(c);
	if (!c->log->first_ns)
		c->log->first_ns = board_now_ns();
	BOARD_ADD(c->crowd->out->attempts, 1);
	if (c->fd < 0 || setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on)) ||
	    bind(c->fd, (struct sockaddr *)&from, sizeof(from)) ||
	    (connect(c->fd, (struct sockaddr *)&to, sizeof(to)) && errno != EINPROGRESS)) {
		client_refused(c);
		return;
	}
	event_assign(&c->io, c->crowd->base, c->fd, EV_READ | EV_WRITE | EV_ET | EV_PERSIST, client_ready, c);
	event_add(&c->io, NULL);
	if (!c->crowd->job->patient)
		client_timer_set(c, params->patience_ns);
}

/* One timer serves all: a client that is neither asleep nor served has run out of patience. */
static void client_time(evutil_socket_t fd, short what, void *arg)
{
	struct client *c = arg;

	(void)fd;
	(void)what;
	if (c->state == CLIENT_ASLEEP) {
		client_connect(c);
	} else if (c->state == CLIENT_SERVED) {
		client_talk_time(c);
	} else if (c->state != CLIENT_DONE) {
		BOARD_ADD(c->crowd->out->impatient, 1);
		client_fail(c);
	}
}

static void crowd_start(evutil_socket_t fd, short what, void *arg)
{
	struct crowd *crowd = arg;
	uint64_t spread = crowd->job->spread_ns;

	(void)fd;
	(void)what;
	for (int i = 0; (spread || i < CLIENT_START_BATCH) && crowd->started < crowd->job->count; i++) {
		struct client *c = &crowd->client[crowd->started++];

		if (spread)
			client_timer_set(c, board_mix(c->random + 1) % spread);
		else
			client_connect(c);
	}
	if (crowd->started < crowd->job->count)
		event_active(crowd->starter, EV_TIMEOUT, 0);
}

/* The network's end of a connection goes away without a word to the client, and with a reset to the server. */
static void crowd_cut(struct crowd *crowd)
{
	const struct linger now = {.l_onoff = 1};

	for (uint32_t i = 0; i < crowd->job->count; i++) {
		struct client *c = &crowd->client[i];

		evtimer_del(&c->timer);
		c->asked_ns = 0;
		if (c->fd < 0)
			continue;
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		client_hang_up(c);
	}
	crowd->started = 0;
}

static void crowd_control(evutil_socket_t fd, short what, void *arg)
{
	struct crowd *crowd = arg;
	char sign = 'S';

	(void)what;
	if (read(fd, &sign, 1) == 1 && (sign == 'G' || sign == 'X')) {
		if (sign == 'X')
			crowd_cut(crowd);
		event_active(crowd->starter, EV_TIMEOUT, 0);
		return;
	}
	for (uint32_t i = 0; i < crowd->job->count; i++)
		client_talk_end(&crowd->client[i]);
	if (write(fd, "D", 1) == 1)
		event_base_loopbreak(crowd->base);
}

static struct event_base *crowd_base(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base;

	if (!config)
		return NULL;
	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV);
	base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

static int crowd_run(struct crowd *crowd)
{
	const struct client_job *job = crowd->job;

	for (uint32_t i = 0; i < job->count; i++) {
		struct client *c = &crowd->client[i];

		c->crowd = crowd;
		c->index = job->first + i;
		c->log = &crowd->board->client[c->index];
		c->random = board_mix(crowd->params->seed + c->index);
		c->fd = -1;
		evtimer_assign(&c->timer, crowd->base, client_time, c);
	}
	crowd->starter = event_new(crowd->base, -1, EV_TIMEOUT, crowd_start, crowd);
	crowd->control = event_new(crowd->base, crowd->ctl, EV_READ | EV_PERSIST, crowd_control, crowd);
	if (!crowd->starter || !crowd->control || event_add(crowd->control, NULL))
		return 1;
	if (write(crowd->ctl, "R", 1) != 1)
		return 1;
	return event_base_dispatch(crowd->base) < 0;
}

int client_actor(struct world *world, int ctl, const void *arg)
{
	const struct client_job *job = arg;
	struct crowd *crowd = calloc(1, sizeof(*crowd) + job->count * sizeof(struct client));
	int ret;

	if (!crowd)
		return 1;
	crowd->base = crowd_base();
	crowd->board = world->board;
	crowd->params = world->board->params;
	crowd->job = job;
	crowd->out = &world->board->crowd[job->group];
	crowd->ctl = ctl;
	ret = crowd->base ? crowd_run(crowd) : 1;
	/* Its connections end with the process. */
	free(crowd);
	return ret;
}
