/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where an instance's policy came from: the config file and the words beside it, kept in its run directory for `reload`
 * and `diff`. */
#ifndef SYNHOLD_CLI_ORIGIN_H
#define SYNHOLD_CLI_ORIGIN_H

#include "cli/attach_args.h"

/* Writes config, ports and keys of args. 0 or -errno. */
int origin_write(const struct instance *inst, const struct attach_args *args);

/*
 * Fills config, ports and keys with strings of *text, which the caller frees. Without a record: CONFIG_DEFAULT_PATH
 * where that exists, otherwise -ENOENT.
 */
int origin_read(const struct instance *inst, struct attach_args *args, char **text, struct error *err);

/* Removes the record, and the run directory if it is empty then: once the instance is gone. */
void origin_remove(const struct instance *inst);

#endif
