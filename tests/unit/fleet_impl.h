/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the simulated storm share: fleet.c (time, server, result), fleet_client.c, fleet_shield.c. */
#ifndef SYNHOLD_TESTS_FLEET_IMPL_H
#define SYNHOLD_TESTS_FLEET_IMPL_H

#include "bpf/gate.h"
#include "daemon/control.h"
#include "fleet.h"
#include "sim.h"

#define FLEET_S 1e9
#define FLEET_AGES 128 /* of an eighth of a second */

enum fleet_kind {
	FLEET_CONNECT,  /* client: opens a connection */
	FLEET_TIMER,    /* attempt: its kernel's SYN timer */
	FLEET_PATIENCE, /* attempt: the client gives up */
	FLEET_SYN,      /* shield, attempt: a copy of its SYN */
	FLEET_SYNACK,   /* client, attempt */
	FLEET_RESET,    /* shield, attempt: its client did not want the SYN-ACK any more */
	FLEET_FIN,      /* shield, attempt: its client left after the handshake */
	FLEET_REQUEST,  /* server, attempt */
	FLEET_DONE,     /* server, attempt */
	FLEET_ANSWER,   /* client, attempt */
	FLEET_TICK,     /* shield */
};

enum fleet_client_side { FLEET_WAITING, FLEET_CONNECTED, FLEET_SERVED, FLEET_LEFT };
enum fleet_shield_side { FLEET_UNKNOWN, FLEET_HELD, FLEET_INFLIGHT, FLEET_OWED, FLEET_ENDED };

struct fleet_event {
	uint64_t at_ns;
	uint64_t seq; /* first come, first served within a nanosecond: the same result on every machine */
	uint32_t id;
	uint32_t kind;
};

struct fleet_attempt {
	uint64_t first_ns; /* its first SYN, at the client */
	uint64_t admit_ns;
	uint32_t client;
	uint32_t epoch;
	uint8_t copies;
	uint8_t client_side;
	uint8_t shield_side;
};

struct fleet_client {
	uint64_t first_ns;
	uint64_t served_ns;
	uint64_t rtt_ns;
	uint64_t patience_ns;
	uint32_t failures;
	uint8_t retry;
	bool old_schedule;
};

struct fleet_entered {
	uint64_t at_ns;
	uint32_t id;
};

struct fleet {
	const struct fleet_config *config;
	struct fleet_result *result;
	uint64_t now_ns, random, event_seq;
	struct fleet_event *heap;
	size_t events, events_room;
	struct fleet_attempt *attempt;
	size_t attempts, attempts_room;
	struct fleet_client *client;
	bool failed;
	/* server */
	uint32_t *line; /* requests that wait, in the order of arrival */
	size_t line_head, line_tail, line_room;
	uint32_t busy;
	/* shield */
	struct holdq_memory *memory;
	struct holdq *queue;
	struct synhold_gate gate, owed;
	struct control control;
	uint32_t window;
	uint64_t expire_ns;
	struct control_input count; /* since the last tick */
	uint64_t delay_sum_ns, rtt_sum_ns;
	/* of fleet_young.c: all that entered the queue, in that order, and the ages at which clients gave up */
	struct fleet_entered *entered;
	size_t entered_count, entered_room;
	uint32_t left[FLEET_AGES], left_total;
	uint64_t server_hist[SYNHOLD_HIST_BUCKETS], raw_hist[SYNHOLD_HIST_BUCKETS];
};

/* fleet_young.c */
void fleet_young_entered(struct fleet *f, uint32_t id);
/* A client gave up at this age of its SYN. */
void fleet_young_learn(struct fleet *f, uint64_t age_ns);
/* The entry that this order would release next, or NULL: the queue shall choose. */
struct holdq_entry *fleet_young_next(struct fleet *f);
/* The tuple that an attempt goes by in the queue, and back. */
struct synhold_tuple fleet_tuple(uint32_t id);
uint32_t fleet_id(const struct holdq_entry *e);

/* fleet.c */
uint64_t fleet_random(struct fleet *f);
double fleet_uniform(struct fleet *f); /* 0 <= x < 1 */
void fleet_at(struct fleet *f, uint64_t in_ns, enum fleet_kind kind, uint32_t id);
/* Room for one more element, else false and f->failed. */
bool fleet_room(struct fleet *f, void *array_pointer, size_t *room, size_t used, size_t size);

/* fleet_client.c */
void fleet_client_init(struct fleet *f);
void fleet_client_event(struct fleet *f, enum fleet_kind kind, uint32_t id);

/* fleet_shield.c */
int fleet_shield_init(struct fleet *f);
void fleet_shield_free(struct fleet *f);
void fleet_shield_event(struct fleet *f, enum fleet_kind kind, uint32_t id);
/* The server's first byte passes on its way out. */
void fleet_shield_settle(struct fleet *f, uint32_t id);

#endif
