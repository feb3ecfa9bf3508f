/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_REPORT_H
#define DRILL_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "drill/events.h"
#include "drill/kit.h"

/* A setting of a rival that was tried. */
struct report_try {
	char setting[96];
	uint32_t served;
	uint64_t hits;  /* what its rules dropped or proxied, connections through a proxy */
	double drain_s; /* FIGURE_NONE: not all were served */
};

struct report_run {
	bool ran;
	const struct board *board;
	struct figures figures;
	off_t log_from, log_to; /* its part of the shields' log */
	double realtime_s;      /* CLOCK_REALTIME minus CLOCK_MONOTONIC as it ended */
	struct report_try tried[RIVAL_TRIES_MAX];
	unsigned int tries;
	char absent[BOARD_TEXT_MAX]; /* why a rival was not run; "" = it was, or was not asked for */
};

/* Everything a report needs, in the order of enum drill_run. */
struct report {
	const struct drill *drill;
	const struct drill_params *params;
	double capacity[2];
	double ideal_s;
	struct report_run run[RUN_COUNT];
	bool passed;
	char reason[FIGURES_REASON_MAX];
};

/* What a run is called: as a column and a key, in a sentence, and beside its curve. */
const char *report_key(enum drill_run run);
const char *report_name(enum drill_run run);
const char *report_label(enum drill_run run);

/* The longest run, in seconds; at least the ideal. */
double report_span_s(const struct report *report);

/* The setting of a rival that is reported, which is the best that was tried; "" in other runs. */
const char *report_setting(const struct report *report, enum drill_run run);

/* The shield beside its rivals, a row a run; nothing unless they were asked for. Returns 0 or -errno. */
int report_compared(const struct report *report, FILE *out);
void report_compared_html(const struct report *report, FILE *out);
json_t *report_compared_json(const struct report *report);
json_t *report_json_run(const struct report *report, const struct report_run *run);

/* The figures side by side. Returns 0 or -errno. */
int report_table(const struct report *report, FILE *out);

/* What the shield said about itself, in a line or two a run; nothing when it said nothing. */
void report_shield(const struct report *report, FILE *out);

/* Served clients over time as a picture of characters; plain ASCII unless `unicode`. */
void report_plot(const struct report *report, FILE *out, bool unicode, bool colour);

/* Whether a run is a column of the figures: rivals are where nothing else was run, they have a table of their own. */
bool report_is_column(const struct report *report, enum drill_run run);

/* Whether a figure of a run has a row of the table that no run before it has. */
bool report_row_is_first(const struct report *report, enum drill_run run, int figure);

/* Text for HTML and SVG. */
void report_escape(const char *text, FILE *out);

/* The curves; with `events` (of each run, or NULL) a tick for each of them that says what it was. */
void report_svg_draw(const struct report *report, const struct events events[RUN_COUNT], FILE *out);

/* All curves as a self-contained SVG file. Returns 0 or -errno; no file is left behind on failure. */
int report_svg(const struct report *report, const char *path);

/*
 * Curves, figures and what the shields said (their log) as one self-contained HTML file. Returns 0 or -errno; no file
 * is left behind on failure.
 */
int report_html(const struct report *report, int log_fd, const char *path);

/* Everything as one object, a new reference; NULL when out of memory. */
json_t *report_json(const struct report *report, const char *svg, const char *html);

#endif
