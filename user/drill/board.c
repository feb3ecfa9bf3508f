// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/board.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

static size_t board_size(const struct drill_params *params)
{
	return sizeof(struct board) + board_clients(params) * sizeof(struct board_client);
}

struct board *board_create(const struct drill_params *params)
{
	struct board *board = mmap(NULL, board_size(params), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (board == MAP_FAILED)
		return NULL;
	board->params = params;
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

	return capacity > 0 ? board->params->clients / capacity : 0;
}

bool board_capacity_agrees(const struct board *board)
{
	double a = board->capacity[0], b = board->capacity[1];
	double low = a < b ? a : b, high = a < b ? b : a;

	return low > 0 && high - low <= BOARD_CAPACITY_SPREAD_MAX * high;
}
