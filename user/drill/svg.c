// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "drill/curve.h"
#include "drill/report.h"

#define SVG_WIDTH 900
#define SVG_LEFT 72
#define SVG_RIGHT 690 /* labels of the curves stand to the right of it */
#define SVG_TOP 100
#define SVG_PANEL 252      /* height of the first panel: clients served */
#define SVG_SMALL 84       /* of the others */
#define SVG_BETWEEN 44     /* from one panel to the next */
#define SVG_FOOT 68        /* labels of the time axis */
#define SVG_LABEL_LINES 62 /* height of a curve's label */

/* Colours keep their contrast on a white and on a dark page; dashes tell lines apart without colour. */
static const char svg_head[] =
	"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
	"role=\"img\" aria-labelledby=\"t d\" "
	"font-family=\"system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif\">\n"
	"<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n"
	"<style>\n"
	".bg{fill:#fff}.ink{fill:#1f2328}.dim{fill:#59636e}.grid{stroke:#d1d9e0}.axis{stroke:#59636e}\n"
	".with{stroke:#0a7d33}.withfill{fill:#0a7d33}.without{stroke:#cf222e}.withoutfill{fill:#cf222e}\n"
	".ramp{stroke:#0969da}.rampfill{fill:#0969da}.ideal{stroke:#6e7781}\n"
	".nft{stroke:#bc4c00}.nftfill{fill:#bc4c00}.hashlimit{stroke:#8250df}.hashlimitfill{fill:#8250df}\n"
	".synproxy{stroke:#9a6700}.synproxyfill{fill:#9a6700}.haproxy{stroke:#1b7c83}.haproxyfill{fill:#1b7c83}\n"
	"@media(prefers-color-scheme:dark){\n"
	".bg{fill:#0d1117}.ink{fill:#f0f6fc}.dim{fill:#9198a1}.grid{stroke:#2a313c}.axis{stroke:#9198a1}\n"
	".with{stroke:#3fb950}.withfill{fill:#3fb950}.without{stroke:#ff6a69}.withoutfill{fill:#ff6a69}\n"
	".ramp{stroke:#4493f8}.rampfill{fill:#4493f8}.ideal{stroke:#8b949e}\n"
	".nft{stroke:#f0883e}.nftfill{fill:#f0883e}.hashlimit{stroke:#ab7df8}.hashlimitfill{fill:#ab7df8}\n"
	".synproxy{stroke:#d29922}.synproxyfill{fill:#d29922}.haproxy{stroke:#39c5cf}.haproxyfill{fill:#39c5cf}}\n"
	"</style>\n"
	"<rect class=\"bg\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n";

static const char *const svg_class[RUN_COUNT] = {
	[RUN_WITHOUT] = "without",     [RUN_WITH] = "with",         [RUN_RAMP] = "ramp",      [RUN_NFTABLES] = "nft",
	[RUN_HASHLIMIT] = "hashlimit", [RUN_SYNPROXY] = "synproxy", [RUN_HAPROXY] = "haproxy"};

struct svg {
	FILE *out;
	const struct report *report;
	const struct events *events; /* of each run; NULL: none are shown */
	double span_s;
	/* the panel that is drawn */
	double top, bottom, y_max;
};

static double svg_x(const struct svg *svg, double t)
{
	return SVG_LEFT + (SVG_RIGHT - SVG_LEFT) * t / svg->span_s;
}

static double svg_y(const struct svg *svg, double y)
{
	return svg->bottom - (svg->bottom - svg->top) * y / svg->y_max;
}

static void svg_text(const struct svg *svg, double x, double y, int size, const char *class, const char *anchor,
		     const char *text)
{
	fprintf(svg->out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" class=\"%s\" text-anchor=\"%s\">%s</text>\n", x,
		y, size, class, anchor, text);
}

/* A step that gives 4 to 8 round labels: 1, 2 or 5 times a power of ten. */
static double svg_step(double span)
{
	double step = 1;

	while (span / step > 8)
		step *= 10;
	while (span / step < 1 && step > 1e-3)
		step /= 10;
	if (span / step < 2)
		return step / 5;
	return span / step < 4 ? step / 2 : step;
}

