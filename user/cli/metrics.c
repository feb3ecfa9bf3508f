// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "export/export.h"

int cli_metrics(struct cli *cli, int argc, char **argv)
{
	struct cli_words words;
	struct snapshot snap;
	struct error err = {0};
	struct timespec ts;
	int ret;

	ret = cli_parse(cli, argc, argv, NULL, &words, &err);
	if (!ret && words.count)
		ret = cli_misuse(cli, &err, "'%s' is not accepted here", words.word[0]);
	if (!ret)
		ret = snapshot_take(&snap, cli->instance, &err);
	if (ret)
		return cli_fail(cli, &err);
	clock_gettime(CLOCK_REALTIME, &ts);
	if (cli->json) {
		ret = cli_print_json(cli, export_status(&snap, NULL));
	} else {
		export_prometheus(&snap, (double)ts.tv_sec + (double)ts.tv_nsec / 1e9, EXPORT_TEXT, stdout);
		ret = cli_finish(cli);
	}
	snapshot_free(&snap);
	return ret;
}
