/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plant with synhold's own controller, for the tests that judge it. */
#ifndef SYNHOLD_TESTS_PLANT_CONTROL_H
#define SYNHOLD_TESTS_PLANT_CONTROL_H

#include "plant.h"

#define PLANT_TARGET_NS 100000000ULL

static const struct control_policy plant_control_defaults = {
	.window_min = 8,
	.window_max = 65536,
	.window_mode = SYNHOLD_WINDOW_AUTO,
	.target_delay_ns = PLANT_TARGET_NS,
};

/* One tick of it. */
static inline void plant_control_tick(struct control *control, const struct control_input *input,
				      struct plant_limits *limits, struct control_output *output)
{
	assert_int_equal(control_tick(control, input, output), 0);
	limits->window = output->window;
	limits->ceiling_pps = output->ceiling_pps;
	limits->expire_ns = output->expire_ns;
	limits->silent_after_ns = output->silent_after_ns;
}

/* One storm from a controller's beginning to `control` as it was at the end. No connection is lost on the books. */
static inline void plant_control_run(const struct plant_config *config, plant_controller drive, struct control *control,
				     struct plant_result *out)
{
	const struct plant_limits limits = {.window = CONTROL_WINDOW_START, .expire_ns = SYNHOLD_EXPIRE_MIN_NS};

	assert_int_equal(control_init(control, &plant_control_defaults, 0, 0, 0), 0);
	assert_int_equal(plant_run(config, drive, control, limits, out), 0);
	assert_true(out->admitted == out->settled + out->abandoned + out->expired + out->inflight_end);
}

#endif
