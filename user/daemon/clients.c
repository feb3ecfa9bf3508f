// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The control socket: one line of JSON in, one out, and the connection is closed. Whoever may ask may also flood: no
 * more than so many peers are there at a time, one that says nothing gives way to the next, and answers come one by one
 * with pauses, so that they take a tenth of the time at most.
 */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/state.h"

#define CLIENTS_MAX 64
#define CLIENTS_BACKLOG 64
#define ACCEPTS_MAX 16 /* in so many µs */
#define ACCEPTS_PAUSE_US 10000
#define REQUEST_MAX 4096
#define CLIENT_TIMEOUT_S 5
#define GROUPS_MAX 64
#define PAUSE_TIMES 9 /* the time an answer took, before the next */
#define PAUSE_MAX_US 500000

struct client {
	TAILQ_ENTRY(client) next;
	struct clients *all;
	struct bufferevent *bev;
	struct ucred peer;
	char *line;               /* what it asked, while it waits for its turn */
	struct client_list *list; /* it stands in */
};
TAILQ_HEAD(client_list, client);

struct clients {
	struct daemon *daemon;
	struct client_list silent, waiting, leaving;
	struct event *accept, *turn, *pause;
	unsigned int count;
	int fd;
};

static void stand_in(struct client *client, struct client_list *list)
{
	if (client->list)
		TAILQ_REMOVE(client->list, client, next);
	client->list = list;
	if (list)
		TAILQ_INSERT_TAIL(list, client, next);
}

static void client_close(struct client *client)
{
	struct clients *all = client->all;

	stand_in(client, NULL);
	bufferevent_free(client->bev);
	free(client->line);
	free(client);
	all->count--;
	if (!event_pending(all->pause, EV_TIMEOUT, NULL))
		event_add(all->accept, NULL);
}

static void on_written(struct bufferevent *bev, void *ctx)
{
	(void)bev;
	client_close(ctx);
}

static void on_event(struct bufferevent *bev, short what, void *ctx)
{
	(void)bev;
	(void)what;
	client_close(ctx);
}

static void client_reply(struct client *client, const char *text)
{
	stand_in(client, &client->all->leaving);
	bufferevent_disable(client->bev, EV_READ);
	bufferevent_setcb(client->bev, NULL, on_written, on_event, client);
	if (evbuffer_add_printf(bufferevent_get_output(client->bev), "%s\n", text) < 0)
		client_close(client);
}

/* Sets the time of the next answer, unless one is set. */
static void take_turns(struct clients *all, uint64_t pause_us)
{
	const struct timeval pause = {.tv_usec = (suseconds_t)(pause_us < PAUSE_MAX_US ? pause_us : PAUSE_MAX_US)};

	if (!event_pending(all->turn, EV_TIMEOUT, NULL))
		event_add(all->turn, &pause);
}

static void on_turn(evutil_socket_t fd, short what, void *ctx)
{
	struct clients *all = ctx;
	struct client *client = TAILQ_FIRST(&all->waiting);
	uint64_t began_ns = instance_now_ns();
	char *text;

	(void)fd;
	(void)what;
	if (!client)
		return;
	text = answer_line(all->daemon, client->line, &client->peer);
	client_reply(client, text ? text : "{\"error\":\"out of memory\"}");
	free(text);
	/* also when nobody waits now: the pause binds whoever asks next */
	take_turns(all, PAUSE_TIMES * (instance_now_ns() - began_ns) / 1000);
}

static void on_read(struct bufferevent *bev, void *ctx)
{
	struct evbuffer *in = bufferevent_get_input(bev);
	struct client *client = ctx;

	if (client->line) /* it waits, and what it says meanwhile is for nobody */
		return;
	client->line = evbuffer_readln(in, NULL, EVBUFFER_EOL_LF);
	if (client->line) {
		bufferevent_disable(bev, EV_READ);
		stand_in(client, &client->all->waiting);
		take_turns(client->all, 0);
	} else if (evbuffer_get_length(in) > REQUEST_MAX) {
		client_close(client);
	}
}

/* The mode of the socket's file says the same; this holds when somebody has changed it. */
static int may_ask(int fd, gid_t group, struct ucred *peer)
{
	gid_t groups[GROUPS_MAX];
	socklen_t length = sizeof(*peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, peer, &length))
		return 0;
	if (peer->uid == 0 || peer->gid == group)
		return 1;
	length = sizeof(groups);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &length)) /* since 4.13 */
		return 0;
	for (size_t i = 0; i < length / sizeof(*groups); i++)
		if (groups[i] == group)
			return 1;
	return 0;
}

