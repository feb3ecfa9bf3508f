/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What has changed between two snapshots that a reader of `events` wants to know. Pure. */
#ifndef SYNHOLD_CLI_EVENTS_WATCH_H
#define SYNHOLD_CLI_EVENTS_WATCH_H

#include <stdint.h>

#include "lib/snapshot.h"

enum events_kind { EVENTS_STATE, EVENTS_OFFENDER };

struct events_change {
	enum events_kind kind;
	const char *service;
	const char *from, *to; /* states; from is "" for a service that is new */
	const char *source;    /* an offender, and how often it was refused so far */
	uint64_t refused;
};

struct events_watch {
	int begun;
	char name[SYNHOLD_SERVICES][SYNHOLD_NAME_LEN]; /* by id */
	enum snapshot_state state[SYNHOLD_SERVICES];
	uint64_t told[SYNHOLD_SERVICES][OFFENDERS_SHOWN]; /* what was said of each offender, by its hash, below */
	uint64_t who[SYNHOLD_SERVICES][OFFENDERS_SHOWN];
};

/*
 * Calls fn for each change since the last look: a state that is another one; an offender that is new, or has been
 * refused twice as often as when it was last told. service: only this one, or NULL. The first look tells nothing.
 */
void events_watch(struct events_watch *watch, const struct snapshot *snap, const char *service,
		  void (*fn)(void *ctx, const struct events_change *change), void *ctx);

#endif
