/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_CLIENT_H
#define DRILL_CLIENT_H

#include <linux/types.h>

#include "drill/world.h"

/* One process carries so many clients: each is a descriptor. */
#define CLIENT_CROWD_MAX 9000

struct client_job {
	uint32_t first; /* index of its first client: its address and its place in the log */
	uint32_t count;
	uint32_t group; /* whose figures on the board they add to */
	__be32 server;  /* where they connect; the port is the drill's */
	bool patient;   /* never gives up waiting for a reply */
	bool again;     /* once served: hang up, think, come again, for ever */
	bool closes;    /* once served: hang up and be done */
	bool returns;   /* when the connection is lost after it was served: connect again, as after a failure */
	uint64_t think_ns;
	uint64_t spread_ns;       /* they start spread over this time; 0: all at once */
	uint64_t talk_every_ns;   /* once served, a message so often; 0: silent */
	uint64_t talk_timeout_ns; /* an answer that takes longer is late */
};

/*
 * A crowd of clients: on 'G' all connect, each from its own address; each waits for the first byte of the reply as long
 * as its patience lasts (an HTTP error of the 500s is a refusal), closes, sleeps as its retry policy says, tries again;
 * once served it keeps the connection to the end unless the job says otherwise. 'X' cuts all connections (RST) and lets
 * all of them connect again at once; the runner has cleared their log before. On 'S' it closes its books, says 'D' and
 * ends. arg is a struct client_job.
 */
int client_actor(struct world *world, int ctl, const void *arg);

#endif
