/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_REPORT_H
#define DRILL_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "drill/board.h"
#include "drill/result.h"

/* Everything a report needs; a half that was not run is NULL. */
struct report {
	const struct drill_params *params;
	double capacity[2];
	const struct result *without;
	const struct result *with;
	const struct board_shield *shield; /* of the half with it */
	const char *shield_note;
	bool passed;
	const char *reason;
};

/* The figures side by side. Returns 0 or -errno. */
int report_table(const struct report *report, FILE *out);

/* What the shield said about itself, in a line or two; nothing when it said nothing. */
void report_shield(const struct report *report, FILE *out);

/* Served clients over time as a picture of characters; plain ASCII unless `unicode`. */
void report_plot(const struct report *report, FILE *out, bool unicode, bool colour);

/* The same as a self-contained SVG file. Returns 0 or -errno; no file is left behind on failure. */
int report_svg(const struct report *report, const char *path);

/* Everything as one object, a new reference; NULL when out of memory. */
json_t *report_json(const struct report *report, const char *svg);

#endif
