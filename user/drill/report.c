// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/report.h"

#include <errno.h>
#include <inttypes.h>
#include <libsmartcols/libsmartcols.h>

/* A figure of a half as text. */
typedef void (*report_cell)(const struct result *r, char *text, size_t size);

static void cell_served(const struct result *r, char *text, size_t size)
{
	snprintf(text, size, "%u of %u", r->served, r->clients);
}

static void cell_drain(const struct result *r, char *text, size_t size)
{
	if (r->served == r->clients)
		snprintf(text, size, "%.1f s", r->drain_s);
	else if (r->end == BOARD_COLLAPSED)
		snprintf(text, size, "never");
	else
		snprintf(text, size, "over %.0f s", r->lasted_s);
}

static void cell_ideal(const struct result *r, char *text, size_t size)
{
	snprintf(text, size, "%.1f s", r->ideal_s);
}

static void cell_ratio(const struct result *r, char *text, size_t size)
{
	if (r->served == r->clients)
		snprintf(text, size, "%.2f", r->ratio);
	else
		snprintf(text, size, "-");
}

static void cell_vain(const struct result *r, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu64 " of %" PRIu64, r->vain, r->worked);
}

static void cell_wasted(const struct result *r, char *text, size_t size)
{
	snprintf(text, size, "%.1f %%", r->wasted_percent);
}

static void cell_waited(const struct result *r, char *text, size_t size)
{
	snprintf(text, size, "%.1f s", r->server_waited_s);
}

static void cell_p50(const struct result *r, char *text, size_t size)
{
	snprintf(text, size, "%.2f s", r->wait_p50_s);
}

static void cell_p99(const struct result *r, char *text, size_t size)
{
	snprintf(text, size, "%.2f s", r->wait_p99_s);
}

static void cell_impatient(const struct result *r, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu64, r->impatient);
}

static void cell_refused(const struct result *r, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu64, r->refused);
}

static void cell_lost(const struct result *r, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu64, r->lost);
}

static void cell_syns(const struct result *r, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu64, r->syns);
}

static void cell_stall(const struct result *r, char *text, size_t size)
{
	if (r->witness_broken)
		snprintf(text, size, "cut off");
	else
		snprintf(text, size, "%.0f ms", r->stall_ms);
}

static void cell_bytes(const struct result *r, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu64 " / %" PRIu64, r->witness_lost_bytes, r->witness_corrupt_bytes);
}

static void cell_late(const struct result *r, char *text, size_t size)
{
	if (!r->late || r->served < r->clients)
		snprintf(text, size, "-");
	else
		snprintf(text, size, "%.1f s", r->late_drain_s);
}

static void cell_backlog(const struct result *r, char *text, size_t size)
{
	snprintf(text, size, r->late ? "%.1f s" : "-", r->late_backlog_s);
}

static void cell_late_ratio(const struct result *r, char *text, size_t size)
{
	snprintf(text, size, r->late && r->served == r->clients ? "%.2f" : "-", r->late_ratio);
}

static const struct {
	const char *name;
	report_cell cell;
	bool late_only;
} report_rows[] = {
	{"clients served", cell_served, false},
	{"drain time", cell_drain, false},
	{"ideal", cell_ideal, false},
	{"ratio", cell_ratio, false},
	{"drain from attach", cell_late, true},
	{"server's backlog at attach", cell_backlog, true},
	{"ratio from attach, backlog aside", cell_late_ratio, true},
	{"connections worked on in vain", cell_vain, false},
	{"work wasted", cell_wasted, false},
	{"server waited for a CPU", cell_waited, false},
	{"wait of the served, p50", cell_p50, false},
	{"wait of the served, p99", cell_p99, false},
	{"attempts out of patience", cell_impatient, false},
	{"attempts refused or reset", cell_refused, false},
	{"served, then cut off", cell_lost, false},
	{"SYNs sent", cell_syns, false},
	{"witness: longest stall", cell_stall, false},
	{"witness: bytes lost / altered", cell_bytes, false},
};

int report_table(const struct report *report, FILE *out)
{
	const struct result *halves[] = {report->without, report->with};
	static const char *const names[] = {"WITHOUT", "WITH"};
	struct libscols_table *table = scols_new_table();
	int ret = table ? 0 : -ENOMEM;

	if (table) {
		scols_table_set_stream(table, out);
		scols_table_new_column(table, "", 0, 0);
	}
	for (int h = 0; !ret && h < 2; h++)
		if (halves[h] && !scols_table_new_column(table, names[h], 0, SCOLS_FL_RIGHT))
			ret = -ENOMEM;
	for (size_t i = 0; !ret && i < sizeof(report_rows) / sizeof(report_rows[0]); i++) {
		struct libscols_line *line;
		int column = 1;

		if (report_rows[i].late_only && !(report->with && report->with->late))
			continue;
		line = scols_table_new_line(table, NULL);
		ret = line ? scols_line_set_data(line, 0, report_rows[i].name) : -ENOMEM;
		for (int h = 0; !ret && h < 2; h++) {
			char text[64];

			if (!halves[h])
				continue;
			report_rows[i].cell(halves[h], text, sizeof(text));
			ret = scols_line_set_data(line, column++, text);
		}
	}
	if (!ret)
		ret = scols_print_table(table);
	scols_unref_table(table);
	return ret;
}

void report_shield(const struct report *report, FILE *out)
{
	const struct board_shield *s = report->shield;

	if (!s || !s->known)
		return;
	fprintf(out,
		"\nshield: %" PRIu64 " SYNs seen: %" PRIu64 " admitted, %" PRIu64 " held, %" PRIu64 " dropped, %" PRIu64
		" rejected; queue: %" PRIu64 " entered, %" PRIu64 " released, %" PRIu64 " discarded, at most %" PRIu64
		"\nhandshakes: %" PRIu64 " started: %" PRIu64 " settled, %" PRIu64 " abandoned, %" PRIu64
		" expired; the window ended at %" PRId64 "; %.1f s of CPU\n",
		s->seen, s->admitted, s->held_syns, s->dropped, s->rejected, s->entered, s->released, s->discarded,
		s->held_peak, s->started, s->settled, s->abandoned, s->expired, s->window, s->cpu_ns / 1e9);
}
