// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the server's first bytes say about it.
 *
 * Pace. Connections served while the newest ones waited, divided by that wait. In saturation it is what the
 * server can do whatever the window was, so the window that follows from it needs no damping against its own
 * delay: that is what keeps it from swinging.
 *
 * Base. Part of the delay is no queue: what the server needs when idle. Subtracting nothing would starve a
 * server that simply is slow; trusting any measured minimum would make a standing queue look like slowness.
 * So it is taken from calm, lowered at once by anything faster, and raised only by experiment: after a cut
 * the delay either follows (it was queue) or stays (it was not). A base raised that way is put to the test
 * again.
 */
#include <math.h>

#include "daemon/control_parts.h"

#define DELAY_SAMPLES_FULL 8.0 /* this many samples make a tick count half */
#define DELAY_GAIN_MAX 0.3
#define DELAY_ODD_LOG 0.4 /* |ln| of a step that is taken for a change of the server, seen twice */
#define DELAY_OTHER_TICKS 5
#define DELAY_BASE_MAX_NS 5e9
#define DELAY_SLOT_MIN_NS 2e4
#define DELAY_PROBE_SHARE 0.75
#define DELAY_PROBES 3
#define DELAY_PROBE_BASE 0.6 /* of the target */
#define DELAY_BASE_SLOW 2    /* targets */
#define DELAY_TRIAL_SAMPLES 20
#define DELAY_TRIAL_TICKS 4
#define DELAY_TRIAL_DOWN 0.6
#define DELAY_TRIAL_UP 1.55
#define DELAY_SERVED_DOWN                                                                 \
	0.7 /* of what was served during one slot time: the half of it may be from before \
	     */
#define DELAY_SERVED_UP 1.4
#define DELAY_PROBE_SAMPLES 8
#define DELAY_PROBE_AGAIN_NS 1e10 /* a base that moves the goal is tried again after this time, or so many slots */
#define DELAY_PROBE_AGAIN_SLOTS 15
#define DELAY_QUEUE 5     /* connections that may wait for the server's workers, however slow they are */
#define DELAY_EXTRA_MAX 3 /* targets above the base */
#define DELAY_FOLLOWS 0.8 /* d ln(time in the slot) / d ln(window): 1 in saturation, 0 without a queue */
#define DELAY_FOLLOWS_NOT 0.45

static const struct control_slice *delay_slice(const struct control *control, unsigned int back)
{
	return &control->history[(control->slices - 1 - back) % CONTROL_HISTORY];
}

/*
 * What settled between `from_ms` and the middle of the newest interval, in connections; from_ms moves up to
 * where the history begins. *window: in force at that time.
 */
static double delay_served(const struct control *control, double *from_ms, double *window)
{
	unsigned int count = control->slices < CONTROL_HISTORY ? control->slices : CONTROL_HISTORY, i;
	const struct control_slice *slice = delay_slice(control, 0);
	double served = 0, part, start_ms;

	for (i = 0; i < count; i++) {
		slice = delay_slice(control, i);
		start_ms = slice->end_ms - slice->length_ms;
		part = i ? 1 : 0.5;
		if (start_ms < *from_ms)
			part -= control_clamp((*from_ms - start_ms) / slice->length_ms, 0, part);
		served += part * slice->settled;
		if (start_ms <= *from_ms)
			break;
	}
	if (i == count)
		*from_ms = fmax(*from_ms, slice->end_ms - slice->length_ms);
	*window = slice->window;
	return served;
}

double control_delay_idle(const struct control *control, const struct control_input *input)
{
	unsigned int count = control->slices < CONTROL_HISTORY ? control->slices : CONTROL_HISTORY, i;
	double since_ms = delay_slice(control, 0)->end_ms - 3 * control_delay_slot_ns(control) / 1e6;
	double young = 0;

	if (control->server.weight <= 0)
		return 0;
	for (i = 0; i < count; i++) {
		const struct control_slice *slice = delay_slice(control, i);

		young += slice->admitted;
		if (slice->end_ms - slice->length_ms < since_ms)
			return fmax(0, (double)input->inflight - young);
	}
	return 0;
}

void control_delay_record(struct control *control, const struct control_input *input, double dt_ns)
{
	struct control_slice *slice = &control->history[control->slices % CONTROL_HISTORY];

	slice->settled = (float)(input->settled + input->late_settled);
	slice->admitted = (float)input->admitted;
	slice->window = control->limited && control->out ? control->out : (uint32_t)fmax(1, input->inflight);
	slice->end_ms = (double)(input->now_ns - control->start_ns) / 1e6;
	slice->length_ms = (float)fmax(1, dt_ns / 1e6);
	control->slices++;
}

