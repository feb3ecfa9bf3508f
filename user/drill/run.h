/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_RUN_H
#define DRILL_RUN_H

#include "drill/checker.h"
#include "drill/client.h"
#include "drill/pool.h"
#include "drill/program.h"
#include "drill/server.h"
#include "drill/shield.h"
#include "drill/supervisor.h"
#include "drill/world.h"

struct drill;

#define RUN_CROWDS_MAX 24
#define RUN_READY_MS 20000

/*
 * One run of a drill, as its script sees it: what to set up, and then the steps in time. Every function that returns an
 * int returns 0, or -1 with board->error set, and then the script returns -1 at once.
 */
struct run {
	const struct drill *drill;
	struct world *world;
	struct board *board;
	const struct drill_params *params;
	struct world_actor *witness;
	int witness_node;
	struct world_actor *crowd[RUN_CROWDS_MAX];
	struct client_job job[RUN_CROWDS_MAX];
	int crowds;
	struct shield shield[BOARD_NODES_MAX];
	bool shielded[BOARD_NODES_MAX];
	uint64_t syns_before;
	uint64_t tick_ns;
};

/*
 * Runs the drill once in a world of its own. Progress goes to stderr. The caller has SIGINT, SIGTERM and SIGHUP
 * blocked. Returns as world_run().
 */
int run_make(const struct drill *drill, struct board *board);

/* ---- setting up; the jobs must live as long as the run */

int run_serve(struct run *run, const struct server_job *job);
int run_supervise(struct run *run, const struct supervisor_job *job);
/* A server whose workers wait. Returns the actor, or NULL with board->error set. */
struct world_actor *run_pool(struct run *run, const struct pool_job *job);
int run_check(struct run *run, const struct checker_job *job);
int run_program(struct run *run, const struct program_job *job);

/* A connection to the node from before the storm, which must come through unharmed; one a run. */
int run_witness(struct run *run, int node);

/* A group of clients, in as many processes as it takes. They wait for run_tell(). The job is copied. */
int run_crowd(struct run *run, const struct client_job *job);

/* Sends the letter (see client.h) to all of a group. */
void run_tell(struct run *run, uint32_t group, char sign);

/*
 * Measures the capacity at that address: replies a second while more clients than `nodes` servers can serve ask again
 * as soon as served; until two in a row agree. Only in the first run: the others are measured against the same. What
 * else is going on meanwhile takes its part, so the capacity is what is left over.
 */
int run_measure(struct run *run, __be32 server, int nodes);

/* The same where the capacity is known, as of pools: sets it, and the ideal time that follows from load and profile. */
void run_expect(struct run *run, const struct profile_load *load);

/* Attaches the shield of a node. In the run without it there is nothing to call. */
int run_shield(struct run *run, int node);

/* ---- in time */

/* The storm begins now: time, counters and curves start from here. */
int run_begin(struct run *run);

/* Lets the time pass, sampling every BOARD_SAMPLE_MS once the storm has begun. */
int run_for(struct run *run, double seconds);

/* The same until done() says so, at most so many seconds. Returns 0 when it did, 1 when the time was up, -1. */
int run_until(struct run *run, bool (*done)(const struct run *run), double seconds);

/* Messages and laps that begin from now on are counted apart, as board->crowd[].talk[1]. */
void run_epoch(struct run *run);

/* Notes the present moment: the picture shows it, and board_mark() finds it. */
void run_mark(struct run *run, const char *text);

/* The storm is over: books are closed, shields detached, the witness asked. */
int run_end(struct run *run, enum board_end end);

/* All clients of the storm are served. */
bool run_all_served(const struct run *run);

/* The servers have nothing left to do that they had accepted. */
bool run_backlog_gone(const struct run *run);

/* The servers work at half their capacity or more, and not one client of the storm has been served for a while. */
bool run_collapsed(const struct run *run);

/* The longest the storm of a run may take: --seconds, or 40 s, or 3.2 times the ideal if that is more. */
double run_limit_seconds(const struct run *run);

#endif
