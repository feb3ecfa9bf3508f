// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/tell.h"

int cli_confirm(struct cli *cli, int argc, char **argv)
{
	struct cli_words words;
	struct instance inst;
	struct error err = {0};
	int ret;

	ret = cli_parse(cli, argc, argv, NULL, &words, &err);
	if (!ret && words.count)
		ret = cli_misuse(cli, &err, "'%s' is not accepted here", words.word[0]);
	if (!ret)
		ret = cli_open_writer(cli, &inst, &err);
	if (!ret) {
		ret = instance_confirm(&inst, &err);
		if (!ret)
			tell(&inst, "confirm: what waited stays");
		instance_close(&inst);
	}
	if (ret)
		return cli_fail(cli, &err);
	if (cli->json)
		return cli_print_json(cli, json_pack("{s:b}", "confirmed", 1));
	printf("confirmed: what waited stays\n");
	return cli_finish(cli);
}
