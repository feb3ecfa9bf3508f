/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address list entries of a config file: reading them, and making an instance's lists follow the file. */
#ifndef SYNHOLD_LIB_CONFIG_LISTS_H
#define SYNHOLD_LIB_CONFIG_LISTS_H

#include "lib/config.h"

#define CONFIG_ALLOW_FORM "CIDR [rate N] [# note], such as 192.0.2.0/24 rate 50 # probes"
#define CONFIG_DENY_FORM "CIDR [# note], such as 198.51.100.0/24 # abuse"
#define CONFIG_PREFER_FORM "CIDR WEIGHT [# note], weight 2 to 128, such as 192.0.2.0/24 8"

/* Appends one line (`CIDR [rate N] [# note]`; of prefer `CIDR WEIGHT [# note]`) as a file entry without an end. 0,
 * -EINVAL, -ENOMEM; nothing is appended then. */
int config_lists_line(struct config_lists *lists, enum list_kind kind, const char *text, struct error *err);
/* All lines of a file; empty ones and comments are skipped. 0, -EINVAL naming the line, or -errno. */
int config_lists_include(struct config_lists *lists, enum list_kind kind, const char *path, struct error *err);
/* Appends a copy. 0 or -ENOMEM. */
int config_lists_add(struct config_lists *lists, enum list_kind kind, const struct list_entry *entry);

/* Appends the entries of an instance without an end that wait for no confirmation; file_only: those of a file only. 0
 * or -ENOMEM. */
int config_lists_collect(const struct instance *inst, int file_only, struct config_lists *lists);

/*
 * Makes the file entries of all lists those of `lists`, and keeps the ones that commands gave, except where the file
 * has the same prefix. Needs the lock. All or nothing; in force on return. 0, -ENOSPC, -errno.
 */
int config_lists_apply(struct instance *inst, const struct config_lists *lists, struct error *err);

#endif
