// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/board.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

static size_t board_size(const struct drill_params *params)
{
	return sizeof(struct board) + board_clients(params) * sizeof(struct board_client);
}

uint32_t board_dropped(const struct drill_params *params)
{
	uint32_t dropped = params->clients * (uint64_t)params->drop_ppm / 1000000;

	/* A drill without the option leaves it at zero: everyone takes part. */
	if (!params->drop_ppm)
		return params->clients;
	return dropped ? dropped : 1;
}

struct board *board_create(const struct drill_params *params)
{
	struct board *board = mmap(NULL, board_size(params), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (board == MAP_FAILED)
		return NULL;
	board->params = params;
	board->dropped = board_dropped(params);
	for (int i = 0; i < BOARD_NODES_MAX; i++)
		board->node[i].cost_ns = params->cost_ns;
	return board;
}

void board_destroy(struct board *board)
{
	if (board)
		munmap(board, board_size(board->params));
}

int board_fail(struct board *board, const char *hint, const char *format, ...)
{
	va_list args;

	if (board->error[0])
		return -1;
	snprintf(board->hint, sizeof(board->hint), "%s", hint ? hint : "");
	va_start(args, format);
	vsnprintf(board->error, sizeof(board->error), format, args);
	va_end(args);
	return -1;
}

double board_capacity(const struct board *board)
{
	return (board->capacity[0] + board->capacity[1]) / 2;
}

double board_ideal_seconds(const struct board *board)
{
	double capacity = board_capacity(board);

	if (board->ideal_s > 0)
		return board->ideal_s;
	return capacity > 0 ? board->dropped / capacity : 0;
}

bool board_capacity_agrees(const struct board *board)
{
	double a = board->capacity[0], b = board->capacity[1];
	double low = a < b ? a : b, high = a < b ? b : a;

	return low > 0 && high - low <= BOARD_CAPACITY_SPREAD_MAX * high;
}

struct board_shield board_shields(const struct board *board)
{
	struct board_shield sum = board->node[0].shield;

	for (int i = 1; i < BOARD_NODES_MAX; i++) {
		const struct board_shield *s = &board->node[i].shield;

		sum.known |= s->known;
		sum.seen += s->seen;
		sum.admitted += s->admitted;
		sum.held_syns += s->held_syns;
		sum.dropped += s->dropped;
		sum.rejected += s->rejected;
		sum.entered += s->entered;
		sum.released += s->released;
		sum.discarded += s->discarded;
		sum.started += s->started;
		sum.settled += s->settled;
		sum.abandoned += s->abandoned;
		sum.expired += s->expired;
		sum.held += s->held;
		sum.inflight += s->inflight;
		sum.held_peak += s->held_peak;
		sum.cpu_ns += s->cpu_ns;
	}
	return sum;
}

uint32_t board_backlog(const struct board *board)
{
	uint32_t sum = 0;

	for (int i = 0; i < BOARD_NODES_MAX; i++)
		sum += BOARD_GET(board->node[i].server.queue) + BOARD_GET(board->node[i].server.accept_queue);
	return sum;
}

double board_seconds(const struct board *board)
{
	return board->start_ns ? (board_now_ns() - board->start_ns) / 1e9 : 0;
}
