// SPDX-License-Identifier: GPL-2.0-or-later
/* What the daemon answers on its control socket. Only questions: what changes policy goes through the maps, and is
 * told here for the log. */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <synhold/addr.h>

#include "daemon/state.h"
#include "lib/log.h"
#include "lib/units.h"

#define SOURCES_MAX 1000
#define TEXT_MAX 640 /* of what is told for the log */

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
	return json_pack("{s:s,s:i,s:i,s:i,s:i,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:s,s:f,s:b,s:s,s:f,s:i,s:i,s:f}",
			 "state", control_state_name(e.state), "window", (int)e.window, "silent", (int)e.silent,
			 "ceiling", (int)e.ceiling_pps, "peak_inflight", (int)e.peak_inflight, "settled_per_second",
			 e.settled_pps, "rtt_seconds", (double)e.rtt_ns / 1e9, "server_delay_seconds",
			 (double)e.delay_ns / 1e9, "base_delay_seconds", (double)e.base_ns / 1e9, "goal_delay_seconds",
			 (double)e.goal_ns / 1e9, "target_delay_seconds", (double)e.target_ns / 1e9, "quiet_seconds",
			 (double)e.quiet_ns / 1e9, "pressure", e.pressure, "pressure_name", e.pressure_name,
			 "slot_life_seconds", (double)e.expire_ns / 1e9, "changed", e.last.changed, "last_signal",
			 e.last.name, "last_value", e.last.value, "last_from", (int)e.last.from, "last_to",
			 (int)e.last.to, "last_age_seconds",
			 e.last_ns ? (double)(instance_now_ns() - e.last_ns) / 1e9 : -1.0);
}

/*
 * What root has changed through the maps, for the log: who, as the kernel knows them, and what, as they say. No control
 * character gets in, or a line could be made to look like several.
 */
static json_t *answer_log(const char *text, const struct ucred *peer)
{
	char line[TEXT_MAX];
	size_t i;

	if (peer->uid)
		return json_pack("{s:s}", "error", "not allowed: only root changes anything");
	for (i = 0; text[i] && i + 1 < sizeof(line); i++)
		line[i] = iscntrl((unsigned char)text[i]) ? '?' : text[i];
	line[i] = '\0';
	log_line(LOG_LEVEL_INFO, "uid %u, pid %d: %s", (unsigned int)peer->uid, (int)peer->pid, line);
	return json_pack("{s:b}", "logged", 1);
}

char *answer_line(struct daemon *d, const char *line, const struct ucred *peer)
{
	json_t *request = json_loads(line, 0, NULL), *reply = NULL;
	const char *ask = json_string_value(json_object_get(request, "ask"));
	const char *name = json_string_value(json_object_get(request, "service"));
	const char *told = json_string_value(json_object_get(request, "text"));
	struct service *svc = NULL;
	char *text;

	for (unsigned int i = 0; name && i < SYNHOLD_SERVICES && !svc; i++)
		if (d->service[i].active && !strcmp(d->service[i].policy.name, name))
			svc = &d->service[i];
	if (ask && !strcmp(ask, "ping"))
		reply = json_pack("{s:i}", "pid", (int)getpid());
	else if (ask && told && !strcmp(ask, "log"))
		reply = answer_log(told, peer);
	else if (ask && svc && !strcmp(ask, "held"))
		reply = answer_held(svc);
	else if (ask && svc && !strcmp(ask, "explain"))
		reply = answer_explain(svc);
	json_decref(request);
	if (!reply)
		reply = json_pack("{s:s}", "error", "not understood");
	text = json_dumps(reply, JSON_COMPACT);
	json_decref(reply);
	return text;
}
