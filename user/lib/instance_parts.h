/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What instance.c does for older.c, which fills an instance without mapping its pins. */
#ifndef SYNHOLD_LIB_INSTANCE_PARTS_H
#define SYNHOLD_LIB_INSTANCE_PARTS_H

#include "lib/instance.h"

extern const char *const instance_map_names[];

/* Gives every mapped member memory of this process alone, all zero, for instance_close() to free. 0 or -ENOMEM. */
int instance_map_private(struct instance *inst);
/* The memory of a map; NULL when it is none of the mapped ones. */
void *instance_mapped(const struct instance *inst, enum instance_map map);

#endif
