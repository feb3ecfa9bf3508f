/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_POOL_H
#define DRILL_POOL_H

#include "drill/profile.h"
#include "drill/world.h"

#define POOL_WORKERS_MAX 256

/* Must outlive the actor. */
struct pool_job {
	int node;
	uint32_t workers; /* up to POOL_WORKERS_MAX; each busy with a request for params->cost_ns */
	bool fewer;       /* the profile takes workers away; else it makes all of them slower */
	const struct profile *profile;
};

/*
 * A server whose workers wait (for a disk, a database, a lock) rather than compute: a request takes a worker for a
 * time, and costs hardly any CPU, so several such servers fit on one machine and each can do exactly workers / time. An
 * event loop accepts whatever comes and queues it, first come first served, until a worker is free; it works for
 * clients that have left, too, as nothing tells it. Health checks stand in the same queue. An upload (PUT, chunked)
 * takes no worker: it is received until its last chunk, then answered. Each reply ends its connection. arg is a struct
 * pool_job.
 */
int pool_actor(struct world *world, int ctl, const void *arg);

/* Requests a second at the best. */
double pool_capacity(const struct pool_job *job, const struct drill_params *params);

#endif
