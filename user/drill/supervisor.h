/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_SUPERVISOR_H
#define DRILL_SUPERVISOR_H

#include "drill/server.h"

/* Must outlive the actor's start. */
struct supervisor_job {
	struct server_job server;
	uint64_t down_ns; /* from the kill to the new process */
	int orders;       /* read end of a pipe: a byte in it means "restart the server" */
};

/*
 * A supervisor and its server, as systemd or an orchestrator runs one: on an order it kills the server (SIGKILL: all
 * that it had accepted is lost), waits, and starts a new process. arg is a struct supervisor_job.
 */
int supervisor_actor(struct world *world, int ctl, const void *arg);

#endif
