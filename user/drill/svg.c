// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define SVG_WIDTH 900
#define SVG_HEIGHT 420
#define SVG_LEFT 72
#define SVG_RIGHT 690 /* labels of the curves stand to the right of it */
#define SVG_TOP 100
#define SVG_BOTTOM 352
#define SVG_POINTS 320 /* in a curve at most: half a pixel each is enough */

/* Colours keep their contrast on a white and on a dark page; dashes tell lines apart without colour. */
static const char svg_head[] =
	"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
	"role=\"img\" aria-labelledby=\"t d\" "
	"font-family=\"system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif\">\n"
	"<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n"
	"<style>\n"
	".bg{fill:#fff}.ink{fill:#1f2328}.dim{fill:#59636e}.grid{stroke:#d1d9e0}.axis{stroke:#59636e}\n"
	".with{stroke:#0a7d33}.withfill{fill:#0a7d33}.without{stroke:#cf222e}.withoutfill{fill:#cf222e}\n"
	".ideal{stroke:#6e7781}.attach{stroke:#0969da}.attachfill{fill:#0969da}\n"
	"@media(prefers-color-scheme:dark){\n"
	".bg{fill:#0d1117}.ink{fill:#f0f6fc}.dim{fill:#9198a1}.grid{stroke:#2a313c}.axis{stroke:#9198a1}\n"
	".with{stroke:#3fb950}.withfill{fill:#3fb950}.without{stroke:#ff6a69}.withoutfill{fill:#ff6a69}\n"
	".ideal{stroke:#8b949e}.attach{stroke:#4493f8}.attachfill{fill:#4493f8}}\n"
	"</style>\n"
	"<rect class=\"bg\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n";

struct svg {
	FILE *out;
	const struct report *report;
	double span_s;
	uint32_t clients;
};

static double svg_x(const struct svg *svg, double t)
{
	return SVG_LEFT + (SVG_RIGHT - SVG_LEFT) * t / svg->span_s;
}

