// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/run.h"

#include <stdio.h>
#include <string.h>

#include "drill/kit.h"
#include "drill/progress.h"
#include "drill/wan.h"
#include "drill/witness.h"

#define RUN_STALL_SECONDS 10  /* nobody served for so long while the server works: it never drains */
#define RUN_STATUS_SAMPLES 10 /* read the shields' status once a second */
#define RUN_LIMIT_SECONDS_MIN 40
#define RUN_LIMIT_RATIO 3.2
#define RUN_WAN_NICE (-18)    /* packets must leave on time, or the delay is not the one asked for */
#define RUN_SERVER_NICE (-15) /* the clients are another machine's load, not the server's */

static int run_actor(struct run *run, const char *name, enum world_net net, int nice_level,
		     int (*fn)(struct world *, int, const void *), const void *arg)
{
	struct world_actor *actor = world_spawn(run->world, name, net, nice_level, fn, arg);

	return actor ? world_await(run->world, actor, 'R', RUN_READY_MS) : -1;
}

int run_serve(struct run *run, const struct server_job *job)
{
	return run_actor(run, "server", world_node(job->node), RUN_SERVER_NICE, server_actor, job);
}

int run_supervise(struct run *run, const struct supervisor_job *job)
{
	return run_actor(run, "supervisor", world_node(job->server.node), RUN_SERVER_NICE, supervisor_actor, job);
}

struct world_actor *run_pool(struct run *run, const struct pool_job *job)
{
	struct world_actor *actor =
		world_spawn(run->world, "pool", world_node(job->node), RUN_SERVER_NICE, pool_actor, job);

	return actor && !world_await(run->world, actor, 'R', RUN_READY_MS) ? actor : NULL;
}

int run_check(struct run *run, const struct checker_job *job)
{
	return run_actor(run, "health checker", WORLD_ROUTER, CHECKER_NICE, checker_actor, job);
}

int run_program(struct run *run, const struct program_job *job)
{
	return program_start(run->world, job) ? 0 : -1;
}

int run_witness(struct run *run, int node)
{
	run->witness_node = node;
	run->witness =
		world_spawn(run->world, "witness", WORLD_CLIENTS, WITNESS_NICE, witness_actor, &run->witness_node);
	return run->witness ? world_await(run->world, run->witness, 'R', RUN_READY_MS) : -1;
}

int run_crowd(struct run *run, const struct client_job *job)
{
	uint32_t left = job->count, first = job->first;
	int begin = run->crowds;

	for (; left; run->crowds++) {
		struct client_job *part = &run->job[run->crowds];

		if (run->crowds == RUN_CROWDS_MAX)
			return board_fail(run->board, "use fewer --clients", "too many processes of clients");
		*part = *job;
		part->first = first;
		part->count = left < CLIENT_CROWD_MAX ? left : CLIENT_CROWD_MAX;
		run->crowd[run->crowds] = world_spawn(run->world, "clients", WORLD_CLIENTS, 0, client_actor, part);
		if (!run->crowd[run->crowds])
			return -1;
		first += part->count;
		left -= part->count;
	}
	for (int i = begin; i < run->crowds; i++)
		if (world_await(run->world, run->crowd[i], 'R', RUN_READY_MS))
			return -1;
	return 0;
}

void run_tell(struct run *run, uint32_t group, char sign)
{
	for (int i = 0; i < run->crowds; i++)
		if (run->job[i].group == group)
			world_tell(run->crowd[i], sign);
}

int run_shield(struct run *run, int node)
{
	struct board *board = run->board;

	if (shield_start(run->world, node, &run->shield[node]))
		return -1;
	run->shielded[node] = true;
	if (board->start_ns && !board->attached_ns) {
		board->attached_ns = board_now_ns() - board->start_ns;
		board->attached_served = BOARD_GET(board->crowd[0].served);
		board->attached_backlog = board_backlog(board);
		run_mark(run, "shield attached");
	}
	return 0;
}

void run_mark(struct run *run, const char *text)
{
	struct board *board = run->board;
	struct board_mark *mark = &board->mark[board->marks];

	if (board->marks == BOARD_MARKS_MAX)
		return;
	mark->t = board_seconds(board);
	snprintf(mark->text, sizeof(mark->text), "%s", text);
	board->marks++;
}

int run_begin(struct run *run)
{
	struct board *board = run->board;

	/* Only the storm's own attempts are to be seen in the log. */
	memset(&board->crowd[0], 0, sizeof(board->crowd[0]));
	memset(board->client, 0, board->dropped * sizeof(board->client[0]));
	run->syns_before = net_syns_sent(run->world);
	for (int i = 0; i < BOARD_NODES_MAX; i++)
		board->node[i].before = board->node[i].server;
	run->tick_ns = board_now_ns();
	BOARD_SET(board->start_ns, run->tick_ns);
	return 0;
}

void run_epoch(struct run *run)
{
	BOARD_SET(run->board->epoch, 1);
}

