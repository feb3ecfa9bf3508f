// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/drill.h"

#include <string.h>

#include "cli/cli.h"

int cli_drill(struct cli *cli, int argc, char **argv)
{
	char *with_json[CLI_WORDS_MAX];
	struct error err = {0};

	if (argc > CLI_WORDS_MAX - 2) {
		cli_misuse(cli, &err, "more than %d words", CLI_WORDS_MAX - 3);
		return cli_fail(cli, &err);
	}
	memcpy(with_json, argv, (size_t)argc * sizeof(*argv));
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--json"))
			return drill_main(argc, argv);
	if (cli->json) /* it stood in front of the command */
		with_json[argc++] = "--json";
	with_json[argc] = NULL;
	return drill_main(argc, with_json);
}