static void client_new(struct clients *all, int fd)
{
	const struct timeval limit = {.tv_sec = CLIENT_TIMEOUT_S};
	struct client *client = calloc(1, sizeof(*client));
	struct event_base *base = all->daemon->base;

	if (client)
		client->bev = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!client || !client->bev) {
		free(client);
		close(fd);
		return;
	}
	all->count++;
	client->all = all;
	stand_in(client, &all->silent);
	bufferevent_setwatermark(client->bev, EV_READ, 0, 2 * REQUEST_MAX);
	bufferevent_set_timeouts(client->bev, &limit, &limit);
	bufferevent_setcb(client->bev, on_read, NULL, on_event, client);
	bufferevent_enable(client->bev, EV_READ | EV_WRITE);
	if (!may_ask(fd, all->daemon->options->group, &client->peer))
		client_reply(client, "{\"error\":\"not allowed: only root and the group of the socket may ask\"}");
}

static void on_pause_over(evutil_socket_t fd, short what, void *ctx)
{
	struct clients *all = ctx;

	(void)fd;
	(void)what;
	event_add(all->accept, NULL);
}

static void on_accept(evutil_socket_t listening, short what, void *ctx)
{
	const struct timeval pause = {.tv_usec = ACCEPTS_PAUSE_US};
	struct clients *all = ctx;

	(void)what;
	for (int i = 0; i < ACCEPTS_MAX; i++) {
		struct client *oldest = TAILQ_FIRST(&all->silent);
		int fd;

		if (all->count >= CLIENTS_MAX && !oldest) { /* all of them have asked: more when one has its answer */
			event_del(all->accept);
			return;
		}
		fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0)
			return;
		if (all->count >= CLIENTS_MAX)
			client_close(oldest);
		client_new(all, fd);
	}
	event_del(all->accept); /* a crowd: those behind it wait in the listener's queue */
	event_add(all->pause, &pause);
}

/* Root's, for the group to use. Returns the socket, or -errno. */
static int listen_at(const struct instance *inst, const struct sockaddr_un *addr, gid_t group)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t before = umask(0177);
	int bad = fd < 0 || bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) ||
		  (group && (chown(addr->sun_path, (uid_t)-1, group) || chown(inst->run_dir, (uid_t)-1, group))) ||
		  chmod(addr->sun_path, 0660) || listen(fd, CLIENTS_BACKLOG);
	int ret = bad ? -errno : fd;

	umask(before);
	if (bad && fd >= 0)
		close(fd);
	return ret;
}

int clients_init(struct daemon *d, struct error *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct clients *all;

	if (snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/control.sock", d->inst->run_dir) >=
	    (int)sizeof(addr.sun_path))
		return error_set(err, -ENAMETOOLONG, "%s/control.sock: the path is too long", d->inst->run_dir);
	all = calloc(1, sizeof(*all));
	if (!all)
		return error_set(err, -ENOMEM, "out of memory");
	d->clients = all;
	all->daemon = d;
	TAILQ_INIT(&all->silent);
	TAILQ_INIT(&all->waiting);
	TAILQ_INIT(&all->leaving);
	unlink(addr.sun_path);
	all->fd = listen_at(d->inst, &addr, d->options->group);
	if (all->fd < 0)
		return error_set(err, all->fd, "%s: %s", addr.sun_path, strerror(-all->fd));
	all->turn = evtimer_new(d->base, on_turn, all);
	all->pause = evtimer_new(d->base, on_pause_over, all);
	all->accept = event_new(d->base, all->fd, EV_READ | EV_PERSIST, on_accept, all);
	if (!all->turn || !all->pause || !all->accept || event_add(all->accept, NULL))
		return error_set(err, -ENOMEM, "out of memory");
	return 0;
}

static void close_all(struct client_list *list)
{
	struct client *client;

	while ((client = TAILQ_FIRST(list)))
		client_close(client);
}

void clients_free(struct daemon *d)
{
	struct clients *all = d->clients;
	char path[192];

	if (!all)
		return;
	if (all->accept && all->turn && all->pause) {
		close_all(&all->silent);
		close_all(&all->waiting);
		close_all(&all->leaving);
	}
	if (all->accept)
		event_free(all->accept);
	if (all->turn)
		event_free(all->turn);
	if (all->pause)
		event_free(all->pause);
	if (all->fd >= 0) {
		close(all->fd);
		snprintf(path, sizeof(path), "%s/control.sock", d->inst->run_dir);
		unlink(path);
	}
	free(all);
	d->clients = NULL;
}