static bool run_shielded(const struct run *run)
{
	bool any = false;

	for (int i = 0; i < BOARD_NODES_MAX; i++)
		any |= run->shielded[i];
	return any;
}

static struct board_sample *run_sample(struct run *run)
{
	struct board *board = run->board;
	struct board_sample *s = &board->sample[board->samples];

	/* A storm longer than the log keeps overwriting its end; the clients' own log is complete. */
	if (board->samples < BOARD_SAMPLES_MAX - 1)
		board->samples++;
	*s = (struct board_sample){.t = board_seconds(board), .served = BOARD_GET(board->crowd[0].served), .held = -1};
	for (int i = 0; i < BOARD_NODES_MAX; i++) {
		s->worked += BOARD_GET(board->node[i].server.worked) - board->node[i].before.worked;
		if (run->shielded[i] && board->samples % RUN_STATUS_SAMPLES == 0)
			shield_read(&run->shield[i]);
	}
	if (run_shielded(run)) {
		struct board_shield sum = board_shields(board);

		s->held = sum.known ? sum.held : -1;
	}
	if (run->drill->sample)
		run->drill->sample(run, s->value);
	return s;
}

int run_until(struct run *run, bool (*done)(const struct run *), double seconds)
{
	uint64_t end_ns = board_now_ns() + seconds * 1e9;

	for (;;) {
		run->tick_ns += BOARD_SAMPLE_MS * 1000000;
		/* After a step that took its time (a shield that attaches) the ticks begin anew. */
		if (run->tick_ns < board_now_ns())
			run->tick_ns = board_now_ns();
		world_sleep_until(run->tick_ns);
		if (run->board->start_ns)
			progress_show(run->board, run_sample(run));
		if (world_reap(run->world))
			return -1;
		for (int i = 0; i < BOARD_NODES_MAX; i++)
			if (run->shielded[i] && shield_alive(&run->shield[i]))
				return -1;
		if (done && done(run))
			return 0;
		if (board_now_ns() >= end_ns)
			return 1;
	}
}

int run_for(struct run *run, double seconds)
{
	return run_until(run, NULL, seconds) < 0 ? -1 : 0;
}

bool run_all_served(const struct run *run)
{
	return BOARD_GET(run->board->crowd[0].served) >= run->board->dropped;
}

bool run_backlog_gone(const struct run *run)
{
	return !board_backlog(run->board);
}

bool run_collapsed(const struct run *run)
{
	const struct board *board = run->board;
	const uint32_t span = RUN_STALL_SECONDS * 1000 / BOARD_SAMPLE_MS;
	const struct board_sample *now = &board->sample[board->samples - 1], *then = now - span;

	if (board->samples <= span)
		return false;
	return now->served == then->served &&
	       now->worked - then->worked > RUN_STALL_SECONDS * board_capacity(board) / 2;
}

double run_limit_seconds(const struct run *run)
{
	double limit = RUN_LIMIT_RATIO * board_ideal_seconds(run->board);

	if (run->params->seconds)
		return run->params->seconds;
	return limit < RUN_LIMIT_SECONDS_MIN ? RUN_LIMIT_SECONDS_MIN : limit;
}

int run_end(struct run *run, enum board_end end)
{
	struct board *board = run->board;

	board->end = end;
	board->end_ns = board_now_ns() - board->start_ns;
	for (int i = 0; i < BOARD_NODES_MAX; i++)
		board->node[i].after = board->node[i].server;
	rival_read(run);
	board->syns = net_syns_sent(run->world) - run->syns_before;
	if (board->samples)
		progress_show(board, &board->sample[board->samples - 1]);
	/* The shields go first: connections that are served must outlive them. */
	for (int i = 0; i < BOARD_NODES_MAX; i++) {
		if (!run->shielded[i])
			continue;
		shield_read(&run->shield[i]);
		shield_stop(&run->shield[i]);
		run->shielded[i] = false;
	}
	if (run->witness) {
		world_tell(run->witness, 'S');
		if (world_await(run->world, run->witness, 'D', RUN_READY_MS))
			return -1;
	}
	for (int i = 0; i < run->crowds; i++)
		world_tell(run->crowd[i], 'S');
	for (int i = 0; i < run->crowds; i++)
		if (world_await(run->world, run->crowd[i], 'D', RUN_READY_MS))
			return -1;
	return 0;
}

static int run_body(struct world *world, void *arg)
{
	const struct drill *drill = arg;
	struct run run = {.drill = drill, .world = world, .board = world->board, .params = world->board->params};

	if (run_actor(&run, "delay line", WORLD_ROUTER, RUN_WAN_NICE, wan_actor, NULL))
		return -1;
	return drill->script(&run);
}

int run_make(const struct drill *drill, struct board *board)
{
	struct world_plan plan = drill->plan;

	plan.front |= board->run == RUN_HAPROXY;
	return world_run(board, &plan, run_body, (void *)drill);
}
