// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Clients that connect and say nothing.
 *
 * Their slots are no work of the server's, so they are taken out of what the law of the window sees and added to the
 * window it gives. How many they are is counted and not guessed: the data plane sees the server's kernel acknowledge
 * the first data of a client, so a slot that is old enough and has not been asked for is one of theirs.
 *
 * Where servers speak first (SSH, MySQL), clients never ask before the first byte; where the server is not on this host
 * its acknowledgements say nothing. So the sign counts only while nearly all that settled had asked. Before anything
 * has settled, a listener here that accepts what comes is believed to wait for its clients, within bounds.
 */
#include <math.h>

#include "daemon/control_parts.h"

#define SILENT_GRACE_NS 6e7      /* to ask: two round trips, and what a delayed ACK takes */
#define SILENT_SHARE 0.9         /* of what settled had asked, or the sign is not for this service */
#define SILENT_SETTLED 8         /* settlements that make it certain */
#define SILENT_MEMORY 256        /* settlements that the share is taken of */
#define SILENT_UNCERTAIN_MAX 256 /* slots; a server that speaks first may be dead, and its clients wait */
#define SILENT_RTT_NS 1e8        /* before a round trip has been measured */
#define SILENT_YOUNG_MAX 2       /* for each that is old enough, at most so many that are not */
#define SILENT_CALM 2            /* room for so many times those that are there */
#define SILENT_STARVED_MAX 3     /* ticks in which room for more doubles, from half a window */
#define SILENT_PIPELINE 1.25     /* of pace x round trip: clients who are about to ask */
#define SILENT_QUIET_NS 3e8      /* after the time to ask: nobody waits for the server */

double control_silent_grace_ns(const struct control *control)
{
	bool known = control->server.weight > 0 && control->server.has_rtt;

	return fmin(SILENT_GRACE_NS + 2 * (known ? control->server.rtt_ns : SILENT_RTT_NS), control->expire_ns / 2);
}

/* Whether `silent` and `asking` of the input mean what they say. */
static bool silent_telling(struct control_silent *silent, const struct control_input *input)
{
	double total;

	silent->asked += (double)input->asked_settled;
	silent->total += (double)(input->asked_settled + input->greeted);
	total = silent->total;
	if (total > SILENT_MEMORY) {
		silent->asked *= SILENT_MEMORY / total;
		silent->total = SILENT_MEMORY;
	}
	if (silent->total > 0)
		return silent->asked >= SILENT_SHARE * silent->total;
	return input->asking || (input->accept_queue_max > 0 && !input->accept_queue);
}

/*
 * Those old enough are certain. Of the younger, what is more than the clients who are about to ask can be, as a herd of
 * silent ones would fill the window before the first of them is old enough; but where none is, none is believed in.
 */
static double silent_slots(const struct control *control, const struct control_input *input)
{
	const struct control_server *server = &control->server;
	double unasked = input->inflight > input->asking ? (double)(input->inflight - input->asking) : 0;
	double old = fmin((double)input->silent, unasked);
	double pace = fmax(server->mu_peak[0], fmax(server->mu_peak[1], server->mu_peak[2]));
	double all = unasked - SILENT_PIPELINE * fmin(server->rate, pace) * server->rtt_ns / 1e9;

	all = control_clamp(all, old, (1 + SILENT_YOUNG_MAX) * old);
	/* A full queue of the listener keeps handshakes from being completed: then the sign is the server's. */
	if (input->now_ns < control->no_growth_ns ||
	    (input->accept_queue_max > 0 && input->accept_queue * 4 > input->accept_queue_max * 3))
		all = fmin(all, control->silent.slots);
	return all;
}

/*
 * Preferred as the newest, silent ones may come faster than the window is large: all that a tick makes room for is
 * theirs, and the server waits. Then there is room for more, twice the window at most, should the next be clients after
 * all.
 */
static double silent_flush(struct control *control, const struct control_input *input)
{
	double out = control->out;

	if (!input->held || control->stalled || (double)input->asking * 4 >= out || (double)input->silent * 2 < out)
		control->silent.starved = 0;
	else
		control->silent.starved += control->silent.starved < SILENT_STARVED_MAX;
	return control->silent.starved ? out * ldexp(0.25, (int)control->silent.starved) : 0;
}

void control_silent_tick(struct control *control, struct control_input *input)
{
	struct control_silent *silent = &control->silent;
	bool certain;
	double slots;

	silent->telling = silent_telling(silent, input) && control->policy.window_mode == SYNHOLD_WINDOW_AUTO;
	slots = silent->telling ? silent_slots(control, input) : 0;
	silent->slots = (uint32_t)slots;
	certain = silent->total >= SILENT_SETTLED;
	if (silent->telling)
		slots += silent_flush(control, input);
	if (certain && !input->held && !input->window_limited)
		slots *= SILENT_CALM; /* spare connections come in bursts, as others do */
	silent->out = (uint32_t)(certain ? slots : fmin(slots, SILENT_UNCERTAIN_MAX));
	if (input->asking || !silent->telling)
		silent->asking_ns = input->now_ns;
	if (!silent->telling)
		return;
	input->inflight -= input->inflight < silent->slots ? input->inflight : silent->slots;
	input->expired -= input->silent_expired < input->expired ? input->silent_expired : input->expired;
}

bool control_silent_only(const struct control *control, uint64_t now_ns)
{
	return control->silent.telling &&
	       (double)(now_ns - control->silent.asking_ns) > control_silent_grace_ns(control) + SILENT_QUIET_NS;
}

/* The operator's bounds hold for the sum of both. */
uint32_t control_silent_given(const struct control *control)
{
	uint32_t room = control->policy.window_max > control->out ? control->policy.window_max - control->out : 0;

	return control->silent.out < room ? control->silent.out : room;
}
