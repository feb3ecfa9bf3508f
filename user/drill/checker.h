/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_CHECKER_H
#define DRILL_CHECKER_H

#include <linux/types.h>

#include "drill/world.h"

/* Must outlive the actor's start. */
struct checker_job {
	int node;             /* whose figures on the board it keeps */
	__be32 addr;          /* what it probes; the port is the drill's */
	uint64_t interval_ns; /* from the start of a probe to the start of the next */
	uint64_t timeout_ns;  /* for connection and first byte of the reply together */
	uint32_t fall;        /* lost probes in a row that make it take the server for dead */
	uint32_t rise;        /* answered ones in a row that make it believe again; 0 is 1 */
	int orders;           /* write end of a supervisor's pipe: it orders a restart; -1: it only marks it down */
	uint64_t grace_ns;    /* after an order: no probes meanwhile */
};

/* The health checker stands for another machine: it must not wait for the CPU behind the storm's actors. */
#define CHECKER_NICE (-18)

/*
 * A health checker: a TCP connection from NET_CHECKER_ADDR, a request, the first byte of the reply within the time.
 * Runs in the router's network. What it sent and lost is counted from the storm's beginning. arg is a struct
 * checker_job.
 */
int checker_actor(struct world *world, int ctl, const void *arg);

#endif
