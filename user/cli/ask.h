/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SYNHOLD_CLI_ASK_H
#define SYNHOLD_CLI_ASK_H

#include "cli/cli.h"

/* Asks the instance's daemon about a service. *answer: a new reference. 0, or -errno with err set; an {"error":...}
 * answer is -EIO. */
int ask_daemon(const struct cli *cli, const char *what, const char *service, json_t **answer, struct error *err);

#endif