double control_delay_goal_ns(const struct control *control)
{
	const struct control_server *server = &control->server;
	double target = (double)control->policy.target_delay_ns, extra;

	/*
	 * A slow server needs room above its own time, or the window would run dry between two answers; and where few
	 * connections are served in a second, a queue of a few is all that keeps its workers busy. Where round trips
	 * are not known the base contains them, and the target comes on top.
	 */
	extra = 0.2 * server->base_ns + (server->has_rtt ? 0.5 : 1) * target +
		DELAY_QUEUE * 1e9 / fmax(server->rate, 1);
	return fmax(target, server->base_ns + fmin(extra, DELAY_EXTRA_MAX * target));
}

double control_delay_slot_ns(const struct control *control)
{
	return fmax(DELAY_SLOT_MIN_NS, control->server.rtt_ns + control->server.delay_ns);
}

double control_delay_fill(const struct control *control)
{
	const struct control_server *server = &control->server;
	double room = control_delay_goal_ns(control) - server->base_ns;

	return control_clamp((server->delay_ns - server->base_ns) / room, 0, 100);
}

void control_delay_forget(struct control *control)
{
	control->server.weight = 0;
	control->server.trial.ahead = 0;
}

void control_delay_trial(struct control *control, uint64_t now_ns, bool up)
{
	struct control_server *server = &control->server;

	if (server->trial.ahead > 0 && server->trial.up == up)
		return;
	server->trial.ahead = server->rate * control_delay_slot_ns(control) / 1e9;
	server->trial.window = server->window;
	server->trial.up = up;
	server->trial.delay_ns = server->delay_ns;
	server->trial.end_ns = now_ns + (uint64_t)(5e9 + 16 * control_delay_slot_ns(control));
	server->trial.samples = server->trial.sum_ns = server->trial.sum_ahead = 0;
	server->trial.ticks = 0;
}

static void delay_base_set(struct control_server *server, double base_ns)
{
	server->base_ns = fmin(base_ns, DELAY_BASE_MAX_NS);
}

/* A base that has not been through its probes yet. One that hardly moves the goal is not worth the dip. */
static bool delay_unproven(const struct control *control)
{
	return control->server.probes_left &&
	       control->server.base_ns >= DELAY_PROBE_BASE * (double)control->policy.target_delay_ns;
}

/* So much of a base is tested from the start, and again and again: it may be that of a server that was cold. */
static bool delay_slow(const struct control *control)
{
	return control->server.base_ns >= DELAY_BASE_SLOW * (double)control->policy.target_delay_ns;
}

static void delay_verdict(struct control *control, double ahead, double delay_ns, uint64_t now_ns)
{
	struct control_server *server = &control->server;
	double slot = server->rtt_ns + delay_ns, then = server->rtt_ns + server->trial.delay_ns;
	double follows = log(slot / then) / log(ahead / server->trial.ahead);

	if (ahead < server->trial.ahead && follows >= DELAY_FOLLOWS_NOT && follows <= DELAY_FOLLOWS &&
	    ahead > 0.4 * server->trial.ahead)
		return; /* wait for the window to fall further */
	if (follows > DELAY_FOLLOWS) {
		control->known |= ahead > server->trial.ahead && control_delay_fill(control) > 0.3;
	} else {
		/* At the smaller of the two windows there was no queue, or a small one. */
		delay_ns = fmin(delay_ns, server->trial.delay_ns) * fmin(1, 1 + DELAY_FOLLOWS_NOT - follows);
		if (delay_ns > server->base_ns && !delay_unproven(control)) {
			delay_base_set(server, delay_ns);
			server->probes_left = DELAY_PROBES;
			control->raise_wait_ns = CONTROL_RAISE_NS;
			server->probe_next_ns = now_ns + (uint64_t)fmax(2e9, 4 * slot);
		}
	}
	server->trial.ahead = 0;
}

