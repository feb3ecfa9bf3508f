// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "lib/version.h"

struct start {
	struct cli cli;
	struct error err;
	int first; /* index of the command in argv; 0: none */
	int help, version;
};

static const struct argp_option global_options[] = {
	{"instance", 'i', "NAME", 0, "which shield of this machine", 0},
	{"json", 'j', NULL, 0, "machine-readable output", 0},
	{"help", 'h', NULL, 0, "show the commands", 0},
	{"version", 'V', NULL, 0, "show the version", 0},
	{0},
};

static error_t global_option(int key, char *arg, struct argp_state *state)
{
	struct start *start = state->input;

	switch (key) {
	case 'i':
		start->cli.instance = arg;
		return 0;
	case 'j':
		start->cli.json = 1;
		return 0;
	case 'h':
		start->help = 1;
		return 0;
	case 'V':
		start->version = 1;
		return 0;
	case ARGP_KEY_ARG: /* what follows belongs to the command */
		start->first = state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_ERROR:
		cli_misuse(&start->cli, &start->err, "option '%s' is not accepted, or lacks its value",
			   state->argv[state->next - 1]);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Errors that come before --json has been read must be JSON as well. */
static int has_word(int argc, char **argv, const char *word)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], word))
			return 1;
	return 0;
}

static int unknown_command(const struct cli *cli, const char *name)
{
	char names[200] = "";
	struct error err = {0};
	size_t used = 0;

	for (const struct cli_command *command = cli_commands; command->name && used < sizeof(names); command++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? " " : "", command->name);
	error_set(&err, -EINVAL, "unknown command '%s'", name);
	error_hint(&err, -EINVAL, "commands: %s", names);
	return cli_fail(cli, &err);
}

static int dispatch(struct start *start, int argc, char **argv)
{
	struct instance inst;

	start->cli.command = cli_find(argv[0]);
	if (!start->cli.command)
		return unknown_command(&start->cli, argv[0]);
	if (instance_init(&inst, start->cli.instance, &start->err))
		return cli_fail(&start->cli, &start->err);
	if (!start->cli.command->raw && (has_word(argc, argv, "--help") || has_word(argc, argv, "-h"))) {
		cli_print_command(start->cli.command);
		return cli_finish(&start->cli);
	}
	return start->cli.command->run(&start->cli, argc, argv);
}

int main(int argc, char **argv)
{
	static char *help[] = {"help", NULL};
	const struct argp argp = {.options = global_options, .parser = global_option};
	struct start start = {.cli = {.instance = getenv("SYNHOLD_INSTANCE"), .json = has_word(argc, argv, "--json")}};

	argp_err_exit_status = 2;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_HELP | ARGP_NO_ERRS, NULL, &start)) {
		if (!start.err.code)
			cli_misuse(&start.cli, &start.err, "the command line cannot be read");
		return cli_fail(&start.cli, &start.err);
	}
	if (start.version) {
		puts("synhold " SYNHOLD_VERSION);
		return cli_finish(&start.cli);
	}
	if (start.help)
		return dispatch(&start, 1, help);
	if (!start.first) {
		cli_misuse(&start.cli, &start.err, "no command given");
		return cli_fail(&start.cli, &start.err);
	}
	return dispatch(&start, argc - start.first, argv + start.first);
}
