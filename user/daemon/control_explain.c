// SPDX-License-Identifier: GPL-2.0-or-later
/* The controller's words: labels of metrics and log lines, and the picture behind `synhold explain`. */
#include <string.h>

#include "daemon/control_parts.h"

const char *control_signal_name(enum control_signal signal)
{
	static const char *const names[CONTROL_SIGNAL_COUNT] = {
		[CONTROL_SIGNAL_FIRST_BYTE] = "first_byte",     [CONTROL_SIGNAL_STALL] = "stall",
		[CONTROL_SIGNAL_ACCEPT_QUEUE] = "accept_queue", [CONTROL_SIGNAL_DEMAND] = "demand",
		[CONTROL_SIGNAL_PRESSURE] = "pressure",         [CONTROL_SIGNAL_POLICY] = "policy",
	};

	return (unsigned int)signal < CONTROL_SIGNAL_COUNT ? names[signal] : "unknown";
}

const char *control_state_name(enum control_state state)
{
	static const char *const names[CONTROL_STATE_COUNT] = {
		[CONTROL_STATE_CALM] = "calm",   [CONTROL_STATE_START] = "start",     [CONTROL_STATE_TRACK] = "track",
		[CONTROL_STATE_STALL] = "stall", [CONTROL_STATE_CEILING] = "ceiling", [CONTROL_STATE_DRAIN] = "drain",
		[CONTROL_STATE_FIXED] = "fixed",
	};

	return (unsigned int)state < CONTROL_STATE_COUNT ? names[state] : "unknown";
}

void control_explain(const struct control *control, struct control_explain *explain)
{
	const struct control_server *server = &control->server;

	memset(explain, 0, sizeof(*explain));
	explain->state = control->state;
	explain->settled_pps = server->mu;
	explain->rtt_ns = (uint64_t)server->rtt_ns;
	explain->delay_ns = (uint64_t)server->delay_ns;
	explain->base_ns = (uint64_t)server->base_ns;
	explain->goal_ns = (uint64_t)control_delay_goal_ns(control);
	explain->target_ns = control->policy.target_delay_ns;
	explain->quiet_ns = control->quiet_ns;
	explain->pressure = control->slow.pressure;
	memcpy(explain->pressure_name, control->slow.name, sizeof(explain->pressure_name));
	explain->window = control->out;
	explain->silent = control_silent_given(control);
	explain->ceiling_pps = control->ceiling_out;
	explain->peak_inflight = control->peak[0] > control->peak[1] ? control->peak[0] : control->peak[1];
	explain->expire_ns = (uint64_t)control->expire_ns;
	explain->last = control->last;
	explain->last_ns = control->last_change_ns;
}
