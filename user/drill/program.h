/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_PROGRAM_H
#define DRILL_PROGRAM_H

#include <linux/types.h>

#include "drill/world.h"

/* Somebody else's program, as it is installed, with a configuration of our own. Must outlive the actor's start. */
struct program_job {
	const char *name;   /* its Debian package, too */
	const char *config; /* text; program_config() is its file, in the world's private /run */
	char *const *argv;  /* argv[0] is looked up in PATH; must stay in the foreground */
	enum world_net net;
	__be32 addr; /* it is ready when this port takes a connection */
	uint16_t port;
};

/* Where its configuration stands. Always terminates. */
void program_config(const struct program_job *job, char *path, size_t size);

/* Returns 0 when it is installed; else -1 with board->error set. For before the first run. */
int program_installed(struct board *board, const char *name);

/* Starts it and waits until it is ready. Returns the actor, or NULL with board->error set. */
struct world_actor *program_start(struct world *world, const struct program_job *job);

#endif