static void svg_panel(const struct svg *svg, const char *name)
{
	double step = svg_step(svg->y_max);
	char text[32];

	/* A small panel has no room for as many lines. */
	if (svg->bottom - svg->top < SVG_PANEL)
		step *= svg->y_max / step > 4 ? 4 : 2;
	for (double y = 0; y <= svg->y_max * 1.0001; y += step) {
		fprintf(svg->out, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", SVG_LEFT,
			SVG_RIGHT, svg_y(svg, y), svg_y(svg, y), y > 0 ? "grid" : "axis");
		if (step < 1)
			snprintf(text, sizeof(text), "%g", y);
		else
			figure_thousands(y + 0.5, text, sizeof(text));
		svg_text(svg, SVG_LEFT - 10, svg_y(svg, y) + 4, 12, "dim", "end", text);
	}
	svg_text(svg, SVG_LEFT, svg->top - 14, 13, "dim", "start", name);
}

static void svg_time_axis(const struct svg *svg)
{
	double step = svg_step(svg->span_s);
	char text[32];

	for (double t = 0; t <= svg->span_s * 1.0001; t += step) {
		fprintf(svg->out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" class=\"axis\"/>\n",
			svg_x(svg, t), svg_x(svg, t), svg->bottom, svg->bottom + 5);
		snprintf(text, sizeof(text), "%g", t);
		svg_text(svg, svg_x(svg, t), svg->bottom + 20, 12, "dim", "middle", text);
	}
	svg_text(svg, (SVG_LEFT + SVG_RIGHT) / 2.0, svg->bottom + 42, 13, "dim", "middle",
		 "seconds since the storm began");
}

static void svg_curve(const struct svg *svg, const struct curve *curve, const char *class)
{
	if (!curve->points)
		return;
	fprintf(svg->out,
		"<polyline fill=\"none\" stroke-width=\"%d\" stroke-linejoin=\"round\" class=\"%s\" points=\"",
		svg->bottom - svg->top < SVG_PANEL ? 2 : 3, class);
	for (uint32_t i = 0; i < curve->points; i++)
		fprintf(svg->out, "%s%.1f,%.1f", i ? " " : "", svg_x(svg, curve->t[i]), svg_y(svg, curve->y[i]));
	fputs("\"/>\n", svg->out);
}

/* Nobody more will be served: the curve goes on as dots to the edge. */
static void svg_for_ever(const struct svg *svg, const struct report_run *run, const struct curve *curve,
			 const char *class)
{
	double y = curve->points ? svg_y(svg, curve->y[curve->points - 1]) : svg->bottom;

	if (run->board->end != BOARD_COLLAPSED || run->board->end_ns / 1e9 >= svg->span_s)
		return;
	fprintf(svg->out,
		"<line x1=\"%.1f\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke-width=\"3\" "
		"stroke-linecap=\"round\" stroke-dasharray=\"0.1 8\" class=\"%s\"/>\n",
		svg_x(svg, run->board->end_ns / 1e9) + 8, SVG_RIGHT, y, y, class);
}

static void svg_marks(const struct svg *svg, const struct report_run *run, const char *class)
{
	for (int i = 0; i < run->board->marks; i++) {
		const struct board_mark *mark = &run->board->mark[i];
		double x = svg_x(svg, mark->t);
		char fill[32];

		snprintf(fill, sizeof(fill), "%sfill", class);
		fprintf(svg->out,
			"<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke-dasharray=\"2 4\" class=\"%s\"/>\n",
			x, x, svg->top, svg->bottom, class);
		svg_text(svg, x < SVG_LEFT + 120 ? x + 6 : x - 6, svg->bottom - 8 - 16 * (i % 4), 12, fill,
			 x < SVG_LEFT + 120 ? "start" : "end", mark->text);
	}
}

/* Each line of the log is a tick under the curves, with its words for those who point at it. */
static void svg_events(const struct svg *svg, enum drill_run which)
{
	const struct events *events = svg->events ? &svg->events[which] : NULL;

	for (size_t i = 0; events && i < events->count; i++) {
		const struct event *event = &events->event[i];
		double x = svg_x(svg, event->t), y = svg->bottom - 1 - 9 * (double)which;

		if (event->t < 0 || event->t > svg->span_s)
			continue;
		fprintf(svg->out,
			"<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke-width=\"3\" class=\"%s\">"
			"<title>%.2f s: ",
			x, x, y, y - 8, svg_class[which], event->t);
		report_escape(event->text, svg->out);
		fputs("</title></line>\n", svg->out);
	}
}

