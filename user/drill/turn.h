/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_TURN_H
#define DRILL_TURN_H

/*
 * One drill at a time on a machine: each measures what a server can do with a core of its own, so two at once
 * spoil each other. Waits for the other to end, saying so on stderr. Returns a descriptor to keep until the
 * end (the turn ends with the process at the latest; no file is left behind), or -errno.
 */
int turn_take(void);

#endif
