/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_FRONT_H
#define DRILL_FRONT_H

#include "drill/figures.h"
#include "drill/run.h"

/*
 * A balancing proxy in front of the nodes: HAProxy, as Debian has it. It passes each request to a node over a
 * connection of its own, and probes every node; both come from its one address, NET_FRONT_ADDR.
 */

#define FRONT_PROGRAM "haproxy"

struct front_plan {
	int nodes;             /* from node 0 on */
	unsigned int inter_ms; /* from probe to probe, and the longest that one may take */
	unsigned int fall;     /* lost probes in a row that mark a node down */
	unsigned int retries;  /* of a connection to a node, each to the next of them */
};

/* Writes HAProxy's configuration. Pure. Returns 0 or -ENOSPC. */
int front_config(const struct front_plan *plan, uint16_t port, char *text, size_t size);

/* Reads the answer to HAProxy's `show stat` (CSV, its management guide, section 9.1). Pure. Returns 0 or -EPROTO. */
int front_parse(const char *csv, struct board_front *front);

/* Starts it and waits until it takes all nodes for healthy. Returns 0, or -1 with board->error set. */
int front_start(struct run *run, const struct front_plan *plan);

/*
 * Starts it as a proxy of TCP alone in front of node 0, with nothing limited but its listen backlog, and without
 * probes. Returns 0, or -1 with board->error set.
 */
int front_start_tcp(struct run *run, unsigned int backlog);

/* Gives it commands, apart by semicolons, that answer nothing when done (`set maxconn`). Returns 0 or -1, as above. */
int front_tell(struct run *run, const char *commands);

/* Asks it and keeps its figures on the board; what it cannot answer in time stays as it was. */
void front_read(struct run *run);

/*
 * Lets the front's probes pass the shield of a node, which must be attached. The entry's rate is just above that of the
 * probes: traffic comes from the same address, and what the entry lets in is not judged.
 */
int front_allow(struct run *run, int node);

/* Appends what the front has seen. */
void front_figures(const struct board *board, struct figures *figures);

#endif
