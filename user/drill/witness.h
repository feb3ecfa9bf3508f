/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_WITNESS_H
#define DRILL_WITNESS_H

#include "drill/world.h"

/* The witness measures the network, so its two ends must not wait for the CPU behind the storm's actors. */
#define WITNESS_NICE (-18)

/*
 * A connection to the protected port from before the storm, on which both ends stream numbered data until
 * told to stop. Whatever is lost, altered or late on it, the storm or the shield did to a connection that
 * neither should have touched. arg is the number of the node, an int.
 */
int witness_actor(struct world *world, int ctl, const void *arg);

/* The server's end, on a connection it has accepted; returns an exit status when the client's end stops. */
int witness_answer(struct board *board, int fd);

#endif
