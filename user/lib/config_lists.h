/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address list entries of a config file: reading them, and what the lists of an instance become with them. */
#ifndef SYNHOLD_LIB_CONFIG_LISTS_H
#define SYNHOLD_LIB_CONFIG_LISTS_H

#include "lib/config.h"
#include "lib/instance.h"

/* Appends one line (`CIDR [rate N] [# note]`; of prefer `CIDR WEIGHT [# note]`) as a file entry without an end. 0,
 * -EINVAL, -ENOMEM; nothing is appended then. */
int config_lists_line(struct config_lists *lists, enum list_kind kind, const char *text, struct error *err);
/* All lines of a file; empty ones and comments are skipped. 0, -EINVAL naming the line, or -errno. */
int config_lists_include(struct config_lists *lists, enum list_kind kind, const char *path, struct error *err);

/* Appends the entries of an instance without an end that wait for no confirmation. 0 or -errno. */
int config_lists_collect(const struct instance *inst, struct config_lists *lists);

/*
 * The lists of an instance once they follow a file: its entries in the place of those that a file gave before, and all
 * that commands gave, except where the file has the same prefix. Both sorted. Changes nothing in the instance: the
 * result goes into force with a commit. 0, -ENOSPC, -errno with *next untouched.
 */
int config_lists_next(const struct instance *inst, struct config_lists *lists, struct config_lists *next,
		      struct error *err);

#endif
