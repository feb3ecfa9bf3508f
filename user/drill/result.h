/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_RESULT_H
#define DRILL_RESULT_H

#include "drill/board.h"

/* A drain that takes longer than this many times the ideal is the incident. */
#define RESULT_RATIO_MAX 1.3
/* The same where the shield comes late, on top of the time for what the server had accepted by then. */
#define RESULT_LATE_RATIO_MAX 1.5

/* What one half came to, in figures. Pure: from its board alone. */
struct result {
	bool with_shield;
	enum board_end end;
	uint32_t clients;
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
	uint32_t curve_points; /* served clients over time, ascending */
	float *curve_s;
};

/* Computes the figures. Returns 0 or -ENOMEM; result_free() frees the curve. */
int result_compute(const struct board *board, struct result *result);
void result_free(struct result *result);

/* True when the storm melted the server: not all were served, or not within the ratio allowed. */
bool result_incident(const struct result *result);

#define RESULT_REASON_MAX 384

/*
 * Judges a drill. Either half may be NULL; `must_collapse` when the half without the shield has to show the
 * incident. Writes one line that says why. Returns true when the drill passed.
 */
bool result_judge(const struct result *without, const struct result *with, bool must_collapse,
		  char reason[RESULT_REASON_MAX]);

#endif
