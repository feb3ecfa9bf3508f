// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An image storage, 2024: a node slowed down, the balancer's probes timed out and marked it down, its load went to the
 * other nodes, which then fell in turn; nodes flapped, and every fall cut the uploads that ran over them.
 */
#include <stdio.h>

#include "drill/kit.h"
#include "drill/progress.h"

#define AMBRA_NODES 4
#define AMBRA_WORKERS 12
#define AMBRA_BUSY 0.85 /* of what all nodes can do: little enough to do without a slow one, too much without one */
#define AMBRA_SLOW_S 3  /* from here on the first node gets slower, over 4 s */
#define AMBRA_WELL_S 25 /* and here it is well again */
#define AMBRA_UPLOADS 40
#define AMBRA_RATIO_MAX 1.25
#define AMBRA_READ_SAMPLES 5 /* ask the front twice a second */
#define AMBRA_LIMIT_RATIO 2.5

static const struct drill_params ambra_params = {
	.name = "ambra",
	.clients = 17500,
	.drop_ppm = 1000000,
	.patience_ns = 5000000000,
	.retry = {.kind = RETRY_FIXED, .base_ns = 1000000000},
	.cost_ns = 80000000,
	.seed = 1,
	.port = 8000,
	.runs = RUN_BIT(RUN_WITHOUT) | RUN_BIT(RUN_WITH),
};

/* The first node: ever slower, then at 15 %, then well again. */
static const struct profile ambra_slow = {
	.points = 4, .point = {{AMBRA_SLOW_S, 1}, {AMBRA_SLOW_S + 4, 0.15}, {AMBRA_WELL_S, 0.15}, {AMBRA_WELL_S, 1}}};
static const struct profile ambra_well;

/* Each probe may take 3 s, and two in a row must be lost: a node must be badly overloaded to be marked down. */
static const struct front_plan ambra_front = {.nodes = AMBRA_NODES, .inter_ms = 3000, .fall = 2, .retries = 3};

static struct pool_job ambra_pool[AMBRA_NODES];

static const struct drill_params *ambra_defaults(const struct drill_params *given, unsigned int set)
{
	(void)given;
	(void)set;
	return &ambra_params;
}

static struct profile_load ambra_load(const struct drill_params *params)
{
	double capacity = pool_capacity(&ambra_pool[0], params);

	return (struct profile_load){.clients = params->clients,
				     .spread_s = params->clients / (AMBRA_BUSY * AMBRA_NODES * capacity),
				     .nodes = AMBRA_NODES,
				     .capacity = capacity,
				     .profile = &ambra_slow};
}

static int ambra_open(struct run *run)
{
	for (int i = 0; i < AMBRA_NODES; i++) {
		ambra_pool[i] = (struct pool_job){.node = i,
						  .workers = AMBRA_WORKERS,
						  .profile = i ? &ambra_well : &ambra_slow};
		if (!run_pool(run, &ambra_pool[i]))
			return -1;
		if (run->board->run == RUN_WITH && (run_shield(run, i) || front_allow(run, i)))
			return -1;
	}
	return front_start(run, &ambra_front);
}

/* Until so many seconds after the beginning, or until all are served: as run_until(). */
static int ambra_pass(struct run *run, double until_s)
{
	return run_until(run, run_all_served, until_s - board_seconds(run->board));
}

