/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_BOARD_H
#define DRILL_BOARD_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "drill/latency.h"
#include "drill/params.h"

/*
 * The blackboard: one shared anonymous mapping on which the processes of a run write what they saw, and
 * from which the runner and the report read. Each field has one writing process, or is only added to.
 */

#define BOARD_SET(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)
#define BOARD_ADD(field, value) __atomic_fetch_add(&(field), (value), __ATOMIC_RELAXED)
#define BOARD_GET(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

#define BOARD_SAMPLE_MS 100
#define BOARD_SAMPLES_MAX 36000
#define BOARD_TEXT_MAX 256
#define BOARD_PROBES_MAX 4096 /* clients that measure the capacity, at most */
#define BOARD_NODES_MAX 8
#define BOARD_GROUPS_MAX 4 /* group 0 is the storm's: its clients have the first places in the log */
#define BOARD_SERIES_MAX 6
#define BOARD_MARKS_MAX 8
#define BOARD_EPOCHS 2

/* The clients' own log: times are CLOCK_MONOTONIC, 0 = never. */
struct board_client {
	uint64_t first_ns;  /* its first connect() */
	uint64_t served_ns; /* the first byte of the reply */
	uint32_t failures;  /* attempts that came to nothing */
	uint32_t lost;      /* the connection ended after it had been served */
};

struct board_server {
	uint64_t accepted;
	uint64_t worked;       /* connections it spent all of its work on */
	uint64_t talked;       /* messages answered on connections that were served before */
	uint64_t probed;       /* health checks answered */
	uint64_t spent_ns;     /* CPU time on connections, finished or not */
	uint64_t waited_ns;    /* runnable, but the CPUs were busy with others */
	uint32_t queue;        /* accepted and not worked on yet */
	uint32_t accept_queue; /* waiting in the kernel for accept() */
	uint32_t open;         /* connections it holds, the witness aside */
	uint32_t full;         /* times it stopped accepting for want of descriptors */
	uint32_t starts;       /* times it was started */
};

/* Messages on established connections, until their answer; or laps, until their reply. By the time they began. */
struct board_talk {
	uint64_t sent;
	uint64_t late; /* not answered in the time allowed */
	struct latency latency;
};

struct board_crowd {
	uint32_t served; /* clients that are served, or were at least once */
	uint32_t lost;
	uint64_t attempts;
	uint64_t impatient; /* attempts that ran out of patience */
	uint64_t refused;   /* attempts that ended in any other error */
	uint64_t laps;      /* replies got by clients that come again and again */
	struct board_talk talk[BOARD_EPOCHS];
};

/* A health checker's view of what it probes. */
struct board_checker {
	uint64_t sent;
	uint64_t answered;
	uint64_t lost;
	uint32_t in_a_row; /* lost ones, so far */
	uint32_t up;
	uint32_t falls;      /* times it took the server for dead */
	uint64_t longest_ns; /* of the answered ones */
};

struct board_witness {
	uint64_t sent_bytes;
	uint64_t received_bytes;
	uint64_t corrupt_bytes;
	uint64_t longest_stall_ns;
	uint32_t broken; /* the connection ended before its time */
};

struct board_sample {
	float t; /* seconds since the storm began */
	uint32_t served;
	uint32_t worked;
	int32_t held;                  /* -1: not known */
	float value[BOARD_SERIES_MAX]; /* what the drill has besides */
};

/* What the shield said about itself at the end of the storm (`status --json`). */
struct board_shield {
	bool known;
	uint64_t seen, admitted, held_syns, dropped, rejected;
	uint64_t entered, released, discarded;
	uint64_t started, settled, abandoned, expired;
	int64_t held, inflight, window;
	uint64_t held_peak;
	uint64_t cpu_ns; /* of `synhold run`, so far */
};

struct board_node {
	uint64_t cost_ns;                          /* what a connection costs, at the moment; by the runner */
	struct board_server server, before, after; /* now; as the storm began and ended */
	struct board_checker checker;
	struct board_shield shield;
};

/* What a balancing proxy in front of the nodes says of itself. */
struct board_front {
	bool known;
	uint32_t up;        /* nodes it takes for healthy */
	uint32_t fewest_up; /* the fewest there have been */
	uint64_t marked_down;
	uint64_t probes_lost; /* of nodes that were up */
	uint64_t connects_failed;
	uint64_t errors; /* 5xx sent to clients */
	uint64_t sessions;
};

