// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"

int ask_daemon(const struct cli *cli, const char *what, const char *service, json_t **answer, struct error *err)
{
	struct instance inst;
	char request[128], *text = NULL;
	const char *refused;
	int ret = instance_init(&inst, cli->instance, err);

	if (ret)
		return ret;
	snprintf(request, sizeof(request), "{\"ask\":\"%s\",\"service\":\"%s\"}", what,
		 service); /* a valid name needs no escapes */
	ret = daemon_ask(&inst, request, &text);
	if (ret == -ENOENT || ret == -ECONNREFUSED) {
		error_set(err, -ENOENT, "instance '%s' has no daemon to ask", inst.name);
		return error_hint(err, -ENOENT, "synhold run starts one; without it nothing is held");
	}
	if (ret)
		return error_set(err, ret == -EINVAL ? -EIO : ret, "the daemon of instance '%s' does not answer: %s",
				 inst.name, strerror(-ret));
	*answer = json_loads(text, 0, NULL);
	free(text);
	if (!json_is_object(*answer)) {
		json_decref(*answer);
		return error_set(err, -EPROTO, "the daemon of instance '%s' gave an answer that cannot be read",
				 inst.name);
	}
	refused = json_string_value(json_object_get(*answer, "error"));
	if (!refused)
		return 0;
	error_set(err, -EIO, "the daemon of instance '%s' says: %.200s", inst.name, refused);
	json_decref(*answer);
	return -EIO;
}

int ask_snapshot(struct cli *cli, int argc, char **argv, struct cli_words *words, struct snapshot *snap,
		 const struct snapshot_service **svc, struct error *err)
{
	int ret = cli_parse(cli, argc, argv, NULL, words, err);

	if (!ret && words->count != 1)
		ret = cli_misuse(cli, err, words->count ? "one service at a time" : "no service given");
	if (!ret)
		ret = snapshot_take(snap, cli->instance, err);
	if (!ret && !snap->attached)
		ret = cli_not_attached(snap->instance, err);
	if (ret)
		return ret;
	*svc = snapshot_find(snap, words->word[0]);
	if (*svc)
		return 0;
	error_set(err, -ENOENT, "no service '%s'", words->word[0]);
	return error_hint(err, -ENOENT, "synhold status lists them");
}
