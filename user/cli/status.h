/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SYNHOLD_CLI_STATUS_H
#define SYNHOLD_CLI_STATUS_H

#include "cli/cli.h"
#include "lib/snapshot.h"

/* The picture for people; service: only this one, or NULL. 0 or -errno. */
int status_print(const struct snapshot *snap, const char *service);

/* `status SERVICE --held`: the sources that wait, as the daemon tells. The exit status. */
int status_held(struct cli *cli, const char *service);

/* The signals of a service, a line each. 0, or -1 when out of memory. */
int status_signals(const struct snapshot *snap, const struct snapshot_service *svc);

#endif
