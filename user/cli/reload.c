// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/apply.h"
#include "cli/changes.h"
#include "cli/origin.h"
#include "cli/tell.h"
#include "lib/config_lists.h"
#include "lib/units.h"

static int reload(struct instance *inst, const struct attach_args *args, int named, json_t *list, struct error *err)
{
	__attribute__((cleanup(model_cleanup))) struct model *before = model_new();
	struct config_lists in_force = {0};
	struct apply apply = {0};
	int ret = before && !config_lists_collect(inst, &in_force) ? apply_reload(args, &apply, inst, before, err) :
								     error_set(err, -ENOMEM, "out of memory");

	if (!ret) {
		changes_models(list, before, apply.model);
		changes_lists(list, &in_force, &apply.lists);
		if (named)
			origin_write(inst, args);
	}
	config_lists_free(&in_force);
	apply_end(&apply);
	return ret;
}

int cli_reload(struct cli *cli, int argc, char **argv)
{
	struct attach_args args = {0};
	const struct cli_option options[] = {
		{"config", 'c', CLI_TEXT, &args.config},
		{"confirm", 0, CLI_DURATION, &args.confirm_ns},
		{0},
	};
	json_t *list = json_array();
	struct cli_words words;
	struct instance inst;
	struct error err = {0};
	char *text = NULL, wait[32];
	int ret;

	ret = cli_parse(cli, argc, argv, options, &words, &err);
	if (!ret && words.count)
		ret = cli_misuse(cli, &err, "'%s' is not accepted here", words.word[0]);
	if (!ret)
		ret = cli_open_writer(cli, &inst, &err);
	if (!ret) {
		int named = args.config != NULL;

		ret = named ? 0 : origin_read(&inst, &args, &text, &err);
		if (!ret)
			ret = reload(&inst, &args, named, list, &err);
		if (!ret)
			tell_changes(&inst, "reload", list, args.confirm_ns ? " (unless confirmed, undone soon)" : "");
		instance_close(&inst);
	}
	if (ret) {
		json_decref(list);
		ret = cli_fail(cli, &err);
	} else if (cli->json) {
		ret = cli_print_json(cli, json_pack("{s:s,s:o,s:f}", "file", args.config, "changes", list,
						    "confirm_seconds", (double)args.confirm_ns / 1e9));
	} else {
		changes_print(list, "");
		printf("%s is in force\n", args.config);
		if (args.confirm_ns)
			printf("undone in %s unless confirmed: synhold confirm\n",
			       units_format_duration(wait, sizeof(wait), args.confirm_ns));
		json_decref(list);
		ret = cli_finish(cli);
	}
	free(text);
	return ret;
}
