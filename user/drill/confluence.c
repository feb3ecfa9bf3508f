// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An editing service, 2021: all clients were moved to a new stack, which was not there at first and then cold: it
 * answered slowly, and the clients' retries kept it from ever getting warm, until staff blocked the traffic.
 */
#include <string.h>

#include "drill/kit.h"

#define CONFLUENCE_WORKERS 20
#define CONFLUENCE_AWAY_S 3
#define CONFLUENCE_WARM_S 20 /* it takes so long from cold to warm */
#define CONFLUENCE_COLD 0.25
/* The old stack is in service before it goes, so that the shield has seen it. */
#define CONFLUENCE_SERVICE_NS 1500000000ull
#define CONFLUENCE_SPREAD_NS 500000000ull
#define CONFLUENCE_RATIO_MAX 1.25
#define CONFLUENCE_LIMIT_RATIO 2.5
#define CONFLUENCE_HOLD_DOWN "hold-down=30s"

static const struct drill_params confluence_params = {
	.name = "confluence",
	.clients = 6000,
	.drop_ppm = 1000000,
	.patience_ns = 5000000000,
	.retry = {.kind = RETRY_FIXED, .base_ns = 1000000000},
	.rtt_min_ns = 5000000,
	.rtt_max_ns = 50000000,
	.cost_ns = 50000000,
	.seed = 1,
	.port = 8000,
	.runs = RUN_BIT(RUN_WITHOUT) | RUN_BIT(RUN_WITH),
};

static const struct profile confluence_old;
/* What there is to be had: nothing, then the new stack from cold to warm. */
static const struct profile confluence_new = {.points = 3,
					      .point = {{CONFLUENCE_AWAY_S, 0},
							{CONFLUENCE_AWAY_S, CONFLUENCE_COLD},
							{CONFLUENCE_AWAY_S + CONFLUENCE_WARM_S, 1}}};

static const struct pool_job confluence_stack[2] = {{.workers = CONFLUENCE_WORKERS, .profile = &confluence_old},
						    {.workers = CONFLUENCE_WORKERS, .profile = &confluence_new}};

static const struct drill_params *confluence_defaults(const struct drill_params *given, unsigned int set)
{
	(void)given;
	(void)set;
	return &confluence_params;
}

static bool confluence_over(const struct run *run)
{
	return run_all_served(run) ||
	       (board_seconds(run->board) > CONFLUENCE_RATIO_MAX * run->board->ideal_s && run_collapsed(run));
}

static int confluence_shield(struct run *run)
{
	/* Unless the command line has a word of its own on it. */
	for (char **key = run->params->keys; key && *key; key++)
		if (!strncmp(*key, "hold-down=", 10))
			return run_shield(run, 0);
	return run_shield(run, 0) ? -1 : shield_command(&run->shield[0], "set", SHIELD_SERVICE, CONFLUENCE_HOLD_DOWN);
}

static int confluence_script(struct run *run)
{
	const struct profile_load load = {.clients = run->params->clients,
					  .spread_s = CONFLUENCE_SPREAD_NS / 1e9,
					  .nodes = 1,
					  .capacity = pool_capacity(&confluence_stack[0], run->params),
					  .profile = &confluence_new};
	struct world_actor *old = run_pool(run, &confluence_stack[0]);
	int ret;

	run_expect(run, &load);
	if (!old || (run->board->run == RUN_WITH && confluence_shield(run)))
		return -1;
	if (run_crowd(run, &(struct client_job){.count = run->board->dropped,
						.server = net_node_addr(0),
						.closes = true,
						.spread_ns = CONFLUENCE_SPREAD_NS}))
		return -1;
	world_sleep_until(board_now_ns() + CONFLUENCE_SERVICE_NS);
	world_dismiss(run->world, old);
	if (run_begin(run))
		return -1;
	run_tell(run, 0, 'G');
	if (run_for(run, CONFLUENCE_AWAY_S))
		return -1;
	if (!run_pool(run, &confluence_stack[1]))
		return -1;
	run_mark(run, "the new stack is there");
	ret = run_until(run, confluence_over,
			(run->params->seconds ? run->params->seconds : CONFLUENCE_LIMIT_RATIO * run->board->ideal_s) -
				CONFLUENCE_AWAY_S);
	if (ret < 0)
		return -1;
	return run_end(run, run_all_served(run) ? BOARD_ALL_SERVED : ret ? BOARD_OUT_OF_TIME : BOARD_COLLAPSED);
}

static void confluence_sample(struct run *run, float value[BOARD_SERIES_MAX])
{
	value[0] = board_backlog(run->board);
}

/* The most connections that stood in the server's own queues in the time given, as the samples saw it. */
static double confluence_longest(const struct board *board, double from_s, double to_s)
{
	double longest = 0;

	for (uint32_t i = 0; i < board->samples; i++) {
		const struct board_sample *s = &board->sample[i];

		if (s->t >= from_s && s->t < to_s && s->value[0] > longest)
			longest = s->value[0];
	}
	return longest;
}

static int confluence_figures(const struct board *board, struct figures *figures)
{
	struct figure *first, *longest;
	struct result r;
	int ret = result_compute(board, &r);

	if (ret)
		return ret;
	result_figures(&r, figures);
	first = figures_add(figures, "queue.first_second", "server's queue, first second", FIGURE_COUNT,
			    confluence_longest(board, CONFLUENCE_AWAY_S, CONFLUENCE_AWAY_S + 1));
	longest = figures_add(figures, "queue.longest", "server's queue, longest", FIGURE_COUNT,
			      confluence_longest(board, 0, board->end_ns / 1e9));
	result_judge(&r, CONFLUENCE_RATIO_MAX, params_same_incident(board->params, &confluence_params), figures);
	if (board->run == RUN_WITHOUT)
		return 0;
	figure_judge(figures_get(figures, "failures.refused"), FIGURE_AT_MOST, 0);
	/* A slow start: not more at once than a cold stack does in a second; and no melt-down later. */
	figure_judge(first, FIGURE_AT_MOST, CONFLUENCE_COLD * board_capacity(board));
	figure_judge(longest, FIGURE_AT_MOST, 2 * board_capacity(board));
	return 0;
}

const struct drill drill_confluence = {
	.name = "confluence",
	.doc = "all clients are moved to a stack that is away, then cold",
	.title = "a cut-over to a cold stack",
	.come = "connect at once to a stack that, when warm, manages",
	.defaults = confluence_defaults,
	.plan = {.nodes = 1},
	.series = {{"backlog", "in the server's queues"}},
	.script = confluence_script,
	.sample = confluence_sample,
	.figures = confluence_figures,
};
