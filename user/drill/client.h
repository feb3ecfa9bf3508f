/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_CLIENT_H
#define DRILL_CLIENT_H

#include "drill/world.h"

/* One process carries so many clients: each is a descriptor. */
#define CLIENT_CROWD_MAX 9000

struct client_job {
	uint32_t first; /* index of its first client */
	uint32_t count;
	bool closed_loop; /* measure the capacity: no patience, and again as soon as served */
};

/*
 * A crowd of clients: on 'G' all connect at once, each from its own address; each waits for the first byte
 * of the reply as long as its patience lasts, closes, sleeps as its retry policy says, tries again; once
 * served it keeps the connection to the end. Ends on 'S'. arg is a struct client_job.
 */
int client_actor(struct world *world, int ctl, const void *arg);

#endif
