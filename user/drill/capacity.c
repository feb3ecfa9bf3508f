// SPDX-License-Identifier: GPL-2.0-or-later
/* How many connections a second the servers can do, measured before the first storm. */
#include <string.h>

#include "drill/progress.h"
#include "drill/run.h"

#define CAPACITY_WARM_UP_NS 500000000ull
#define CAPACITY_CLIENTS_MIN 64
#define CAPACITY_LAPS_MIN 1200 /* replies in a measurement: noise well below 1 % */
#define CAPACITY_WINDOW_MIN_NS 1200000000ull
#define CAPACITY_WINDOW_MAX_NS 10000000000ull
#define CAPACITY_TRIES_MAX 6

static int capacity_pause(struct run *run, uint64_t ns)
{
	world_sleep_until(board_now_ns() + ns);
	return world_reap(run->world);
}

static uint64_t capacity_between(uint64_t value, uint64_t min, uint64_t max)
{
	return value < min ? min : value > max ? max : value;
}

static uint32_t capacity_open(const struct run *run)
{
	uint32_t open = 0;

	for (int i = 0; i < BOARD_NODES_MAX; i++)
		open += BOARD_GET(run->board->node[i].server.open);
	return open;
}

/* Until the servers hold no more than before: after a round trip nothing is on its way to them any more. */
static int capacity_calm(struct run *run, uint32_t open)
{
	uint64_t begin = board_now_ns();

	if (capacity_pause(run, run->params->rtt_max_ns))
		return -1;
	while (capacity_open(run) > open)
		if (capacity_pause(run, 10000000) || board_now_ns() - begin > CAPACITY_WINDOW_MAX_NS)
			return board_fail(run->board, NULL, "the server still holds connections of the measurement");
	return 0;
}

static int capacity_once(struct run *run, __be32 server, int nodes, double *capacity)
{
	const struct drill_params *params = run->params;
	struct board_crowd *crowd = &run->board->crowd[0];
	/* Enough to keep the servers busy over two round trips, connect and request, twice over. */
	uint64_t busy = nodes * 4 * (params->rtt_max_ns + 10000000) / params->cost_ns;
	struct client_job job = {.count = capacity_between(busy, CAPACITY_CLIENTS_MIN, BOARD_PROBES_MAX),
				 .server = server,
				 .patient = true,
				 .again = true};
	uint64_t begin, laps,
		window = capacity_between(CAPACITY_LAPS_MIN * params->cost_ns / nodes, CAPACITY_WINDOW_MIN_NS,
					  CAPACITY_WINDOW_MAX_NS);
	uint32_t open = capacity_open(run);
	struct world_actor *probe;

	probe = world_spawn(run->world, "probe", WORLD_CLIENTS, 0, client_actor, &job);
	if (!probe || world_await(run->world, probe, 'R', RUN_READY_MS))
		return -1;
	world_tell(probe, 'G');
	if (capacity_pause(run, CAPACITY_WARM_UP_NS))
		return -1;
	begin = board_now_ns();
	laps = BOARD_GET(crowd->laps);
	if (capacity_pause(run, window))
		return -1;
	laps = BOARD_GET(crowd->laps) - laps;
	*capacity = laps * 1e9 / (board_now_ns() - begin);
	world_tell(probe, 'S');
	if (capacity_calm(run, open))
		return -1;
	if (!laps)
		return board_fail(run->board, NULL, "the server served nobody while its capacity was measured");
	return 0;
}

int run_measure(struct run *run, __be32 server, int nodes)
{
	struct board *board = run->board;

	if (!board->measure)
		return 0;
	/* The first may see cold caches, any may see a neighbour's work: two in a row have to agree. */
	for (int i = 0; i < CAPACITY_TRIES_MAX && !board_capacity_agrees(board); i++) {
		board->capacity[0] = board->capacity[1];
		if (capacity_once(run, server, nodes, &board->capacity[1]))
			return -1;
	}
	if (!board_capacity_agrees(board)) {
		board->inconclusive = true;
		return board_fail(board, "run it again on a quieter machine",
				  "inconclusive: two measurements of the server's capacity differ by more than 5 %%: "
				  "%.1f and %.1f connections/s",
				  board->capacity[0], board->capacity[1]);
	}
	progress_say("capacity %.1f and %.1f connections/s: %u clients need %.1f s at best", board->capacity[0],
		     board->capacity[1], board->dropped, board_ideal_seconds(board));
	return 0;
}

void run_expect(struct run *run, const struct profile_load *load)
{
	struct board *board = run->board;

	board->capacity[0] = board->capacity[1] = load->nodes * load->capacity;
	board->ideal_s = profile_ideal_seconds(load);
	if (board->measure)
		progress_say("capacity %.0f connections/s at its best: %u clients need %.1f s with nothing wasted",
			     board_capacity(board), board->dropped, board->ideal_s);
}
