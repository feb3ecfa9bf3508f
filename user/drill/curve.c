// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/curve.h"

static double curve_value(const struct board_sample *s, int kind)
{
	if (kind == CURVE_SERVED)
		return s->served;
	return kind == CURVE_HELD ? s->held : s->value[kind - CURVE_OWN];
}

void curve_take(const struct board *board, int kind, struct curve *curve)
{
	uint32_t step = board->samples / (CURVE_POINTS_MAX - 1) + 1;

	*curve = (struct curve){0};
	for (uint32_t i = 0; i < board->samples; i++) {
		const struct board_sample *s = &board->sample[i];
		double y = curve_value(s, kind);

		if (i % step && i != board->samples - 1)
			continue;
		if (kind == CURVE_HELD && y < 0)
			continue;
		curve->t[curve->points] = s->t;
		curve->y[curve->points++] = y;
		if (y > curve->y_max)
			curve->y_max = y;
	}
}

const char *curve_key(const struct drill *drill, int kind)
{
	if (kind == CURVE_SERVED)
		return "served";
	return kind == CURVE_HELD ? "held" : drill->series[kind - CURVE_OWN].key;
}

const char *curve_name(const struct drill *drill, int kind)
{
	if (kind == CURVE_SERVED)
		return "clients served";
	return kind == CURVE_HELD ? "SYNs held" : drill->series[kind - CURVE_OWN].name;
}