static void delay_run_trial(struct control *control, const struct control_input *input, double delay_ns)
{
	struct control_server *server = &control->server;
	double samples = (double)input->delay_count, moved, ahead;

	if (server->trial.ahead <= 0)
		return;
	if (input->now_ns > server->trial.end_ns) {
		server->trial.ahead = 0;
		return;
	}
	if (input->now_ns < server->ghosts_ns)
		return;
	moved = server->window / server->trial.window;
	if (moved > 0.9 && moved < 1.1) {
		/*
		 * Still the old window: what it meant is known better and better. A queue that is still
		 * growing must not pass for a delay that does not fall.
		 */
		if (!server->trial.up && server->quick_delay_ns >= server->trial.delay_ns) {
			server->trial.delay_ns = server->quick_delay_ns;
			server->trial.ahead = server->quick_ahead;
		}
		return;
	}
	if (server->trial.up ? moved < DELAY_TRIAL_UP : moved > DELAY_TRIAL_DOWN)
		return;
	server->trial.samples += samples;
	server->trial.sum_ns += samples * delay_ns;
	server->trial.sum_ahead += samples * server->ahead;
	if (server->trial.samples < DELAY_TRIAL_SAMPLES || ++server->trial.ticks < DELAY_TRIAL_TICKS)
		return;
	delay_ns = server->trial.sum_ns / server->trial.samples;
	ahead = server->trial.sum_ahead / server->trial.samples;
	server->trial.samples = server->trial.sum_ns = server->trial.sum_ahead = 0;
	server->trial.ticks = 0;
	moved = ahead / server->trial.ahead;
	if (server->trial.up ? moved >= DELAY_SERVED_UP : moved <= DELAY_SERVED_DOWN)
		delay_verdict(control, ahead, delay_ns, input->now_ns);
}

double control_delay_probe(struct control *control, uint64_t now_ns, bool biting)
{
	struct control_server *server = &control->server;
	double slot = fmin(control_delay_slot_ns(control), 2 * (server->rtt_ns + server->base_ns));

	if (server->probe_end_ns > now_ns)
		return server->idle + server->rate * (server->rtt_ns + DELAY_PROBE_SHARE * server->base_ns) / 1e9;
	if (!delay_unproven(control) || !biting || now_ns < server->probe_next_ns)
		return control->policy.window_max;
	server->probe_end_ns =
		now_ns + (uint64_t)(slot + 2.0 * CONTROL_TICK_NS + DELAY_PROBE_SAMPLES * 1e9 / fmax(1, server->rate));
	if (server->probes_left > 1 || !delay_slow(control)) {
		server->probes_left--;
		server->probe_next_ns = server->probe_end_ns + (uint64_t)fmax(2e9, 4 * slot);
	} else {
		server->probe_next_ns =
			server->probe_end_ns + (uint64_t)fmax(DELAY_PROBE_AGAIN_NS, DELAY_PROBE_AGAIN_SLOTS * slot);
	}
	return control->policy.window_max;
}

static void delay_run_base(struct control *control, const struct control_input *input, double dt_ns)
{
	struct control_server *server = &control->server;
	bool calm = input->now_ns - control->last_limited_ns > 1000000000ULL && !input->held;

	if (server->base_ns <= 0) {
		/* The first connections meet an empty server, unless it was in trouble already. */
		if (!control->stalled && !input->expired && !input->late_settled && server->delay_ns < 1e9 &&
		    !control->known) {
			delay_base_set(server, server->delay_ns);
			server->probes_left = delay_slow(control) ? DELAY_PROBES : 0;
			server->probe_next_ns = input->now_ns + (uint64_t)fmax(2e9, 4 * control_delay_slot_ns(control));
		}
		return;
	}
	if (server->delay_ns < server->base_ns) {
		if (server->probe_end_ns + CONTROL_TICK_NS + (uint64_t)control_delay_slot_ns(control) > input->now_ns) {
			/* That is what the probe was for. If it was far off, look again. */
			if (server->delay_ns < 0.93 * server->base_ns)
				server->probes_left = DELAY_PROBES;
			delay_base_set(server, server->delay_ns);
		} else {
			delay_base_set(server, server->base_ns + 0.5 * (server->delay_ns - server->base_ns));
		}
	} else if (calm && server->delay_ns < control_delay_goal_ns(control)) {
		delay_base_set(server, server->base_ns + (server->delay_ns - server->base_ns) *
								 control_clamp(dt_ns / 30e9, 0, 1));
	}
}

