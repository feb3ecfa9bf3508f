/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SYNHOLD_CLI_ASK_H
#define SYNHOLD_CLI_ASK_H

#include "cli/cli.h"
#include "lib/snapshot.h"

/* Asks the instance's daemon about a service. *answer: a new reference. 0, or -errno with err set; an {"error":...}
 * answer is -EIO. */
int ask_daemon(const struct cli *cli, const char *what, const char *service, json_t **answer, struct error *err);

/*
 * For commands whose one word is a service: parses the arguments, takes a snapshot, finds the service in it. 0, or
 * -errno with err set; snap is to be freed either way.
 */
int ask_snapshot(struct cli *cli, int argc, char **argv, struct cli_words *words, struct snapshot *snap,
		 const struct snapshot_service **svc, struct error *err);

#endif
