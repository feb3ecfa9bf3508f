// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "export/export.h"

/* A name that is not there is a usage error that lists those that are. */
static int require_service(const struct snapshot *snap, const char *name, struct error *err)
{
	char names[200] = "";
	size_t used = 0;

	for (unsigned int i = 0; i < snap->service_count; i++) {
		const char *known = snap->service[i].policy.name;

		if (!strcmp(known, name))
			return 0;
		if (used + SYNHOLD_NAME_LEN + 2 < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "", known);
	}
	if (!snap->attached)
		return cli_not_attached(snap->instance, err);
	error_set(err, -ENOENT, "no service '%s'", name);
	return error_hint(err, -ENOENT, "services: %s", used ? names : "none");
}

int cli_status(struct cli *cli, int argc, char **argv)
{
	int held = 0, ret;
	const struct cli_option options[] = {{"held", 0, CLI_FLAG, &held}, {0}};
	const char *service;
	struct cli_words words;
	struct snapshot snap = {0};
	struct error err = {0};

	ret = cli_parse(cli, argc, argv, options, &words, &err);
	if (!ret && words.count > 1)
		ret = cli_misuse(cli, &err, "one service at a time");
	service = words.count ? words.word[0] : NULL;
	if (!ret && held && !service)
		ret = cli_misuse(cli, &err, "--held needs a service");
	if (!ret)
		ret = snapshot_take(&snap, cli->instance, &err);
	if (!ret && service)
		ret = require_service(&snap, service, &err);
	if (ret)
		ret = cli_fail(cli, &err);
	else if (held)
		ret = status_held(cli, service);
	else if (cli->json)
		ret = cli_print_json(cli, export_status(&snap, service));
	else if (status_print(&snap, service))
		ret = 1;
	else
		ret = cli_finish(cli);
	snapshot_free(&snap);
	return ret;
}
