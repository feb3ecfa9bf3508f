// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One controller: its life, the tick, and what it hands out. The law is in control_window.c (how many
 * handshakes may be in flight), control_delay.c (what the server's answers tell) and control_ceiling.c
 * (pressure behind accept()).
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "daemon/control_parts.h"

#define CONTROL_STEP 0.10               /* smaller moves stay inside */
#define CONTROL_BITING_NS 1000000000ULL /* a limit that bit this recently counts as biting */

static int control_check_policy(const struct control_policy *policy)
{
	if (!policy->window_min || policy->window_min > policy->window_max || !policy->target_delay_ns)
		return -EINVAL;
	if (policy->window_mode == SYNHOLD_WINDOW_FIXED)
		return policy->window ? 0 : -EINVAL;
	if (policy->window_mode != SYNHOLD_WINDOW_AUTO && policy->window_mode != SYNHOLD_WINDOW_NONE)
		return -EINVAL;
	return 0;
}

int control_init(struct control *control, const struct control_policy *policy, uint64_t now_ns, uint32_t window,
		 uint64_t expire_ns)
{
	int err = control_check_policy(policy);

	if (err)
		return err;
	memset(control, 0, sizeof(*control));
	control->policy = *policy;
	control->start_ns = control->last_tick_ns = control->last_settled_ns = now_ns;
	control->raise_wait_ns = CONTROL_RAISE_NS;
	control->cut_ns = control->peak_ns = control->server.mu_next_ns = control->calm_ns = now_ns;
	control->cold = !window;
	control->known = window;
	control->window = control_window_bound(control, window ? window : CONTROL_WINDOW_START);
	control->learned = control->window;
	control->out = (uint32_t)control->window;
	control->expire_ns = control_clamp((double)expire_ns, SYNHOLD_EXPIRE_MIN_NS, SYNHOLD_EXPIRE_MAX_NS);
	return 0;
}

int control_set_policy(struct control *control, const struct control_policy *policy)
{
	int err = control_check_policy(policy);

	if (err)
		return err;
	control->policy = *policy;
	return 0;
}

void control_trust(struct control *control)
{
	if (control->known || control->server.weight > 0)
		return;
	control->served = CONTROL_WINDOW_CALM;
	control->window = control_window_bound(control, fmax(control->window, CONTROL_WINDOW_CALM));
	control->learned = control->window;
	if (control->last_tick_ns == control->start_ns) /* nobody has been told of another one yet */
		control->out = (uint32_t)control->window;
}

void control_restart(struct control *control, uint64_t now_ns)
{
	memset(&control->server, 0, sizeof(control->server));
	control->server.mu_next_ns = control->calm_ns = now_ns;
	control->cold = true;
	control->known = false;
	control->stalled = false;
	control->unanswered = 0;
	control->last_settled_ns = now_ns;
	control->window = control_window_bound(control, fmin(control->window, CONTROL_WINDOW_START));
	control->learned = control->window;
	control->served = 0;
	control->why = CONTROL_SIGNAL_DEMAND; /* none yet */
	control->why_value = 0;
	if (control->slow.threshold > 0)
		control->slow.ceiling = control->slow.threshold / 2;
}

static void control_expire(struct control *control, const struct control_input *input)
{
	double want = 4 * (double)input->first_byte_p99_ns;
	double samples = (double)input->delay_count;
	double gain = want > control->expire_ns ? 0.5 * samples / (samples + 4) : 0.05;

	if (input->delay_count)
		control->expire_ns += gain * (want - control->expire_ns);
	/* Late ones are cut off from the quantile where the daemon counts only what settled in time. */
	if (input->late_settled * 50 > input->settled)
		control->expire_ns *= 1.05;
	control->expire_ns = control_clamp(control->expire_ns, SYNHOLD_EXPIRE_MIN_NS, SYNHOLD_EXPIRE_MAX_NS);
}

static void control_state_set(struct control *control, bool biting)
{
	if (control->policy.window_mode != SYNHOLD_WINDOW_AUTO)
		control->state = CONTROL_STATE_FIXED;
	else if (control->slow.drain)
		control->state = CONTROL_STATE_DRAIN;
	else if (control->stalled)
		control->state = CONTROL_STATE_STALL;
	else if (control->slow.ceiling > 0)
		control->state = CONTROL_STATE_CEILING;
	else if (!biting)
		control->state = CONTROL_STATE_CALM;
	else
		control->state = control->known ? CONTROL_STATE_TRACK : CONTROL_STATE_START;
}

/* The window in force follows the exact one in steps worth a log line. */
static void control_publish(struct control *control, uint64_t now_ns, double bound, struct control_change *change)
{
	double window = control_window_bound(control, fmin(control->window, bound));
	uint32_t out = control->out;

	memset(change, 0, sizeof(*change));
	if (control->policy.window_mode == SYNHOLD_WINDOW_NONE)
		out = 0;
	else if (control->policy.window_mode == SYNHOLD_WINDOW_FIXED)
		out = control->policy.window;
	else if (fabs(window - out) >= fmax(1, CONTROL_STEP * out) || out < control->policy.window_min ||
		 out > control->policy.window_max)
		out = (uint32_t)lround(window);
	if (out == control->out)
		return;
	change->changed = true;
	change->signal = control->why;
	change->value = control->why_value;
	if (control->policy.window_mode != SYNHOLD_WINDOW_AUTO || !control->out ||
	    control->out < control->policy.window_min || control->out > control->policy.window_max) {
		change->signal = CONTROL_SIGNAL_POLICY;
		change->value = out;
	}
	change->from = control->out;
	change->to = out;
	strncpy(change->name, control_signal_name(change->signal), sizeof(change->name) - 1);
	control->out = out;
	control->last = *change;
	control->last_change_ns = now_ns;
}

int control_tick(struct control *control, const struct control_input *counted, struct control_output *output)
{
	struct control_input seen, *input = &seen;
	double dt_ns, bound;
	bool biting;

	if (counted->now_ns <= control->last_tick_ns || counted->pressures > CONTROL_SIGNALS)
		return -EINVAL;
	seen = *counted;
	control_silent_tick(control, input);
	dt_ns = (double)(input->now_ns - control->last_tick_ns);
	control->limited = input->window_limited || (input->held && control->out && input->inflight >= control->out);
	if (control->limited)
		control->last_limited_ns = input->now_ns;
	biting = control->last_limited_ns && input->now_ns - control->last_limited_ns < CONTROL_BITING_NS;
	if (biting || input->held)
		control->calm_ns = input->now_ns;

	control_window_tick(control, input, dt_ns, biting);
	control_expire(control, input);
	bound = control_delay_probe(control, input->now_ns, biting);
	memset(output, 0, sizeof(*output));
	control_ceiling_tick(control, input, dt_ns, biting, &output->ceiling_change);
	control_publish(control, input->now_ns, bound, &output->window_change);
	control_state_set(control, biting);
	control->last_tick_ns = input->now_ns;
	control->last_inflight = input->inflight;
	output->silent = control_silent_given(control);
	output->window = control->out + output->silent;
	output->silent_after_ns = (uint64_t)control_silent_grace_ns(control);
	output->ceiling_pps = control->ceiling_out;
	output->expire_ns = (uint64_t)control->expire_ns;
	output->cold = control->cold;
	output->stalled = control->stalled;
	output->quiet_ns = control->quiet_ns;
	return 0;
}
