/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server, its clients and a gate in front, in simulated time: what a controller is judged on. Discrete
 * events, one seed, same result each time. It models what decides the outcome of a storm and nothing else:
 * workers with a first-in-first-out queue, round trips, clients that leave and come back, and the gate's
 * window and rate.
 */
#ifndef SYNHOLD_TESTS_PLANT_H
#define SYNHOLD_TESTS_PLANT_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/control.h"

#define PLANT_TICKS_MAX 36600 /* an hour of trace, and a minute */

struct plant_config {
	const char *name;
	uint64_t seed;
	/* server */
	double capacity; /* connections per second, unloaded */
	unsigned int workers;
	bool eager;          /* accepts at once; the work of a client that left is done all the same */
	double fall;         /* share of the capacity lost while the queue is long: from capacity/4 to 2 * capacity */
	double cold_seconds; /* capacity rises from 25 to 100 % over this time */
	double step_from, step_to, step_factor; /* capacity times the factor between these times */
	bool lagged;               /* 70 % of the work comes 1 to 5 s after the first byte; pressure is reported */
	double dead_seconds;       /* work left over from connections whose clients are gone */
	double hang_from, hang_to; /* nothing is done between these times */
	double noise;              /* capacity jitters by this share, each 100 ms */
	unsigned int backlog;      /* accept queue; 0 = endless (lazy servers only) */
	/* clients */
	unsigned int clients; /* of the herd */
	double herd_at;
	double herd_spread;
	unsigned int herds; /* more than one: as many herds, of other clients each, one every herd_period seconds */
	double herd_period;
	double rtt_min, rtt_max;
	double patience; /* seconds from the first SYN to the first byte; 0 = for ever */
	/* a client that leaves after the handshake keeps its slot until the server is through with it */
	bool fin_keeps_slot;
	double retry;      /* seconds until the next try */
	double calm_pps;   /* Poisson arrivals beside the herd, patient, until the horizon */
	double idle_share; /* of all connections: opened and never used */
	double silent_pps; /* clients that connect and say nothing, between these times; they never leave */
	double silent_from, silent_to;
	bool server_first; /* clients wait for the server's first byte before they send anything */
	bool unseen;       /* not on this host: nobody sees who has asked */
	bool rtt_known;
	double horizon;
};

struct plant_sample { /* one tick */
	uint32_t window;
	uint32_t ceiling_pps;
	uint32_t inflight;
	uint32_t held;
	uint32_t settled;
	uint32_t limited;
	float delay_ms; /* median of the server's delay, queue and work; grows while nothing comes out */
};

struct plant_result {
	uint64_t served;      /* herd clients */
	double drain_seconds; /* from the herd's start to its last first byte, or the horizon */
	double ideal_seconds;
	double late_share; /* of the ticks: delay more than 500 ms above the unloaded server's */
	uint64_t wasted;   /* work done for clients that had left */
	uint64_t admitted, settled, abandoned, expired, late, inflight_end;
	unsigned int ticks;
	struct plant_sample trace[PLANT_TICKS_MAX];
};

struct plant_limits {
	double window;
	double ceiling_pps; /* 0 = none */
	uint64_t expire_ns;
	uint64_t silent_after_ns;
};

/* What is being judged: told of each tick, answers with limits. */
typedef void (*plant_controller)(void *state, const struct control_input *input, struct plant_limits *limits);

/* Run one storm. `limits`: in force until the first tick. -ENOMEM, -EINVAL (no workers, no capacity). */
int plant_run(const struct plant_config *config, plant_controller controller, void *state, struct plant_limits limits,
	      struct plant_result *result);

#endif
