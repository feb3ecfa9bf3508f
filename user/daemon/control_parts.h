/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the controller share. Nobody else includes this. */
#ifndef SYNHOLD_CONTROL_PARTS_H
#define SYNHOLD_CONTROL_PARTS_H

#include "daemon/control.h"

#define CONTROL_RAISE_NS 1e9 /* first wait before a larger window is tried on a delay that stays */

static inline double control_clamp(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

/* control_window.c: the law. `biting`: the window has kept SYNs back within the last second. */

double control_window_bound(const struct control *control, double window);
void control_window_tick(struct control *control, const struct control_input *input, double dt_ns, bool biting);

/* control_delay.c: the view of the server. */

/* Record the interval that ends now. */
void control_delay_record(struct control *control, const struct control_input *input, double dt_ns);
/* Take the tick's delays in. False: there were none. */
bool control_delay_observe(struct control *control, const struct control_input *input, double dt_ns);
/*
 * How many of those in flight are so old that they are not waiting for the server: spare connections that
 * browsers open and do not use. A lower bound: connections not among those let in during the last three slot
 * times.
 */
double control_delay_idle(const struct control *control, const struct control_input *input);
/* Where the window should hold the server's delay. */
double control_delay_goal_ns(const struct control *control);
/* What a connection spends in a slot on the average. */
double control_delay_slot_ns(const struct control *control);
/* 0: no queue at the server, 1: as much as we want there. */
double control_delay_fill(const struct control *control);
/* The window was just moved: watch whether the delay follows. Ignored while another change is being watched.
 */
void control_delay_trial(struct control *control, uint64_t now_ns, bool up);
/* Upper bound of the window while the present experiment lasts; window_max otherwise. */
double control_delay_probe(struct control *control, uint64_t now_ns, bool biting);
/* Forget the smoothing: the next samples count alone. */
void control_delay_forget(struct control *control);

/* control_silent.c: clients that say nothing. */

/* Time a client has to ask. */
double control_silent_grace_ns(const struct control *control);
/* Counts the slots of silent clients, and takes them out of what the rest of the controller is told. */
void control_silent_tick(struct control *control, struct control_input *input);
/* Slots given to them beside the window. */
uint32_t control_silent_given(const struct control *control);
/* Nobody waits for the server: no client that has asked has been there for a while. */
bool control_silent_only(const struct control *control, uint64_t now_ns);

/* control_ceiling.c: the slow loop. `biting`: the window has kept SYNs back within the last second. */
void control_ceiling_tick(struct control *control, const struct control_input *input, double dt_ns, bool biting,
			  struct control_change *change);

#endif
