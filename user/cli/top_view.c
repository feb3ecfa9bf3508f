// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/top.h"
#include "lib/units.h"

#define CURVE_LABEL 24 /* columns before a curve */
#define CURVES_FROM 14 /* lines a screen must have for curves */
#define COLUMNS 10

static const uint32_t blocks[] = {' ', 0x2581, 0x2582, 0x2583, 0x2584, 0x2585, 0x2586, 0x2587, 0x2588};
static const char ascii[] = " .:-=+*%#";

static void put(struct top_screen *s, unsigned int line, unsigned int column, enum top_style style, const char *text)
{
	if (line >= s->lines)
		return;
	for (; *text && column < s->columns; text++, column++) {
		s->cell[line][column] = (unsigned char)*text;
		s->style[line][column] = (uint8_t)style;
	}
}

__attribute__((format(printf, 5, 6))) static void print(struct top_screen *s, unsigned int line, unsigned int column,
							enum top_style style, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put(s, line, column, style, text);
}

/* Four characters at most, so that columns stay: 0, 12, 1234, 12k, 1.2m. */
static const char *short_number(char *buf, size_t size, double value)
{
	if (value < 0)
		snprintf(buf, size, "-");
	else if (value < 9999.5)
		snprintf(buf, size, "%.0f", value);
	else if (value < 999.5e3)
		snprintf(buf, size, "%.0fk", value / 1e3);
	else if (value < 9.95e6)
		snprintf(buf, size, "%.1fm", value / 1e6);
	else
		snprintf(buf, size, "%.0fm", value / 1e6);
	return buf;
}

static const char *short_time(char *buf, size_t size, double seconds)
{
	if (seconds < 0)
		snprintf(buf, size, "-");
	else if (seconds < 0.00995)
		snprintf(buf, size, "%.1fms", seconds * 1e3);
	else if (seconds < 0.9995)
		snprintf(buf, size, "%.0fms", seconds * 1e3);
	else
		snprintf(buf, size, "%.1fs", seconds);
	return buf;
}

static enum top_style state_style(const struct top_row *row)
{
	if (row->suspended || row->stalled || row->state == SNAPSHOT_CLOSED || row->state == SNAPSHOT_STATIC ||
	    row->state == SNAPSHOT_DOWN)
		return TOP_BAD;
	return row->state == SNAPSHOT_OPEN ? TOP_GOOD : TOP_WARN;
}

static void draw_head(const struct top *top, struct top_screen *s)
{
	const struct top_row *chosen = top->selected < top->rows ? &top->row[top->selected] : NULL;
	char line[TOP_COLUMNS_MAX], number[16];
	int n = snprintf(line, sizeof(line), "synhold %s", top->instance);

	if (!top->attached)
		n += snprintf(line + n, sizeof(line) - (size_t)n, "  not attached");
	else if (top->daemon_alive)
		n += snprintf(line + n, sizeof(line) - (size_t)n, "  daemon %u", top->daemon_pid);
	else
		n += snprintf(line + n, sizeof(line) - (size_t)n, "  NO DAEMON: nothing is held");
	put(s, 0, 0, top->attached && !top->daemon_alive ? TOP_BAD : TOP_BOLD, line);
	print(s, 0, (unsigned int)n + 2, TOP_PLAIN, "%s", top->interfaces);
	if (!top->attached)
		put(s, 1, 0, TOP_WARN,
		    "synhold run IFACE --port PORT protects a port; synhold check IFACE looks before");
	else if (top->bypass)
		put(s, 1, 0, TOP_BAD, "BYPASS is on: everything passes");
	else if (top->confirm_pending)
		put(s, 1, 0, TOP_WARN, "a change waits for synhold confirm");
	else if (chosen && chosen->stalled)
		print(s, 1, 0, TOP_BAD, "%s: the server answers nobody; synhold explain %s", chosen->name,
		      chosen->name);
	else if (chosen && chosen->late_pps > 0)
		print(s, 1, 0, TOP_WARN, "%s: %s answers/s come late, beside SERVED/s: their clients may have left",
		      chosen->name, short_number(number, sizeof(number), chosen->late_pps + 0.5));
}

static const struct {
	const char *title;
	unsigned int width;
} columns[COLUMNS] = {{"STATE", 9},  {"SYN/s", 6},  {"IN/s", 5},  {"SERVED/s", 8},    {"HELD", 5},
		      {"FLIGHT", 6}, {"WINDOW", 6}, {"DELAY", 6}, {"LIMITED BY", 12}, {"RATE", 5}};

