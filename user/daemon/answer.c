// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The control socket: one line of JSON in, one out, and the connection is closed. It only answers questions: what
 * changes policy goes through the maps.
 */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <synhold/addr.h>

#include "daemon/state.h"
#include "lib/units.h"

#define CLIENTS_MAX 64
#define REQUEST_MAX 4096
#define CLIENT_TIMEOUT_S 5
#define SOURCES_MAX 1000

struct held_list {
	struct holdq_source_info *info;
	struct synhold_tuple *tuple;
	size_t count, room;
};

static int collect_source(void *ctx, const struct holdq_source_info *info)
{
	struct held_list *list = ctx;

	if (list->count == list->room) {
		size_t room = list->room ? list->room * 2 : 256;
		struct holdq_source_info *more = reallocarray(list->info, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		list->info = more;
		list->room = room;
	}
	list->info[list->count++] = *info;
	return 0;
}

static int by_count(const void *a, const void *b)
{
	const struct holdq_source_info *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return x->oldest_ns < y->oldest_ns ? -1 : x->oldest_ns > y->oldest_ns;
}

/* The source as the policy aggregates it. */
static void source_text(const struct service *svc, const struct synhold_tuple *tuple, char *text, size_t size)
{
	unsigned int bits = synhold_addr_is_ipv4(tuple->saddr) ? svc->policy.source_prefix4 + SYNHOLD_ADDR_MAPPED_BITS :
								 svc->policy.source_prefix6;
	uint8_t addr[16];

	for (unsigned int i = 0; i < 16; i++) {
		unsigned int keep = bits > i * 8 ? bits - i * 8 : 0;

		addr[i] = keep >= 8 ? tuple->saddr[i] : (uint8_t)(tuple->saddr[i] & ~(0xff >> keep));
	}
	units_format_cidr(text, size, addr, (uint8_t)bits);
}

static json_t *answer_held(struct service *svc)
{
	uint64_t now_ns = instance_now_ns();
	struct held_list list = {0};
	json_t *sources = json_array();
	unsigned int total = svc->queue ? holdq_counters(svc->queue)->held : 0;

	if (svc->queue)
		holdq_each_source(svc->queue, collect_source, &list);
	if (list.count)
		qsort(list.info, list.count, sizeof(*list.info), by_count);
	for (size_t i = 0; i < list.count && i < SOURCES_MAX; i++) {
		char text[64];

		source_text(svc, &list.info[i].oldest->tuple, text, sizeof(text));
		json_array_append_new(sources,
				      json_pack("{s:s,s:i,s:f,s:I}", "source", text, "count", (int)list.info[i].count,
						"oldest_seconds", (double)(now_ns - list.info[i].oldest_ns) / 1e9,
						"attempts", (json_int_t)list.info[i].attempts));
	}
	free(list.info);
	return json_pack("{s:o,s:i}", "sources", sources, "total", (int)total);
}

static json_t *answer_explain(struct service *svc)
{
	struct control_explain e;

	control_explain(&svc->control, &e);
	return json_pack("{s:s,s:i,s:i,s:i,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:s,s:f,s:b,s:s,s:f,s:i,s:i,s:f}", "state",
			 control_state_name(e.state), "window", (int)e.window, "ceiling", (int)e.ceiling_pps,
			 "peak_inflight", (int)e.peak_inflight, "settled_per_second", e.settled_pps, "rtt_seconds",
			 (double)e.rtt_ns / 1e9, "server_delay_seconds", (double)e.delay_ns / 1e9, "base_delay_seconds",
			 (double)e.base_ns / 1e9, "goal_delay_seconds", (double)e.goal_ns / 1e9, "target_delay_seconds",
			 (double)e.target_ns / 1e9, "quiet_seconds", (double)e.quiet_ns / 1e9, "pressure", e.pressure,
			 "pressure_name", e.pressure_name, "slot_life_seconds", (double)e.expire_ns / 1e9, "changed",
			 e.last.changed, "last_signal", e.last.name, "last_value", e.last.value, "last_from",
			 (int)e.last.from, "last_to", (int)e.last.to, "last_age_seconds",
			 e.last_ns ? (double)(instance_now_ns() - e.last_ns) / 1e9 : -1.0);
}

static json_t *answer(struct daemon *d, const char *line)
{
	json_t *request = json_loads(line, 0, NULL), *reply = NULL;
	const char *ask = json_string_value(json_object_get(request, "ask"));
	const char *name = json_string_value(json_object_get(request, "service"));
	struct service *svc = NULL;

	for (unsigned int i = 0; name && i < SYNHOLD_SERVICES && !svc; i++)
		if (d->service[i].active && !strcmp(d->service[i].policy.name, name))
			svc = &d->service[i];
	if (ask && !strcmp(ask, "ping"))
		reply = json_pack("{s:i}", "pid", (int)getpid());
	else if (ask && svc && !strcmp(ask, "held"))
		reply = answer_held(svc);
	else if (ask && svc && !strcmp(ask, "explain"))
		reply = answer_explain(svc);
	json_decref(request);
	return reply ? reply : json_pack("{s:s}", "error", "not understood");
}

static void close_client(struct bufferevent *bev, void *ctx)
{
	struct daemon *d = ctx;

	d->clients--;
	bufferevent_free(bev);
}

static void on_written(struct bufferevent *bev, void *ctx)
{
	close_client(bev, ctx);
}

static void on_event(struct bufferevent *bev, short what, void *ctx)
{
	(void)what;
	close_client(bev, ctx);
}

static void on_read(struct bufferevent *bev, void *ctx)
{
	struct evbuffer *in = bufferevent_get_input(bev);
	char *line = evbuffer_readln(in, NULL, EVBUFFER_EOL_LF), *text;
	json_t *reply;

	if (!line) {
		if (evbuffer_get_length(in) > REQUEST_MAX)
			close_client(bev, ctx);
		return;
	}
	reply = answer(ctx, line);
	text = json_dumps(reply, JSON_COMPACT);
	bufferevent_disable(bev, EV_READ);
	bufferevent_setcb(bev, NULL, on_written, on_event, ctx);
	if (text)
		evbuffer_add_printf(bufferevent_get_output(bev), "%s\n", text);
	free(text);
	free(line);
	json_decref(reply);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *addr, int length, void *ctx)
{
	const struct timeval limit = {.tv_sec = CLIENT_TIMEOUT_S};
	struct bufferevent *bev;
	struct daemon *d = ctx;

	(void)addr;
	(void)length;
	if (d->clients >= CLIENTS_MAX) {
		close(fd);
		return;
	}
	bev = bufferevent_socket_new(evconnlistener_get_base(listener), fd, BEV_OPT_CLOSE_ON_FREE);
	if (!bev) {
		close(fd);
		return;
	}
	d->clients++;
	bufferevent_setwatermark(bev, EV_READ, 0, 2 * REQUEST_MAX);
	bufferevent_set_timeouts(bev, &limit, &limit);
	bufferevent_setcb(bev, on_read, NULL, on_event, d);
	bufferevent_enable(bev, EV_READ | EV_WRITE);
}

int answer_init(struct daemon *d, struct error *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	mode_t before;

	if (snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/control.sock", d->inst->run_dir) >=
	    (int)sizeof(addr.sun_path))
		return error_set(err, -ENAMETOOLONG, "%s/control.sock: the path is too long", d->inst->run_dir);
	unlink(addr.sun_path);
	before = umask(0117);
	d->listener = evconnlistener_new_bind(d->base, on_accept, d, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 64,
					      (struct sockaddr *)&addr, sizeof(addr));
	umask(before);
	return d->listener ? 0 : error_set(err, -errno, "%s: %s", addr.sun_path, strerror(errno));
}

void answer_free(struct daemon *d)
{
	char path[192];

	if (!d->listener)
		return;
	evconnlistener_free(d->listener);
	d->listener = NULL;
	snprintf(path, sizeof(path), "%s/control.sock", d->inst->run_dir);
	unlink(path);
}
