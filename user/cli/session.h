/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The SSH session that a command was typed in: whoever protects port 22 must not lock themselves out. */
#ifndef SYNHOLD_CLI_SESSION_H
#define SYNHOLD_CLI_SESSION_H

#include "cli/notice.h"

struct session {
	uint8_t client[16], server[16]; /* mapped */
	uint16_t port;                  /* the server's, host order */
	char text[64];                  /* the client's address */
};

/*
 * From SSH_CONNECTION, or where sudo has taken it out of the environment, from that of the processes that started us.
 * 0; -ENOENT when there is no such session.
 */
int session_find(struct session *session);

/* Adds the client's address to the allow list. 0, -ENOENT without a session, -ENOMEM. */
int session_allow(struct config_lists *lists);

/*
 * Warns when the session's port is of a service in force that enforces, and the client is not on the allow list in
 * force: a new connection of theirs would wait or be dropped in a storm.
 */
void session_notice(const struct instance *inst, const struct model *model, notice_fn warn);

#endif
