// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The law of the window.
 *
 *   pace   = connections served while the newest ones waited / that wait    (control_delay.c)
 *   goal   = max(target, 1.2 base + target / 2)
 *   want   = pace * (RTT + goal) + slots of idle and leaving connections
 *   delay over 1.15 goal, window limiting  -> window = max(want, window seen - pace * (delay - goal)),
 *                                             at most halved in a tick
 *   delay under 0.85 goal, window limiting -> window = min(want, 3, 2 or 1.25 x the window seen, guard)
 *   between                                -> stays
 *   cutting has come to its end, or has cost throughput, and the delay stays
 *                                          -> 1.8 x for three slot times, to see whether it is a queue at all
 *   nothing settles for 1 s or four slots  -> halved every 0.3 s down to window_min, which goes on probing; after
 *                                             half as long again also where the window keeps nobody back yet
 *   not limiting                           -> what was learned, or 2.5 x the peak of the last 5 to 10 s
 *
 * The window seen is the one in force when the newest samples were let in; a slot is RTT + delay. In
 * saturation `want` does not depend on the window, so the loop settles in one round trip and does not swing.
 * What the pressure signals add is in control_ceiling.c.
 */
#include <math.h>

#include "daemon/control_parts.h"

#define WINDOW_OVER 1.15  /* of the goal: above it the window is cut */
#define WINDOW_UNDER 0.85 /* below it the window may grow */
#define WINDOW_LEFT_MAX \
	0.25 /* of the pace: more than this leaves during the handshake, and takes no place at the server */
#define WINDOW_CUT_MAX 0.5
#define WINDOW_RAISE 1.8        /* to see whether a delay that stays is a queue */
#define WINDOW_RAISE_SLOW 1.625 /* the same below 50 connections a second, where each is a delay of its own */
#define WINDOW_RAISE_TARGETS 3  /* a raise that would add more than this is not made */
#define WINDOW_LOSS 0.88        /* of the best pace: below it cutting may have cost throughput */
#define WINDOW_LOST_BELOW 1.5
#define WINDOW_RAISED_MAX 2.5 /* a raise that does this has told enough */
#define WINDOW_RAISE_MAX_NS 6e10
#define WINDOW_STALL_NS 1e9
#define WINDOW_STALL_STEP_NS 300000000ULL
#define WINDOW_STALL_CALM 1.5    /* times as long where the window keeps nobody back ... */
#define WINDOW_STALL_CALM_MIN 16 /* ... and so many have been let in meanwhile */
#define WINDOW_ROOM_NS 2e8       /* unanswered for so long, or two slots: what is in flight is no demand */
#define WINDOW_PEAK_NS 5000000000ULL
#define WINDOW_OVERFLOW_NS 2500000000ULL
#define WINDOW_CALM_NS 10000000000ULL /* of calm, settling traffic: no longer cold */

double control_window_bound(const struct control *control, double window)
{
	return control_clamp(window, control->policy.window_min, control->policy.window_max);
}

static void window_move(struct control *control, double window, enum control_signal signal, double value)
{
	control->window = control_window_bound(control, window);
	control->why = signal;
	control->why_value = value;
}

/* Settlements per second while the window limits: the highest of the last two to three seconds. */
static void window_count(struct control *control, const struct control_input *input, double dt_ns)
{
	struct control_server *server = &control->server;
	double second = control_clamp(dt_ns / 1e9, 0, 1);
	double mu = (double)(input->settled + input->late_settled) / dt_ns * 1e9;

	while (input->now_ns - server->mu_next_ns >= 1000000000ULL) {
		server->mu_peak[2] = server->mu_peak[1];
		server->mu_peak[1] = server->mu_peak[0];
		server->mu_peak[0] = 0;
		server->mu_next_ns += 1000000000ULL;
		if (input->now_ns - server->mu_next_ns > 10000000000ULL)
			server->mu_next_ns = input->now_ns;
	}
	server->mu_peak[0] = fmax(server->mu_peak[0], mu);
	server->expired += second * ((double)input->expired / dt_ns * 1e9 - server->expired);
	server->abandoned += second * ((double)input->abandoned / dt_ns * 1e9 - server->abandoned);
	if (!control->limited || input->now_ns < server->ghosts_ns || input->abandoned * 10 > input->settled)
		return;
	server->mu += fmin(0.1, second) * (mu - server->mu);
	server->mu_best *= 1 - 0.01 * second;
	/* A delay far over the goal is a server that has lost capacity: what it once did does not count. */
	if (server->delay_ns > WINDOW_LOST_BELOW * control_delay_goal_ns(control))
		server->mu_best = 0;
	if (server->mu > server->mu_best) {
		server->mu_best = server->mu;
		server->mu_best_window = control->out;
	}
}

