/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_PROGRESS_H
#define DRILL_PROGRESS_H

#include "drill/board.h"

/* Says on stderr how the run goes: one line that is rewritten on a terminal, elsewhere a line every 5 s. */
void progress_show(const struct board *board, const struct board_sample *now);

/* A line that stays, such as what the drill does next. */
void progress_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
