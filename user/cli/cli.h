/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One file a command, one table of commands. To add a command: a file with its function, a row in the table of
 * commands.c. */
#ifndef SYNHOLD_CLI_CLI_H
#define SYNHOLD_CLI_CLI_H

#include <jansson.h>
#include <stdint.h>

#include "lib/error.h"
#include "lib/instance.h"

struct cli_command;

struct cli {
	const char *instance; /* NULL: the default one */
	int json;
	const struct cli_command *command; /* the one that runs */
};

struct cli_command {
	const char *name;
	const char *args; /* for the usage line */
	const char *doc;  /* one line */
	/* argv[0] is the command; --json may also stand behind it. Returns the exit status: 0, 1, 2, 3 as in
	 * docs/design.md. */
	int (*run)(struct cli *cli, int argc, char **argv);
	int raw; /* reads all of its options itself, --help too */
};

extern const struct cli_command cli_commands[]; /* ends with a row whose name is NULL */

const struct cli_command *cli_find(const char *name);

int cli_run(struct cli *cli, int argc, char **argv);
int cli_attach(struct cli *cli, int argc, char **argv);
int cli_detach(struct cli *cli, int argc, char **argv);
int cli_set(struct cli *cli, int argc, char **argv);
int cli_open(struct cli *cli, int argc, char **argv);
int cli_close(struct cli *cli, int argc, char **argv);
int cli_bypass(struct cli *cli, int argc, char **argv);
int cli_confirm(struct cli *cli, int argc, char **argv);
int cli_allow(struct cli *cli, int argc, char **argv);
int cli_deny(struct cli *cli, int argc, char **argv);
int cli_status(struct cli *cli, int argc, char **argv);
int cli_explain(struct cli *cli, int argc, char **argv);
int cli_metrics(struct cli *cli, int argc, char **argv);
int cli_check(struct cli *cli, int argc, char **argv);
int cli_save(struct cli *cli, int argc, char **argv);
int cli_diff(struct cli *cli, int argc, char **argv);
int cli_reload(struct cli *cli, int argc, char **argv);
int cli_drill(struct cli *cli, int argc, char **argv);
int cli_help(struct cli *cli, int argc, char **argv);
int cli_ramp(struct cli *cli, int argc, char **argv);
int cli_flush(struct cli *cli, int argc, char **argv);
int cli_prefer(struct cli *cli, int argc, char **argv);
int cli_signal(struct cli *cli, int argc, char **argv);
int cli_suggest(struct cli *cli, int argc, char **argv);
int cli_events(struct cli *cli, int argc, char **argv);
int cli_top(struct cli *cli, int argc, char **argv);

/* One line about the command, and how it is written. */
void cli_print_command(const struct cli_command *command);

/* Prints the error as the contract says (one line on stderr; with --json also an object on stdout) and returns its exit
 * status. */
int cli_fail(const struct cli *cli, const struct error *err);

/* The same where the user's words were right, so that -EINVAL came from the kernel. Returns 1. */
int cli_failed(const struct cli *cli, const struct error *err);

/* A usage error of the running command; the hint is its usage line. Returns -EINVAL. */
int cli_misuse(const struct cli *cli, struct error *err, const char *message, ...)
	__attribute__((format(printf, 3, 4)));

/* The instance does not exist: what to do about it. Returns -ENOENT. */
int cli_not_attached(const char *instance, struct error *err);

/* Writes the value to stdout and frees it. Returns 0, or 1 when it could not be written. */
int cli_print_json(const struct cli *cli, json_t *value);

/* Flushes stdout. Returns 0, or 1 with a message when not everything could be written. */
int cli_finish(const struct cli *cli);

/* Options of a command, as a table that ends with a row whose name is NULL; --json and --instance go without saying. */
enum cli_take {
	CLI_FLAG,     /* int *into = 1 */
	CLI_TEXT,     /* const char **into */
	CLI_DURATION, /* uint64_t *into, ns, above zero */
	CLI_COUNT,    /* uint64_t *into, above zero */
	CLI_WORDS,    /* struct cli_words *into: may be given again and again */
};

#define CLI_WORDS_MAX 256
struct cli_words {
	unsigned int count;
	const char *word[CLI_WORDS_MAX];
};

struct cli_option {
	const char *name;
	char letter; /* 0: long form only */
	enum cli_take take;
	void *into;
};

/* Reads argv[1..] with options anywhere among the words. 0, or -EINVAL. */
int cli_parse(struct cli *cli, int argc, char **argv, const struct cli_option *options, struct cli_words *words,
	      struct error *err);

/* Words KEY=VALUE: -EINVAL where a key stands twice, as one of the values would be forgotten silently. */
int cli_check_twice(const char *const *assignment, unsigned int count, struct error *err);

/* Opens the instance of the command line: as a reader, or to change it (root, BPF file system, lock). 0, or -errno with
 * nothing open. */
int cli_open_reader(const struct cli *cli, struct instance *inst, struct error *err);
int cli_open_writer(const struct cli *cli, struct instance *inst, struct error *err);

#endif
