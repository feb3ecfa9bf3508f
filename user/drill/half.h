/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_HALF_H
#define DRILL_HALF_H

#include "drill/board.h"

/*
 * Runs one half of a drill in a world of its own: builds it, measures the capacity if board->measure says
 * so, sets the storm loose and watches it to its end. Progress goes to stderr. The caller has SIGINT,
 * SIGTERM and SIGHUP blocked. Returns as world_run().
 */
int half_run(struct board *board);

#endif