static void cells(const struct top_row *row, char text[COLUMNS][16])
{
	char number[16];

	snprintf(text[0], 16, "%s",
		 row->suspended ? "suspended" :
		 row->stalled   ? "stalled" :
				  snapshot_state_name(row->state));
	snprintf(text[1], 16, "%s", short_number(number, sizeof(number), row->syn_pps));
	snprintf(text[2], 16, "%s", short_number(number, sizeof(number), row->in_pps));
	snprintf(text[3], 16, "%s", short_number(number, sizeof(number), row->settled_pps));
	snprintf(text[4], 16, "%s", short_number(number, sizeof(number), row->held));
	snprintf(text[5], 16, "%s", short_number(number, sizeof(number), (double)row->inflight));
	snprintf(text[6], 16, "%s", short_number(number, sizeof(number), row->window ? row->window : -1.0));
	snprintf(text[7], 16, "%s", short_time(number, sizeof(number), row->first_byte_s));
	snprintf(text[8], 16, "%s", row->limit ? row->limit : "");
	snprintf(text[9], 16, "%s", short_number(number, sizeof(number), row->rate_pps ? (double)row->rate_pps : -1.0));
}

/* A column that does not fit any more is left out, and all behind it. */
static void draw_row(struct top_screen *s, unsigned int line, unsigned int name_width, const char *name,
		     char text[COLUMNS][16], enum top_style style, enum top_style state)
{
	unsigned int at = name_width;

	print(s, line, 0, style, "%-*.*s", (int)name_width, (int)name_width, name);
	for (unsigned int i = 0; i < COLUMNS; i++) {
		unsigned int width = columns[i].width;
		int left = i == 0 || i == COLUMNS - 2; /* words, not numbers */

		if (at + 1 + width > s->columns)
			return;
		print(s, line, at, style, " ");
		print(s, line, at + 1, i ? style : state, left ? "%-*s" : "%*s", (int)width, text[i]);
		at += 1 + width;
	}
}

static void draw_services(const struct top *top, struct top_screen *s, unsigned int from, unsigned int most)
{
	unsigned int name_width = 7, first = 0;
	char text[COLUMNS][16];

	for (unsigned int i = 0; i < top->rows; i++)
		if (strlen(top->row[i].name) > name_width)
			name_width = (unsigned int)strlen(top->row[i].name);
	if (name_width > s->columns / 4 && s->columns / 4 >= 7)
		name_width = s->columns / 4;
	for (unsigned int i = 0; i < COLUMNS; i++)
		snprintf(text[i], sizeof(text[i]), "%s", columns[i].title);
	draw_row(s, from, name_width, "SERVICE", text, TOP_HEAD, TOP_HEAD);
	if (!most)
		return;
	if (top->selected >= most) /* the selected one is always in sight */
		first = top->selected - most + 1;
	for (unsigned int i = first; i < top->rows && i < first + most; i++) {
		const struct top_row *row = &top->row[i];
		int chosen = i == top->selected;

		cells(row, text);
		draw_row(s, from + 1 + i - first, name_width, row->name, text, chosen ? TOP_SELECTED : TOP_PLAIN,
			 chosen ? TOP_SELECTED : state_style(row));
	}
}

/* The newest point stands at the right. Zero is a blank, anything above it at least the lowest step. */
static void draw_curve(const struct top_row *row, struct top_screen *s, unsigned int line, enum top_curve curve,
		       const char *name)
{
	unsigned int width = s->columns > CURVE_LABEL ? s->columns - CURVE_LABEL : 0, steps = 8;
	char now[16], peak[16];
	double most = 0;

	if (line >= s->lines || !width)
		return;
	if (width > TOP_HISTORY)
		width = TOP_HISTORY;
	for (unsigned int i = 0; i < width; i++)
		if (top_point(row, curve, i) > most)
			most = top_point(row, curve, i);
	if (curve == TOP_DELAY) {
		short_time(now, sizeof(now), top_point(row, curve, 0));
		short_time(peak, sizeof(peak), most > 0 ? most : -1);
	} else {
		short_number(now, sizeof(now), top_point(row, curve, 0));
		short_number(peak, sizeof(peak), most);
	}
	print(s, line, 0, TOP_PLAIN, "%-7s%6s max %-6s", name, now, peak);
	for (unsigned int i = 0; i < width; i++) {
		double value = top_point(row, curve, i);
		unsigned int step = value > 0 && most > 0 ? (unsigned int)(value / most * steps + 0.5) : 0;

		if (value > 0 && !step)
			step = 1;
		s->cell[line][CURVE_LABEL + width - 1 - i] = s->unicode ? blocks[step] : (uint32_t)ascii[step];
		s->style[line][CURVE_LABEL + width - 1 - i] = curve == TOP_HELD ? TOP_WARN : TOP_GOOD;
	}
}

