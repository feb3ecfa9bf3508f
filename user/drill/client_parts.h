/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_CLIENT_PARTS_H
#define DRILL_CLIENT_PARTS_H

#include <event2/event.h>
#include <event2/event_struct.h>

#include "drill/client.h"

enum client_state { CLIENT_ASLEEP, CLIENT_CONNECTING, CLIENT_ASKED, CLIENT_SERVED, CLIENT_DONE };

#define CLIENT_BEFORE BOARD_EPOCHS

struct crowd;

struct client {
	struct event io;
	struct event timer; /* patience, sleep or the next message, by state */
	struct crowd *crowd;
	struct board_client *log;
	uint64_t random;
	uint64_t asked_ns; /* the first attempt of this lap; or the message that waits for its answer; 0: none */
	uint32_t index;
	enum client_state state;
	uint8_t epoch; /* in which it began; CLIENT_BEFORE: before the storm, and nothing counts */
	bool late;     /* ... and is counted as late already */
	int fd;
};

struct crowd {
	struct event_base *base;
	struct board *board;
	const struct drill_params *params;
	const struct client_job *job;
	struct board_crowd *out;
	struct event *starter;
	struct event *control;
	uint32_t started;
	int ctl;
	struct client client[];
};

/* Notes that a message or a lap begins now. */
void client_ask(struct client *c);
/* Its answer has come: returns how long that took, in ns. */
uint64_t client_answered(struct client *c);

void client_timer_set(struct client *c, uint64_t ns);

/* The client was served and keeps its connection: from now on it talks. */
void client_talk_begin(struct client *c);
/* Its timer has run out while it is served. */
void client_talk_time(struct client *c);
/* Something has come from the server while it is served. */
void client_talk_heard(struct client *c);
/* The connection is gone, or the drill ends: a message that still waits counts with its age. */
void client_talk_end(struct client *c);

#endif
