// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/notice.h"
#include "cli/tell.h"
#include "lib/inforce.h"
#include "lib/model.h"
#include "lib/spec.h"
#include "lib/units.h"

static int commit_closed(struct instance *inst, const char *name, int closed, uint64_t for_ns, uint64_t confirm_ns,
			 int *was, struct error *err)
{
	__attribute__((cleanup(model_cleanup))) struct model *model = model_new();
	int id, ret;

	if (!model)
		return error_set(err, -ENOMEM, "out of memory");
	instance_load_model(inst, model);
	id = model_require(model, name, err);
	if (id < 0)
		return id;
	*was = inforce_closed(&model->service[id], instance_now_ns());
	model->service[id].closed = (uint8_t)closed;
	model->service[id].closed_flip_ns = for_ns ? instance_now_ns() + for_ns : 0;
	ret = model_compile(model, err);
	if (!ret)
		ret = instance_commit(inst, model, confirm_ns, err);
	return ret == -EINVAL ? -EIO : ret;
}

static int turn(struct cli *cli, int argc, char **argv, int closed)
{
	uint64_t for_ns = 0, confirm_ns = 0;
	const struct cli_option options[] = {{"for", 0, CLI_DURATION, &for_ns},
					     {closed ? "confirm" : NULL, 0, CLI_DURATION, &confirm_ns},
					     {0}};
	const char *word = closed ? "closed" : "open";
	struct cli_words words;
	struct instance inst;
	struct error err = {0};
	char text[32], note[160] = "";
	int ret, was = 0;

	ret = cli_parse(cli, argc, argv, options, &words, &err);
	if (!ret && words.count != 1)
		ret = cli_misuse(cli, &err, words.count ? "one service at a time" : "no service given");
	if (!ret && !spec_name_valid(words.word[0])) {
		error_set(&err, -EINVAL, "'%s' is no service name", words.word[0]);
		ret = error_hint(&err, -EINVAL, "accepted: " SPEC_NAME_FORM);
	}
	if (!ret)
		ret = cli_open_writer(cli, &inst, &err);
	if (!ret) {
		ret = commit_closed(&inst, words.word[0], closed, for_ns, confirm_ns, &was, &err);
		if (!ret && (closed || for_ns))
			notice_monitor(&inst, words.word[0], note, sizeof(note));
		if (!ret)
			tell(&inst, "%s: %s %s -> %s%s%s%s", words.word[0], cli->command->name, was ? "closed" : "open",
			     word, for_ns ? ", for " : "",
			     for_ns ? units_format_duration(text, sizeof(text), for_ns) : "",
			     confirm_ns ? " (unless confirmed, undone soon)" : "");
		instance_close(&inst);
	}
	if (ret)
		return cli_fail(cli, &err);
	if (cli->json)
		return cli_print_json(cli, json_pack("{s:s,s:b,s:f,s:f}", "service", words.word[0], "closed", closed,
						     "for_seconds", (double)for_ns / 1e9, "confirm_seconds",
						     (double)confirm_ns / 1e9));
	printf("%s is %s", words.word[0], word);
	if (for_ns)
		printf(", and %s again in %s", closed ? "open" : "closed",
		       units_format_duration(text, sizeof(text), for_ns));
	printf("%s\n", note);
	if (confirm_ns)
		printf("undone in %s unless confirmed: synhold confirm\n",
		       units_format_duration(text, sizeof(text), confirm_ns));
	return cli_finish(cli);
}

int cli_open(struct cli *cli, int argc, char **argv)
{
	return turn(cli, argc, argv, 0);
}

int cli_close(struct cli *cli, int argc, char **argv)
{
	return turn(cli, argc, argv, 1);
}
