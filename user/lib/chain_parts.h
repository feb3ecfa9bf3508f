/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What chain.c, chain_none.c and chain_pins.c share. */
#ifndef SYNHOLD_LIB_CHAIN_PARTS_H
#define SYNHOLD_LIB_CHAIN_PARTS_H

#include "lib/chain.h"

/* Whether the kernel puts a program in the place of a loaded one's function: 0 or -errno, by doing so. */
int chain_probe(void);
/* Whether a program belongs to the instance: it works on its map `control`, or is pinned as its. */
int chain_is_ours(const struct instance *inst, uint32_t ifindex, uint32_t prog_id);
/* Whether it is a shield that no instance knows any more, as a build without libxdp leaves them. */
int chain_is_orphan(uint32_t prog_id);
/* libxdp's part of chain_leave(): 0, or -errno when nothing was changed. */
int chain_detach(const struct instance *inst, uint32_t ifindex, uint32_t but);

#endif
