// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/notice.h"

#include <stdio.h>
#include <string.h>

#include <synhold/addr.h>

#include "lib/keys.h"
#include "lib/log.h"
#include "lib/sockets.h"
#include "lib/spec.h"
#include "lib/units.h"

void notice_warn(const char *text)
{
	fprintf(stderr, "synhold: warning: %s\n", text);
}

void notice_log(const char *text)
{
	log_line(LOG_LEVEL_WARNING, "%s", text);
}

char *notice_monitor(const struct instance *inst, const char *service, char *buf, size_t size)
{
	__attribute__((cleanup(model_cleanup))) struct model *model = model_new();
	unsigned int all = 0, counting = 0;
	const char *first = NULL;

	buf[0] = '\0';
	if (!model)
		return buf;
	instance_load_model(inst, model);
	for (int id = 0; id < SYNHOLD_SERVICES; id++) {
		const struct synhold_policy *pol = &model->service[id];

		if (!pol->name[0] || (service && strcmp(service, pol->name)))
			continue;
		all++;
		if (pol->mode == SYNHOLD_MODE_MONITOR && !counting++)
			first = pol->name;
	}
	if (!counting)
		return buf;
	if (counting == all)
		snprintf(buf, size, " (mode=monitor: only counted; synhold set %s mode=enforce)",
			 all == 1 ? first : "'*'");
	else
		snprintf(buf, size, " (mode=monitor for %s%s: only counted there; synhold set %s mode=enforce)", first,
			 counting > 1 ? " and others" : "", counting > 1 ? "SERVICE" : first);
	return buf;
}

static void append(char *buf, size_t size, const char *text)
{
	size_t used = strlen(buf);

	snprintf(buf + used, size - used, "%s", text);
}

static void append_key(const struct synhold_policy *pol, const struct key *key, char *buf, size_t size)
{
	char text[128], value[64];

	snprintf(text, sizeof(text), ", %s=%s", key->name, keys_format(key, pol, NULL, value, sizeof(value)));
	append(buf, size, text);
}

/* Mode and window are told in any case: they decide whether anything is kept back. */
static void describe(const struct model *model, int id, char *buf, size_t size)
{
	const struct synhold_policy *pol = &model->service[id];
	char text[512];

	snprintf(buf, size, "%s: ports", pol->name);
	for (unsigned int i = 0; !spec_format(&model->specs[id], i, text, sizeof(text)); i++) {
		append(buf, size, " ");
		append(buf, size, text);
	}
	append_key(pol, keys_find("mode"), buf, size);
	append_key(pol, keys_find("window"), buf, size);
	for (const struct key *key = keys_table; key->name; key++)
		if (!key->global && strcmp(key->name, "mode") && strcmp(key->name, "window") &&
		    !keys_is_default(key, pol, NULL))
			append_key(pol, key, buf, size);
	if (pol->closed_flip_ns ? !pol->closed : pol->closed)
		append(buf, size, ", closed");
}

char *notice_service(const struct model *model, int id, const struct model *before, char *buf, size_t size)
{
	int was = before ? model_find(before, model->service[id].name) : -1;
	char old[1024];

	describe(model, id, buf, size);
	if (was < 0)
		return buf;
	describe(before, was, old, sizeof(old));
	append(buf, size,
	       strncmp(old, buf, sizeof(old) - 1) ? " (changed; what was not named is kept from before)" :
						    " (kept from before)");
	return buf;
}

void notice_windows(const struct model *model, const char *service, notice_fn warn)
{
	char text[256];

	for (int id = 0; id < SYNHOLD_SERVICES; id++) {
		const struct synhold_policy *pol = &model->service[id];

		if (!pol->name[0] || (service && strcmp(service, pol->name)) ||
		    pol->window_mode != SYNHOLD_WINDOW_FIXED ||
		    /* bounds that nobody gave contradict nothing */
		    (keys_is_default(keys_find("window-min"), pol, NULL) &&
		     keys_is_default(keys_find("window-max"), pol, NULL)) ||
		    (pol->window >= pol->window_min && pol->window <= pol->window_max))
			continue;
		snprintf(
			text, sizeof(text),
			"%s: window=%u is in force although it is outside of window-min=%u to window-max=%u, which bind "
			"window=auto only",
			pol->name, pol->window, pol->window_min, pol->window_max);
		warn(text);
	}
}

void notice_hold(const struct instance *inst, const struct model *model, const char *service, notice_fn warn)
{
	char text[256];

	for (int id = 0; id < SYNHOLD_SERVICES && !instance_holds(inst); id++) {
		const struct synhold_policy *pol = &model->service[id];

		if (!pol->name[0] || (service && strcmp(service, pol->name)) || pol->action != SYNHOLD_ACTION_HOLD)
			continue;
		snprintf(text, sizeof(text),
			 "%s: action=hold drops here: this kernel cannot put a held SYN back; Linux 5.18 or newer can",
			 pol->name);
		warn(text);
	}
}

struct listening {
	const struct model *model;
	unsigned char found[SYNHOLD_SERVICES];
};

static void find_service(void *ctx, const struct sockets_listener *listener)
{
	struct listening *l = ctx;

	for (int id = 0; id < SYNHOLD_SERVICES; id++)
		if (l->model->service[id].name[0] && sockets_serves(listener, &l->model->specs[id]))
			l->found[id] = 1;
}

void notice_listeners(const struct model *model, notice_fn warn)
{
	struct listening l = {.model = model};
	char text[256];

	if (sockets_listeners(find_service, &l))
		return; /* nothing is known */
	for (int id = 0; id < SYNHOLD_SERVICES; id++) {
		if (!model->service[id].name[0] || l.found[id])
			continue;
		snprintf(
			text, sizeof(text),
			"%s: nothing listens on its ports in this network namespace; right if the server starts later or "
			"runs in a container, otherwise look at --port",
			model->service[id].name);
		warn(text);
	}
}

void notice_entry(enum list_kind kind, const struct list_entry *entry, int confirmed)
{
	int ipv4 = entry->prefixlen == SYNHOLD_ADDR_MAPPED_BITS && synhold_addr_is_ipv4(entry->addr);
	const char *whom = ipv4 ? "every IPv4 client" : "every client";
	char text[256];

	if ((entry->prefixlen && !ipv4) || kind == LIST_PREFER)
		return;
	if (kind == LIST_ALLOW)
		snprintf(text, sizeof(text),
			 "this switches the shield off for %s, up to %llu SYN/s from each address (synhold allow del)",
			 whom, entry->value.rate_pps ? (unsigned long long)entry->value.rate_pps : 20ULL);
	else if (!confirmed)
		snprintf(
			text, sizeof(text),
			"this shuts %s out of every service, you too (synhold deny del; --confirm 1m undoes it by itself)",
			whom);
	else
		return;
	notice_warn(text);
}
