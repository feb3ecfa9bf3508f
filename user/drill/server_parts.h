/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_SERVER_PARTS_H
#define DRILL_SERVER_PARTS_H

#include "drill/server.h"

#define SERVER_SPARE_FDS 64

enum server_state { SERVER_FREE, SERVER_AWAITING, SERVER_QUEUED, SERVER_DONE };
enum server_kind { SERVER_CONNECTION, SERVER_TALK, SERVER_HEALTH };

struct server_connection {
	uint8_t state;
	uint8_t kind;   /* of the request that is queued */
	uint16_t turns; /* of its work that are still to come */
};

struct server {
	struct world *world;
	const struct server_job *job;
	struct board_node *node;
	struct board_server *out;
	int ep;
	int listener;
	int schedstat;
	uint64_t waited_ns; /* as it was last read */
	bool listening;     /* the listener is in the epoll set */
	uint32_t max;
	uint32_t open;
	uint32_t worked;                 /* connections since its start */
	struct server_connection *state; /* by descriptor */
	int *queue;                      /* ring of `max` descriptors whose work is to be done */
	uint32_t head, queued;
};

/* Ends a connection, from our side. */
void server_close(struct server *s, int fd);

/* A request has come on the connection: it takes its place in the queue. */
void server_enqueue(struct server *s, int fd, const char *request, size_t len);

/* Takes the first of the queue and spends a turn of its work on it. The queue must not be empty. */
void server_work(struct server *s);

/* What a connection costs now, in ns: pure. */
uint64_t server_cost_ns(const struct server_job *job, uint64_t base_ns, uint32_t worked);

#endif
