// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Trello, 2016: a third of all websockets dropped at once, the clients reconnected without back-off, and the servers
 * spent 26 minutes on connections whose clients had given up on them, until staff let them in by a growing share.
 */
#include <stdio.h>
#include <string.h>

#include "drill/kit.h"

#define TRELLO_TALK_EVERY_NS 20000000000ull
#define TRELLO_TALK_TIMEOUT_NS 5000000000ull
#define TRELLO_TALK_COST_NS 1000000ull
#define TRELLO_TALK_P99_MAX_MS 1000 /* with the shield: what nobody takes for an outage */
#define TRELLO_GATHER_COST_NS 1000  /* those who are connected at the peak came one by one, long ago */
#define TRELLO_GATHER_EACH_NS 500000ull
#define TRELLO_GATHER_SECONDS 30
#define TRELLO_RATIO_MAX 1.25
#define TRELLO_RAMP_RATIO 1.1 /* the ramp takes so many times the ideal */
#define TRELLO_RAMP_MARK "ramp begins"

enum trello_group { TRELLO_DROPPED, TRELLO_OTHERS };

/* A third of those who are connected, at the peak: the others keep the server busy. */
static const struct drill_params trello_third = {
	.name = "trello",
	.clients = 9000,
	.drop_ppm = 333334,
	.patience_ns = 5000000000,
	.retry = {.kind = RETRY_NOW},
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
	if (board->run == RUN_WITH)
		lost_from = board->params->attach_at_ns ?
				    trello_shield_from(board) + RESULT_LATE_RATIO_MAX * board_ideal_seconds(board) :
				    RESULT_RATIO_MAX * board_ideal_seconds(board);
	return run_all_served(run) || (board_seconds(board) >= lost_from && run_collapsed(run));
}

static bool trello_herd_only(const struct board *board)
{
	return board->dropped == board->params->clients;
}

static bool trello_others_here(const struct run *run)
{
	const struct board *board = run->board;

	return BOARD_GET(board->crowd[TRELLO_OTHERS].served) == board->params->clients - board->dropped;
}

/* Connects a group as it would have connected over hours: at no cost to speak of. */
static int trello_gather(struct run *run, enum trello_group group, bool (*here)(const struct run *))
{
	struct board *board = run->board;
	struct client_job job = {
		.group = group,
		.first = group == TRELLO_OTHERS ? board->dropped : 0,
		.count = group == TRELLO_OTHERS ? board->params->clients - board->dropped : board->dropped,
		.server = group == TRELLO_DROPPED ? rival_server(run) : net_node_addr(0),
		.talk_every_ns = trello_herd_only(board) ? 0 : TRELLO_TALK_EVERY_NS,
		.talk_timeout_ns = TRELLO_TALK_TIMEOUT_NS,
	};
	int ret;

	if (here)
		job.spread_ns = job.count * TRELLO_GATHER_EACH_NS;
	if (run_crowd(run, &job))
		return -1;
	if (!here)
		return 0;
	BOARD_SET(board->node[0].cost_ns, TRELLO_GATHER_COST_NS);
	run_tell(run, group, 'G');
	ret = run_until(run, here, TRELLO_GATHER_SECONDS);
	BOARD_SET(board->node[0].cost_ns, board->params->cost_ns);
	if (ret > 0)
		return board_fail(board, "use fewer --clients", "not all clients connected in %d s before the storm",
				  TRELLO_GATHER_SECONDS);
	return ret;
}

static int trello_open(struct run *run)
{
	static struct server_job server;
	bool herd = trello_herd_only(run->board);

	server = (struct server_job){.lazy = run->params->lazy, .talk_cost_ns = TRELLO_TALK_COST_NS};
	if (run_serve(run, &server) || rival_early(run))
		return -1;
	/* The capacity is what the others' messages leave. */
	if (!herd && trello_gather(run, TRELLO_OTHERS, trello_others_here))
		return -1;
	if (run_measure(run, net_node_addr(0), 1) || run_witness(run, 0) || rival_start(run))
		return -1;
	return trello_gather(run, TRELLO_DROPPED, herd ? NULL : run_all_served);
}

/* Attached when all is lost: nobody new until the servers are done with the dead, then a growing share of the clients.
 */
static int trello_levers(struct run *run)
{
	double ramp_s = TRELLO_RAMP_RATIO * board_ideal_seconds(run->board);
	char over[32];
	int ret;

	ret = run_until(run, trello_over, run_limit_seconds(run));
	if (ret < 0 || run_shield(run, 0) || shield_command(&run->shield[0], "close", SHIELD_SERVICE))
		return -1;
	if (run_until(run, run_backlog_gone, 2 * run_limit_seconds(run)) < 0)
		return -1;
	snprintf(over, sizeof(over), "%.0fms", ramp_s * 1e3);
	run_epoch(run);
	run_mark(run, TRELLO_RAMP_MARK);
	/* In this order nobody slips in between: closed counts more than the share. */
	if (shield_command(&run->shield[0], "ramp", SHIELD_SERVICE, "--from", "0%", "--to", "100%", "--over", over) ||
	    shield_command(&run->shield[0], "open", SHIELD_SERVICE))
		return -1;
	return run_until(run, run_all_served, run_limit_seconds(run));
}

