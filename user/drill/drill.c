// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/drill.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drill/compare.h"
#include "drill/kit.h"
#include "lib/keys.h"

#define DRILL_USAGE 2
#define OPT_HELP '?'

static const struct drill *const drills[] = {
	&drill_trello, &drill_twingate, &drill_ambra, &drill_confluence, &drill_kiln,
};

#define DRILL_COUNT (sizeof(drills) / sizeof(drills[0]))

/* What the command line gave; it goes on top of the defaults of the drill it names. */
struct drill_args {
	const char *name;
	struct drill_params given;
	unsigned int set; /* bits of enum params_option */
	int keys;
	bool helped;
	char *bad; /* what was wrong, for the one line on stderr */
};

#define OPTION(name, opt, arg, doc)                 \
	{                                           \
		name, 0x100 + (opt), arg, 0, doc, 0 \
	}

static const struct argp_option drill_options[] = {
	OPTION("clients", OPT_CLIENTS, "N", "how many clients there are"),
	OPTION("drop", OPT_DROP, "P%", "cut off this share of them, which then reconnects; 100% for all (33%)"),
	OPTION("patience", OPT_PATIENCE, "DURATION", "how long each waits for the reply before it gives up"),
	OPTION("retry", OPT_RETRY, "POLICY", "and then: now, fixed:S, exp:BASE:MAX, expj:BASE:MAX"),
	OPTION("rtt", OPT_RTT, "MIN-MAX", "round-trip times of the clients, 0 for none"),
	OPTION("seconds", OPT_SECONDS, "S", "longest storm of a run (40, or 3.2 times the ideal)"),
	OPTION("server", OPT_SERVER, "eager|lazy", "accepts at once, or when done with the last (eager)"),
	OPTION("cost", OPT_COST, "DURATION", "CPU time the server spends on each connection"),
	OPTION("seed", OPT_SEED, "N", "the same seed gives the same storm (1)"),
	OPTION("attach-at", OPT_ATTACH_AT, "DURATION", "attach the shield so long after the storm began"),
	OPTION("only", OPT_ONLY, "RUN", "make one run only: without, with, ramp, or a name that --compare adds"),
	OPTION("svg", OPT_SVG, "FILE", "write the picture there (synhold-drill-NAME.svg)"),
	OPTION("html", OPT_HTML, "FILE", "write the report there (as --svg, with .html)"),
	OPTION("log", OPT_LOG, "FILE", "write what the shield logs there"),
	OPTION("json", OPT_JSON, NULL, "print one JSON object"),
	OPTION("port", OPT_PORT, "N", "the protected port (8000)"),
	OPTION("compare", OPT_COMPARE, NULL, "also with nftables, hashlimit, synproxy, haproxy, each at its best"),
	{"help", OPT_HELP, NULL, 0, "print this", -1},
	{0}};

static int drill_parse(int key, char *arg, struct argp_state *state)
{
	struct drill_args *args = state->input;
	int opt = key - 0x100;

	if (opt >= 0 && opt < OPT_COUNT) {
		if (params_set(&args->given, opt, arg)) {
			if (asprintf(&args->bad, "--%s %s: must be %s", drill_options[opt].name, arg,
				     params_form(opt)) < 0)
				return ENOMEM;
			return EINVAL;
		}
		args->set |= 1u << opt;
		return 0;
	}
	if (key == OPT_HELP) {
		argp_help(state->root_argp, stdout, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK, "synhold drill");
		args->helped = true;
		return 0;
	}
	if (key == ARGP_KEY_ERROR && !args->bad) {
		int at = state->next > 1 ? state->next - 1 : state->next;

		if (asprintf(&args->bad, "%s: unknown option, or its value is missing",
			     at < state->argc ? state->argv[at] : "") < 0)
			return ENOMEM;
		return 0;
	}
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (strchr(arg, '=')) {
		args->given.keys[args->keys++] = arg;
	} else if (!args->name) {
		args->name = arg;
	} else {
		if (asprintf(&args->bad, "%s: not key=value, and the drill is named already", arg) < 0)
			return ENOMEM;
		return EINVAL;
	}
	return 0;
}

