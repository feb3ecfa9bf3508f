// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Trello, 2016: a third of all websockets dropped at once, the clients reconnected without back-off, and the servers
 * spent 26 minutes on connections whose clients had given up on them, until staff let them in by a growing share.
 */
#include "drill/kit.h"

#define TRELLO_TALK_EVERY_NS 20000000000ull
#define TRELLO_TALK_TIMEOUT_NS 5000000000ull
#define TRELLO_TALK_COST_NS 1000000ull
#define TRELLO_TALK_P99_MAX_MS 1000 /* with the shield: what nobody takes for an outage */
#define TRELLO_GATHER_SECONDS 30
#define TRELLO_OTHERS 1 /* their group */

/* A third of those who are connected, at the peak: the others keep the server busy. */
static const struct drill_params trello_third = {
	.name = "trello",
	.clients = 9000,
	.drop_ppm = 333334,
	.patience_ns = 5000000000,
	.retry = {.kind = RETRY_FIXED, .base_ns = 1000000000},
	.rtt_min_ns = 10000000,
	.rtt_max_ns = 100000000,
	.cost_ns = 4000000,
	.seed = 1,
	.port = 8000,
	.runs = RUN_BIT(RUN_WITHOUT) | RUN_BIT(RUN_WITH) | RUN_BIT(RUN_RAMP),
};

/* Everyone, from nothing: the herd alone. */
static const struct drill_params trello_herd = {
	.name = "trello",
	.clients = 6000,
	.drop_ppm = 1000000,
	.patience_ns = 5000000000,
	.retry = {.kind = RETRY_FIXED, .base_ns = 1000000000},
	.rtt_min_ns = 10000000,
	.rtt_max_ns = 100000000,
	.cost_ns = 2000000,
	.seed = 1,
	.port = 8000,
	.runs = RUN_BIT(RUN_WITHOUT) | RUN_BIT(RUN_WITH),
};

static const struct drill_params *trello_defaults(const struct drill_params *given, unsigned int set)
{
	return set & 1u << OPT_DROP && given->drop_ppm == 1000000 ? &trello_herd : &trello_third;
}

static const struct drill_params *trello_defaults_of(const struct drill_params *params)
{
	return trello_defaults(params, 1u << OPT_DROP);
}

/* From here on the shield has to show: a late one after the server is done with what it had accepted. */
static double trello_shield_from(const struct board *board)
{
	if (!board->attached_ns)
		return board->params->attach_at_ns / 1e9;
	return board->attached_ns / 1e9 + board->attached_backlog / board_capacity(board);
}

static bool trello_over(const struct run *run)
{
	const struct board *board = run->board;
	double lost_from = 0;

	/* Before this the run with the shield may still turn out well. */
	if (board->run != RUN_WITHOUT)
		lost_from = board->params->attach_at_ns ?
				    trello_shield_from(board) + RESULT_LATE_RATIO_MAX * board_ideal_seconds(board) :
				    RESULT_RATIO_MAX * board_ideal_seconds(board);
	return run_all_served(run) || (board_seconds(board) >= lost_from && run_collapsed(run));
}

static int trello_open(struct run *run)
{
	static struct server_job server;

	server = (struct server_job){.lazy = run->params->lazy, .talk_cost_ns = TRELLO_TALK_COST_NS};
	if (run_serve(run, &server) || run_measure(run, net_node_addr(0), 1) || run_witness(run, 0))
		return -1;
	return run_crowd(run, &(struct client_job){.count = run->board->dropped, .server = net_node_addr(0)});
}

static int trello_herd_script(struct run *run)
{
	uint64_t attach_at_ns = run->params->attach_at_ns;
	double late = 0;
	int ret;

	if (trello_open(run))
		return -1;
	if (run->board->run == RUN_WITH && !attach_at_ns && run_shield(run, 0))
		return -1;
	run_begin(run);
	run_tell(run, 0, 'G');
	if (run->board->run == RUN_WITH && attach_at_ns) {
		if (run_for(run, attach_at_ns / 1e9) || run_shield(run, 0))
			return -1;
		late = trello_shield_from(run->board) - board_seconds(run->board);
	}
	ret = run_until(run, trello_over, late + run_limit_seconds(run));
	if (ret < 0)
		return -1;
	return run_end(run, run_all_served(run) ? BOARD_ALL_SERVED : ret ? BOARD_OUT_OF_TIME : BOARD_COLLAPSED);
}

static int trello_script(struct run *run)
{
	return trello_herd_script(run);
}

static int trello_figures(const struct board *board, struct figures *figures)
{
	struct result r;
	int ret = result_compute(board, &r);

	if (ret)
		return ret;
	result_figures(&r, figures);
	result_judge(&r, RESULT_RATIO_MAX, params_same_incident(board->params, trello_defaults_of(board->params)),
		     figures);
	return 0;
}

const struct drill drill_trello = {
	.name = "trello",
	.doc = "a third of the connections drops at the peak and reconnects without back-off; the others go on "
	       "working; then the same, recovered by close and ramp",
	.title = "a reconnect storm",
	.defaults = trello_defaults,
	.options = 1u << OPT_DROP | 1u << OPT_SERVER | 1u << OPT_ATTACH_AT,
	.plan = {.nodes = 1},
	.script = trello_script,
	.figures = trello_figures,
};
