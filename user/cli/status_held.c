// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>

#include "cli/ask.h"
#include "cli/status.h"
#include "cli/table.h"

static int print_sources(const json_t *sources)
{
	static const char *const columns[] = {"SOURCE", ">HELD", ">OLDEST", ">ATTEMPTS", NULL};
	struct libscols_table *table = table_new(columns);
	size_t i;
	json_t *source;

	json_array_foreach (sources, i, source) {
		struct libscols_line *line = table ? scols_table_new_line(table, NULL) : NULL;
		const char *name = json_string_value(json_object_get(source, "source"));

		table_cell(line, 0, "%s", name ? name : "");
		table_cell(line, 1, "%lld", json_integer_value(json_object_get(source, "count")));
		table_cell(line, 2, "%.1f s", json_number_value(json_object_get(source, "oldest_seconds")));
		table_cell(line, 3, "%lld", json_integer_value(json_object_get(source, "attempts")));
	}
	return table_print(table);
}

int status_held(struct cli *cli, const char *service)
{
	struct error err = {0};
	json_t *answer = NULL;
	size_t shown;
	long long total;
	int ret;

	if (ask_daemon(cli, "held", service, &answer, &err))
		return cli_fail(cli, &err);
	if (cli->json)
		return cli_print_json(cli, answer);
	shown = json_array_size(json_object_get(answer, "sources"));
	total = json_integer_value(json_object_get(answer, "total"));
	printf("%lld SYNs of %s are held\n", total, service);
	ret = shown ? print_sources(json_object_get(answer, "sources")) : 0;
	json_decref(answer);
	return ret ? 1 : cli_finish(cli);
}
