// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The slow loop: pressure behind accept() (authentication, session load, cache warming) shows seconds after
 * the first byte, when the window has already let much more in. Once a second, u = mean of the highest ratio:
 *
 *   trip   u > 1              ceiling = 3/4 of what was served, no growth for 5 s
 *   drain  u > 2 twice        almost nothing is let in until u < 0.5, then what the whole episode
 *                             served: work is conserved, so that is what the server can do at its worst
 *   grow   u < 0.8            6 % a second below the remembered limit, 1 % above it
 *   give   u < 0.8 and nothing held for 3 s: 6 % a second, whether it limits or not
 *   lift   nothing held for 15 s and the ceiling above twice the traffic, or for 60 s; or far above the traffic
 *   ignore u > 1 for two minutes whatever the ceiling: no work of ours, until it has been under 0.8
 *
 * A system pushed over stays over at the load that was fine before (metastable), hence the drain.
 */
#include <math.h>
#include <string.h>

#include "daemon/control_parts.h"

#define CEILING_SECOND_NS 1000000000ULL
#define CEILING_MIN_PPS 5.0
#define CEILING_CUT 0.75
#define CEILING_FREEZE_NS 5000000000ULL
#define CEILING_IGNORE_NS 120000000000ULL /* over the target all this time in spite of the ceiling */
#define CEILING_LIFT_NS 60000000000ULL
#define CEILING_CALM_NS 3000000000ULL /* nothing held for so long: it gives way, and is lifted once out of the way */
#define CEILING_CALM_LIFT_NS 15000000000ULL
#define CEILING_GROW 0.06 /* a second */
#define CEILING_GROW_MIN 0.01
#define CEILING_DRAIN_SHARE 0.1
#define CEILING_STEP 0.05 /* smaller moves stay inside */
#define CEILING_MEMORY 5  /* seconds of the mean rate */

static double ceiling_mean(const struct control_slow *slow, unsigned int seconds)
{
	unsigned int count = slow->rates < seconds ? slow->rates : seconds, i;
	double sum = 0;

	if (count > CONTROL_SECONDS)
		count = CONTROL_SECONDS;
	for (i = 0; i < count; i++)
		sum += slow->rate[(slow->rates - 1 - i) % CONTROL_SECONDS];
	return count ? sum / count : 0;
}

static void ceiling_read(struct control_slow *slow, const struct control_input *input)
{
	const struct control_pressure *worst = NULL;
	unsigned int i;

	for (i = 0; i < input->pressures; i++) {
		const struct control_pressure *pressure = &input->pressure[i];

		if (!(pressure->ratio >= 0) || isinf(pressure->ratio))
			continue;
		if (pressure->alarm) {
			slow->alarm_next |= pressure->ratio > 1;
			continue;
		}
		if (!worst || pressure->ratio > worst->ratio)
			worst = pressure;
	}
	slow->ticks++;
	slow->settled += (double)(input->settled + input->late_settled);
	if (!worst)
		return;
	slow->sum += worst->ratio;
	if (worst->ratio >= slow->worst) {
		slow->worst = worst->ratio;
		memset(slow->name, 0, sizeof(slow->name));
		strncpy(slow->name, worst->name ? worst->name : "pressure", sizeof(slow->name) - 1);
	}
}

static void ceiling_trip(struct control_slow *slow, double served, uint64_t now_ns)
{
	/* Without a ceiling, what was served came from a server that had not felt the load yet: it tells
	 * nothing. */
	if (slow->ceiling > 0)
		slow->threshold = 0.9 * fmin(1.1 * served, slow->ceiling);
	slow->ceiling = fmax(CEILING_MIN_PPS, CEILING_CUT * served);
	slow->frozen_ns = now_ns + CEILING_FREEZE_NS;
	slow->trip_ns = now_ns;
}

