/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_RESULT_H
#define DRILL_RESULT_H

#include "drill/board.h"
#include "drill/figures.h"

/* A drain that takes longer than this many times the ideal is the incident. */
#define RESULT_RATIO_MAX 1.3
/* The same where the shield comes late, on top of the time for what the server had accepted by then. */
#define RESULT_LATE_RATIO_MAX 1.5

/* What the storm of one run came to. Pure: from its board alone. */
struct result {
	enum drill_run run;
	enum board_end end;
	uint32_t clients; /* of the storm */
	uint32_t served;
	double drain_s; /* until the last client was served; meaningless unless all were */
	double ideal_s;
	double ratio; /* drain_s / ideal_s */
	double lasted_s;
	uint64_t worked; /* connections the server spent its work on */
	uint64_t vain;   /* of those, for clients that were not there any more */
	double wasted_percent;
	double server_waited_s; /* for a CPU */
	double kept_off_s;      /* of that, by programs other than the shield */
	double wait_p50_s;      /* of the served, since their first attempt */
	double wait_p99_s;
	uint64_t impatient, refused, lost;
	uint64_t syns;
	double stall_ms; /* the witness's longest, of either end */
	uint64_t witness_lost_bytes, witness_corrupt_bytes;
	bool witness_broken;
	/* where the shield came late */
	bool late;
	double late_drain_s;   /* from then until the last client was served */
	double late_ideal_s;   /* for the clients not served by then alone */
	double late_backlog_s; /* for the connections the server had accepted by then */
	double late_ratio;     /* (late_drain_s - late_backlog_s) / ideal_s */
};

/* Computes the figures. Returns 0 or -ENOMEM. */
int result_compute(const struct board *board, struct result *result);

/* True when the storm melted the server: not all were served, or not within the ratio allowed. */
bool result_incident(const struct result *result);

/*
 * Appends the figures that every drill with a storm of clients has, and its two lines, without a bound. The result must
 * have been computed.
 */
void result_figures(const struct result *result, struct figures *figures);

/*
 * Puts bounds on them: the run without the shield has to show the incident if the drill claims that it does, the others
 * must serve all clients within `ratio_max` times the ideal and harm no connection that was there before.
 */
void result_judge(const struct result *result, double ratio_max, bool claimed, struct figures *figures);

#endif
