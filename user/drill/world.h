/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_WORLD_H
#define DRILL_WORLD_H

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "drill/board.h"

/*
 * A world: a process tree of its own with private mounts, network namespaces and process ids. Nothing names
 * it, so everything in it ends with its first process, and that one ends with the drill, however that ends.
 */

/* Its networks. Every node is a server with a card (and a shield) of its own; the front is a proxy's place. */
enum world_net { WORLD_CLIENTS, WORLD_ROUTER, WORLD_FRONT, WORLD_NODE0, WORLD_NETS = WORLD_NODE0 + BOARD_NODES_MAX };

static inline enum world_net world_node(int node)
{
	return (enum world_net)(WORLD_NODE0 + node);
}

struct world_plan {
	int nodes; /* 1 to BOARD_NODES_MAX */
	bool front;
};

struct world_actor {
	const char *name;
	pid_t pid;
	int ctl; /* socket to it: 'R' ready, 'G' go, 'S' stop, 'D' done */
	bool ended;
	int status; /* as from waitpid, when ended */
};

#define WORLD_ACTORS_MAX 64

struct world {
	struct board *board;
	struct world_plan plan;
	int net[WORLD_NETS]; /* namespaces; the runner itself lives in the first node's */
	int tun[2];          /* the clients' and the router's end of the delay line */
	cpu_set_t cpus;      /* what the drill may use; its own load leaves one of them alone */
	struct world_actor actor[WORLD_ACTORS_MAX];
	int actors;
};

/*
 * Builds a world and runs body in its first process; ends it when body returns. Signals that are pending on
 * entry or arrive meanwhile (SIGINT, SIGTERM, SIGHUP; the caller blocks them) end the world at once.
 * Returns 0, -EINTR when it was interrupted, or -1 with board->error set.
 */
int world_run(struct board *board, const struct world_plan *plan, int (*body)(struct world *world, void *arg),
	      void *arg);

/*
 * For a process that execs a program in the network of a node: moves it there, and gives it a /sys that shows that
 * network's cards. Returns 0 or -errno.
 */
int world_settle_in(const struct world *world, enum world_net net);

/* Moves the calling process into one of the world's networks. Returns 0 or -errno. */
int world_enter(const struct world *world, enum world_net net);

/*
 * Lets the calling process use every CPU. Clients and delay line stand for other machines, so they keep off one
 * CPU, which is then the server's; the server and the shield may run anywhere, as on a machine of their own.
 */
void world_roam(const struct world *world);

/*
 * Starts an actor in one of the networks: a process that runs fn and exits with what it returns. It must
 * send 'R' on ctl when ready. Returns it, or NULL with board->error set.
 */
struct world_actor *world_spawn(struct world *world, const char *name, enum world_net net, int nice_level,
				int (*fn)(struct world *world, int ctl, const void *arg), const void *arg);

/* Waits until the actor sends `sign`. Returns 0, or -1 with board->error set. */
int world_await(struct world *world, struct world_actor *actor, char sign, int timeout_ms);

/* Stops an actor that is not needed any more: kills it and waits for its end. */
void world_dismiss(struct world *world, struct world_actor *actor);

/* Sends one letter to the actor. */
void world_tell(const struct world_actor *actor, char sign);

/* Looks for actors that have ended. Returns 0, or -1 with board->error set when an actor ended by itself. */
int world_reap(struct world *world);

/* True when the actor has ended, in whatever way. */
bool world_ended(struct world *world, struct world_actor *actor);

/* Waits for a child that is no actor, or until the time is out. Returns 0 with *status set, or -ETIMEDOUT. */
int world_wait(pid_t pid, int timeout_ms, int *status);

/* Sleeps until the given CLOCK_MONOTONIC time. */
void world_sleep_until(uint64_t when_ns);

#endif
