// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define PROGRESS_LINE_SECONDS 5

/* Per process: the runner of each run starts afresh. */
static struct board_sample progress_last;
static bool progress_open;

static void progress_close_line(void)
{
	if (progress_open)
		fputc('\n', stderr);
	progress_open = false;
}

void progress_say(const char *format, ...)
{
	va_list args;

	progress_close_line();
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void progress_show(const struct board *board, const struct board_sample *now)
{
	bool tty = isatty(STDERR_FILENO), end = board->end != BOARD_RUNNING;
	float since = now->t - progress_last.t;
	static const char *const names[RUN_COUNT] = {"without",   "with",     "ramp",   "nftables",
						     "hashlimit", "synproxy", "haproxy"};
	char held[32] = "";

	if (!end && since < (tty ? 1 : PROGRESS_LINE_SECONDS))
		return;
	if (now->held >= 0)
		snprintf(held, sizeof(held), "  %6d held", now->held);
	fprintf(stderr, "%s%-9s  %5.1f s  %6u of %u served  %5.0f/s  %6u in the server's queue%s%s", tty ? "\r" : "",
		names[board->run], now->t, now->served, board->dropped,
		since > 0 ? (now->served - progress_last.served) / since : 0, board_backlog(board), held,
		tty ? "\033[K" : "\n");
	progress_open = tty;
	progress_last = *now;
	if (end)
		progress_close_line();
	fflush(stderr);
}
