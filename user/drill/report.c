// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/report.h"

#include <errno.h>
#include <inttypes.h>
#include <libsmartcols/libsmartcols.h>
#include <string.h>

static const struct {
	const char *key, *column, *name, *label;
} report_runs[RUN_COUNT] = {
	[RUN_WITHOUT] = {"without", "WITHOUT", "without the shield", "without"},
	[RUN_WITH] = {"with", "WITH", "with the shield", "with synhold"},
	[RUN_RAMP] = {"ramp", "RAMP", "recovered by close and ramp", "close and ramp"},
	[RUN_NFTABLES] = {"nftables", "NFTABLES", "with nftables limit", "nftables limit"},
	[RUN_HASHLIMIT] = {"hashlimit", "HASHLIMIT", "with iptables hashlimit", "iptables hashlimit"},
	[RUN_SYNPROXY] = {"synproxy", "SYNPROXY", "with iptables SYNPROXY", "iptables SYNPROXY"},
	[RUN_HAPROXY] = {"haproxy", "HAPROXY", "with HAProxy maxconn", "HAProxy maxconn"},
};

const char *report_key(enum drill_run run)
{
	return report_runs[run].key;
}

const char *report_name(enum drill_run run)
{
	return report_runs[run].name;
}

const char *report_label(enum drill_run run)
{
	return report_runs[run].label;
}

double report_span_s(const struct report *report)
{
	double span = report->ideal_s;

	for (int r = 0; r < RUN_COUNT; r++)
		if (report->run[r].ran && report->run[r].board->end_ns / 1e9 > span)
			span = report->run[r].board->end_ns / 1e9;
	return span;
}

static int report_columns(const struct report *report, struct libscols_table *table)
{
	if (!scols_table_new_column(table, "", 0, 0))
		return -ENOMEM;
	for (int r = 0; r < RUN_COUNT; r++)
		if (report_is_column(report, r) &&
		    !scols_table_new_column(table, report_runs[r].column, 0, SCOLS_FL_RIGHT))
			return -ENOMEM;
	return 0;
}

static int report_row(const struct report *report, struct libscols_table *table, const struct figure *row)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	int column = 1, ret = line ? scols_line_set_data(line, 0, row->name) : -ENOMEM;

	for (int r = 0; !ret && r < RUN_COUNT; r++) {
		const struct figure *figure;
		char text[112] = "-";

		if (!report_is_column(report, r))
			continue;
		figure = figures_find(&report->run[r].figures, row->key);
		if (figure)
			figure_format(figure, text, sizeof(text) - 2);
		if (figure && figure_broken(figure))
			strcat(text, " !");
		ret = scols_line_set_data(line, column++, text);
	}
	return ret;
}

bool report_is_column(const struct report *report, enum drill_run run)
{
	return report->run[run].ran && (!rival_is(run) || !(report->params->runs & ~RUN_RIVALS));
}

bool report_row_is_first(const struct report *report, enum drill_run run, int figure)
{
	const struct figure *row = &report->run[run].figures.figure[figure];
	bool seen = !row->name;

	for (unsigned int before = 0; before < run; before++)
		seen |= report_is_column(report, before) && figures_find(&report->run[before].figures, row->key);
	return !seen;
}

/* Every figure with a name, in the order of the first run that has it. */
int report_table(const struct report *report, FILE *out)
{
	struct libscols_table *table = scols_new_table();
	int ret;

	if (!table)
		return -ENOMEM;
	scols_table_set_stream(table, out);
	ret = report_columns(report, table);
	for (int r = 0; !ret && r < RUN_COUNT; r++) {
		const struct figures *figures = &report->run[r].figures;

		for (int i = 0; !ret && report_is_column(report, r) && i < figures->count; i++)
			if (report_row_is_first(report, r, i))
				ret = report_row(report, table, &figures->figure[i]);
	}
	if (!ret)
		ret = scols_print_table(table);
	scols_unref_table(table);
	return ret;
}

void report_shield(const struct report *report, FILE *out)
{
	for (int r = 0; r < RUN_COUNT; r++) {
		struct board_shield s;

		if (!report->run[r].ran)
			continue;
		s = board_shields(report->run[r].board);
		if (!s.known)
			continue;
		fprintf(out,
			"\n%s: %" PRIu64 " SYNs seen: %" PRIu64 " admitted, %" PRIu64 " held, %" PRIu64
			" dropped, %" PRIu64 " rejected; queue: %" PRIu64 " entered, %" PRIu64 " released, %" PRIu64
			" discarded, at most %" PRIu64 "\nhandshakes: %" PRIu64 " started: %" PRIu64
			" settled, %" PRIu64 " abandoned, %" PRIu64 " expired; the window ended at %" PRId64
			"; %.1f s of CPU\n",
			report_runs[r].name, s.seen, s.admitted, s.held_syns, s.dropped, s.rejected, s.entered,
			s.released, s.discarded, s.held_peak, s.started, s.settled, s.abandoned, s.expired, s.window,
			s.cpu_ns / 1e9);
	}
}
