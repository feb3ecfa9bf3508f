/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process behind `attach --confirm`: takes the shield off again unless somebody confirms in time. */
#ifndef SYNHOLD_CLI_GUARD_H
#define SYNHOLD_CLI_GUARD_H

#include "lib/instance.h"

/*
 * Starts it for the change that was just committed. inst: open. The policy comes back by the deadline in the maps in
 * any case; this process also removes what the command attached. 0 or -errno.
 */
int guard_start(const struct instance *inst);

#endif