static unsigned int draw_selected(const struct top *top, struct top_screen *s, unsigned int line)
{
	static const char *const names[TOP_CURVES] = {"SYN/s", "held", "window", "delay"};

	if (top->selected >= top->rows)
		return line;
	for (unsigned int i = 0; i < TOP_CURVES; i++)
		draw_curve(&top->row[top->selected], s, line + i, i, names[i]);
	return line + TOP_CURVES;
}

/* Sources that were refused because of themselves. Returns the lines used. */
static unsigned int draw_offenders(const struct top *top, struct top_screen *s, unsigned int line, unsigned int most)
{
	const struct top_row *row = top->selected < top->rows ? &top->row[top->selected] : NULL;
	unsigned int i;

	if (!row || !row->offenders || most < 2)
		return 0;
	print(s, line, 0, TOP_HEAD, "%-44s%8s%9s", "OVER THEIR OWN LIMIT", "REFUSED", "LAST");
	for (i = 0; i < row->offenders && i + 1 < most; i++) {
		const struct offender *o = &row->offender[i];
		char name[64];

		print(s, line + 1 + i, 0, TOP_BAD, "%-44s%8" PRIu64 "%8.1fs",
		      units_format_cidr(name, sizeof(name), o->addr, o->prefixlen), o->refused,
		      top->now_ns > o->last_ns ? (double)(top->now_ns - o->last_ns) / 1e9 : 0);
	}
	return i + 1;
}

static void draw_sources(const struct top *top, struct top_screen *s, unsigned int line, unsigned int most)
{
	if (!top->sources || most < 2)
		return;
	print(s, line, 0, TOP_HEAD, "%-44s%6s%10s", "MOST HELD FROM", "HELD", "OLDEST");
	for (unsigned int i = 0; i < top->sources && i + 1 < most; i++)
		print(s, line + 1 + i, 0, TOP_PLAIN, "%-44s%6lld%9.1fs", top->source[i].name, top->source[i].held,
		      top->source[i].oldest_s);
}

static void draw_help(struct top_screen *s, unsigned int line)
{
	static const char *const text[] = {
		"up, down   another service",
		"o          open it",
		"c          close it",
		"r          its rate (SYN/s, or none)",
		"w          its window (auto, none, or a number)",
		"s          its share (a percentage)",
		"b          bypass on or off: everything passes",
		"q          leave; the shield stays as it is",
	};

	for (unsigned int i = 0; i < sizeof(text) / sizeof(*text); i++)
		put(s, line + i, 0, TOP_PLAIN, text[i]);
}

void top_draw(const struct top *top, struct top_screen *s)
{
	unsigned int last = s->lines - 1, line = 2, rows, below;

	for (unsigned int i = 0; i < s->lines; i++)
		for (unsigned int j = 0; j < s->columns; j++) {
			s->cell[i][j] = ' ';
			s->style[i][j] = TOP_PLAIN;
		}
	draw_head(top, s);
	if (top->help) {
		draw_help(s, line);
	} else if (s->lines > 4) {
		/* half of the room for services, if so many are there; the rest for the selected one */
		below = s->lines >= CURVES_FROM && top->rows ? TOP_CURVES + 2 : 0;
		rows = s->lines - 5 - below;
		if (rows > top->rows)
			rows = top->rows;
		draw_services(top, s, line, rows);
		line += rows + 2;
		if (below)
			line = draw_selected(top, s, line) + 1;
		if (line < last - 1)
			line += draw_offenders(top, s, line, last - 1 - line);
		if (line < last - 1)
			draw_sources(top, s, line, last - 1 - line);
	}
	if (s->lines > 2)
		put(s, last - 1, 0, TOP_WARN, top->message);
	if (s->lines > 1)
		put(s, last, 0, top->prompt[0] ? TOP_BOLD : TOP_DIM,
		    top->prompt[0] ? top->prompt :
				     "q quit  o open  c close  r rate  w window  s share  b bypass  ? keys");
}
