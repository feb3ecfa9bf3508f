// SPDX-License-Identifier: GPL-2.0-or-later
/* What the controller goes by, put into a map that anybody may read: `status` needs no daemon to show it, and a dead
 * one shows by the ages. */
#include <math.h>

#include "daemon/state.h"
#include "lib/signals.h"

#define SETTLEMENTS_NS 1e9 /* time constant of their rate */

void signals_count(struct service *svc, const struct control_input *in, double dt_ns)
{
	double pps = (double)(in->settled + in->late_settled) / dt_ns * 1e9;

	svc->settlements_pps += (1 - exp(-dt_ns / SETTLEMENTS_NS)) * (pps - svc->settlements_pps);
	if (svc->settlements_pps < 1e-3)
		svc->settlements_pps = 0;
	svc->settlements_ns = in->now_ns;
	if (in->delay_count)
		svc->delay_ns = in->now_ns;
}

void signals_share(struct service *svc, uint64_t now_ns)
{
	struct synhold_signals set = {0};
	struct control_explain e;

	control_explain(&svc->control, &e);
	if (svc->delay_ns) {
		signals_add(&set, "first_byte", SYNHOLD_UNIT_SECONDS, (double)e.delay_ns / 1e9, (double)e.goal_ns / 1e9,
			    svc->delay_ns);
		signals_add(&set, "base_delay", SYNHOLD_UNIT_SECONDS, (double)e.base_ns / 1e9, 0, svc->delay_ns);
	}
	if (svc->settlements_ns)
		signals_add(&set, "settlements", SYNHOLD_UNIT_PER_SECOND, svc->settlements_pps, 0, svc->settlements_ns);
	if (svc->listeners) {
		signals_add(&set, "accept_queue", SYNHOLD_UNIT_COUNT, svc->accept_queue, svc->accept_queue_max,
			    svc->listeners_ns);
		signals_add(&set, "listen_overflows", SYNHOLD_UNIT_COUNT, (double)svc->overflows, 0, svc->listeners_ns);
	}
	if (svc->syn_recv_ns && svc->listeners)
		signals_add(&set, "syn_recv", SYNHOLD_UNIT_COUNT, svc->syn_recv, 0, svc->syn_recv_ns);
	if (e.silent)
		signals_add(&set, "silent", SYNHOLD_UNIT_COUNT, e.silent, 0, svc->settlements_ns);
	pressure_share(svc, &set, now_ns);
	signals_publish(&svc->daemon->inst->signals[svc->id], &set);
}