/* Slots taken by connections without a request (browsers' spare ones) and by clients that left. */
static double window_others(const struct control *control)
{
	const struct control_server *server = &control->server;

	return fmax(server->idle, server->expired * control->expire_ns / 1e9) +
	       fmin(server->abandoned, WINDOW_LEFT_MAX * server->rate) * control_delay_slot_ns(control) / 1e9;
}

/* More than this cannot be of use: the pace really seen, the goal and one target more. */
static double window_guard(const struct control *control)
{
	const struct control_server *server = &control->server;
	double mu = fmax(server->mu_peak[0], fmax(server->mu_peak[1], server->mu_peak[2]));
	double slot = server->rtt_ns + control_delay_goal_ns(control) + (double)control->policy.target_delay_ns;

	return mu * slot / 1e9 + 2 * window_others(control);
}

/*
 * Whether those who wait are enough to tell where the window keeps nobody back: clients that let their connection lie
 * idle look the same, where they can be seen at all.
 */
static bool window_waited_for(const struct control *control, const struct control_input *input)
{
	return control->unanswered >= WINDOW_STALL_CALM_MIN &&
	       (!control->silent.telling || 2 * input->asking >= input->inflight);
}

/*
 * Nothing settles although handshakes wait. With more that want in, that is certain soon; without, a server that froze
 * would be sent all that comes until the window is full, as slots expire and make room.
 */
static void window_stall(struct control *control, const struct control_input *input, bool biting)
{
	double patience = WINDOW_STALL_NS, window = control->window;

	control->unanswered = fmax(0, control->unanswered + (double)input->admitted - (double)input->abandoned);
	if (input->settled + input->late_settled || !control->last_inflight ||
	    control_silent_only(control, input->now_ns)) {
		control->last_settled_ns = input->now_ns;
		control->unanswered = 0;
		if (control->stalled) {
			/* Another server for all we know. */
			control->stalled = control->known = false;
			control_delay_forget(control);
		}
	}
	control->quiet_ns = input->now_ns - control->last_settled_ns;
	if (control->server.weight > 0)
		patience = fmax(patience, fmin(1e10, 4 * control_delay_slot_ns(control)));
	if (!biting && !control->stalled) {
		if (!window_waited_for(control, input))
			return;
		patience *= WINDOW_STALL_CALM;
		window = fmin(window, (double)input->inflight);
	}
	if ((double)control->quiet_ns <= patience)
		return;
	if (!control->stalled || input->now_ns - control->stall_step_ns >= WINDOW_STALL_STEP_NS) {
		control->stall_step_ns = input->now_ns;
		window_move(control, window * WINDOW_CUT_MAX, CONTROL_SIGNAL_STALL, (double)control->quiet_ns);
	}
	control->stalled = control->known = true;
}

/*
 * Is the delay that stays a queue at all? A larger window for one round trip tells. Asked when cutting has
 * come to its end or has cost throughput, and less and less often.
 */
static bool window_raise(struct control *control, const struct control_input *input)
{
	struct control_server *server = &control->server;
	double slot = control_delay_slot_ns(control), raise = server->rate > 50 ? WINDOW_RAISE : WINDOW_RAISE_SLOW;

	/* Not where it would mean a delay that clients notice. */
	if (WINDOW_RAISE_TARGETS * server->rate * (double)control->policy.target_delay_ns / 1e9 <
	    (raise - 1) * control->window)
		return false;
	if (!control->limited || input->now_ns < control->raised_ns ||
	    (double)(input->now_ns - control->raised_ns) < control->raise_wait_ns + 4 * slot)
		return false;
	control->raise_wait_ns = fmin(2 * control->raise_wait_ns, WINDOW_RAISE_MAX_NS);
	control->raised_ns = input->now_ns + (uint64_t)(3 * slot + 5.0 * CONTROL_TICK_NS);
	server->mu_best = server->mu;
	server->mu_best_window = control->window;
	server->trial.ahead = 0;
	control_delay_trial(control, input->now_ns, true);
	window_move(control, raise * control->window, CONTROL_SIGNAL_FIRST_BYTE, server->delay_ns);
	return true;
}

