/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_SERVER_H
#define DRILL_SERVER_H

#include "drill/world.h"

#define SERVER_BACKLOG 4096
#define SERVER_REQUEST_MAX 512
#define SERVER_REPLY_BYTES 128
/* What a health checker asks, and how the server knows one. */
#define SERVER_PROBE "GET /health HTTP/1.0\r\n\r\n"

/* Must outlive the actor's start. */
struct server_job {
	int node;
	bool lazy;
	bool closes;            /* the connection ends with the reply; else it is kept, as for a websocket */
	uint32_t steps;         /* the work of a connection is done in so many turns (0 is 1): all in progress share
				   the CPU, as in a server with threads, and all of them finish late */
	uint64_t talk_cost_ns;  /* CPU time of a message on a connection that is kept */
	uint64_t probe_cost_ns; /* CPU time of a health check, which waits for its turn as everything does */
	double cold;            /* after a start a connection costs so many times as much (0 is 1) ... */
	uint32_t warm_after;    /* ... falling to the usual cost over so many connections */
	int backlog;            /* for listen(); 0: SERVER_BACKLOG */
};

/*
 * The server of the incident: one thread that spends board->node[].cost_ns of CPU, which may change at any
 * time, on every connection whose request has come, then replies. It does that work for clients that have
 * left, too: nothing tells it that they have until it replies.
 *   eager: an event loop that accepts whatever waits and queues it in its own memory;
 *   lazy:  takes the next connection out of the kernel's queue only when done with the last.
 * Messages and health checks stand in the same queue as the connections. The witness's connection is passed
 * to a process of its own at once. arg is a struct server_job.
 */
int server_actor(struct world *world, int ctl, const void *arg);

/* The same for a process that says on `ready` (-1: to nobody) that it listens. Returns only on failure. */
int server_run(struct world *world, const struct server_job *job, int ready);

/* Most connections the server holds: what its descriptor limit allows, as of any real server. */
uint32_t server_connections_max(void);

#endif
