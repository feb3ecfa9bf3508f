// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "drill/curve.h"
#include "drill/report.h"

#define PLOT_COLUMNS 64
#define PLOT_ROWS 12
#define PLOT_DOTS_X (PLOT_COLUMNS * 2) /* a braille character is 2 x 4 dots */
#define PLOT_DOTS_Y (PLOT_ROWS * 4)

enum plot_line { PLOT_NONE, PLOT_IDEAL, PLOT_RUN, PLOT_LINES = PLOT_RUN + RUN_COUNT };

static const struct {
	const char *colour;
	char ascii;
} plot_lines[PLOT_LINES] = {
	[PLOT_IDEAL] = {"\033[90m", '.'},
	[PLOT_RUN + RUN_WITHOUT] = {"\033[31m", 'o'},
	[PLOT_RUN + RUN_WITH] = {"\033[32m", '#'},
	[PLOT_RUN + RUN_RAMP] = {"\033[34m", '+'},
	[PLOT_RUN + RUN_NFTABLES] = {"\033[33m", 'n'},
	[PLOT_RUN + RUN_HASHLIMIT] = {"\033[35m", 'h'},
	[PLOT_RUN + RUN_SYNPROXY] = {"\033[36m", 's'},
	[PLOT_RUN + RUN_HAPROXY] = {"\033[37m", 'p'},
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
static void plot_run(struct plot *p, const struct report_run *run, enum plot_line line)
{
	struct curve curve;
	uint32_t at = 0;
	int before = 0;

	curve_take(run->board, CURVE_SERVED, &curve);
	for (int x = 0; curve.points && x < PLOT_DOTS_X; x++) {
		double t = p->span_s * (x + 1) / PLOT_DOTS_X;
		int y;

		if (t > run->board->end_ns / 1e9 + p->span_s / PLOT_DOTS_X)
			break;
		while (at + 1 < curve.points && curve.t[at + 1] <= t)
			at++;
		y = plot_height(p, curve.t[at] <= t ? curve.y[at] : 0);
		for (int dot = before < y ? before + 1 : y; dot <= y; dot++)
			plot_dot(p, x, dot, line);
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

static void plot_key(FILE *out, enum plot_line line, const char *name, bool unicode, bool colour)
{
	if (colour)
		fputs(plot_lines[line].colour, out);
	if (unicode)
		fputs(line == PLOT_IDEAL ? "\u2804\u2804" : "\u2812\u2812", out);
	else
		fprintf(out, "%c%c", plot_lines[line].ascii, plot_lines[line].ascii);
	fprintf(out, " %s%s   ", name, colour ? "\033[0m" : "");
}

static void plot_axes(const struct plot *p, FILE *out, bool unicode, bool colour)
{
	fputs("\n served\n", out);
	for (int row = 0; row < PLOT_ROWS; row++) {
		if (row == 0 || row == PLOT_ROWS - 1)
			fprintf(out, "%6u %s", row ? 0 : p->clients, unicode ? "\u2524" : "|");
		else
			fprintf(out, "       %s", unicode ? "\u2502" : "|");
		for (int column = 0; column < PLOT_COLUMNS; column++)
			plot_cell(p, out, row, column, unicode, colour);
		fputc('\n', out);
	}
	fprintf(out, "       %s", unicode ? "\u2514" : "+");
	for (int column = 0; column < PLOT_COLUMNS; column++)
		fputs(unicode ? "\u2500" : "-", out);
	fprintf(out, "\n        0%*.1f s\n        ", PLOT_COLUMNS - 3, p->span_s);
}

void report_plot(const struct report *report, FILE *out, bool unicode, bool colour)
{
	struct plot p;

	memset(&p, 0, sizeof(p));
	p.clients = board_dropped(report->params);
	p.span_s = report_span_s(report);
	plot_ideal(&p, report->ideal_s);
	for (int r = 0; r < RUN_COUNT; r++)
		if (report->run[r].ran)
			plot_run(&p, &report->run[r], PLOT_RUN + r);
	plot_axes(&p, out, unicode, colour);
	for (int r = 0; r < RUN_COUNT; r++)
		if (report->run[r].ran)
			plot_key(out, PLOT_RUN + r, report_name(r), unicode, colour);
	plot_key(out, PLOT_IDEAL, "ideal", unicode, colour);
	fputc('\n', out);
	/* Without colours braille curves look alike: say in words what became of each. */
	for (int r = 0; r < RUN_COUNT; r++)
		if (report->run[r].ran)
			fprintf(out, "        %s: %s; %s\n", report_name(r), report->run[r].figures.line[0],
				report->run[r].figures.line[1]);
	fputc('\n', out);
}
