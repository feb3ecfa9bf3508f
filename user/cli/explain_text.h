/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SYNHOLD_CLI_EXPLAIN_TEXT_H
#define SYNHOLD_CLI_EXPLAIN_TEXT_H

#include <jansson.h>

#include "lib/snapshot.h"

/* Why the gate of the service is where it is, in sentences on stdout. answer: the daemon's, to `explain`. */
void explain_print(const struct snapshot *snap, const struct snapshot_service *svc, const json_t *answer);

#endif
