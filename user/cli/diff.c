// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/attach_args.h"
#include "cli/changes.h"
#include "cli/origin.h"
#include "lib/config_lists.h"

/* What a reload would change: old is what runs, new is what the file says. */
static int compare(struct instance *inst, const struct attach_args *args, json_t *list, struct error *err)
{
	__attribute__((cleanup(model_cleanup))) struct model *running = model_new(), *file = model_new();
	struct config_lists in_file = {0}, in_force = {0};
	int ret = running && file ? 0 : error_set(err, -ENOMEM, "out of memory");

	if (!ret) {
		instance_load_model(inst, running);
		ret = attach_args_model(args, running, file, &in_file, err);
	}
	if (!ret && config_lists_collect(inst, &in_force))
		ret = error_set(err, -ENOMEM, "out of memory");
	if (!ret) {
		changes_models(list, running, file);
		changes_lists(list, &in_force, &in_file);
	}
	config_lists_free(&in_file);
	config_lists_free(&in_force);
	return ret;
}

int cli_diff(struct cli *cli, int argc, char **argv)
{
	struct attach_args args = {0};
	const struct cli_option options[] = {{"config", 'c', CLI_TEXT, &args.config}, {0}};
	json_t *list = json_array();
	struct cli_words words;
	struct instance inst;
	struct error err = {0};
	char *text = NULL;
	int ret;

	ret = cli_parse(cli, argc, argv, options, &words, &err);
	if (!ret && words.count)
		ret = cli_misuse(cli, &err, "'%s' is not accepted here", words.word[0]);
	if (!ret)
		ret = cli_open_reader(cli, &inst, &err);
	if (!ret) {
		ret = args.config ? 0 : origin_read(&inst, &args, &text, &err);
		if (!ret)
			ret = compare(&inst, &args, list, &err);
		instance_close(&inst);
	}
	if (ret) {
		json_decref(list);
		ret = cli_fail(cli, &err);
	} else if (cli->json) {
		ret = cli_print_json(cli, json_pack("{s:s,s:o}", "file", args.config, "differences", list));
	} else {
		if (json_array_size(list)) {
			printf("# in force → %s\n", args.config);
			changes_print(list, "");
		} else
			printf("no difference\n");
		json_decref(list);
		ret = cli_finish(cli);
	}
	free(text);
	return ret;
}
