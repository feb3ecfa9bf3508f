// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/result.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int result_order(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Nearest rank: the smallest value that at least `part` of all do not exceed. */
static double result_quantile(const float *sorted, uint32_t count, double part)
{
	uint32_t rank = part * count;

	if (rank < part * count)
		rank++;
	return count ? sorted[rank ? rank - 1 : 0] : 0;
}

static uint64_t result_missing(const struct board_witness *from, const struct board_witness *to)
{
	return from->sent_bytes > to->received_bytes ? from->sent_bytes - to->received_bytes : 0;
}

static int result_clients(const struct board *board, struct result *r)
{
	float *waits = calloc(r->clients, sizeof(*waits));
	uint64_t last_ns = board->start_ns;

	if (!waits)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->clients; i++) {
		const struct board_client *c = &board->client[i];

		if (!c->served_ns)
			continue;
		waits[r->served++] = (c->served_ns - c->first_ns) / 1e9;
		if (c->served_ns > last_ns)
			last_ns = c->served_ns;
	}
	r->drain_s = (last_ns - board->start_ns) / 1e9;
	qsort(waits, r->served, sizeof(*waits), result_order);
	r->wait_p50_s = result_quantile(waits, r->served, 0.5);
	r->wait_p99_s = result_quantile(waits, r->served, 0.99);
	free(waits);
	return 0;
}

static void result_late(const struct board *board, struct result *r)
{
	double capacity = board_capacity(board);

	r->late = board->attached_ns;
	if (!r->late || capacity <= 0)
		return;
	r->late_drain_s = r->drain_s - board->attached_ns / 1e9;
	if (r->late_drain_s < 0)
		r->late_drain_s = 0;
	r->late_ideal_s = (r->clients - board->attached_served) / capacity;
	r->late_backlog_s = board->attached_backlog / capacity;
	r->late_ratio = (r->late_drain_s - r->late_backlog_s) / r->ideal_s;
}

static void result_servers(const struct board *board, struct result *r)
{
	uint64_t waited_ns = 0, shield_ns = board_shields(board).cpu_ns;

	for (int i = 0; i < BOARD_NODES_MAX; i++) {
		const struct board_node *node = &board->node[i];

		r->worked += node->after.worked - node->before.worked;
		waited_ns += node->after.waited_ns - node->before.waited_ns;
	}
	r->server_waited_s = waited_ns / 1e9;
	if (waited_ns > shield_ns)
		r->kept_off_s = (waited_ns - shield_ns) / 1e9;
}

int result_compute(const struct board *board, struct result *result)
{
	const struct board_witness *w = board->witness;
	struct result r = {
		.run = board->run,
		.end = board->end,
		.clients = board->dropped,
		.ideal_s = board_ideal_seconds(board),
		.lasted_s = board->end_ns / 1e9,
		.impatient = board->crowd[0].impatient,
		.refused = board->crowd[0].refused,
		.lost = board->crowd[0].lost,
		.syns = board->syns,
		.stall_ms = w[w[0].longest_stall_ns < w[1].longest_stall_ns].longest_stall_ns / 1e6,
		.witness_lost_bytes = result_missing(&w[0], &w[1]) + result_missing(&w[1], &w[0]),
		.witness_corrupt_bytes = w[0].corrupt_bytes + w[1].corrupt_bytes,
		.witness_broken = w[0].broken || w[1].broken,
	};
	int ret = result_clients(board, &r);

	if (ret)
		return ret;
	result_servers(board, &r);
	if (r.ideal_s > 0)
		r.ratio = r.drain_s / r.ideal_s;
	/* A reply may still be on its way as the storm ends: that is no vain work, nor less than none. */
	r.vain = r.worked > r.served ? r.worked - r.served : 0;
	r.wasted_percent = r.worked ? 100.0 * r.vain / r.worked : 0;
	result_late(board, &r);
	*result = r;
	return 0;
}

bool result_incident(const struct result *r)
{
	if (r->served < r->clients)
		return true;
	if (r->late)
		return r->late_ratio > RESULT_LATE_RATIO_MAX;
	return r->ratio > RESULT_RATIO_MAX;
}

static void result_lines(const struct result *r, struct figures *f)
{
	char served[32];

	figure_thousands(r->served, served, sizeof(served));
	if (r->served < r->clients)
		snprintf(f->line[0], sizeof(f->line[0]),
			 r->end == BOARD_COLLAPSED ? "served %s, then none" : "served %s in %.0f s", served,
			 r->lasted_s);
	else if (r->late)
		snprintf(f->line[0], sizeof(f->line[0]), "served all %s, %.1f s after it attached", served,
			 r->late_drain_s);
	else
		snprintf(f->line[0], sizeof(f->line[0]), "served all %s in %.1f s", served, r->drain_s);
	snprintf(f->line[1], sizeof(f->line[1]), "%.0f %% of the work in vain", r->wasted_percent);
}

