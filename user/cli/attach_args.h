/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `run` and `attach` are given, and the policy it asks for. */
#ifndef SYNHOLD_CLI_ATTACH_ARGS_H
#define SYNHOLD_CLI_ATTACH_ARGS_H

#include <sched.h>

#include "cli/cli.h"
#include "lib/config.h"
#include "lib/deploy.h"

#define ATTACH_INTERFACES_MAX 64 /* as many as an instance takes */

struct attach_args {
	struct cli_words interfaces, ports, keys;
	const char *config; /* NULL: none */
	enum deploy_mode mode;
	const char *metrics; /* run only */
	int detach_on_exit;  /* run only */
	const char *cpus;    /* run only; NULL: anywhere */
	cpu_set_t cpu_set;   /* the same, read */
	int chain;           /* join the dispatcher of libxdp */
	int allow_me;        /* the address of the SSH session, in the same change */
	int no_sandbox;      /* run only */
	const char *group;   /* run only; NULL: the default */
	uint64_t confirm_ns; /* attach only */
};

/* Reads the command line, all that can be judged without a look at the system. is_run: `run`'s options, else
 * `attach`'s. 0 or -EINVAL. */
int attach_args_parse(struct cli *cli, int argc, char **argv, int is_run, struct attach_args *args, struct error *err);

/*
 * The policy asked for, compiled: the file's, or else the running one, with --port and KEY=VALUE on top. Services keep
 * the ids they have in `running` (NULL: there is none). lists: entries of the file, for config_lists_free(). 0,
 * -EINVAL, or -errno of the file.
 */
int attach_args_model(const struct attach_args *args, const struct model *running, struct model *model,
		      struct config_lists *lists, struct error *err);

#endif