static char *drill_help(int key, const char *text, void *input)
{
	char *help = NULL;
	size_t size;
	FILE *f;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	f = open_memstream(&help, &size);
	if (!f)
		return NULL;
	fputs("Drills:\n", f);
	for (size_t i = 0; i < DRILL_COUNT; i++)
		fprintf(f, "  %-12s %s\n", drills[i]->name, drills[i]->doc);
	fputs("\nDefaults that are not said above are each drill's own. The first is the one without a NAME. Nothing outside its private namespaces is touched. Exit status: 0 the drill passed, "
	      "1 it failed or could not be run, 2 usage.",
	      f);
	fclose(f);
	return help;
}

static const struct argp drill_argp = {
	.options = drill_options,
	.parser = drill_parse,
	.args_doc = "[NAME] [key=value]...",
	.doc = "Replay an incident in private namespaces, without and with the shield. key=value goes to "
	       "`synhold run`."
	       "\v",
	.help_filter = drill_help,
};

static const struct drill *drill_find(const char *name)
{
	for (size_t i = 0; i < DRILL_COUNT; i++)
		if (!name || !strcmp(drills[i]->name, name))
			return drills[i];
	return NULL;
}

static int drill_usage(const struct drill_args *args, const char *hint, const char *what)
{
	compare_fail(args->given.json, -EINVAL, hint, "%s", what);
	return DRILL_USAGE;
}

/* A slip in a key must not come to light after the half without the shield has run. */
static int drill_check_keys(const struct drill_args *args)
{
	struct synhold_policy service;
	struct synhold_global_policy global;
	struct error err = {0};

	keys_defaults(&service);
	keys_global_defaults(&global);
	for (int i = 0; i < args->keys; i++) {
		char name[64];
		const char *key = args->given.keys[i], *value = strchr(key, '=') + 1;

		snprintf(name, sizeof(name), "%.*s", (int)(value - 1 - key), key);
		if (keys_set(&service, &global, name, value, &err))
			return drill_usage(args, err.hint, err.message);
	}
	return 0;
}

/* An option that the drill has no use for would promise what it does not do. */
static int drill_check_options(const struct drill_args *args, const struct drill *drill,
			       const struct drill_params *params)
{
	unsigned int extra = args->set & ~(drill->options | PARAMS_COMMON);
	char what[96];

	if (extra) {
		snprintf(what, sizeof(what), "--%s: the drill %s has no such option",
			 drill_options[__builtin_ctz(extra)].name, drill->name);
		return drill_usage(args, "see `synhold drill --help`", what);
	}
	if (args->set & 1u << OPT_COMPARE && args->set & 1u << OPT_ATTACH_AT)
		return drill_usage(args, "leave one of them out", "--compare: not together with --attach-at");
	if ((args->set & 1u << OPT_ONLY) && !(params->runs & args->given.runs)) {
		snprintf(what, sizeof(what), "--only: the drill %s has no such run with these options", drill->name);
		return drill_usage(args, "see `synhold drill --help`", what);
	}
	return 0;
}

int drill_main(int argc, char **argv)
{
	char *keys[argc + 1], what[160];
	struct drill_args args = {.given.keys = keys};
	const struct drill *drill;
	struct drill_params params;
	int ret;

	memset(keys, 0, sizeof(keys));
	/* The output of an error depends on --json, which may stand behind what is wrong. */
	for (int i = 1; i < argc; i++)
		args.given.json |= !strcmp(argv[i], "--json");
	/* argp's own messages take two lines, ours one. */
	ret = argp_parse(&drill_argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &args);
	if (args.helped)
		return 0;
	if (ret) {
		ret = drill_usage(&args, "see `synhold drill --help`", args.bad ? args.bad : strerror(ret));
		free(args.bad);
		return ret;
	}
	drill = drill_find(args.name);
	if (!drill) {
		snprintf(what, sizeof(what), "%s: no drill of that name", args.name);
		return drill_usage(&args, "`synhold drill --help` lists them", what);
	}
	params = *drill->defaults(&args.given, args.set);
	if (args.set & 1u << OPT_COMPARE)
		params.runs |= RUN_RIVALS;
	ret = drill_check_options(&args, drill, &params);
	if (!ret)
		ret = drill_check_keys(&args);
	if (ret)
		return ret;
	params_merge(&params, &args.given, args.set);
	return compare_run(drill, &params);
}
