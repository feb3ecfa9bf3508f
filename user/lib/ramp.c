// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/ramp.h"

#include <errno.h>

/* How far it has come, ns of its length. */
static uint64_t progress(const struct synhold_policy *pol, uint64_t now_ns, uint64_t stopped_ns)
{
	uint64_t end = now_ns;

	if (stopped_ns && stopped_ns < end)
		end = stopped_ns;
	if (pol->ramp_paused_ns && pol->ramp_paused_ns < end)
		end = pol->ramp_paused_ns;
	if (end <= pol->ramp_start_ns)
		return 0;
	end -= pol->ramp_start_ns;
	return end < pol->ramp_over_ns ? end : pol->ramp_over_ns;
}

uint32_t ramp_share(const struct synhold_policy *pol, uint64_t now_ns, uint64_t stopped_ns)
{
	double part;

	if (!pol->ramp_over_ns)
		return pol->share_ppm;
	part = (double)progress(pol, now_ns, stopped_ns) / (double)pol->ramp_over_ns;
	return (uint32_t)((double)pol->ramp_from_ppm + ((double)pol->ramp_to_ppm - (double)pol->ramp_from_ppm) * part +
			  0.5);
}

int ramp_running(const struct synhold_policy *pol, uint64_t now_ns, uint64_t stopped_ns)
{
	return pol->ramp_over_ns && !pol->ramp_paused_ns && !stopped_ns &&
	       now_ns < pol->ramp_start_ns + pol->ramp_over_ns;
}

uint64_t ramp_threshold(uint32_t share_ppm)
{
	return ((uint64_t)share_ppm << 32) / 1000000;
}

uint32_t ramp_in_force(const struct synhold_policy *pol, const struct synhold_runtime *run)
{
	uint64_t threshold = run->share_threshold;

	if (!pol->ramp_over_ns || !threshold)
		return pol->share_ppm;
	return (uint32_t)(((threshold - 1) * 1000000 + (1ULL << 31)) >> 32);
}

void ramp_continue(struct synhold_policy *pol, const struct synhold_runtime *run, uint64_t now_ns)
{
	double span = (double)pol->ramp_to_ppm - (double)pol->ramp_from_ppm, part = 0;

	if (!pol->ramp_over_ns || pol->ramp_paused_ns || span == 0 ||
	    (run->ramp_stopped_ns && run->ramp_stopped_ns >= pol->ramp_start_ns))
		return;
	if (run->share_threshold) /* else no daemon has ever moved it */
		part = ((double)ramp_in_force(pol, run) - (double)pol->ramp_from_ppm) / span;
	if (part < 0 || part >= 1) /* nothing of this ramp, or all of it */
		return;
	pol->ramp_start_ns = now_ns - (uint64_t)(part * (double)pol->ramp_over_ns);
}

void ramp_start(struct synhold_policy *pol, uint32_t from_ppm, uint32_t to_ppm, uint64_t over_ns, uint64_t now_ns)
{
	pol->ramp_from_ppm = from_ppm;
	pol->ramp_to_ppm = to_ppm;
	pol->ramp_over_ns = over_ns;
	pol->ramp_start_ns = now_ns;
	pol->ramp_paused_ns = 0;
}

static int require(const struct synhold_policy *pol, struct error *err)
{
	if (pol->ramp_over_ns)
		return 0;
	error_set(err, -EINVAL, "service '%s' has no ramp", pol->name);
	return error_hint(err, -EINVAL, "synhold ramp %s --from 10%% --to 100%% --over 10m", pol->name);
}

/* A ramp, and not at its end. */
static int require_moving(const struct synhold_policy *pol, uint64_t now_ns, uint64_t stopped_ns, struct error *err)
{
	int ret = require(pol, err);

	if (ret || progress(pol, now_ns, stopped_ns) < pol->ramp_over_ns)
		return ret;
	error_set(err, -EINVAL, "the ramp of service '%s' has come to its end: nothing moves any more", pol->name);
	return error_hint(err, -EINVAL, "synhold ramp %s reverse goes back; cancel ends it", pol->name);
}

int ramp_pause(struct synhold_policy *pol, uint64_t now_ns, uint64_t stopped_ns, struct error *err)
{
	int ret = require_moving(pol, now_ns, stopped_ns, err);

	if (!ret && !pol->ramp_paused_ns)
		pol->ramp_paused_ns = stopped_ns ? stopped_ns : now_ns;
	return ret;
}

int ramp_resume(struct synhold_policy *pol, uint64_t now_ns, uint64_t stopped_ns, struct error *err)
{
	int ret = require_moving(pol, now_ns, stopped_ns, err);

	if (ret)
		return ret;
	pol->ramp_start_ns = now_ns - progress(pol, now_ns, stopped_ns);
	pol->ramp_paused_ns = 0;
	return 0;
}

int ramp_reverse(struct synhold_policy *pol, uint64_t now_ns, uint64_t stopped_ns, struct error *err)
{
	int ret = require(pol, err);
	uint32_t from = pol->ramp_from_ppm;
	uint64_t done;

	if (ret)
		return ret;
	done = progress(pol, now_ns, stopped_ns);
	pol->ramp_from_ppm = pol->ramp_to_ppm;
	pol->ramp_to_ppm = from;
	pol->ramp_start_ns = now_ns - (pol->ramp_over_ns - done);
	pol->ramp_paused_ns = 0;
	return 0;
}

int ramp_cancel(struct synhold_policy *pol, struct error *err)
{
	int ret = require(pol, err);

	if (ret)
		return ret;
	pol->ramp_from_ppm = pol->ramp_to_ppm = 0;
	pol->ramp_start_ns = pol->ramp_over_ns = pol->ramp_paused_ns = 0;
	return 0;
}