static void ceiling_second(struct control *control, const struct control_input *input, bool biting)
{
	struct control_slow *slow = &control->slow;
	uint64_t now_ns = input->now_ns;
	double u = slow->pressure, served = ceiling_mean(slow, CEILING_MEMORY), episode, growth;
	double before = slow->before;
	bool busy = biting || input->held;

	if (busy || u > 0.8)
		slow->calm_ns = now_ns;
	else if (now_ns - slow->calm_ns > CEILING_LIFT_NS / 6)
		slow->episode_ns = now_ns;
	slow->before = u;
	if (u <= 1)
		slow->over_ns = now_ns;
	if (u < 0.8)
		slow->ignored = false;
	if (now_ns - slow->over_ns > CEILING_IGNORE_NS && slow->ceiling > 0) {
		/* It does not answer to what we let in: holding clients back any longer would be our outage.
		 */
		slow->ignored = true;
		slow->drain = false;
		slow->ceiling = slow->threshold = 0;
	}
	if (slow->ignored)
		return;
	slow->hot = u > 2 ? slow->hot + 1 : 0;
	if (slow->drain) {
		if (u >= 0.5)
			return;
		/* Pending work has all been done by now, so what came in since the start is what was served.
		 */
		episode = ceiling_mean(slow, (unsigned int)((now_ns - slow->episode_ns) / CEILING_SECOND_NS) + 1);
		slow->drain = false;
		slow->ceiling = fmax(CEILING_MIN_PPS, fmax(episode, 0.8 * slow->threshold));
		slow->below = slow->threshold > 0 ? 0 : 1.5 * slow->ceiling;
		slow->frozen_ns = now_ns + CEILING_FREEZE_NS / 2;
		slow->trip_ns = slow->episode_ns = now_ns;
		return;
	}
	if (slow->hot >= 2 && (slow->ceiling > 0 || busy) && (now_ns >= slow->frozen_ns || u > 4)) {
		slow->drain = true;
		if (slow->ceiling <= 0)
			slow->ceiling = fmax(CEILING_MIN_PPS, served);
		return;
	}
	if (u > 1) {
		/*
		 * Load that no storm of ours has brought is not cured by turning clients away; and while it
		 * falls, the last cut was enough.
		 */
		if (now_ns >= slow->frozen_ns && served > 0 && (slow->ceiling > 0 || busy) && u > 0.95 * before)
			ceiling_trip(slow, served, now_ns);
		return;
	}
	if (slow->ceiling <= 0 || u >= 0.8 || now_ns < slow->frozen_ns)
		return;
	if (!busy && now_ns - slow->calm_ns > CEILING_CALM_NS)
		slow->ceiling *= 1 + CEILING_GROW; /* nobody waits: nothing is risked by giving way */
	if (now_ns - slow->calm_ns > CEILING_LIFT_NS ||
	    (now_ns - slow->calm_ns > CEILING_CALM_LIFT_NS && slow->ceiling > 2 * fmax(served, CEILING_MIN_PPS)) ||
	    (now_ns - slow->trip_ns > 4 * CEILING_FREEZE_NS && slow->ceiling > 4 * fmax(served, CEILING_MIN_PPS))) {
		slow->ceiling = 0;
		return;
	}
	if (!input->held || ceiling_mean(slow, 2) < 0.8 * slow->ceiling)
		return; /* it is not what limits */
	/*
	 * After a drain the limit has only been seen from below, with an overloaded server. Where it was seen
	 * from above: slowly past it, then faster and faster, as it may be out of date.
	 */
	if (slow->ceiling < slow->below) {
		growth = 2 * CEILING_GROW;
	} else if (slow->threshold <= 0 || slow->ceiling < slow->threshold) {
		growth = CEILING_GROW;
		slow->growth = CEILING_GROW_MIN;
	} else {
		growth = slow->growth;
		slow->growth = fmin(CEILING_GROW, 1.1 * slow->growth);
	}
	slow->ceiling *= 1 + growth * control_clamp((0.8 - u) / 0.6, 0, 1);
}

void control_ceiling_tick(struct control *control, const struct control_input *input, double dt_ns, bool biting,
			  struct control_change *change)
{
	struct control_slow *slow = &control->slow;
	double out;
	uint32_t pps;

	if (!slow->next_ns) {
		slow->over_ns = slow->episode_ns = slow->calm_ns = input->now_ns;
		slow->next_ns = input->now_ns - (uint64_t)dt_ns + CEILING_SECOND_NS;
	}
	ceiling_read(slow, input);
	if (input->now_ns >= slow->next_ns) {
		double second = 1e-9 * (double)(input->now_ns - slow->next_ns + CEILING_SECOND_NS);

		slow->rate[slow->rates++ % CONTROL_SECONDS] = slow->settled / second;
		slow->pressure = slow->sum / slow->ticks;
		slow->alarm = slow->alarm_next;
		ceiling_second(control, input, biting);
		slow->next_ns = input->now_ns + CEILING_SECOND_NS;
		slow->sum = slow->settled = slow->worst = 0;
		slow->ticks = 0;
		slow->alarm_next = false;
	}
	out = slow->drain ? fmax(CEILING_MIN_PPS, CEILING_DRAIN_SHARE * slow->ceiling) : slow->ceiling;
	pps = (uint32_t)lround(fmin(out, UINT32_MAX));
	if (pps == control->ceiling_out || (pps && fabs(out / control->ceiling_out - 1) < CEILING_STEP))
		return;
	change->changed = true;
	change->signal = CONTROL_SIGNAL_PRESSURE;
	change->value = slow->pressure;
	change->from = control->ceiling_out;
	change->to = pps;
	memcpy(change->name, slow->name, sizeof(change->name));
	control->ceiling_out = pps;
}