struct board_uploads {
	uint32_t begun;
	uint32_t cut;
	uint32_t finished;
};

/* A moment that the picture shows. */
struct board_mark {
	float t; /* seconds since the storm began */
	char text[32];
};

enum board_end { BOARD_RUNNING, BOARD_ALL_SERVED, BOARD_COLLAPSED, BOARD_OUT_OF_TIME };

struct board {
	/* set before the run starts */
	const struct drill_params *params;
	enum drill_run run;
	unsigned int setting; /* of a rival: which of those to try */
	int log_fd;           /* where the shields' own words go; opened for appending */
	bool measure;         /* measure the capacity first */
	double capacity[2];   /* connections per second, the two repeats */
	uint32_t dropped;     /* clients of the storm: those of the log that count */
	double ideal_s;       /* where clients or capacity come over time; 0: from clients and capacity */

	/* written while it runs */
	struct board_node node[BOARD_NODES_MAX];
	struct board_crowd crowd[BOARD_GROUPS_MAX];
	struct board_witness witness[2]; /* what the client's side, the server's side saw */
	struct board_front front;
	struct board_uploads uploads;
	uint64_t start_ns; /* when the storm began; 0 before */
	uint32_t epoch;    /* talk is counted apart from here on: 0, then 1 if the drill says so */
	uint32_t samples;
	struct board_sample sample[BOARD_SAMPLES_MAX];

	/* results, by the runner */
	enum board_end end;
	uint64_t end_ns;           /* since the storm began */
	uint64_t syns;             /* sent by the clients, retransmissions included */
	uint64_t attached_ns;      /* since the storm began; 0: before it */
	uint32_t attached_served;  /* clients served by then */
	uint32_t attached_backlog; /* connections the server had accepted by then, not worked on */
	struct board_mark mark[BOARD_MARKS_MAX];
	int marks;
	char setting_text[96];            /* of a rival: the same in words */
	uint64_t rival_hits;              /* what its rules dropped or proxied, connections through a proxy */
	bool rival_refused;               /* error says why the kernel does not take it */
	bool inconclusive;                /* error says why the measurement proves nothing */
	char shield_note[BOARD_TEXT_MAX]; /* the shield did not end as it should; "" = it did */
	char error[BOARD_TEXT_MAX];       /* why the run could not be made; "" = it could */
	char hint[BOARD_TEXT_MAX];

	struct board_client client[];
};

static inline uint64_t board_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Mixes x into 64 bits that look random; a pure function, so a seed gives the same storm each time. */
static inline uint64_t board_mix(uint64_t x)
{
	x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ull;
	x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ull;
	return x ^ (x >> 32);
}

/* Clients that the log has room for: all there are, or the ones that measure the capacity. */
static inline uint32_t board_clients(const struct drill_params *params)
{
	return params->clients > BOARD_PROBES_MAX ? params->clients : BOARD_PROBES_MAX;
}

/* Clients the incident cuts off, at least one. */
uint32_t board_dropped(const struct drill_params *params);

/* A board for params->clients clients, zeroed. NULL when out of memory. */
struct board *board_create(const struct drill_params *params);
void board_destroy(struct board *board);

/* Connections a second at best, the mean of the two measurements; 0 before they are made. */
double board_capacity(const struct board *board);

/* Seconds the storm's clients need at that capacity, with nothing wasted. 0 when it is not measured. */
double board_ideal_seconds(const struct board *board);

/* Two measurements of the capacity that differ by more than this part prove nothing. */
#define BOARD_CAPACITY_SPREAD_MAX 0.05

/* True when the two measurements of the capacity agree. */
bool board_capacity_agrees(const struct board *board);

/* The counters of all nodes' shields together; `known` when one of them is, the window that of node 0. */
struct board_shield board_shields(const struct board *board);

/* Connections that all servers hold and have not worked on, in their own queues and in the kernel's. */
uint32_t board_backlog(const struct board *board);

/* Seconds since the storm began; 0 before. */
double board_seconds(const struct board *board);

/* Notes why the run cannot go on (first one wins) and what to do about it. Returns -1. */
int board_fail(struct board *board, const char *hint, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
