// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/units.h"

#define VARIABLE "SSH_CONNECTION="
#define ANCESTORS_MAX 32

/* CLIENT PORT SERVER PORT, ssh(1). An IPv6 address with a zone is of no use to a list. */
static int parse(const char *text, struct session *session)
{
	struct session found = {0};
	char client[64], server[64];
	unsigned int from, port;
	uint8_t length;

	if (sscanf(text, "%63s %u %63s %u", client, &from, server, &port) != 4 || !port || port > 65535 ||
	    units_parse_cidr(client, found.client, &length) || length != 128 ||
	    units_parse_cidr(server, found.server, &length) || length != 128)
		return -ENOENT;
	found.port = (uint16_t)port;
	memcpy(found.text, client, sizeof(found.text));
	*session = found;
	return 0;
}

static int parse_environment_of(pid_t pid, struct session *session)
{
	char path[64], *word = NULL;
	int ret = -ENOENT;
	size_t room = 0;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	in = fopen(path, "re");
	while (in && ret && getdelim(&word, &room, '\0', in) > 0)
		if (!strncmp(word, VARIABLE, strlen(VARIABLE)))
			ret = parse(word + strlen(VARIABLE), session);
	free(word);
	if (in)
		fclose(in);
	return ret;
}

static pid_t parent_of(pid_t pid)
{
	char path[64], line[128];
	int parent = 0;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	in = fopen(path, "re");
	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "PPid: %d", &parent) == 1)
			break;
	if (in)
		fclose(in);
	return parent;
}

int session_find(struct session *session)
{
	const char *own = getenv("SSH_CONNECTION");
	pid_t pid = getppid();
	int ret = own ? parse(own, session) : -ENOENT;

	for (int i = 0; ret && pid > 1 && i < ANCESTORS_MAX; i++, pid = parent_of(pid))
		ret = parse_environment_of(pid, session);
	return ret;
}

int session_allow(struct config_lists *lists)
{
	struct list_entry entry = {.prefixlen = 128, .value = {.until_ns = SYNHOLD_FOREVER}};
	struct session session;
	int ret = session_find(&session);

	if (ret)
		return ret;
	memcpy(entry.addr, session.client, sizeof(entry.addr));
	snprintf(entry.value.note, sizeof(entry.value.note), "SSH session, by --allow-me");
	ret = config_lists_add(lists, LIST_ALLOW, &entry);
	return ret ? ret : lists_sort(lists, LIST_ALLOW);
}

static int covers(const uint8_t *prefix, unsigned int bits, const uint8_t *addr)
{
	unsigned int whole = bits / 8;

	return !memcmp(prefix, addr, whole) && (bits % 8 == 0 || !((prefix[whole] ^ addr[whole]) >> (8 - bits % 8)));
}

static int covers_session(void *ctx, const struct list_entry *entry)
{
	const struct session *session = ctx;

	return covers(entry->addr, entry->prefixlen, session->client);
}

static int is_protected(const struct synhold_specs *specs, const struct session *session)
{
	for (unsigned int i = 0; i < specs->count; i++) {
		const struct synhold_spec *spec = &specs->spec[i];

		if (session->port >= spec->port_lo && session->port <= spec->port_hi &&
		    (spec->any || covers(spec->addr, spec->prefixlen, session->server)))
			return 1;
	}
	return 0;
}

void session_notice(const struct instance *inst, const struct model *model, notice_fn warn)
{
	struct session session;
	char text[384];

	if (session_find(&session) || lists_each(inst, LIST_ALLOW, covers_session, &session))
		return;
	for (int id = 0; id < SYNHOLD_SERVICES; id++) {
		if (!model->service[id].name[0] || model->service[id].mode == SYNHOLD_MODE_MONITOR ||
		    !is_protected(&model->specs[id], &session))
			continue;
		snprintf(text, sizeof(text),
			 "%s: port %u is that of your own SSH session, and your address is not on the allow list: you "
			 "may be locked out; synhold allow add %s, or --allow-me",
			 model->service[id].name, session.port, session.text);
		warn(text);
		return;
	}
}
