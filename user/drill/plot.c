// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/report.h"

#include <string.h>

#define PLOT_COLUMNS 64
#define PLOT_ROWS 12
#define PLOT_DOTS_X (PLOT_COLUMNS * 2) /* a braille character is 2 x 4 dots */
#define PLOT_DOTS_Y (PLOT_ROWS * 4)

enum plot_line { PLOT_NONE, PLOT_IDEAL, PLOT_WITHOUT, PLOT_WITH, PLOT_LINES };

static const struct {
	const char *name;
	const char *colour;
	char ascii;
} plot_lines[PLOT_LINES] = {
	[PLOT_IDEAL] = {"ideal", "\033[90m", '.'},
	[PLOT_WITHOUT] = {"without the shield", "\033[31m", 'o'},
	[PLOT_WITH] = {"with it", "\033[32m", '#'},
};

struct plot {
	double span_s;
	uint32_t clients;
	unsigned char dots[PLOT_ROWS][PLOT_COLUMNS];
	unsigned char line[PLOT_ROWS][PLOT_COLUMNS]; /* the line that a cell shows: the last one drawn */
};

static void plot_dot(struct plot *p, int x, int y, enum plot_line line)
{
	/* Bits of U+2800: dots 1-3 and 7 in the left column, 4-6 and 8 in the right one, from the top. */
	static const unsigned char bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
	int up = PLOT_DOTS_Y - 1 - y;

	if (x < 0 || x >= PLOT_DOTS_X || up < 0 || up >= PLOT_DOTS_Y)
		return;
	p->dots[up / 4][x / 2] |= bit[up % 4][x % 2];
	p->line[up / 4][x / 2] = line;
}

static int plot_height(const struct plot *p, double served)
{
	return served / p->clients * (PLOT_DOTS_Y - 1) + 0.5;
}

/* One column of dots after the other, joined where the curve is steep. */
static void plot_result(struct plot *p, const struct result *r, enum plot_line line)
{
	uint32_t served = 0;
	int before = 0;

	for (int x = 0; r && x < PLOT_DOTS_X; x++) {
		double t = p->span_s * (x + 1) / PLOT_DOTS_X;
		int y;

		if (t > r->lasted_s + p->span_s / PLOT_DOTS_X)
			break;
		while (served < r->curve_points && r->curve_s[served] <= t)
			served++;
		y = plot_height(p, served);
		for (int at = before < y ? before + 1 : y; at <= y; at++)
			plot_dot(p, x, at, line);
		before = y;
	}
}

static void plot_ideal(struct plot *p, double ideal_s)
{
	for (int x = 0; ideal_s > 0 && x < PLOT_DOTS_X; x += 2) {
		double t = p->span_s * (x + 0.5) / PLOT_DOTS_X;

		if (t <= ideal_s)
			plot_dot(p, x, plot_height(p, p->clients * t / ideal_s), PLOT_IDEAL);
	}
}

static void plot_cell(const struct plot *p, FILE *out, int row, int column, bool unicode, bool colour)
{
	unsigned char dots = p->dots[row][column];
	enum plot_line line = p->line[row][column];

	if (!dots) {
		fputc(' ', out);
		return;
	}
	if (colour)
		fputs(plot_lines[line].colour, out);
	if (unicode) /* U+2800 + dots in UTF-8 */
		fprintf(out, "\xe2%c%c", 0xa0 | dots >> 6, 0x80 | (dots & 0x3f));
	else
		fputc(plot_lines[line].ascii, out);
	if (colour)
		fputs("\033[0m", out);
}

static void plot_key(FILE *out, enum plot_line line, bool unicode, bool colour)
{
	if (colour)
		fputs(plot_lines[line].colour, out);
	if (unicode)
		fputs(line == PLOT_IDEAL ? "\u2804\u2804" : "\u2812\u2812", out);
	else
		fprintf(out, "%c%c", plot_lines[line].ascii, plot_lines[line].ascii);
	fprintf(out, " %s%s   ", plot_lines[line].name, colour ? "\033[0m" : "");
}

/* Without colours braille curves look alike: say in words where each one ends. */
static void plot_words(FILE *out, const struct result *r, const char *name)
{
	if (!r)
		return;
	if (r->served == r->clients)
		fprintf(out, "        %s: all %u after %.1f s\n", name, r->clients, r->drain_s);
	else
		fprintf(out, "        %s: %u, the last after %.1f s, then none until %.1f s\n", name, r->served,
			r->drain_s, r->lasted_s);
}

void report_plot(const struct report *report, FILE *out, bool unicode, bool colour)
{
	const struct result *any = report->with ? report->with : report->without;
	struct plot p;

	memset(&p, 0, sizeof(p));
	p.clients = any->clients;
	p.span_s = any->ideal_s;
	if (report->without && report->without->lasted_s > p.span_s)
		p.span_s = report->without->lasted_s;
	if (report->with && report->with->lasted_s > p.span_s)
		p.span_s = report->with->lasted_s;
	plot_ideal(&p, any->ideal_s);
	plot_result(&p, report->without, PLOT_WITHOUT);
	plot_result(&p, report->with, PLOT_WITH);
	fputs("\n served\n", out);
	for (int row = 0; row < PLOT_ROWS; row++) {
		if (row == 0 || row == PLOT_ROWS - 1)
			fprintf(out, "%6u %s", row ? 0 : p.clients, unicode ? "\u2524" : "|");
		else
			fprintf(out, "       %s", unicode ? "\u2502" : "|");
		for (int column = 0; column < PLOT_COLUMNS; column++)
			plot_cell(&p, out, row, column, unicode, colour);
		fputc('\n', out);
	}
	fprintf(out, "       %s", unicode ? "\u2514" : "+");
	for (int column = 0; column < PLOT_COLUMNS; column++)
		fputs(unicode ? "\u2500" : "-", out);
	fprintf(out, "\n        0%*.1f s\n        ", PLOT_COLUMNS - 3, p.span_s);
	if (report->with)
		plot_key(out, PLOT_WITH, unicode, colour);
	if (report->without)
		plot_key(out, PLOT_WITHOUT, unicode, colour);
	plot_key(out, PLOT_IDEAL, unicode, colour);
	fputc('\n', out);
	plot_words(out, report->without, "without");
	plot_words(out, report->with, "with");
	fputc('\n', out);
}
