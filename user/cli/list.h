/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SYNHOLD_CLI_LIST_H
#define SYNHOLD_CLI_LIST_H

#include "cli/cli.h"
#include "lib/lists.h"

/* Prints a list by address, as a table or a JSON array. The exit status, or -errno
 * with err set. */
int list_print(struct cli *cli, enum list_kind kind, struct error *err);

#endif
