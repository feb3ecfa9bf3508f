// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Twingate, 2021: the relays of all clusters were restarted in parallel, every client needed a new token at once, and
 * the health checker took the busy controllers for dead and restarted them, again and again, with all that was in
 * progress.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "drill/kit.h"

#define TWINGATE_STEPS 10 /* of a token: all requests in progress share the CPU */
#define TWINGATE_PROBE_COST_NS 100000
#define TWINGATE_RESTARTS_MAX 4 /* seen enough */
#define TWINGATE_RATIO_MAX 1.25

static const struct drill_params twingate_params = {
	.name = "twingate",
	.clients = 3000,
	.patience_ns = 10000000000,
	.retry = {.kind = RETRY_FIXED, .base_ns = 500000000},
	.rtt_min_ns = 10000000,
	.rtt_max_ns = 100000000,
	.cost_ns = 5000000,
	.seed = 1,
	.port = 8000,
	.runs = RUN_BIT(RUN_WITHOUT) | RUN_BIT(RUN_WITH),
};

static const struct drill_params *twingate_defaults(const struct drill_params *given, unsigned int set)
{
	(void)given;
	(void)set;
	return &twingate_params;
}

/* As orchestrators do it: three probes in a row without an answer within a second. */
static struct checker_job twingate_checker = {
	.interval_ns = 2000000000,
	.timeout_ns = 1000000000,
	.fall = 3,
	.grace_ns = 4000000000,
};

static struct supervisor_job twingate_controller = {
	.server = {.closes = true, .steps = TWINGATE_STEPS, .probe_cost_ns = TWINGATE_PROBE_COST_NS},
	.down_ns = 3000000000,
};

static uint32_t twingate_restarts(const struct board *board)
{
	return BOARD_GET(board->node[0].server.starts) - board->node[0].before.starts;
}

static bool twingate_over(const struct run *run)
{
	return run_all_served(run) || twingate_restarts(run->board) >= TWINGATE_RESTARTS_MAX;
}

static int twingate_open(struct run *run)
{
	struct board *board = run->board;
	int orders[2];

	if (pipe2(orders, O_CLOEXEC))
		return board_fail(board, NULL, "cannot create a pipe: %s", strerror(errno));
	twingate_controller.orders = orders[0];
	twingate_checker.orders = orders[1];
	twingate_checker.addr = net_node_addr(0);
	if (run_supervise(run, &twingate_controller) || run_measure(run, net_node_addr(0), 1) || run_witness(run, 0) ||
	    run_crowd(run, &(struct client_job){.count = board->dropped, .server = net_node_addr(0), .closes = true}))
		return -1;
	if (board->run != RUN_WITHOUT &&
	    (run_shield(run, 0) ||
	     shield_command(&run->shield[0], "allow", "add", NET_CHECKER_TEXT, "--note", "health checks")))
		return -1;
	return run_check(run, &twingate_checker);
}

static int twingate_script(struct run *run)
{
	int ret;

	if (twingate_open(run))
		return -1;
	run_begin(run);
	run_tell(run, 0, 'G');
	ret = run_until(run, twingate_over, run_limit_seconds(run));
	if (ret < 0)
		return -1;
	return run_end(run, run_all_served(run) ? BOARD_ALL_SERVED : ret ? BOARD_OUT_OF_TIME : BOARD_COLLAPSED);
}

static void twingate_sample(struct run *run, float value[BOARD_SERIES_MAX])
{
	value[0] = twingate_restarts(run->board);
}

static int twingate_figures(const struct board *board, struct figures *f)
{
	const struct board_checker *checker = &board->node[0].checker;
	bool claimed = params_same_incident(board->params, &twingate_params);
	uint32_t restarts = board->node[0].after.starts - board->node[0].before.starts;
	uint64_t spent_ns = board->node[0].after.spent_ns - board->node[0].before.spent_ns;
	struct figure *figure;
	struct result r;
	int ret = result_compute(board, &r);

	if (ret)
		return ret;
	/* Work on tokens that were never finished is in vain, too. */
	if (spent_ns)
		r.wasted_percent = 100 - 100.0 * r.served * board->params->cost_ns / spent_ns;
	result_figures(&r, f);
	result_judge(&r, TWINGATE_RATIO_MAX, claimed, f);
	figure = figures_add(f, "controller.restarts", "restarts of the controller", FIGURE_COUNT, restarts);
	if (board->run != RUN_WITHOUT)
		figure_judge(figure, FIGURE_AT_MOST, 0);
	else if (claimed)
		figure_judge(figure, FIGURE_AT_LEAST, 2);
	figure = figures_add(f, "probes.lost", "health checks lost", FIGURE_COUNT, checker->lost);
	figure->of = checker->sent;
	if (board->run != RUN_WITHOUT)
		figure_judge(figure, FIGURE_AT_MOST, 0);
	figures_add(f, "probes.sent", NULL, FIGURE_COUNT, checker->sent);
	figure = figures_add(f, "probes.longest_seconds", "longest answered health check", FIGURE_MS,
			     checker->answered ? checker->longest_ns / 1e6 : FIGURE_NONE);
	if (restarts)
		snprintf(f->line[0], sizeof(f->line[0]), "served %u, restarted %u times in %.0f s", r.served, restarts,
			 r.lasted_s);
	return 0;
}

const struct drill drill_twingate = {
	.name = "twingate",
	.doc = "a health checker restarts a controller that is only busy",
	.title = "a controller that everybody asks at once, under a health checker",
	.defaults = twingate_defaults,
	.plan = {.nodes = 1},
	.series = {{"restarts", "restarts of the controller"}},
	.script = twingate_script,
	.sample = twingate_sample,
	.figures = twingate_figures,
};
