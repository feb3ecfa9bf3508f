/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `synhold top` in three rooms: top_history.c makes rates and curves of snapshots, top_view.c draws them into a grid of
 * cells, top.c is the terminal. The first two touch neither kernel nor terminal.
 */
#ifndef SYNHOLD_CLI_TOP_H
#define SYNHOLD_CLI_TOP_H

#include <stdint.h>

#include "lib/offenders.h"
#include "lib/snapshot.h"

#define TOP_HISTORY 256 /* looks that a curve remembers */
#define TOP_SOURCES 8
#define TOP_OFFENDERS 4

enum top_curve { TOP_SYN, TOP_HELD, TOP_WINDOW, TOP_DELAY, TOP_CURVES };

struct top_row {
	char name[SYNHOLD_NAME_LEN];
	unsigned int id;
	enum snapshot_state state;
	int suspended, stalled, bypass, confirm_pending;
	uint32_t window; /* 0 = none */
	int64_t inflight;
	uint32_t held;
	uint64_t rate_pps; /* of the policy; 0 = none */
	/* since the look before; < 0: there was none */
	double syn_pps, in_pps, settled_pps;   /* in_pps: admitted or released */
	double late_pps;                       /* answers after the slot had expired: their clients may have left */
	double first_byte_s;                   /* 99th percentile of what settled since; < 0: nothing did */
	const char *limit;                     /* the reason of most excess since; NULL: none */
	double curve[TOP_CURVES][TOP_HISTORY]; /* a ring; < 0: not known */
	unsigned int next, filled;
	struct offender offender[TOP_OFFENDERS]; /* those refused most */
	unsigned int offenders;
	struct synhold_counters count; /* at the last look */
	struct synhold_delays delays;
	uint64_t released;
};

struct top_source {
	char name[64];
	long long held;
	double oldest_s;
};

struct top {
	char instance[SYNHOLD_NAME_LEN];
	int attached, daemon_alive;
	uint32_t daemon_pid;
	int bypass, confirm_pending;
	char interfaces[96];
	uint64_t now_ns; /* of the last look; 0: none yet */
	struct top_row *row;
	unsigned int rows;
	unsigned int selected;
	struct top_source source[TOP_SOURCES]; /* of the selected service, those that hold most */
	unsigned int sources;
	char message[160]; /* what the last key came to */
	char prompt[160];  /* a question; takes the place of the keys */
	int help;
};

/* Takes a look: rates against the look before, one more point for each curve. Rows follow the service's name. 0 or
 * -ENOMEM with nothing changed. */
int top_look(struct top *top, const struct snapshot *snap);
void top_free(struct top *top);
/* The i-th last point of a curve, 0 the newest; < 0 where there is none. */
double top_point(const struct top_row *row, enum top_curve curve, unsigned int i);

enum top_style { TOP_PLAIN, TOP_BOLD, TOP_DIM, TOP_HEAD, TOP_SELECTED, TOP_GOOD, TOP_WARN, TOP_BAD };

#define TOP_LINES_MAX 200
#define TOP_COLUMNS_MAX 400

struct top_screen {
	unsigned int lines, columns; /* at most the above */
	int unicode;
	uint32_t cell[TOP_LINES_MAX][TOP_COLUMNS_MAX]; /* code points */
	uint8_t style[TOP_LINES_MAX][TOP_COLUMNS_MAX];
};

/* Draws all of it. What does not fit is left out, never cut in the middle of a number. Any size from 1 x 1 works. */
void top_draw(const struct top *top, struct top_screen *screen);

#endif