/* Less is served than with the larger window of a while ago, and not because clients had left. */
static bool window_lost(const struct control *control, const struct control_input *input)
{
	const struct control_server *server = &control->server;
	double settled_ns = (double)(input->now_ns - control->cut_ns);

	/* Far over the goal or still moving, the delay speaks of a server that has lost capacity. */
	if (server->delay_ns > WINDOW_LOST_BELOW * control_delay_goal_ns(control) || server->odd_delay != 0 ||
	    settled_ns < 3 * control_delay_slot_ns(control) + 5.0 * CONTROL_TICK_NS)
		return false;
	return server->mu < WINDOW_LOSS * server->mu_best && input->now_ns >= server->ghosts_ns &&
	       control->window < WINDOW_LOSS * server->mu_best_window;
}

static void window_cut(struct control *control, const struct control_input *input, double window)
{
	struct control_server *server = &control->server;
	double stuck_ns = (double)(input->now_ns - control->cut_ns);

	if (input->now_ns < control->raised_ns && server->delay_ns < WINDOW_RAISED_MAX * control_delay_goal_ns(control))
		return;
	if (window_lost(control, input) && window_raise(control, input))
		return;
	if (window > 0.98 * control->window) {
		if (stuck_ns > control->raise_wait_ns + 4 * control_delay_slot_ns(control))
			window_raise(control, input);
		return;
	}
	window_move(control, window, CONTROL_SIGNAL_FIRST_BYTE, server->delay_ns);
	control_delay_trial(control, input->now_ns, false);
	control->cut_ns = input->now_ns;
}

static void window_follow(struct control *control, const struct control_input *input, bool biting)
{
	struct control_server *server = &control->server;
	double goal = control_delay_goal_ns(control), fill = control_delay_fill(control);
	double want, window, grow;

	server->idle += 0.5 * (control_delay_idle(control, input) - server->idle);
	want = server->rate * (server->rtt_ns + goal) / 1e9 + window_others(control);
	if (biting && server->delay_ns > WINDOW_OVER * goal) {
		control->known = true;
		if (!control->over) {
			control->over = true;
			control->cut_ns = input->now_ns;
		}
		/* With slots gone to clients that had left, the pace is no measure of the server. */
		if (input->now_ns < server->ghosts_ns && server->delay_ns < 2 * goal)
			return;
		/* What the newest samples saw, less their excess: the same in saturation, and kind to idle
		 * slots. */
		window = server->window - server->tick_rate * (server->tick_delay_ns - goal) / 1e9;
		window = fmax(fmax(want, window), control->window * WINDOW_CUT_MAX);
		window_cut(control, input, control_window_bound(control, window));
		return;
	}
	control->over = false;
	if (!control->limited)
		return;
	if (server->delay_ns > WINDOW_UNDER * goal) {
		if (window_lost(control, input))
			window_raise(control, input);
		return;
	}
	if (input->now_ns < control->no_growth_ns || control->slow.alarm)
		return;
	/* A lazy server's queue that is nearly full would drop what a larger window lets in. */
	if (input->accept_queue_max > 0 && input->accept_queue * 4 > input->accept_queue_max * 3)
		return;
	/*
	 * With a slow server `want` is close to the pace by definition and would take many round trips; and
	 * before the server's limit has been seen, its base may not be what the first answers made it look
	 * like.
	 */
	if (fill < 0.3 && !control->known)
		want = fmax(want, 1.5 * server->window);
	grow = fill < 0.15 ? 3 : fill < 0.3 || !control->known ? 2 : 1.25;
	window = fmin(fmin(want, grow * server->window), window_guard(control));
	if (control->queue_cap > 0)
		window = fmin(window, control->queue_cap);
	if (window > control->window) {
		window_move(control, window, CONTROL_SIGNAL_FIRST_BYTE, server->delay_ns);
		if (!control->known)
			control_delay_trial(control, input->now_ns, true);
	}
}

/*
 * The server was quick and then went quiet with the window full. It may hang, or all slots have gone to idle
 * connections: a few more tell, long before the old ones expire.
 */
