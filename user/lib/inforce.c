// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/inforce.h"

int inforce_closed(const struct synhold_policy *pol, uint64_t now_ns)
{
	return pol->closed_flip_ns && now_ns >= pol->closed_flip_ns ? !pol->closed : pol->closed;
}

uint32_t inforce_window(const struct synhold_policy *pol, const struct synhold_runtime *run)
{
	if (pol->window_mode == SYNHOLD_WINDOW_FIXED)
		return pol->window;
	return pol->window_mode == SYNHOLD_WINDOW_AUTO ? run->window : 0;
}

int inforce_suspended(const struct synhold_gate *gate, uint32_t window)
{
	return window && !gate->egress_seen && gate->blind >= (uint64_t)SYNHOLD_WINDOWS_BLIND * window;
}
