/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon: one process, one event loop. */
#ifndef SYNHOLD_DAEMON_DAEMON_H
#define SYNHOLD_DAEMON_DAEMON_H

#include "lib/deploy.h"

struct daemon_options {
	struct instance *inst; /* open, attached; the policy lock is not held */
	struct deploy *deploy;
	const char *config_path; /* NULL: none; SIGHUP reads it again */
	int detach_on_exit;
	enum deploy_mode mode; /* for interfaces that come back */
	unsigned int group;    /* who may ask on the control socket, beside root */
	int no_sandbox;        /* keep every capability and system call */
	/*
	 * Reads the config file again and commits it: given by the command, as the daemon knows policy only through the
	 * maps. May be NULL.
	 */
	int (*reload)(void *ctx, struct error *err);
	void *reload_ctx;
};

/* One daemon of an instance: takes daemon.pid under /run/synhold/INSTANCE/. 0, or -EBUSY naming the pid. The fd stays
 * open in *fd. */
int daemon_claim(struct instance *inst, int *fd, struct error *err);

/*
 * Runs until SIGTERM or SIGINT, or until the instance is detached; detaching on exit is the caller's. Tells systemd
 * READY=1 when held SYNs are being released. 0 when it was ended, -errno when it could not start.
 */
int daemon_run(const struct daemon_options *options, struct error *err);

/*
 * Asks the running daemon: one JSON object out, one back (both as text; the answer is malloc'd). Requests:
 * {"ask":"held","service":NAME},
 * {"ask":"ping"}, {"ask":"explain","service":NAME}, {"ask":"log","text":TEXT} (root's, for the log). 0, -ENOENT (no
 * daemon), -ETIMEDOUT.
 */
int daemon_ask(const struct instance *inst, const char *request, char **answer);

#endif