static void result_late_figures(const struct result *r, bool drained, struct figures *f)
{
	/* A run whose shield came in time has no such figures at all. */
	if (!r->late) {
		figures_add(f, "late", NULL, FIGURE_RATIO, FIGURE_NONE);
		return;
	}
	figures_add(f, "late.drain_seconds", "drain from attach", FIGURE_SECONDS,
		    drained ? r->late_drain_s : FIGURE_NONE);
	figures_add(f, "late.ideal_seconds", NULL, FIGURE_SECONDS, r->late_ideal_s);
	figures_add(f, "late.backlog_seconds", "server's backlog at attach", FIGURE_SECONDS, r->late_backlog_s);
	figures_add(f, "late.ratio", "ratio from attach, backlog aside", FIGURE_RATIO,
		    drained ? r->late_ratio : FIGURE_NONE);
}

void result_figures(const struct result *r, struct figures *f)
{
	bool drained = r->served == r->clients;
	struct figure *drain;

	result_lines(r, f);
	figures_add(f, "incident", "the incident", FIGURE_FLAG, result_incident(r));
	figures_add(f, "clients", NULL, FIGURE_COUNT, r->clients);
	figures_add(f, "served", "clients served", FIGURE_COUNT, r->served)->of = r->clients;
	drain = figures_add(f, "drain_seconds", "drain time", FIGURE_SECONDS, drained ? r->drain_s : FIGURE_NONE);
	drain->instead = r->end == BOARD_COLLAPSED ? "never" : "not in time";
	figures_add(f, "ideal_seconds", "ideal", FIGURE_SECONDS, r->ideal_s);
	figures_add(f, "ratio", "drain time / ideal", FIGURE_RATIO, drained ? r->ratio : FIGURE_NONE);
	result_late_figures(r, drained, f);
	figures_add(f, "collapsed", NULL, FIGURE_FLAG, r->end == BOARD_COLLAPSED);
	figures_add(f, "storm_seconds", NULL, FIGURE_SECONDS, r->lasted_s);
	figures_add(f, "worked", NULL, FIGURE_COUNT, r->worked);
	figures_add(f, "in_vain", "connections worked on in vain", FIGURE_COUNT, r->vain)->of = r->worked;
	figures_add(f, "wasted_percent", "work wasted", FIGURE_PERCENT, r->wasted_percent);
	figures_add(f, "server_waited_seconds", "servers waited for a CPU", FIGURE_SECONDS, r->server_waited_s);
	figures_add(f, "wait_seconds.p50", "wait of the served, p50", FIGURE_SECONDS,
		    r->served ? r->wait_p50_s : FIGURE_NONE);
	figures_add(f, "wait_seconds.p99", "wait of the served, p99", FIGURE_SECONDS,
		    r->served ? r->wait_p99_s : FIGURE_NONE);
	figures_add(f, "failures.patience", "attempts out of patience", FIGURE_COUNT, r->impatient);
	figures_add(f, "failures.refused", "attempts refused or reset", FIGURE_COUNT, r->refused);
	figures_add(f, "failures.cut_off", "served, then cut off", FIGURE_COUNT, r->lost);
	figures_add(f, "syns", "SYNs sent", FIGURE_COUNT, r->syns);
	figures_add(f, "witness.longest_stall_seconds", "witness: longest stall", FIGURE_MS, r->stall_ms);
	figures_add(f, "witness.lost_bytes", "witness: bytes lost", FIGURE_COUNT, r->witness_lost_bytes);
	figures_add(f, "witness.corrupt_bytes", "witness: bytes altered", FIGURE_COUNT, r->witness_corrupt_bytes);
	figures_add(f, "witness.broken", "witness: cut off", FIGURE_FLAG, r->witness_broken);
}

/* NULL for a figure that this run does not have. */
static struct figure *result_find(struct figures *figures, const char *key)
{
	return (struct figure *)figures_find(figures, key);
}

void result_judge(const struct result *r, double ratio_max, bool claimed, struct figures *f)
{
	static const char *const unharmed[] = {"failures.cut_off", "witness.lost_bytes", "witness.corrupt_bytes",
					       "witness.broken"};
	struct figure *ratio;

	if (r->run == RUN_WITHOUT) {
		if (claimed)
			figure_judge(result_find(f, "incident"), FIGURE_AT_LEAST, 1);
		return;
	}
	figure_judge(result_find(f, "served"), FIGURE_AT_LEAST, r->clients);
	for (size_t i = 0; i < sizeof(unharmed) / sizeof(unharmed[0]); i++)
		figure_judge(result_find(f, unharmed[i]), FIGURE_AT_MOST, 0);
	if (r->run == RUN_RAMP) /* how long that may take is the drill's to say */
		return;
	ratio = result_find(f, r->late ? "late.ratio" : "ratio");
	figure_judge(ratio, FIGURE_AT_MOST, r->late ? RESULT_LATE_RATIO_MAX : ratio_max);
	/* Too slow, but not if the server had had the CPU to itself, as while its capacity was measured. */
	if (!r->late && r->ideal_s > 0)
		ratio->excused = (r->drain_s - r->kept_off_s) / r->ideal_s;
}