static double svg_y(const struct svg *svg, double served)
{
	return SVG_BOTTOM - (double)(SVG_BOTTOM - SVG_TOP) * served / svg->clients;
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

/* Thousands apart, as people read them. */
static void svg_number(uint32_t n, char *text, size_t size)
{
	if (n >= 1000)
		snprintf(text, size, "%u,%03u", n / 1000, n % 1000);
	else
		snprintf(text, size, "%u", n);
}

static void svg_axes(const struct svg *svg)
{
	double step = svg_step(svg->clients);
	char text[32];

	for (double served = 0; served <= svg->clients * 1.0001; served += step) {
		double y = svg_y(svg, served);

		fprintf(svg->out, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", SVG_LEFT,
			SVG_RIGHT, y, y, served > 0 ? "grid" : "axis");
		svg_number(served + 0.5, text, sizeof(text));
		svg_text(svg, SVG_LEFT - 10, y + 4, 12, "dim", "end", text);
	}
	step = svg_step(svg->span_s);
	for (double t = 0; t <= svg->span_s * 1.0001; t += step) {
		fprintf(svg->out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" class=\"axis\"/>\n", svg_x(svg, t),
			svg_x(svg, t), SVG_BOTTOM, SVG_BOTTOM + 5);
		snprintf(text, sizeof(text), "%g", t);
		svg_text(svg, svg_x(svg, t), SVG_BOTTOM + 20, 12, "dim", "middle", text);
	}
	svg_text(svg, (SVG_LEFT + SVG_RIGHT) / 2.0, SVG_BOTTOM + 42, 13, "dim", "middle",
		 "seconds since the storm began");
	svg_text(svg, SVG_LEFT, SVG_TOP - 14, 13, "dim", "start", "clients served");
}

static void svg_curve(const struct svg *svg, const struct result *r, const char *class)
{
	uint32_t step = r->curve_points / SVG_POINTS + 1;

	fprintf(svg->out,
		"<polyline fill=\"none\" stroke-width=\"3\" stroke-linejoin=\"round\" class=\"%s\" "
		"points=\"%.1f,%.1f",
		class, svg_x(svg, 0), svg_y(svg, 0));
	for (uint32_t i = 0; i < r->curve_points; i += step)
		fprintf(svg->out, " %.1f,%.1f", svg_x(svg, r->curve_s[i]), svg_y(svg, i + 1));
	if (r->served)
		fprintf(svg->out, " %.1f,%.1f", svg_x(svg, r->drain_s), svg_y(svg, r->served));
	/* Nobody more was served until the half was over: that is the picture of the incident. */
	if (r->served < r->clients)
		fprintf(svg->out, " %.1f,%.1f", svg_x(svg, r->lasted_s), svg_y(svg, r->served));
	fputs("\"/>\n", svg->out);
	if (r->end == BOARD_COLLAPSED && r->lasted_s < svg->span_s)
		fprintf(svg->out,
			"<line x1=\"%.1f\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke-width=\"3\" "
			"stroke-linecap=\"round\" stroke-dasharray=\"0.1 8\" class=\"%s\"/>\n",
			svg_x(svg, r->lasted_s) + 8, SVG_RIGHT, svg_y(svg, r->served), svg_y(svg, r->served), class);
}

static void svg_label(const struct svg *svg, const struct result *r, const char *class, const char *name, double y)
{
	char served[32], vain[32], line[2][96];

	svg_number(r->served, served, sizeof(served));
	svg_number(r->vain, vain, sizeof(vain));
	if (r->served == r->clients)
		snprintf(line[0], sizeof(line[0]), "all %s in %.1f s", served, r->drain_s);
	else if (r->end == BOARD_COLLAPSED)
		snprintf(line[0], sizeof(line[0]), "%s, then none", served);
	else
		snprintf(line[0], sizeof(line[0]), "%s after %.0f s", served, r->lasted_s);
	snprintf(line[1], sizeof(line[1]), "%.0f %% of its work in vain", r->wasted_percent);
	svg_text(svg, SVG_RIGHT + 14, y, 15, class, "start", name);
	svg_text(svg, SVG_RIGHT + 14, y + 19, 13, "ink", "start", line[0]);
	svg_text(svg, SVG_RIGHT + 14, y + 37, 13, "dim", "start", line[1]);
}

/* The labels stand where their curves end, pushed apart where they would meet. */
static void svg_labels(const struct svg *svg, double ideal_s)
{
	const struct result *without = svg->report->without, *with = svg->report->with;
	double y_with = with ? svg_y(svg, with->served) + 5 : 0;
	double y_without = without ? svg_y(svg, without->served) + 5 : 0;
	char text[64];

	if (with && without && y_without < y_with + 62)
		y_without = y_with + 62;
	if (without && y_without > SVG_BOTTOM - 90)
		y_without = SVG_BOTTOM - 90;
	if (with && without && y_with > y_without - 62)
		y_with = y_without - 62;
	if (with)
		svg_label(svg, with, "withfill", "with synhold", y_with);
	if (without)
		svg_label(svg, without, "withoutfill", "without", y_without);
	fprintf(svg->out,
		"<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke-width=\"2\" stroke-dasharray=\"5 5\" "
		"class=\"ideal\"/>\n",
		SVG_RIGHT + 14, SVG_RIGHT + 44, SVG_BOTTOM - 14, SVG_BOTTOM - 14);
	snprintf(text, sizeof(text), "ideal: %.1f s", ideal_s);
	svg_text(svg, SVG_RIGHT + 52, SVG_BOTTOM - 10, 13, "dim", "start", text);
}

static void svg_ideal(const struct svg *svg, double ideal_s)
{
	fprintf(svg->out,
		"<polyline fill=\"none\" stroke-width=\"2\" stroke-dasharray=\"5 5\" class=\"ideal\" "
		"points=\"%.1f,%.1f %.1f,%.1f\"/>\n",
		svg_x(svg, 0), svg_y(svg, 0), svg_x(svg, ideal_s), svg_y(svg, svg->clients));
}

static void svg_attach(const struct svg *svg, const struct result *with)
{
	double x = svg_x(svg, with->drain_s - with->late_drain_s);

	fprintf(svg->out,
		"<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke-dasharray=\"2 4\" "
		"class=\"attach\"/>\n",
		x, x, SVG_TOP, SVG_BOTTOM);
	svg_text(svg, x - 6, SVG_BOTTOM - 8, 12, "attachfill", "end", "shield attached");
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

static void svg_titles(const struct report *report, const struct result *any, char *title, char *subtitle, size_t size)
{
	const struct drill_params *p = report->params;
	char clients[32], retry[96], rtt[64] = "no round-trip time";
	double capacity = (report->capacity[0] + report->capacity[1]) / 2;

	svg_number(any->clients, clients, sizeof(clients));
	svg_retry(&p->retry, retry, sizeof(retry));
	if (p->rtt_max_ns)
		snprintf(rtt, sizeof(rtt), "round trips of %g\u2013%g ms", p->rtt_min_ns / 1e6, p->rtt_max_ns / 1e6);
	snprintf(title, size, "A reconnect storm%s",
		 !report->with    ? " without synhold" :
		 !report->without ? " with synhold" :
				    ", without and with synhold");
	snprintf(subtitle, size,
		 "%s TCP clients connect at once to a server that manages %.0f a second; they wait "
		 "%g s, then %s; %s",
		 clients, capacity, p->patience_ns / 1e9, retry, rtt);
}

static void svg_draw(struct svg *svg, const struct result *any)
{
	const struct report *report = svg->report;
	char title[320], subtitle[320];

	svg_titles(report, any, title, subtitle, sizeof(title));
	fprintf(svg->out, svg_head, SVG_WIDTH, SVG_HEIGHT, SVG_WIDTH, SVG_HEIGHT, title, subtitle, SVG_WIDTH,
		SVG_HEIGHT);
	svg_text(svg, 24, 33, 20, "ink", "start", title);
	svg_text(svg, 24, 55, 12, "dim", "start", subtitle);
	svg_axes(svg);
	svg_ideal(svg, any->ideal_s);
	if (report->without)
		svg_curve(svg, report->without, "without");
	if (report->with)
		svg_curve(svg, report->with, "with");
	if (report->with && report->with->late && report->with->served == report->with->clients)
		svg_attach(svg, report->with);
	svg_labels(svg, any->ideal_s);
	fputs("</svg>\n", svg->out);
}

int report_svg(const struct report *report, const char *path)
{
	const struct result *any = report->with ? report->with : report->without;
	struct svg svg = {.report = report, .clients = any->clients, .span_s = any->ideal_s};
	int ret;

	if (report->without && report->without->lasted_s > svg.span_s)
		svg.span_s = report->without->lasted_s;
	if (report->with && report->with->lasted_s > svg.span_s)
		svg.span_s = report->with->lasted_s;
	svg.out = fopen(path, "we");
	if (!svg.out)
		return -errno;
	svg_draw(&svg, any);
	ret = ferror(svg.out) ? -EIO : 0;
	if (fclose(svg.out) && !ret)
		ret = -errno;
	if (ret)
		unlink(path);
	return ret;
}
