/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_CURVE_H
#define DRILL_CURVE_H

#include "drill/kit.h"

/* A curve over time out of a run's samples. Pure. */

#define CURVE_POINTS_MAX 400

enum curve_kind { CURVE_SERVED, CURVE_HELD, CURVE_OWN }; /* CURVE_OWN + i is the drill's series i */
#define CURVE_KINDS (CURVE_OWN + BOARD_SERIES_MAX)

struct curve {
	uint32_t points;
	double t[CURVE_POINTS_MAX], y[CURVE_POINTS_MAX];
	double y_max;
};

/* Takes at most CURVE_POINTS_MAX samples, evenly, and the last. What a run did not know (held, without a shield) gives
 * no points. */
void curve_take(const struct board *board, int kind, struct curve *curve);

/* Key and name of a kind; NULL when the drill has no such series. */
const char *curve_key(const struct drill *drill, int kind);
const char *curve_name(const struct drill *drill, int kind);

#endif
