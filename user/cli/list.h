/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SYNHOLD_CLI_LIST_H
#define SYNHOLD_CLI_LIST_H

#include "cli/cli.h"
#include "lib/lists.h"

/* Prints a list by address, as a table or a JSON array. The exit status, or -errno
 * with err set. */
int list_print(struct cli *cli, enum list_kind kind, struct error *err);

/* Takes address and prefix length of a word into the entry; the error names what was meant. 0 or -EINVAL. */
int list_parse_cidr(const char *text, struct list_entry *entry, struct error *err);

#endif
