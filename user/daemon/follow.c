// SPDX-License-Identifier: GPL-2.0-or-later
/* Policy that moves with time: services that close and open, ramps of the share. */
#include "daemon/state.h"
#include "lib/inforce.h"
#include "lib/log.h"
#include "lib/ramp.h"

void follow_closed(struct service *svc, uint64_t now_ns)
{
	const struct synhold_policy *pol = &svc->policy;
	int closed = inforce_closed(pol, now_ns) | listeners_down(svc, now_ns);

	/* some may come as closed when it is open again, or was so shortly that no tick saw it */
	if (!svc->queue || (closed == svc->closed && !closed && !holdq_held(svc->queue, HOLDQ_WAIT_CLOSED))) {
		svc->closed = closed;
		return;
	}
	if (closed) {
		holdq_reclass(svc->queue, HOLDQ_WAIT_WINDOW, HOLDQ_WAIT_CLOSED, UINT32_MAX);
		holdq_reclass(svc->queue, HOLDQ_WAIT_SOURCE, HOLDQ_WAIT_CLOSED, UINT32_MAX);
	} else {
		holdq_reclass(svc->queue, HOLDQ_WAIT_CLOSED, HOLDQ_WAIT_WINDOW, UINT32_MAX);
	}
	svc->closed = closed;
	release_publish(svc);
}

/*
 * Whether what an earlier moment left says that this ramp was stopped: not if the policy's is a later one or has been
 * resumed. A daemon that has just started tells by the share that was left in force.
 */
static int still_stopped(const struct service *svc, const struct synhold_runtime *run, uint64_t now_ns)
{
	const struct synhold_policy *pol = &svc->policy;

	if (!run->ramp_stopped_ns || run->ramp_stopped_ns < pol->ramp_start_ns)
		return 0;
	if (svc->ramp_start_ns)
		return svc->ramp_start_ns == pol->ramp_start_ns;
	return run->share_threshold == ramp_threshold(ramp_share(pol, now_ns, run->ramp_stopped_ns)) + 1;
}

/*
 * The share in force while there is a ramp. Pressure stops one that grows: letting more in would make worse what is
 * bad. Pressure itself, as a ceiling comes only where the window or a rate keeps something back, which it need not
 * while the share does.
 */
void follow_ramp(struct service *svc, uint64_t now_ns)
{
	struct synhold_runtime *run = &svc->daemon->inst->runtime[svc->id];
	const struct synhold_policy *pol = &svc->policy;
	struct control_explain explain;
	int running;

	if (!pol->ramp_over_ns) {
		run->ramp_stopped_ns = 0;
		__atomic_store_n(&run->share_threshold, 0,
				 __ATOMIC_RELAXED); /* nothing that a later ramp could begin with */
		svc->ramping = 0;
		return;
	}
	if (!still_stopped(svc, run, now_ns))
		run->ramp_stopped_ns = 0;
	svc->ramp_start_ns = pol->ramp_start_ns;
	control_explain(&svc->control, &explain);
	if (explain.pressure > 1 && pol->ramp_to_ppm > pol->ramp_from_ppm &&
	    ramp_running(pol, now_ns, run->ramp_stopped_ns)) {
		run->ramp_stopped_ns = now_ns;
		log_line(LOG_LEVEL_WARNING,
			 "%s: ramp stopped at %.1f%%: pressure (%s %.2f); synhold ramp %s resume goes on", pol->name,
			 ramp_share(pol, now_ns, now_ns) / 1e4, explain.pressure_name, explain.pressure, pol->name);
	}
	__atomic_store_n(&run->share_threshold, ramp_threshold(ramp_share(pol, now_ns, run->ramp_stopped_ns)) + 1,
			 __ATOMIC_RELAXED);
	running = ramp_running(pol, now_ns, run->ramp_stopped_ns);
	if (running != svc->ramping)
		log_line(LOG_LEVEL_INFO, "%s: ramp %s at %.1f%%", pol->name, running ? "runs" : "stands",
			 ramp_share(pol, now_ns, run->ramp_stopped_ns) / 1e4);
	svc->ramping = running;
}

void follow_end(const struct daemon *d)
{
	for (unsigned int i = 0; i < SYNHOLD_SERVICES; i++) {
		const struct service *svc = &d->service[i];

		if (svc->active && svc->ramping)
			log_line(
				LOG_LEVEL_WARNING,
				"%s: without a daemon its ramp stands still, at %.1f%%; the next synhold run goes on from there",
				svc->policy.name,
				(double)ramp_in_force(&svc->policy, &d->inst->runtime[svc->id]) / 1e4);
	}
}
