/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_UPLOAD_H
#define DRILL_UPLOAD_H

#include <linux/types.h>

#include "drill/world.h"

#define UPLOADS_MAX 256

/* Must outlive the actor. */
struct upload_job {
	uint32_t first; /* their addresses are those of clients from this number on */
	uint32_t count; /* at most UPLOADS_MAX */
	__be32 server;  /* where they connect; the port is the drill's */
};

/*
 * Long uploads: each sends a little every 100 ms, in chunks of HTTP, until told to stop; then it sends the last chunk
 * and waits for the answer. One that is cut off begins anew a second later. 'R' when all are on their way, 'S' ends
 * them, then 'D' when all are answered or the time for that is out. arg is a struct upload_job.
 */
int upload_actor(struct world *world, int ctl, const void *arg);

#endif
