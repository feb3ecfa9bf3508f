/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes go through the maps, so the daemon cannot know whose they are: it is told, for its log. */
#ifndef SYNHOLD_CLI_TELL_H
#define SYNHOLD_CLI_TELL_H

#include <jansson.h>

#include "lib/instance.h"

/*
 * One line for the log of the running daemon, which puts before it who says so (uid and pid, as the kernel knows them).
 * After the change, and the last thing done with the instance but closing it: its lock is given up, as the daemon may
 * wait for that. Without a daemon nothing happens; nor do errors matter, as the change is made.
 */
void tell(struct instance *inst, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same with changes of changes.h: `WHAT: web rate none -> 3k, web window auto -> 32`. tail: may be empty. */
void tell_changes(struct instance *inst, const char *what, const json_t *changes, const char *tail);

#endif