static int trello_storm(struct run *run)
{
	uint64_t attach_at_ns = run->params->attach_at_ns;
	double late = 0;

	if (run->board->run == RUN_RAMP)
		return trello_levers(run);
	if (run->board->run == RUN_WITH && attach_at_ns) {
		if (run_for(run, attach_at_ns / 1e9) || run_shield(run, 0))
			return -1;
		late = trello_shield_from(run->board) - board_seconds(run->board);
	}
	return run_until(run, trello_over, late + run_limit_seconds(run));
}

static int trello_script(struct run *run)
{
	int ret;

	if (trello_open(run))
		return -1;
	if (run->board->run == RUN_WITH && !run->params->attach_at_ns && run_shield(run, 0))
		return -1;
	if (rival_limit(run))
		return -1;
	run_begin(run);
	run_tell(run, TRELLO_DROPPED, trello_herd_only(run->board) ? 'G' : 'X');
	ret = trello_storm(run);
	if (ret < 0)
		return -1;
	return run_end(run, run_all_served(run) ? BOARD_ALL_SERVED : ret ? BOARD_OUT_OF_TIME : BOARD_COLLAPSED);
}

static void trello_sample(struct run *run, float value[BOARD_SERIES_MAX])
{
	const struct board_talk *talk = run->board->crowd[TRELLO_OTHERS].talk;

	value[0] = BOARD_GET(talk[0].late) + BOARD_GET(talk[1].late);
}

/* The others' messages; where staff recovered it, those from the ramp on. */
static void trello_others(const struct board *board, bool claimed, struct figures *f)
{
	const struct board_talk *talk = &board->crowd[TRELLO_OTHERS].talk[board->run == RUN_RAMP];
	struct figure *late, *p99;

	figures_add(f, "others.messages", "others: messages sent", FIGURE_COUNT, talk->sent);
	late = figures_add(f, "others.late", "others: not answered in 5 s", FIGURE_COUNT, talk->late);
	figures_add(f, "others.p50_seconds", "others: time to the answer, p50", FIGURE_MS,
		    latency_quantile_ns(&talk->latency, 0.5) / 1e6);
	p99 = figures_add(f, "others.p99_seconds", "others: time to the answer, p99", FIGURE_MS,
			  latency_quantile_ns(&talk->latency, 0.99) / 1e6);
	figures_add(f, "others.cut_off", "others: cut off", FIGURE_COUNT, board->crowd[TRELLO_OTHERS].lost);
	if (rival_is(board->run))
		return;
	if (board->run == RUN_WITHOUT) {
		if (claimed)
			figure_judge(late, FIGURE_AT_LEAST, 1);
		return;
	}
	figure_judge(late, FIGURE_AT_MOST, 0);
	figure_judge(p99, FIGURE_AT_MOST, TRELLO_TALK_P99_MAX_MS);
	figure_judge(&f->figure[f->count - 1], FIGURE_AT_MOST, 0);
}

/* From the moment staff opened the tap until the last one is back: the ramp itself, and hardly more. */
static void trello_ramp(const struct board *board, const struct result *r, struct figures *f)
{
	double begin = FIGURE_NONE, over = TRELLO_RAMP_RATIO * r->ideal_s, took;
	bool drained = r->served == r->clients;

	for (int i = 0; i < board->marks; i++)
		if (!strcmp(board->mark[i].text, TRELLO_RAMP_MARK))
			begin = board->mark[i].t;
	took = drained ? r->drain_s - begin : FIGURE_NONE;
	if (took < 0) /* a small storm is over before staff comes */
		took = 0;
	figures_add(f, "ramp.over_seconds", "the ramp takes", FIGURE_SECONDS, over);
	figures_add(f, "ramp.drain_seconds", "all back since it began", FIGURE_SECONDS, took);
	figure_judge(figures_add(f, "ramp.ratio", "that / the ramp", FIGURE_RATIO, took / over), FIGURE_AT_MOST,
		     TRELLO_RATIO_MAX);
	if (drained)
		snprintf(f->line[0], sizeof(f->line[0]), "all back in %.1f s of ramp", took);
}

static int trello_figures(const struct board *board, struct figures *figures)
{
	bool herd = trello_herd_only(board);
	bool claimed = params_same_incident(board->params, herd ? &trello_herd : &trello_third);
	struct result r;
	int ret = result_compute(board, &r);

	if (ret)
		return ret;
	result_figures(&r, figures);
	rival_figures(board, figures);
	if (!rival_is(board->run)) /* they are shown, not judged */
		result_judge(&r, herd ? RESULT_RATIO_MAX : TRELLO_RATIO_MAX, claimed, figures);
	if (!herd)
		trello_others(board, claimed, figures);
	if (board->run == RUN_RAMP)
		trello_ramp(board, &r, figures);
	return 0;
}

const struct drill drill_trello = {
	.name = "trello",
	.doc = "a third of the connections drops and reconnects without pause",
	.title = "a reconnect storm",
	.defaults = trello_defaults,
	.options = 1u << OPT_DROP | 1u << OPT_SERVER | 1u << OPT_ATTACH_AT | 1u << OPT_COMPARE,
	.plan = {.nodes = 1},
	.series = {{"others_late", "messages of the others that waited over 5 s"}},
	.script = trello_script,
	.sample = trello_sample,
	.figures = trello_figures,
};
