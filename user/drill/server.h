/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_SERVER_H
#define DRILL_SERVER_H

#include "drill/world.h"

#define SERVER_BACKLOG 4096
#define SERVER_REQUEST_MAX 512
#define SERVER_REPLY_BYTES 128

/*
 * The server of the incident: one thread that spends params->cost_ns of CPU on every connection whose
 * request has come, then replies and keeps the connection open, as for a websocket. It does that work for
 * clients that have left, too: nothing tells it that they have until it replies.
 *   eager: an event loop that accepts whatever waits and queues it in its own memory;
 *   lazy:  takes the next connection out of the kernel's queue only when done with the last.
 * The witness's connection is passed to a process of its own at once.
 */
int server_actor(struct world *world, int ctl, const void *arg);

/* Most connections the server holds: what its descriptor limit allows, as of any real server. */
uint32_t server_connections_max(void);

#endif