bool control_delay_observe(struct control *control, const struct control_input *input, double dt_ns)
{
	struct control_server *server = &control->server;
	double p50_ns = (double)input->delay_p50_ns, delay_ns, rtt_ns, slot_ns, ahead, rate, gain, step, late;
	double now_ms, from_ms, window;
	double samples = (double)input->delay_count;

	/* Released to clients that had left, slots pass by the server: what it serves says nothing then. */
	if (input->abandoned * 10 > input->settled)
		server->ghosts_ns = input->now_ns + (uint64_t)(control_delay_slot_ns(control) + CONTROL_TICK_NS);
	if (!input->delay_count)
		return false;
	if (input->has_rtt != server->has_rtt) {
		/* Another quantity. A tick or two of it among many of the first kind is better left out. */
		if (server->weight > 0 && ++server->other_kind < DELAY_OTHER_TICKS)
			return false;
		control_delay_forget(control);
		server->base_ns = 0;
		server->has_rtt = input->has_rtt;
	}
	server->other_kind = 0;
	/* The median is blind to a few slow answers, the mean is not rounded to a bucket. */
	delay_ns = control_clamp((double)input->delay_mean_ns, 0.85 * p50_ns, 1.15 * p50_ns);
	rtt_ns = input->has_rtt ? (double)input->rtt_mean_ns : 0;
	slot_ns = fmax(DELAY_SLOT_MIN_NS, rtt_ns + delay_ns);
	now_ms = delay_slice(control, 0)->end_ms - dt_ns / 2e6;
	from_ms = now_ms - slot_ns / 1e6;
	ahead = delay_served(control, &from_ms, &window);
	rate = fmax(ahead, 0.5) / fmax(now_ms - from_ms, 1e-2) * 1e3;

	gain = fmin(DELAY_GAIN_MAX, samples / (samples + DELAY_SAMPLES_FULL));
	if (server->weight <= 0) {
		gain = 1;
		server->rtt_ns = rtt_ns;
	} else {
		/* A large step twice in a row is no noise. */
		step = log(rate / server->rate);
		late = log(fmax(delay_ns, 1e5) / fmax(server->delay_ns, 1e5));
		if ((fabs(step) > DELAY_ODD_LOG && step * server->odd_rate > 0) ||
		    (fabs(late) > DELAY_ODD_LOG && late * server->odd_delay > 0))
			gain = fmax(gain, control_clamp(samples / 4, 0, 0.9));
		server->odd_rate = fabs(step) > DELAY_ODD_LOG ? step : 0;
		server->odd_delay = fabs(late) > DELAY_ODD_LOG ? late : 0;
		/* Growing into an empty server: the pace is as high as the window made it, nothing to smooth.
		 */
		if (!control->known &&
		    delay_ns < server->base_ns + 0.3 * (control_delay_goal_ns(control) - server->base_ns))
			gain = fmax(gain, control_clamp(samples / 4, 0, 1));
	}
	server->rate = server->weight > 0 ? server->rate * exp(gain * log(rate / server->rate)) : rate;
	server->delay_ns = server->weight > 0 ? server->delay_ns + gain * (delay_ns - server->delay_ns) : delay_ns;
	server->rtt_ns += fmin(gain, 0.2) * (rtt_ns - server->rtt_ns);
	server->ahead = ahead;
	server->window = window;
	server->tick_rate = rate;
	gain = server->weight > 0 ? fmin(0.5, samples / 16) : 1;
	server->quick_delay_ns += gain * (delay_ns - server->quick_delay_ns);
	server->quick_ahead += gain * (ahead - server->quick_ahead);
	server->tick_delay_ns = delay_ns;
	server->weight = fmin(1000, server->weight + samples);
	delay_run_trial(control, input, delay_ns);
	delay_run_base(control, input, dt_ns);
	return true;
}

uint64_t control_quantile_ns(const uint64_t histogram[SYNHOLD_HIST_BUCKETS], unsigned int permille)
{
	double total = 0, want, low, high, octave;
	unsigned int i, n;

	for (i = 0; i < SYNHOLD_HIST_BUCKETS; i++)
		total += (double)histogram[i];
	if (total <= 0)
		return 0;
	want = total * permille / 1000;
	for (i = 0; i < SYNHOLD_HIST_BUCKETS - 1; i++) {
		if (want <= (double)histogram[i])
			break;
		want -= (double)histogram[i];
	}
	if (i == 0) {
		low = 0;
		high = ldexp(1, SYNHOLD_HIST_MIN_SHIFT);
	} else {
		n = i - 1;
		octave = ldexp(1, (int)(SYNHOLD_HIST_MIN_SHIFT + n / 4));
		low = octave * (1 + n % 4 / 4.0);
		high = low + octave / 4;
	}
	if (histogram[i])
		low += (high - low) * control_clamp(want / (double)histogram[i], 0, 1);
	return (uint64_t)low;
}
