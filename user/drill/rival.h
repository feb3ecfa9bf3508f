/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_RIVAL_H
#define DRILL_RIVAL_H

#include <linux/types.h>

#include "drill/figures.h"
#include "drill/run.h"

/*
 * What else people put in front of a server, in the place of the shield. Each is given what the shield is not: the
 * server's capacity, from which its settings are made. compare.c tries them all and reports the best.
 */

static inline bool rival_is(enum drill_run run)
{
	return RUN_BIT(run) & RUN_RIVALS;
}

/* How many settings of it there are to try. */
unsigned int rival_settings(enum drill_run run);

/* Its program and the Debian package that has it. */
const char *rival_program(enum drill_run run);
const char *rival_package(enum drill_run run);

/*
 * Writes board->setting in words, and for the kernel's filters the rules of it, for `nft -f` or `iptables-restore`
 * (empty for HAProxy). Pure. Returns 0 or -ENOSPC.
 */
int rival_rules(struct board *board, char *text, size_t size);

/*
 * SYNPROXY, before the first connection: it knows only what it has seen begin, and cuts off the rest. It limits
 * nothing, so it needs no capacity. Returns 0 or -1.
 */
int rival_early(struct run *run);

/* Starts a rival that is a program of its own; nothing limits yet. Once the capacity is known. Returns 0 or -1. */
int rival_start(struct run *run);

/* Puts the limits in force, where the shield would be attached. Returns 0, or -1 with board->error set. */
int rival_limit(struct run *run);

/* Where the clients of the storm connect to in this run. */
__be32 rival_server(const struct run *run);

/* Counts what its rules or the proxy have seen, onto the board. At the storm's end. */
void rival_read(struct run *run);

/* Appends that; nothing in other runs. */
void rival_figures(const struct board *board, struct figures *figures);

#endif
