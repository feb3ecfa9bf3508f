/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files behind lists.h share: lists.c (changes of entries), lists_store.c (images in maps). */
#ifndef SYNHOLD_LIB_LISTS_PARTS_H
#define SYNHOLD_LIB_LISTS_PARTS_H

#include "lib/lists.h"

/* All records of a bank, ended ones too. 0 or -errno with *lists untouched. */
int lists_read_bank(const struct instance *inst, uint32_t bank, struct config_lists *lists);

/* Sorts, drops what has ended, and makes an image of the rest: *fd, -1 when there is nothing. 0, -ENOSPC, -errno. */
int lists_prepare(struct config_lists *lists, int *fd, struct error *err);

/*
 * Puts an image (-1: none) in the place of a bank's. The kernel returns from the update when no program runs that could
 * see the old one, but before 6.8 it may free that one at once: so it is kept until then. listed: entries that the data
 * plane looks for.
 */
int lists_place_image(struct instance *inst, uint32_t bank, int fd, uint32_t listed);
uint32_t lists_listed(const struct config_lists *lists);

#endif