static void svg_label(const struct svg *svg, enum drill_run which, double y)
{
	const struct report_run *run = &svg->report->run[which];
	char fill[32];

	snprintf(fill, sizeof(fill), "%sfill", svg_class[which]);
	svg_text(svg, SVG_RIGHT + 14, y, 15, fill, "start", report_label(which));
	svg_text(svg, SVG_RIGHT + 14, y + 19, 13, "ink", "start", run->figures.line[0]);
	svg_text(svg, SVG_RIGHT + 14, y + 37, 13, "dim", "start", run->figures.line[1]);
}

/* The labels stand from the top in the order in which their curves end, the highest first. */
static void svg_labels(const struct svg *svg)
{
	double last[RUN_COUNT], y = svg->top + 5;
	bool done[RUN_COUNT] = {false};
	char text[64];

	for (int r = 0; r < RUN_COUNT; r++) {
		const struct board *board = svg->report->run[r].ran ? svg->report->run[r].board : NULL;

		done[r] = !board;
		last[r] = board && board->samples ? board->sample[board->samples - 1].served : 0;
	}
	for (int n = 0; n < RUN_COUNT; n++) {
		double lowest = svg->bottom - 80;
		int best = -1, left = 0;

		for (int r = 0; r < RUN_COUNT; r++)
			if (!done[r] && (best < 0 || last[r] > last[best]))
				best = r;
		if (best < 0)
			break;
		done[best] = true;
		for (int r = 0; r < RUN_COUNT; r++)
			left += !done[r];
		lowest -= SVG_LABEL_LINES * left;
		/* Beside its curve's end where the ones above leave room. */
		if (svg_y(svg, last[best]) + 5 > y)
			y = svg_y(svg, last[best]) + 5;
		if (y > lowest)
			y = lowest;
		svg_label(svg, best, y);
		y += SVG_LABEL_LINES;
	}
	fprintf(svg->out,
		"<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke-width=\"2\" stroke-dasharray=\"5 5\" "
		"class=\"ideal\"/>\n",
		SVG_RIGHT + 14, SVG_RIGHT + 44, svg->bottom - 14, svg->bottom - 14);
	snprintf(text, sizeof(text), "ideal: %.1f s", svg->report->ideal_s);
	svg_text(svg, SVG_RIGHT + 52, svg->bottom - 10, 13, "dim", "start", text);
}

/* What the clients do when their patience is at its end, in words. */
static void svg_retry(const struct retry_policy *retry, char *text, size_t size)
{
	if (retry->kind == RETRY_NOW)
		snprintf(text, size, "try again at once");
	else if (retry->kind == RETRY_FIXED)
		snprintf(text, size, "try again %g s later", retry->base_ns / 1e9);
	else
		snprintf(text, size, "back off from %g to %g s%s", retry->base_ns / 1e9, retry->max_ns / 1e9,
			 retry->kind == RETRY_EXP_JITTER ? " with jitter" : "");
}

static void svg_titles(const struct report *report, char *title, char *subtitle, size_t size)
{
	const struct drill_params *p = report->params;
	char clients[32], retry[96], rtt[64] = "no round-trip time";
	bool without = report->run[RUN_WITHOUT].ran, with = report->run[RUN_WITH].ran || report->run[RUN_RAMP].ran;

	figure_thousands(board_dropped(p), clients, sizeof(clients));
	svg_retry(&p->retry, retry, sizeof(retry));
	if (p->rtt_max_ns)
		snprintf(rtt, sizeof(rtt), "round trips of %g\u2013%g ms", p->rtt_min_ns / 1e6, p->rtt_max_ns / 1e6);
	snprintf(title, size, "%c%s%s", report->drill->title[0] & ~0x20, report->drill->title + 1,
		 !with                   ? " without synhold" :
		 !without                ? " with synhold" :
		 report->params->compare ? ", and what is used against it" :
					   ", without and with synhold");
	snprintf(subtitle, size, "%s TCP clients %s %.0f a second; they wait %g s, then %s; %s", clients,
		 report->drill->come ? report->drill->come : "connect at once to a server that manages",
		 (report->capacity[0] + report->capacity[1]) / 2, p->patience_ns / 1e9, retry, rtt);
}