static int ambra_script(struct run *run)
{
	static struct upload_job job;
	struct world_actor *uploads;
	struct profile_load load;
	int ret;

	if (ambra_open(run))
		return -1;
	load = ambra_load(run->params);
	run_expect(run, &load);
	job = (struct upload_job){.first = run->params->clients,
				  .count = AMBRA_UPLOADS,
				  .server = htonl(NET_FRONT_ADDR)};
	uploads = world_spawn(run->world, "uploads", WORLD_CLIENTS, 0, upload_actor, &job);
	if (!uploads || world_await(run->world, uploads, 'R', RUN_READY_MS) ||
	    run_crowd(run, &(struct client_job){.count = run->board->dropped,
						.server = htonl(NET_FRONT_ADDR),
						.closes = true,
						.spread_ns = load.spread_s * 1e9}) ||
	    run_begin(run))
		return -1;
	run_tell(run, 0, 'G');
	ret = ambra_pass(run, AMBRA_SLOW_S);
	if (ret > 0) {
		run_mark(run, "a node slows");
		ret = ambra_pass(run, AMBRA_WELL_S);
	}
	if (ret > 0) {
		run_mark(run, "it is well again");
		ret = ambra_pass(run,
				 run->params->seconds ? run->params->seconds : AMBRA_LIMIT_RATIO * run->board->ideal_s);
	}
	front_read(run);
	if (ret < 0 || run_end(run, ret ? BOARD_OUT_OF_TIME : BOARD_ALL_SERVED))
		return -1;
	/* The shields are gone by now, and what ran before them runs on. */
	world_tell(uploads, 'S');
	return world_await(run->world, uploads, 'D', RUN_READY_MS);
}

static void ambra_sample(struct run *run, float value[BOARD_SERIES_MAX])
{
	if (run->board->samples % AMBRA_READ_SAMPLES == 0)
		front_read(run);
	value[0] = run->board->front.up;
	value[1] = board_backlog(run->board);
}

static void ambra_judge(const struct board *board, struct figures *f)
{
	static const char *const zero[] = {"front.marked_down", "front.probes_lost", "uploads.cut"};

	if (board->run == RUN_WITHOUT) {
		/* One of them is the slow one. Nothing is claimed of another incident than ours. */
		if (params_same_incident(board->params, &ambra_params))
			figure_judge(figures_get(f, "front.marked_down"), FIGURE_AT_LEAST, 3);
		return;
	}
	for (size_t i = 0; i < sizeof(zero) / sizeof(zero[0]); i++)
		figure_judge(figures_get(f, zero[i]), FIGURE_AT_MOST, 0);
	figure_judge(figures_get(f, "uploads.finished"), FIGURE_AT_LEAST, AMBRA_UPLOADS);
	figure_judge(figures_get(f, "served"), FIGURE_AT_LEAST, board->dropped);
	figure_judge(figures_get(f, "ratio"), FIGURE_AT_MOST, AMBRA_RATIO_MAX);
}

static int ambra_figures(const struct board *board, struct figures *figures)
{
	struct result r;
	int ret = result_compute(board, &r);

	if (ret)
		return ret;
	result_figures(&r, figures);
	front_figures(board, figures);
	figures_add(figures, "uploads.begun", NULL, FIGURE_COUNT, board->uploads.begun);
	figures_add(figures, "uploads.cut", "uploads cut off", FIGURE_COUNT, board->uploads.cut);
	figures_add(figures, "uploads.finished", "uploads finished", FIGURE_COUNT, board->uploads.finished)->of =
		AMBRA_UPLOADS;
	snprintf(figures->line[1], sizeof(figures->line[1]), "%u times down, %u uploads cut",
		 (unsigned int)board->front.marked_down, board->uploads.cut);
	ambra_judge(board, figures);
	return 0;
}

static const char *const ambra_programs[] = {FRONT_PROGRAM, NULL};

const struct drill drill_ambra = {
	.name = "ambra",
	.doc = "one of four nodes behind a probing balancer slows down",
	.title = "a slow node behind a balancer",
	.come = "come one after the other to four nodes that manage",
	.defaults = ambra_defaults,
	.plan = {.nodes = AMBRA_NODES, .front = true},
	.programs = ambra_programs,
	.series = {{"nodes_up", "nodes up"}, {"backlog", "in the servers' queues"}},
	.script = ambra_script,
	.sample = ambra_sample,
	.figures = ambra_figures,
};
