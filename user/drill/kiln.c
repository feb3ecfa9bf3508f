// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A code hosting service: a runaway job held most workers of the storage server for a while. The queues before it, in
 * the server, in the proxy and in the kernels, filled with requests whose clients had left; when the job ended, the
 * server worked on those, and more of them came than it could do.
 */
#include <stdio.h>

#include "drill/kit.h"

#define KILN_WORKERS 20
#define KILN_BUSY 0.75 /* of what the server can do without the job */
#define KILN_JOB_BEGIN_S 2
#define KILN_JOB_END_S 12
#define KILN_JOB_LEAVES 0.2
#define KILN_RATIO_MAX 1.25
#define KILN_READ_SAMPLES 5
#define KILN_LIMIT_RATIO 2.5

static const struct drill_params kiln_params = {
	.name = "kiln",
	.clients = 6000,
	.drop_ppm = 1000000,
	.patience_ns = 5000000000,
	.retry = {.kind = RETRY_FIXED, .base_ns = 1000000000},
	.cost_ns = 50000000,
	.seed = 1,
	.port = 8000,
	.runs = RUN_BIT(RUN_WITHOUT) | RUN_BIT(RUN_WITH),
};

static const struct profile kiln_profile = {.points = 4,
					    .point = {{KILN_JOB_BEGIN_S, 1},
						      {KILN_JOB_BEGIN_S, KILN_JOB_LEAVES},
						      {KILN_JOB_END_S, KILN_JOB_LEAVES},
						      {KILN_JOB_END_S, 1}}};

/* There is no other server to ask, so that it is never marked down: the probes only say how it is. */
static const struct front_plan kiln_front = {.nodes = 1, .inter_ms = 2000, .fall = 1000, .retries = 5};

static const struct pool_job kiln_pool = {.workers = KILN_WORKERS, .fewer = true, .profile = &kiln_profile};

static const struct drill_params *kiln_defaults(const struct drill_params *given, unsigned int set)
{
	(void)given;
	(void)set;
	return &kiln_params;
}

static bool kiln_over(const struct run *run)
{
	/* While the job runs, nobody served proves nothing. */
	return run_all_served(run) ||
	       (board_seconds(run->board) > KILN_RATIO_MAX * run->board->ideal_s && run_collapsed(run));
}

static int kiln_script(struct run *run)
{
	double capacity = pool_capacity(&kiln_pool, run->params);
	const struct profile_load load = {.clients = run->params->clients,
					  .spread_s = run->params->clients / (KILN_BUSY * capacity),
					  .nodes = 1,
					  .capacity = capacity,
					  .profile = &kiln_profile};
	int ret;

	run_expect(run, &load);
	if (!run_pool(run, &kiln_pool))
		return -1;
	if (run->board->run == RUN_WITH && (run_shield(run, 0) || front_allow(run, 0)))
		return -1;
	if (front_start(run, &kiln_front) ||
	    run_crowd(run, &(struct client_job){.count = run->board->dropped,
						.server = htonl(NET_FRONT_ADDR),
						.closes = true,
						.spread_ns = load.spread_s * 1e9}) ||
	    run_begin(run))
		return -1;
	run_tell(run, 0, 'G');
	if (run_for(run, KILN_JOB_BEGIN_S))
		return -1;
	run_mark(run, "the job begins");
	if (run_for(run, KILN_JOB_END_S - KILN_JOB_BEGIN_S))
		return -1;
	run_mark(run, "the job ends");
	ret = run_until(run, kiln_over,
			(run->params->seconds ? run->params->seconds : KILN_LIMIT_RATIO * run->board->ideal_s) -
				KILN_JOB_END_S);
	front_read(run);
	if (ret < 0)
		return -1;
	return run_end(run, run_all_served(run) ? BOARD_ALL_SERVED : ret ? BOARD_OUT_OF_TIME : BOARD_COLLAPSED);
}

static void kiln_sample(struct run *run, float value[BOARD_SERIES_MAX])
{
	if (run->board->samples % KILN_READ_SAMPLES == 0)
		front_read(run);
	value[0] = board_backlog(run->board);
}

static int kiln_figures(const struct board *board, struct figures *figures)
{
	struct result r;
	int ret = result_compute(board, &r);

	if (ret)
		return ret;
	result_figures(&r, figures);
	front_figures(board, figures);
	result_judge(&r, KILN_RATIO_MAX, params_same_incident(board->params, &kiln_params), figures);
	if (board->run != RUN_WITHOUT)
		figure_judge(figures_get(figures, "front.probes_lost"), FIGURE_AT_MOST, 0);
	return 0;
}

static const char *const kiln_programs[] = {FRONT_PROGRAM, NULL};

const struct drill drill_kiln = {
	.name = "kiln",
	.doc = "a runaway job fills the queues with requests of the dead",
	.title = "a runaway job takes the workers",
	.come = "come one after the other to a server that manages",
	.defaults = kiln_defaults,
	.plan = {.nodes = 1, .front = true},
	.programs = kiln_programs,
	.series = {{"backlog", "in the server's queues"}},
	.script = kiln_script,
	.sample = kiln_sample,
	.figures = kiln_figures,
};