static void svg_served(struct svg *svg)
{
	const struct report *report = svg->report;

	svg->y_max = board_dropped(report->params);
	svg_panel(svg, curve_name(report->drill, CURVE_SERVED));
	fprintf(svg->out,
		"<polyline fill=\"none\" stroke-width=\"2\" stroke-dasharray=\"5 5\" class=\"ideal\" "
		"points=\"%.1f,%.1f %.1f,%.1f\"/>\n",
		svg_x(svg, 0), svg_y(svg, 0), svg_x(svg, report->ideal_s), svg_y(svg, svg->y_max));
	for (int r = 0; r < RUN_COUNT; r++) {
		struct curve curve;

		if (!report->run[r].ran)
			continue;
		curve_take(report->run[r].board, CURVE_SERVED, &curve);
		svg_curve(svg, &curve, svg_class[r]);
		svg_for_ever(svg, &report->run[r], &curve, svg_class[r]);
		svg_marks(svg, &report->run[r], svg_class[r]);
		svg_events(svg, r);
	}
	svg_labels(svg);
}

/* The largest value of a series in all runs; 0 when there is none. */
static double svg_largest(const struct report *report, int kind)
{
	double largest = 0;

	for (int r = 0; r < RUN_COUNT && curve_name(report->drill, kind); r++) {
		struct curve curve;

		if (!report->run[r].ran)
			continue;
		curve_take(report->run[r].board, kind, &curve);
		if (curve.y_max > largest)
			largest = curve.y_max;
	}
	return largest;
}

static void svg_small(struct svg *svg, int kind)
{
	svg->top = svg->bottom + SVG_BETWEEN;
	svg->bottom = svg->top + SVG_SMALL;
	svg->y_max = svg_largest(svg->report, kind);
	svg_panel(svg, curve_name(svg->report->drill, kind));
	for (int r = 0; r < RUN_COUNT; r++) {
		struct curve curve;

		if (!svg->report->run[r].ran)
			continue;
		curve_take(svg->report->run[r].board, kind, &curve);
		svg_curve(svg, &curve, svg_class[r]);
	}
}

/* Higher where more than three labels must stand beside it. */
static int svg_panel_height(const struct report *report)
{
	int runs = 0;

	for (int r = 0; r < RUN_COUNT; r++)
		runs += report->run[r].ran;
	return SVG_PANEL + (runs > 3 ? SVG_LABEL_LINES * (runs - 3) : 0);
}

static void svg_draw(struct svg *svg)
{
	char title[320], subtitle[320];
	int panel = svg_panel_height(svg->report), height = SVG_TOP + panel + SVG_FOOT;

	for (int kind = CURVE_HELD; kind < CURVE_KINDS; kind++)
		if (svg_largest(svg->report, kind) > 0)
			height += SVG_BETWEEN + SVG_SMALL;
	svg_titles(svg->report, title, subtitle, sizeof(title));
	fprintf(svg->out, svg_head, SVG_WIDTH, height, SVG_WIDTH, height, title, subtitle, SVG_WIDTH, height);
	svg_text(svg, 24, 33, 20, "ink", "start", title);
	svg_text(svg, 24, 55, 12, "dim", "start", subtitle);
	svg->top = SVG_TOP;
	svg->bottom = SVG_TOP + panel;
	svg_served(svg);
	for (int kind = CURVE_HELD; kind < CURVE_KINDS; kind++)
		if (svg_largest(svg->report, kind) > 0)
			svg_small(svg, kind);
	svg_time_axis(svg);
	fputs("</svg>\n", svg->out);
}

void report_svg_draw(const struct report *report, const struct events events[RUN_COUNT], FILE *out)
{
	struct svg svg = {.out = out, .report = report, .events = events, .span_s = report_span_s(report)};

	svg_draw(&svg);
}

int report_svg(const struct report *report, const char *path)
{
	FILE *out = fopen(path, "we");
	int ret;

	if (!out)
		return -errno;
	report_svg_draw(report, NULL, out);
	ret = ferror(out) ? -EIO : 0;
	if (fclose(out) && !ret)
		ret = -errno;
	if (ret)
		unlink(path);
	return ret;
}
