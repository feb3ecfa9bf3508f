// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/tell.h"
#include "cli/origin.h"
#include "lib/deploy.h"

/* Where the pins can be read, a name that is not attached is refused before any other is detached. */
static int check_names(struct instance *inst, const struct cli_words *words, struct error *err)
{
	struct deploy_interface list[ATTACH_INTERFACES_MAX];
	unsigned int count;

	if (instance_open(inst, NULL))
		return 0;
	count = deploy_interfaces(inst, list, ATTACH_INTERFACES_MAX);
	for (unsigned int i = 0; i < words->count; i++) {
		unsigned int j = 0;

		while (j < count && strcmp(list[j].name, words->word[i]))
			j++;
		if (j == count) {
			error_set(err, -ENOENT, "instance '%s' is not attached to '%s'", inst->name, words->word[i]);
			return error_hint(err, -ENOENT, "synhold status shows where it is");
		}
	}
	return 0;
}

/* Before it ends with the instance. */
static void tell_detach(const char *name, const struct cli_words *words)
{
	struct instance inst;

	if (instance_init(&inst, name, NULL))
		return;
	if (!instance_open(&inst, NULL))
		tell(&inst, "detach %s%s", words->count ? words->word[0] : "--all",
		     words->count > 1 ? " and others" : "");
	instance_close(&inst);
}

static int detach(struct instance *inst, const struct cli_words *words, struct error *err)
{
	int ret = instance_require_system(err);

	if (!ret)
		ret = instance_lock(inst, err);
	if (!ret && !words->count)
		return deploy_detach(inst, NULL, err);
	if (!ret)
		ret = check_names(inst, words, err);
	for (unsigned int i = 0; i < words->count && !ret; i++)
		ret = deploy_detach(inst, words->word[i], err);
	return ret;
}

int cli_detach(struct cli *cli, int argc, char **argv)
{
	int all = 0, ret;
	const struct cli_option options[] = {{"all", 'a', CLI_FLAG, &all}, {0}};
	struct cli_words words;
	struct instance inst;
	struct error err = {0};
	struct stat st;

	if (cli_parse(cli, argc, argv, options, &words, &err))
		return cli_fail(cli, &err);
	if (!all == !words.count) {
		cli_misuse(cli, &err, all ? "interfaces and --all at once" : "no interface given");
		return cli_fail(cli, &err);
	}
	ret = instance_init(&inst, cli->instance, &err);
	if (ret)
		return cli_fail(cli, &err);
	tell_detach(cli->instance, &words);
	ret = detach(&inst, &words, &err);
	origin_remove(&inst); /* nothing, while the instance lives */
	instance_close(&inst);
	if (ret == -ENOENT && all) { /* what was asked for is the case */
		if (!cli->json)
			printf("instance '%s' is attached nowhere\n", inst.name);
	} else if (ret) {
		return cli_failed(cli, &err);
	} else if (!cli->json) {
		printf(stat(inst.pin_dir, &st) ? "detached; instance '%s' is gone\n" :
						 "detached; instance '%s' stays on other interfaces\n",
		       inst.name);
	}
	return cli->json ? cli_print_json(cli, json_pack("{s:s,s:b}", "instance", inst.name, "attached",
							 !stat(inst.pin_dir, &st))) :
			   cli_finish(cli);
}
