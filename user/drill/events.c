// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_LOG_MAX (8L << 20) /* a run that has said more has said the same many times */

int event_parse(const char *line, double start_s, struct event *event)
{
	struct tm utc = {0};
	const char *rest = strptime(line, "%Y-%m-%dT%H:%M:%S", &utc);
	int ms, used = 0;

	if (!rest || sscanf(rest, ".%3dZ %n", &ms, &used) != 1 || !used || ms < 0)
		return -EINVAL;
	event->t = (double)timegm(&utc) + ms / 1e3 - start_s;
	snprintf(event->text, sizeof(event->text), "%s", rest + used);
	return 0;
}

static int events_add(struct events *events, size_t *room, const struct event *event)
{
	if (events->count == *room) {
		size_t more = *room ? 2 * *room : 64;
		struct event *grown = reallocarray(events->event, more, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		events->event = grown;
		*room = more;
	}
	events->event[events->count++] = *event;
	return 0;
}

int events_read(int fd, off_t from, off_t to, double start_s, struct events *events)
{
	struct events out = {0};
	size_t room = 0;
	ssize_t size;
	char *text, *save = NULL;
	int ret = 0;

	if (to - from > EVENTS_LOG_MAX)
		to = from + EVENTS_LOG_MAX;
	text = calloc(1, (size_t)(to - from) + 1);
	if (!text)
		return -ENOMEM;
	size = pread(fd, text, (size_t)(to - from), from);
	if (size < 0)
		ret = -errno;
	for (char *line = ret ? NULL : strtok_r(text, "\n", &save); line && !ret; line = strtok_r(NULL, "\n", &save)) {
		struct event event;

		if (!event_parse(line, start_s, &event))
			ret = events_add(&out, &room, &event);
	}
	free(text);
	if (ret)
		free(out.event);
	else
		*events = out;
	return ret;
}
