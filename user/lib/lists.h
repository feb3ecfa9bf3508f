/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The allow, deny and prefer lists of an instance. They belong to a policy generation: each bank has an image of all
 * three that never changes, and a change of any entry puts another image in its place. Changes need the instance's
 * lock; each returns when it is in force.
 */
#ifndef SYNHOLD_LIB_LISTS_H
#define SYNHOLD_LIB_LISTS_H

#include "lib/instance.h"
#include "lib/lists_set.h"

/* Entries of the generation in force, sorted, without those that have ended. 0 or -errno with *lists untouched. */
int lists_read(const struct instance *inst, struct config_lists *lists);
/* Records of each list in the generation in force, ended ones that are not swept yet too. 0 or -errno. */
int lists_count(const struct instance *inst, unsigned int count[LIST_KINDS]);
/* Entries in order of their addresses; ended ones are left out. fn returns non-zero to stop, which is returned. */
int lists_each(const struct instance *inst, enum list_kind kind, int (*fn)(void *ctx, const struct list_entry *entry),
	       void *ctx);

/* Adds or replaces. 0, -ENOSPC when the list is full, -errno; nothing is changed then. */
int lists_add(struct instance *inst, enum list_kind kind, const struct list_entry *entry, struct error *err);
/* -ENOENT: no such entry. */
int lists_del(struct instance *inst, enum list_kind kind, const uint8_t addr[16], uint8_t prefixlen, struct error *err);
/*
 * Makes the entries that files brought into the list by this call those of the file, all or nothing; other entries
 * stay, but for those with the same prefix. Returns the number of lines that were entries; -EINVAL naming file and
 * line, -ENOSPC, -errno.
 */
int lists_load(struct instance *inst, enum list_kind kind, const char *path, struct error *err);
/* Entries added with --confirm become what they were meant to be. Returns how many, or -errno. */
int lists_confirm(struct instance *inst, struct error *err);
/* Forgets entries that have ended. 0 or -errno. */
int lists_sweep(struct instance *inst);
/* Whether a sweep is worth while: some entry has ended, of long lists for a while. Ended ones do nothing but take room.
 */
int lists_have_ended(const struct instance *inst, uint64_t now_ns);

/* For commit.c: the bank that is not in force gets these lists, or with NULL the image that is in force. 0 or -errno.
 */
int lists_stage(struct instance *inst, uint32_t bank, const struct config_lists *lists, struct error *err);
/* For commit.c: a bank that nothing leads to any more. */
void lists_drop(struct instance *inst, uint32_t bank);

/* The prefer list as the daemon reads it for every SYN that it holds: an image is mapped once. All zero before use. */
struct lists_view {
	const void *image; /* NULL: nobody is preferred */
	size_t size;
	uint32_t changes, bank;
	int known;
};
/* Weight of an address in force: that of its longest prefix; 1 = none. */
uint16_t lists_weight(struct lists_view *view, const struct instance *inst, const uint8_t addr[16]);
void lists_view_end(struct lists_view *view);

#endif
