/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pins of an older version, read as if this one had made them: its maps carry their types with them (BTF), and
 * members are matched by name.
 */
#ifndef SYNHOLD_LIB_OLDER_H
#define SYNHOLD_LIB_OLDER_H

#include "lib/instance.h"

/*
 * Fills an instance that instance_open() refused with -ESTALE: what is mapped otherwise is a copy of this process's;
 * the maps of lists and interfaces are open, no other is. The policy, the lists and the interfaces can be read then,
 * and nothing can be changed. instance_close() ends it. 0; -EPROTO when something would be lost or cannot be
 * understood.
 */
int older_open(struct instance *inst, struct error *err);

/* What its programs have counted up to now: sum[SYNHOLD_SERVICES]. 0, -EPROTO or -errno. */
int older_counts(const struct instance *inst, struct synhold_base *sum, struct error *err);
/* Reads tally and gates again, as they are now. */
int older_refresh(struct instance *inst, struct error *err);

#endif
