// SPDX-License-Identifier: GPL-2.0-or-later
/* The drill on one page that needs nothing else: the curves, the figures, and what the controller did when and why. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drill/report.h"

static const char html_head[] =
	"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	"<meta name=\"viewport\" content=\"width=device-width\"><title>synhold drill %s</title>\n<style>\n"
	":root{color-scheme:light dark}\n"
	"body{font:15px/1.45 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;max-width:900px;"
	"margin:24px auto;padding:0 16px;background:#fff;color:#1f2328}\n"
	"svg{max-width:100%%;height:auto}h2{font-size:18px;margin:28px 0 8px}\n"
	"table{border-collapse:collapse}td,th{padding:3px 12px;text-align:left;border-bottom:1px solid #d1d9e0}\n"
	".n{text-align:right;font-variant-numeric:tabular-nums}.bad,.fail{color:#cf222e;font-weight:600}"
	".pass{color:#0a7d33;font-weight:600}.dim{color:#59636e}\n"
	"@media(prefers-color-scheme:dark){body{background:#0d1117;color:#f0f6fc}td,th{border-color:#2a313c}"
	".bad,.fail{color:#ff6a69}.pass{color:#3fb950}.dim{color:#9198a1}}\n"
	"</style></head><body>\n";

void report_escape(const char *text, FILE *out)
{
	for (; *text; text++) {
		if (*text == '&')
			fputs("&amp;", out);
		else if (*text == '<')
			fputs("&lt;", out);
		else if (*text == '>')
			fputs("&gt;", out);
		else if (*text == '"')
			fputs("&quot;", out);
		else
			putc(*text, out);
	}
}

static void html_cell(FILE *out, const char *tag, const char *class, const char *text)
{
	fprintf(out, "<%s class=\"%s\">", tag, class);
	report_escape(text, out);
	fprintf(out, "</%s>", tag);
}

static void html_row(const struct report *report, const struct figure *row, FILE *out)
{
	fputs("<tr>", out);
	html_cell(out, "td", "", row->name);
	for (int r = 0; r < RUN_COUNT; r++) {
		const struct figure *figure;
		char text[112] = "-";

		if (!report_is_column(report, r))
			continue;
		figure = figures_find(&report->run[r].figures, row->key);
		if (figure)
			figure_format(figure, text, sizeof(text));
		html_cell(out, "td", figure && figure_broken(figure) ? "n bad" : "n", text);
	}
	fputs("</tr>\n", out);
}

static void html_figures(const struct report *report, FILE *out)
{
	fputs("<h2>Figures</h2>\n<table><tr><th></th>", out);
	for (int r = 0; r < RUN_COUNT; r++)
		if (report_is_column(report, r))
			html_cell(out, "th", "n", report_label(r));
	fputs("</tr>\n", out);
	for (int r = 0; r < RUN_COUNT; r++)
		for (int i = 0; report_is_column(report, r) && i < report->run[r].figures.count; i++)
			if (report_row_is_first(report, r, i))
				html_row(report, &report->run[r].figures.figure[i], out);
	fputs("</table>\n", out);
}

/* From shortly before the storm to the end of the run. */
static void html_events(const struct report_run *run, const char *name, const struct events *events, FILE *out)
{
	double end = (double)run->board->end_ns / 1e9;
	char text[32];

	if (!events->count)
		return;
	fprintf(out, "<h2>What the shield did when and why, %s</h2>\n<table>\n", name);
	for (size_t i = 0; i < events->count; i++) {
		const struct event *event = &events->event[i];

		if (event->t > end + 1)
			continue;
		snprintf(text, sizeof(text), "%.2f s", event->t);
		fputs("<tr>", out);
		html_cell(out, "td", event->t < 0 ? "n dim" : "n", text);
		html_cell(out, "td", event->t < 0 ? "dim" : "", event->text);
		fputs("</tr>\n", out);
	}
	fputs("</table>\n", out);
}

static void html_page(const struct report *report, const struct events events[RUN_COUNT], FILE *out)
{
	fprintf(out, html_head, report->drill->name);
	report_svg_draw(report, events, out);
	fputs("<p>", out);
	html_cell(out, "span", report->passed ? "pass" : "fail", report->passed ? "PASS" : "FAIL");
	fputs(": ", out);
	report_escape(report->reason, out);
	fputs("</p>\n", out);
	report_compared_html(report, out);
	html_figures(report, out);
	for (int r = 0; r < RUN_COUNT; r++)
		if (report->run[r].ran)
			html_events(&report->run[r], report_name(r), &events[r], out);
	fputs("<p class=\"dim\">Times are seconds since the storm began. Ticks below the curves are the lines of the "
	      "tables: point at one to read it.</p>\n</body></html>\n",
	      out);
}

int report_html(const struct report *report, int log_fd, const char *path)
{
	struct events events[RUN_COUNT] = {0};
	FILE *out = fopen(path, "we");
	int ret = out ? 0 : -errno;

	for (int r = 0; !ret && r < RUN_COUNT; r++) {
		const struct report_run *run = &report->run[r];

		if (run->ran)
			ret = events_read(log_fd, run->log_from, run->log_to,
					  run->realtime_s + (double)run->board->start_ns / 1e9, &events[r]);
	}
	if (!ret) {
		html_page(report, events, out);
		ret = ferror(out) ? -EIO : 0;
	}
	if (out && fclose(out) && !ret)
		ret = -errno;
	if (out && ret)
		unlink(path);
	for (int r = 0; r < RUN_COUNT; r++)
		free(events[r].event);
	return ret;
}
