// SPDX-License-Identifier: GPL-2.0-or-later
/* The shield beside what else people use: one row a run, for people, pages and scripts. */
#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <math.h>
#include <string.h>

#include "drill/report.h"

#define COMPARED_CELLS 7

static const char *const compared_head[COMPARED_CELLS] = {
	"RUN", "ALL BACK IN", "X IDEAL", "BACK", "WORKED ON IN VAIN", "LOST PROBES", "BEST SETTING",
};

static const char *const compared_key[COMPARED_CELLS] = {
	[1] = "drain_seconds", [2] = "ratio", [3] = "served", [4] = "in_vain", [5] = "probes.lost",
};

const char *report_setting(const struct report *report, enum drill_run run)
{
	return report->run[run].ran ? report->run[run].board->setting_text : "";
}

static bool compared_row(const struct report *report, enum drill_run run)
{
	return report->run[run].ran || report->run[run].absent[0];
}

static void compared_cell(const struct report *report, enum drill_run which, int cell, char *text, size_t size)
{
	const struct report_run *run = &report->run[which];
	const struct figure *figure = NULL;

	snprintf(text, size, "-");
	if (cell == 0)
		snprintf(text, size, "%s", report_label(which));
	else if (cell == COMPARED_CELLS - 1)
		snprintf(text, size, "%s", run->ran ? report_setting(report, which) : run->absent);
	else if (run->ran)
		figure = figures_find(&run->figures, compared_key[cell]);
	if (figure)
		figure_format(figure, text, size);
}

int report_compared(const struct report *report, FILE *out)
{
	struct libscols_table *table;
	char text[BOARD_TEXT_MAX];
	int ret = 0;

	if (!report->params->compare)
		return 0;
	table = scols_new_table();
	if (!table)
		return -ENOMEM;
	scols_table_set_stream(table, out);
	for (int i = 0; !ret && i < COMPARED_CELLS; i++)
		if (!scols_table_new_column(table, compared_head[i], 0,
					    i && i < COMPARED_CELLS - 1 ? SCOLS_FL_RIGHT : 0))
			ret = -ENOMEM;
	for (int r = 0; !ret && r < RUN_COUNT; r++) {
		struct libscols_line *line = compared_row(report, r) ? scols_table_new_line(table, NULL) : NULL;

		for (int i = 0; line && !ret && i < COMPARED_CELLS; i++) {
			compared_cell(report, r, i, text, sizeof(text));
			ret = scols_line_set_data(line, i, text);
		}
	}
	fputc('\n', out);
	if (!ret)
		ret = scols_print_table(table);
	scols_unref_table(table);
	return ret;
}

void report_compared_html(const struct report *report, FILE *out)
{
	char text[BOARD_TEXT_MAX];

	if (!report->params->compare)
		return;
	fputs("<h2>Compared</h2>\n<table><tr>", out);
	for (int i = 0; i < COMPARED_CELLS; i++)
		fprintf(out, "<th>%s</th>", compared_head[i]);
	fputs("</tr>\n", out);
	for (int r = 0; r < RUN_COUNT; r++) {
		if (!compared_row(report, r))
			continue;
		fputs("<tr>", out);
		for (int i = 0; i < COMPARED_CELLS; i++) {
			compared_cell(report, r, i, text, sizeof(text));
			fputs(i && i < COMPARED_CELLS - 1 ? "<td class=\"n\">" : "<td>", out);
			report_escape(text, out);
			fputs("</td>", out);
		}
		fputs("</tr>\n", out);
	}
	fputs("</table>\n", out);
}

static json_t *compared_tried(const struct report_run *run)
{
	json_t *tried = json_array();

	for (unsigned int i = 0; i < run->tries; i++) {
		const struct report_try *try = &run->tried[i];

		json_array_append_new(tried,
				      json_pack("{ss sI sI so}", "setting", try->setting, "served",
						(json_int_t)try->served, "hits", (json_int_t)try->hits, "drain_seconds",
						isnan(try->drain_s) ? json_null() : json_real(try->drain_s)));
	}
	return tried;
}

json_t *report_compared_json(const struct report *report)
{
	json_t *compared;

	if (!report->params->compare)
		return json_null();
	compared = json_object();
	for (int r = RUN_NFTABLES; r < RUN_COUNT; r++) {
		const struct report_run *run = &report->run[r];
		json_t *one = run->ran ? report_json_run(report, run) : NULL;

		if (one) {
			json_object_set_new(one, "setting", json_string(report_setting(report, r)));
			json_object_set_new(one, "tried", compared_tried(run));
		} else if (run->absent[0]) {
			one = json_pack("{ss}", "absent", run->absent);
		} else {
			one = json_null();
		}
		json_object_set_new(compared, report_key(r), one);
	}
	return compared;
}
