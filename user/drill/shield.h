/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_SHIELD_H
#define DRILL_SHIELD_H

#include "drill/world.h"

#define SHIELD_SERVICE "web" /* the protected port's, in every command */

/* The shield of a node as its users know it: this program's own command line, in the node's network. */
struct shield {
	struct world *world;
	int node;
	char instance[16];
	pid_t pid;  /* of `synhold run`; 0: not running */
	int log;    /* what it has said */
	int notify; /* socket that it reports to, as to systemd */
};

/* Starts `synhold run` and waits until it is ready. Returns 0, or -1 with board->error set. */
int shield_start(struct world *world, int node, struct shield *shield);

/*
 * Runs another command of this program against the shield: shield_command(shield, "close", SHIELD_SERVICE). Returns 0,
 * or -1 with board->error set to what the command said.
 */
#define shield_command(shield, ...) shield_run(shield, (const char *const[]){__VA_ARGS__, NULL})
int shield_run(struct shield *shield, const char *const command[]);

/* Reads `status --json` into the node's place on the board. Returns 0 or -errno; the board is untouched on failure. */
int shield_read(struct shield *shield);

/* SIGTERM, then `detach --all`. What does not go as it should is written to board->shield_note. */
void shield_stop(struct shield *shield);

/* Returns 0 while `synhold run` lives, else -1 with board->error set. */
int shield_alive(struct shield *shield);

#endif
