/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resetting the connections that wait in the accept queue of a service (SOCK_DESTROY of sock_diag(7), Linux 4.5). */
#ifndef SYNHOLD_LIB_FLUSH_H
#define SYNHOLD_LIB_FLUSH_H

#include <linux/inet_diag.h>

#include <synhold/abi.h>

#include "lib/error.h"

struct flush_result {
	unsigned int waiting; /* were in the queue when it was read */
	unsigned int reset;
	unsigned int gone; /* accepted or closed between the reading and their turn: left alone */
};

/*
 * Whether a socket waits to be accepted: the handshake is done, and no file refers to it yet. What a process has closed
 * has no file either, but is past CLOSE_WAIT then (tcp_close() leaves these two states before it lets go of the file),
 * and a socket that waits cannot get there: it takes a process to close it.
 */
int flush_waits(const struct inet_diag_msg *diag);

/* Whether its local end is one of the specifications. */
int flush_matches(const struct inet_diag_msg *diag, const struct synhold_specs *specs);

/*
 * Resets all of them in this network namespace; each is looked at once more just before, as the server goes on
 * accepting. The kernel knows no "reset unless accepted": one that is accepted in the microseconds between that look
 * and the reset is reset all the same. The process that listens finds the others closed when it accepts them. 0;
 * -EOPNOTSUPP when the kernel cannot (CONFIG_INET_DIAG_DESTROY), -EPERM, -errno: *result says how far it came.
 */
int flush_service(const struct synhold_specs *specs, struct flush_result *result, struct error *err);

#endif
