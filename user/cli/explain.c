// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/explain_text.h"
#include "lib/snapshot.h"
#include "lib/spec.h"

int cli_explain(struct cli *cli, int argc, char **argv)
{
	struct cli_words words;
	struct error err = {0};
	struct snapshot snap = {0};
	const struct snapshot_service *svc = NULL;
	json_t *answer = NULL;
	int ret;

	ret = ask_snapshot(cli, argc, argv, &words, &snap, &svc, &err);
	if (!ret)
		ret = ask_daemon(cli, "explain", words.word[0], &answer, &err);
	if (ret) {
		ret = cli_fail(cli, &err);
	} else if (cli->json) {
		ret = cli_print_json(cli, answer);
	} else {
		explain_print(&snap, svc, answer);
		json_decref(answer);
		ret = cli_finish(cli);
	}
	snapshot_free(&snap);
	return ret;
}
