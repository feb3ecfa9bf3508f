/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The allow, deny and prefer lists. Changes need the instance's lock; each returns when it is in force. */
#ifndef SYNHOLD_LIB_LISTS_H
#define SYNHOLD_LIB_LISTS_H

#include "lib/instance.h"

enum list_kind { LIST_ALLOW, LIST_DENY, LIST_PREFER };

const char *lists_name(enum list_kind kind);

struct list_entry {
	uint8_t addr[16]; /* mapped */
	uint8_t prefixlen;
	struct synhold_list_value value;
};

/* Adds or replaces. until/confirmed in value; the rate is compiled here. 0, -ENOSPC when the list is full. */
int lists_add(struct instance *inst, enum list_kind kind, const struct list_entry *entry, struct error *err);
/* -ENOENT: no such entry. */
int lists_del(struct instance *inst, enum list_kind kind, const uint8_t addr[16], uint8_t prefixlen, struct error *err);
/* Entries in no order; ended ones are left out. fn returns non-zero to stop, which is returned. */
int lists_each(const struct instance *inst, enum list_kind kind, int (*fn)(void *ctx, const struct list_entry *entry),
	       void *ctx);
/* Removes entries that have ended. Returns how many. */
unsigned int lists_prune(struct instance *inst, enum list_kind kind);
/*
 * All lines of a file (CIDR, then optional `rate N`, `for DURATION`, `# note`) or none: -EINVAL names file and line.
 * Returns the number added.
 */
int lists_load(struct instance *inst, enum list_kind kind, const char *path, struct error *err);
/* Entries added with --confirm become what they were meant to be. Returns how many. */
unsigned int lists_confirm(struct instance *inst);

/* Weight of an address in the prefer list: that of its longest prefix; 1 = none. */
uint16_t lists_weight(const struct instance *inst, const uint8_t addr[16], uint64_t now_ns);

#endif
