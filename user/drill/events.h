/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_EVENTS_H
#define DRILL_EVENTS_H

#include <stddef.h>
#include <sys/types.h>

/* What the shields of a run said and when: its lines of the log, read again for the report. */

#define EVENT_TEXT_MAX 200

struct event {
	double t; /* seconds since the storm began; below 0 before */
	char text[EVENT_TEXT_MAX];
};

struct events {
	struct event *event;
	size_t count;
};

/*
 * One line of the log: RFC 3339 in UTC with milliseconds, a blank and the words. start_s: when the storm began, seconds
 * since the epoch. Returns 0, or -EINVAL with *event untouched when it is no such line (other programs' words).
 */
int event_parse(const char *line, double start_s, struct event *event);

/* The lines between two places of the log, in their order. The caller frees events->event. Returns 0 or -errno. */
int events_read(int fd, off_t from, off_t to, double start_s, struct events *events);

#endif
