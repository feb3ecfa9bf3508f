/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of the plant share. plant.c: time, the beginning and the end; plant_client.c: who comes and who
 * leaves; plant_gate.c: who goes ahead and who is held; plant_server.c: workers; plant_tick.c: what is seen of it all.
 */
#ifndef SYNHOLD_TESTS_PLANT_IMPL_H
#define SYNHOLD_TESTS_PLANT_IMPL_H

#include <stddef.h>

#include "plant.h"
#include "sim.h"

#define PLANT_NOBODY UINT32_MAX /* client of calm traffic, of silent and of spare connections */

enum plant_event_kind {
	PLANT_SYN,       /* client */
	PLANT_LEAVE,     /* attempt: its client's patience is over */
	PLANT_EVICT,     /* attempt: held, and its client has left */
	PLANT_HANDSHAKE, /* attempt */
	PLANT_ABANDON,   /* attempt: the server hears that its client has left */
	PLANT_DONE,      /* attempt: its first byte */
	PLANT_LAG,       /* attempt: the rest of its work arrives */
	PLANT_LAG_DONE,
	PLANT_DEAD_DONE,
	PLANT_CALM,
	PLANT_SILENT,
	PLANT_KICK, /* the server hangs no more */
	PLANT_TICK
};
enum plant_slot { PLANT_HELD, PLANT_INFLIGHT, PLANT_FREE, PLANT_EXPIRED };

struct plant_event {
	uint64_t at_ns;
	uint32_t id;
	uint32_t kind;
};

struct plant_attempt {
	uint64_t syn_ns;
	uint64_t admit_ns;
	uint64_t arrive_ns;
	uint32_t client;
	uint32_t rtt_us;
	uint8_t slot;
	bool gone, idle, at_server, answered;
};

/* Growing array used as a queue: taken from the front, for the hold queue also from the back. */
struct plant_fifo {
	uint32_t *id;
	size_t head, tail, room;
};

struct plant {
	const struct plant_config *config;
	struct plant_result *result;
	struct plant_limits limits;
	uint64_t now_ns, random, token_ns;
	struct plant_event *heap;
	size_t events, events_room;
	struct plant_attempt *attempt;
	size_t attempts, attempts_room;
	bool *client_served;
	struct plant_fifo held, ready, jobs, slots;
	uint64_t *job_at_ns; /* of the attempts' lagged work, by attempt */
	size_t held_count, inflight;
	unsigned int busy;
	double dead_work, jitter, tokens;
	uint64_t done_ns, median_ns;
	/* since the last tick */
	uint64_t settled, late, abandoned, expired, silent_expired, admitted, overflows, rtt_sum_us, delay_sum_ns,
		delays;
	uint64_t server_hist[SYNHOLD_HIST_BUCKETS], raw_hist[SYNHOLD_HIST_BUCKETS], own_hist[SYNHOLD_HIST_BUCKETS];
	bool limited, failed;
};

/* plant.c; what cannot be allocated sets `failed`, which ends the run */
double plant_random(struct plant *plant);
bool plant_room(struct plant *plant, void **array, size_t *room, size_t used, size_t size);
void plant_put(struct plant *plant, struct plant_fifo *fifo, uint32_t id);
void plant_at(struct plant *plant, double in_s, enum plant_event_kind kind, uint32_t id);

/* plant_client.c */
void plant_come(struct plant *plant, uint32_t client);
void plant_calm(struct plant *plant);
void plant_silent(struct plant *plant);
void plant_leave(struct plant *plant, uint32_t id);
void plant_handshake(struct plant *plant, uint32_t id);

/* plant_gate.c */
void plant_knock(struct plant *plant, uint32_t id);
void plant_evict(struct plant *plant, uint32_t id);
void plant_release(struct plant *plant);
void plant_free(struct plant *plant, uint32_t id, uint64_t *counter);
void plant_expire(struct plant *plant);

/* plant_server.c */
double plant_ideal(const struct plant_config *config, double at_s);
void plant_serve(struct plant *plant);
void plant_lag(struct plant *plant, uint32_t id);
void plant_first_byte(struct plant *plant, uint32_t id);

/* plant_tick.c */
void plant_tick(struct plant *plant, plant_controller controller, void *state);

#endif
