// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct figure *figures_add(struct figures *figures, const char *key, const char *name, enum figure_unit unit,
			   double value)
{
	struct figure *f = &figures->figure[figures->count < FIGURES_MAX ? figures->count++ : FIGURES_MAX - 1];

	*f = (struct figure){.key = key, .name = name, .unit = unit, .value = value};
	return f;
}

void figure_judge(struct figure *figure, enum figure_bound bound, double limit)
{
	figure->bound = bound;
	figure->limit = limit;
}

const struct figure *figures_find(const struct figures *figures, const char *key)
{
	for (int i = 0; i < figures->count; i++)
		if (!strcmp(figures->figure[i].key, key))
			return &figures->figure[i];
	return NULL;
}

struct figure *figures_get(struct figures *figures, const char *key)
{
	const struct figure *figure = figures_find(figures, key);

	if (!figure)
		abort(); /* a bound that is silently not there would judge nothing */
	return (struct figure *)figure;
}

static bool figure_outside(const struct figure *f, double value)
{
	if (f->bound == FIGURE_ANY)
		return false;
	if (isnan(value))
		return true;
	return f->bound == FIGURE_AT_MOST ? value > f->limit : value < f->limit;
}

bool figure_broken(const struct figure *figure)
{
	return figure_outside(figure, figure->value);
}

void figure_thousands(uint64_t n, char *text, size_t size)
{
	if (n >= 1000000)
		snprintf(text, size, "%" PRIu64 ",%03u,%03u", n / 1000000, (unsigned int)(n / 1000 % 1000),
			 (unsigned int)(n % 1000));
	else if (n >= 1000)
		snprintf(text, size, "%" PRIu64 ",%03u", n / 1000, (unsigned int)(n % 1000));
	else
		snprintf(text, size, "%" PRIu64, n);
}

static void figure_format_value(enum figure_unit unit, double value, char *text, size_t size)
{
	switch (unit) {
	case FIGURE_COUNT:
		figure_thousands(value > 0 ? value + 0.5 : 0, text, size);
		break;
	case FIGURE_SECONDS:
		snprintf(text, size, value < 1 && value > 0 ? "%.2f s" : "%.1f s", value);
		break;
	case FIGURE_MS:
		snprintf(text, size, "%.0f ms", value);
		break;
	case FIGURE_RATIO:
		snprintf(text, size, "%.2f", value);
		break;
	case FIGURE_PERCENT:
		snprintf(text, size, "%.1f %%", value);
		break;
	case FIGURE_PER_SECOND:
		snprintf(text, size, "%.1f/s", value);
		break;
	case FIGURE_FLAG:
		snprintf(text, size, value != 0 ? "yes" : "no");
		break;
	}
}

void figure_format(const struct figure *figure, char *text, size_t size)
{
	char value[40], of[40];

	if (isnan(figure->value)) {
		snprintf(text, size, "%s", figure->instead ? figure->instead : "-");
		return;
	}
	figure_format_value(figure->unit, figure->value, value, sizeof(value));
	figure_format_value(figure->unit, figure->of, of, sizeof(of));
	snprintf(text, size, figure->of > 0 ? "%s of %s" : "%s", value, of);
}

/* "ratio 1.24 (at most 1.3)": what it is and what it may be. */
static void figure_say(const struct figure *f, char *text, size_t size)
{
	char value[96], limit[40];

	figure_format(f, value, sizeof(value));
	figure_format_value(f->unit, f->limit, limit, sizeof(limit));
	snprintf(text, size, "%s %s (%s %s)", f->name ? f->name : f->key, value,
		 f->bound == FIGURE_AT_MOST ? "at most" : "at least", limit);
}

static void reason_append(char reason[FIGURES_REASON_MAX], const char *between, const char *text)
{
	size_t len = strlen(reason);

	snprintf(reason + len, FIGURES_REASON_MAX - len, "%s%s", len ? between : "", text);
}

/* What a run has to show for itself when all went as it should: its line, and the ratio if one was judged. */
static void reason_story(const struct figures_run *run, char reason[FIGURES_REASON_MAX])
{
	char text[192];

	reason_append(reason, "; ", run->name);
	reason_append(reason, " ", run->figures->line[0]);
	for (int i = 0; i < run->figures->count; i++) {
		const struct figure *f = &run->figures->figure[i];

		if (f->bound == FIGURE_ANY || (f->unit != FIGURE_RATIO && f->unit != FIGURE_MS))
			continue;
		figure_say(f, text, sizeof(text));
		reason_append(reason, ", ", text);
	}
}

bool figures_judge(const struct figures_run *runs, int count, char reason[FIGURES_REASON_MAX])
{
	char text[192];

	reason[0] = '\0';
	for (int r = 0; r < count; r++) {
		for (int i = 0; runs[r].figures && i < runs[r].figures->count; i++) {
			const struct figure *f = &runs[r].figures->figure[i];

			if (!figure_broken(f))
				continue;
			figure_say(f, text, sizeof(text));
			snprintf(reason, FIGURES_REASON_MAX, "%s%s: %s; it %s%s",
				 f->excused > 0 && !figure_outside(f, f->excused) ? "inconclusive, " : "", runs[r].name,
				 text, runs[r].figures->line[0],
				 f->excused > 0 && !figure_outside(f, f->excused) ?
					 ", but other programs kept the server off the CPU: run it again on a "
					 "quieter machine" :
					 "");
			return false;
		}
	}
	for (int r = 0; r < count; r++)
		if (runs[r].figures)
			reason_story(&runs[r], reason);
	return true;
}
