/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The config file: inih; `[synhold]` for global keys and lists, `[service NAME]` with `port = SPEC` lines and the
 * policy keys. */
#ifndef SYNHOLD_LIB_CONFIG_H
#define SYNHOLD_LIB_CONFIG_H

#include <stdio.h>

#include "lib/lists_set.h"
#include "lib/model.h"

#define CONFIG_DEFAULT_PATH "/etc/synhold/synhold.conf"

/*
 * Reads a file into a model that has no services, all or nothing. Errors name file, line, key and accepted form. 0,
 * -EINVAL, -errno of the file. lists: filled with `allow = CIDR [rate N] [# note]`, `deny = CIDR [# note]`, `prefer =
 * CIDR WEIGHT`, include-allow=FILE, include-deny=FILE; free with config_lists_free().
 */
int config_read(const char *path, struct model *model, struct config_lists *lists, struct error *err);

/* Writes what config_read() reads back to the same: `save`. Keys at their default are left out. Timed list entries are
 * left out. 0 or -errno. */
int config_write(FILE *out, const struct model *model, const struct config_lists *lists);

#endif