static void window_knock(struct control *control)
{
	const struct control_server *server = &control->server;

	if (!control->limited || control->stalled || server->weight <= 0 || control_delay_fill(control) > 0.5 ||
	    (double)control->quiet_ns < fmax(2 * control_delay_slot_ns(control), 2.0 * CONTROL_TICK_NS))
		return;
	window_move(control, control->window + control->policy.window_min, CONTROL_SIGNAL_FIRST_BYTE, server->delay_ns);
}

/*
 * As many as may come at once out of calm before anything is known of the server's limit: a burst is no herd. Grows
 * with every answer in time, and is less where a single answer takes long already.
 */
static double window_trusted(const struct control *control)
{
	double target = (double)control->policy.target_delay_ns;
	double most = CONTROL_WINDOW_CALM * fmin(1, 2 * target / fmax(control->server.base_ns, 1));

	return fmin(CONTROL_WINDOW_START + control->served, fmax(most, 2 * CONTROL_WINDOW_START));
}

/* Calm: room above the traffic, but no more than a burst that the server has been seen to take. */
static void window_room(struct control *control, const struct control_input *input)
{
	/* Until something settles, what is in flight may be what a melted server cannot answer: no demand to make room
	 * for. */
	double answers_ns = fmin(WINDOW_STALL_NS, fmax(WINDOW_ROOM_NS, 2 * control_delay_slot_ns(control)));
	bool healthy = control->server.weight > 0 && (double)control->quiet_ns <= answers_ns &&
		       control->server.delay_ns <= WINDOW_OVER * control_delay_goal_ns(control);
	double peak, least = control->learned;

	if (input->now_ns - control->peak_ns >= WINDOW_PEAK_NS) {
		control->peak_ns = input->now_ns;
		control->peak[1] = control->peak[0];
		control->peak[0] = 0;
	}
	/* In flight because the server is slow is not demand. */
	if (healthy && input->inflight > control->peak[0])
		control->peak[0] = (uint32_t)fmin((double)input->inflight, control->policy.window_max);
	if (healthy)
		control->served = fmin(control->served + (double)input->settled, CONTROL_WINDOW_CALM);
	if (!control->known)
		least = fmax(least, window_trusted(control));
	peak = fmax(control->peak[0], control->peak[1]);
	if (2 * peak > control->window || 2 * control->window <= least ||
	    (control->window < least && control->served >= CONTROL_WINDOW_CALM))
		window_move(control, fmax(least, 2.5 * peak), CONTROL_SIGNAL_DEMAND, peak);
	else if (control->window > least && control->window > 4 * peak)
		window_move(control, fmax(least, 2.5 * peak), CONTROL_SIGNAL_DEMAND, peak);
	if (input->now_ns - control->calm_ns > WINDOW_CALM_NS && control->server.weight > 0)
		control->cold = false;
}

/* The listener's queue is shorter than the delay would allow: remember the window that it could not take. */
static void window_overflow(struct control *control, const struct control_input *input, double dt_ns, bool biting)
{
	double let_in = fmin(control->window, fmax(1, (double)input->inflight));

	if (control->queue_cap > 0 && input->now_ns >= control->no_growth_ns)
		control->queue_cap *= 1 + 0.01 * dt_ns / 1e9;
	/* What overflowed once comes again after a second or more: that is the same event. */
	if (!input->listen_overflows || input->now_ns < control->no_growth_ns)
		return;
	/* Somebody else's burst, or one we have not let in: nothing a smaller window would help. */
	if (!biting && (input->accept_queue_max <= 0 || input->inflight < (uint64_t)input->accept_queue_max / 2))
		return;
	control->no_growth_ns = input->now_ns + WINDOW_OVERFLOW_NS;
	control->known = true;
	control->queue_cap = 0.8 * let_in;
	window_move(control, 0.7 * let_in, CONTROL_SIGNAL_ACCEPT_QUEUE, (double)input->listen_overflows);
}

void control_window_tick(struct control *control, const struct control_input *input, double dt_ns, bool biting)
{
	bool fresh;

	control_delay_record(control, input, dt_ns);
	window_count(control, input, dt_ns);
	window_stall(control, input, biting);
	fresh = control_delay_observe(control, input, dt_ns);
	if (control->policy.window_mode == SYNHOLD_WINDOW_AUTO) {
		if (fresh)
			window_follow(control, input, biting);
		else
			window_knock(control);
		window_overflow(control, input, dt_ns, biting);
		if (biting)
			control->learned = control->window;
		else if (!input->held && !control->stalled)
			window_room(control, input);
	}
	if (control->known)
		control->cold = false;
}
