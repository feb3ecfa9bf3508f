// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "lib/keys.h"
#include "lib/spec.h"

void cli_print_command(const struct cli_command *command)
{
	printf("Usage: synhold [--instance NAME] [--json] %s%s%s\n\n  %s\n", command->name, *command->args ? " " : "",
	       command->args, command->doc);
	if (strstr(command->args, "SPEC"))
		printf("\n  SPEC is %s\n", SPEC_FORM);
	if (strstr(command->args, "KEY=VALUE"))
		printf("\n  synhold help keys lists the keys.\n");
}

static void print_commands(void)
{
	printf("Usage: synhold [--instance NAME] [--json] COMMAND ...\n\n"
	       "Holds reconnect storms back at the network card, at the pace the server behind it really has.\n\n");
	for (const struct cli_command *command = cli_commands; command->name; command++)
		printf("  %-8s %s\n", command->name, command->doc);
	printf("\n  --instance NAME  which shield of this machine (or SYNHOLD_INSTANCE); default: " INSTANCE_DEFAULT
	       "\n"
	       "  --json           what is read, and errors, as JSON on standard output\n"
	       "  --help, --version\n\n"
	       "synhold help COMMAND shows how a command is written, synhold help keys what can be set.\n");
}

static void print_key(const struct key *key, const struct synhold_policy *service,
		      const struct synhold_global_policy *global)
{
	char value[64];

	printf("  %-16s %s\n  %-16s accepted: %s; default: %s\n", key->name, key->doc, "", key->form,
	       keys_format(key, service, global, value, sizeof(value)));
}

static void print_keys(void)
{
	struct synhold_policy service = {0};
	struct synhold_global_policy global = {0};

	keys_defaults(&service);
	keys_global_defaults(&global);
	for (int wanted = 0; wanted <= 1; wanted++) {
		printf(wanted ? "\nKeys of the instance (synhold set '*' KEY=VALUE):\n" : "Keys of a service:\n");
		for (const struct key *key = keys_table; key->name; key++)
			if (key->global == wanted)
				print_key(key, &service, &global);
	}
}

static json_t *key_json(const struct key *key, const struct synhold_policy *service,
			const struct synhold_global_policy *global)
{
	char value[64];

	return json_pack("{s:s,s:b,s:s,s:s,s:s}", "name", key->name, "global", key->global, "accepted", key->form,
			 "default", keys_format(key, service, global, value, sizeof(value)), "doc", key->doc);
}

static json_t *help_json(int with_keys)
{
	struct synhold_policy service = {0};
	struct synhold_global_policy global = {0};
	json_t *list = json_array();

	keys_defaults(&service);
	keys_global_defaults(&global);
	for (const struct key *key = keys_table; with_keys && key->name; key++)
		json_array_append_new(list, key_json(key, &service, &global));
	for (const struct cli_command *command = cli_commands; !with_keys && command->name; command++)
		json_array_append_new(list, json_pack("{s:s,s:s,s:s}", "name", command->name, "args", command->args,
						      "doc", command->doc));
	return list;
}

int cli_help(struct cli *cli, int argc, char **argv)
{
	struct cli_words words;
	struct error err = {0};
	const struct cli_command *command;

	if (cli_parse(cli, argc, argv, NULL, &words, &err))
		return cli_fail(cli, &err);
	if (words.count > 1) {
		cli_misuse(cli, &err, "one word at most");
		return cli_fail(cli, &err);
	}
	if (words.count && strcmp(words.word[0], "keys")) {
		command = cli_find(words.word[0]);
		if (!command) {
			cli_misuse(cli, &err, "no command '%s'", words.word[0]);
			return cli_fail(cli, &err);
		}
		cli_print_command(command);
		return cli_finish(cli);
	}
	if (cli->json)
		return cli_print_json(cli, help_json(words.count == 1));
	if (words.count)
		print_keys();
	else
		print_commands();
	return cli_finish(cli);
}
