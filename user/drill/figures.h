/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_FIGURES_H
#define DRILL_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a run of a drill came to: a list of figures, some of which are judged. Table, JSON, picture and verdict of every
 * drill are made from it. Pure.
 */

enum figure_unit {
	FIGURE_COUNT,
	FIGURE_SECONDS,
	FIGURE_MS, /* in the JSON in seconds, as all times */
	FIGURE_RATIO,
	FIGURE_PERCENT,
	FIGURE_PER_SECOND,
	FIGURE_FLAG, /* 0 or 1 */
};

enum figure_bound { FIGURE_ANY, FIGURE_AT_MOST, FIGURE_AT_LEAST };

#define FIGURE_NONE __builtin_nan("") /* the figure has no value in this run */

struct figure {
	const char *key;  /* its place in the JSON of a run: dots nest */
	const char *name; /* its row in the table; NULL: it has none */
	enum figure_unit unit;
	double value;
	double of;           /* shown as "value of this"; 0: alone */
	const char *instead; /* shown where it has no value; NULL: "-" */
	enum figure_bound bound;
	double limit;
	double excused; /* a breach that vanishes with this value instead proves nothing (a starved server); 0: none */
};

#define FIGURES_MAX 64
#define FIGURES_LINE_MAX 128

struct figures {
	struct figure figure[FIGURES_MAX];
	int count;
	/* The run in two short lines: what became of it, and at what price. They label its curve. */
	char line[2][FIGURES_LINE_MAX];
};

/* Appends a figure and returns it, for bound and the rest to be set; the last one again when the list is full. */
struct figure *figures_add(struct figures *figures, const char *key, const char *name, enum figure_unit unit,
			   double value);

/* Sets a bound on a figure, which may have none: then a missing value breaks it. */
void figure_judge(struct figure *figure, enum figure_bound bound, double limit);

/* The figure with the key, which must be there, for a bound to be set. */
struct figure *figures_get(struct figures *figures, const char *key);

/* The figure with the key, or NULL. */
const struct figure *figures_find(const struct figures *figures, const char *key);

/* True when the figure is judged and outside its bound. */
bool figure_broken(const struct figure *figure);

/* The value as it stands in the table. Always terminates. */
void figure_format(const struct figure *figure, char *text, size_t size);

/* Whole numbers with their thousands apart, as people read them. */
void figure_thousands(uint64_t n, char *text, size_t size);

#define FIGURES_REASON_MAX 512

struct figures_run {
	const char *name;              /* such as "with the shield" */
	const struct figures *figures; /* NULL: it was not run */
};

/*
 * Judges the runs: every bound of every run has to hold. Writes one line that says why. Returns true when it passed.
 */
bool figures_judge(const struct figures_run *runs, int count, char reason[FIGURES_REASON_MAX]);

#endif
