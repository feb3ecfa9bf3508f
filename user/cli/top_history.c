// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/top.h"

double top_point(const struct top_row *row, enum top_curve curve, unsigned int i)
{
	if (i >= row->filled)
		return -1;
	return row->curve[curve][(row->next + TOP_HISTORY - 1 - i) % TOP_HISTORY];
}

static void add_point(struct top_row *row)
{
	unsigned int at = row->next;

	row->curve[TOP_SYN][at] = row->syn_pps;
	row->curve[TOP_HELD][at] = row->held;
	row->curve[TOP_WINDOW][at] = row->window ? (double)row->window : -1;
	row->curve[TOP_DELAY][at] = row->first_byte_s;
	row->next = (at + 1) % TOP_HISTORY;
	if (row->filled < TOP_HISTORY)
		row->filled++;
}

/* Counters start anew when a service of another name takes the place: then there is no rate for one look. */
static double rate(uint64_t now, uint64_t before, double seconds)
{
	return seconds > 0 && now >= before ? (double)(now - before) / seconds : -1;
}

static double delay(const struct synhold_delays *now, const struct synhold_delays *before)
{
	uint64_t since[SYNHOLD_HIST_BUCKETS];

	for (unsigned int i = 0; i < SYNHOLD_HIST_BUCKETS; i++)
		since[i] = now->first_byte[i] >= before->first_byte[i] ? now->first_byte[i] - before->first_byte[i] : 0;
	return snapshot_quantile(since, 0.99);
}

static const char *limit(const struct synhold_counters *now, const struct synhold_counters *before)
{
	const char *worst = NULL;
	uint64_t most = 0;

	for (unsigned int i = 0; i < SYNHOLD_REASON_COUNT; i++) {
		uint64_t since =
			now->over_limit[i] + now->would_limit[i] - before->over_limit[i] - before->would_limit[i];

		if (since > most && since < 1ULL << 63) {
			most = since;
			worst = snapshot_reason_name(i);
		}
	}
	return worst;
}

static void look_at(struct top_row *row, const struct snapshot_service *svc, double seconds)
{
	row->id = svc->id;
	row->state = svc->state;
	row->suspended = svc->suspended;
	row->stalled = svc->stalled;
	row->bypass = svc->bypass;
	row->confirm_pending = svc->confirm_pending;
	row->window = svc->window;
	row->inflight = svc->inflight;
	row->held = svc->runtime.held;
	row->rate_pps = svc->policy.rate_pps;
	row->syn_pps = rate(svc->count.seen, row->count.seen, seconds);
	row->in_pps = rate(svc->count.verdict[SYNHOLD_VERDICT_ADMIT] + svc->tally.released,
			   row->count.verdict[SYNHOLD_VERDICT_ADMIT] + row->released, seconds);
	row->settled_pps =
		rate(svc->count.outcome[SYNHOLD_OUTCOME_SETTLED], row->count.outcome[SYNHOLD_OUTCOME_SETTLED], seconds);
	row->late_pps = rate(svc->count.late, row->count.late, seconds);
	row->first_byte_s = seconds > 0 ? delay(&svc->delays, &row->delays) : -1;
	row->limit = seconds > 0 ? limit(&svc->count, &row->count) : NULL;
	row->offenders = svc->offender_count < TOP_OFFENDERS ? (unsigned int)svc->offender_count : TOP_OFFENDERS;
	memcpy(row->offender, svc->offender, row->offenders * sizeof(row->offender[0]));
	row->count = svc->count;
	row->delays = svc->delays;
	row->released = svc->tally.released;
	add_point(row);
}

static const struct top_row *row_of(const struct top *top, const char *name)
{
	for (unsigned int i = 0; i < top->rows; i++)
		if (!strcmp(top->row[i].name, name))
			return &top->row[i];
	return NULL;
}

static void name_interfaces(struct top *top, const struct snapshot *snap)
{
	size_t used = 0;

	top->interfaces[0] = '\0';
	for (unsigned int i = 0; i < snap->interface_count; i++) {
		const struct deploy_interface *iface = &snap->interface[i];
		int n = snprintf(top->interfaces + used, sizeof(top->interfaces) - used, "%s%s %s", used ? ", " : "",
				 iface->name,
				 !iface->present ? "gone" :
				 iface->generic  ? "generic" :
						   "native");

		if (n < 0 || used + (size_t)n >= sizeof(top->interfaces)) {
			top->interfaces[used] = '\0';
			return;
		}
		used += (size_t)n;
	}
}

int top_look(struct top *top, const struct snapshot *snap)
{
	struct top_row *row = snap->service_count ? calloc(snap->service_count, sizeof(*row)) : NULL;
	char selected[SYNHOLD_NAME_LEN] = "";

	if (snap->service_count && !row)
		return -ENOMEM;
	if (top->selected < top->rows)
		snprintf(selected, sizeof(selected), "%s", top->row[top->selected].name);
	for (unsigned int i = 0; i < snap->service_count; i++) {
		const struct top_row *before = row_of(top, snap->service[i].policy.name);
		double seconds = before ? (double)(snap->now_ns - top->now_ns) / 1e9 : -1;

		if (before)
			row[i] = *before;
		else
			snprintf(row[i].name, sizeof(row[i].name), "%s", snap->service[i].policy.name);
		look_at(&row[i], &snap->service[i], seconds);
	}
	free(top->row);
	top->row = row;
	top->rows = snap->service_count;
	top->selected = 0;
	for (unsigned int i = 0; i < top->rows; i++)
		if (!strcmp(row[i].name, selected))
			top->selected = i;
	snprintf(top->instance, sizeof(top->instance), "%s", snap->instance);
	top->attached = snap->attached;
	top->daemon_alive = snap->daemon_alive;
	top->daemon_pid = snap->daemon_pid;
	top->bypass = snap->bypass_until_ns != 0;
	top->confirm_pending = snap->confirm_deadline_ns != 0;
	top->now_ns = snap->now_ns;
	name_interfaces(top, snap);
	return 0;
}

void top_free(struct top *top)
{
	free(top->row);
	top->row = NULL;
	top->rows = 0;
}
