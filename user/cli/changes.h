/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What differs between two policies, key by key: for `set`, `diff` and `reload`. */
#ifndef SYNHOLD_CLI_CHANGES_H
#define SYNHOLD_CLI_CHANGES_H

#include "cli/cli.h"
#include "lib/config.h"
#include "lib/keys.h"

/*
 * Appends {"service","key","old","new"} for each difference to `list`; service '*' are keys of the instance. "ports"
 * and "closed" count as keys; of a service that only one side has, "service" is the key, and `old` or `new` is null.
 */
void changes_models(json_t *list, const struct model *old, const struct model *now);
/* The same for one key of the service, or of the instance with service NULL, even where nothing differs. */
void changes_key(json_t *list, const struct key *key, const char *name, const struct synhold_policy *old,
		 const struct synhold_policy *now, const struct synhold_global_policy *old_global,
		 const struct synhold_global_policy *now_global);
/*
 * Entries of address lists; the key is `allow CIDR`, `deny CIDR` or `prefer CIDR`. now: of the file. An entry that a
 * command added and the file does not have has "kept": true, as a reload leaves it alone.
 */
void changes_lists(json_t *list, const struct config_lists *old, const struct config_lists *now);

/* Prints them as lines `SERVICE KEY: old -> new`, with an arrow; tail: what the last line ends with. */
void changes_print(const json_t *list, const char *tail);

#endif
