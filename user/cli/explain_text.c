// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/explain_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/ramp.h"
#include "lib/units.h"

#define ADVICE_QUIET_S 2 /* nothing has settled for so long while handshakes waited */

struct picture {
	const struct snapshot *snap;
	const struct snapshot_service *svc;
	const json_t *answer;
	const char *name, *state;
	double window, law_window, ceiling, pace, delay_ms, goal_ms, pressure;
	int closed;
};

static double number(const json_t *answer, const char *key)
{
	return json_number_value(json_object_get(answer, key));
}

static const char *word(const json_t *answer, const char *key)
{
	const char *text = json_string_value(json_object_get(answer, key));

	return text ? text : "";
}

static int state_is(const struct picture *p, const char *state)
{
	return !strcmp(p->state, state);
}

/* Milliseconds for people. */
static const char *delay(double ms, char *buf, size_t size)
{
	snprintf(buf, size, ms < 1000 ? "%.3g ms" : "%.3g s", ms < 1000 ? ms : ms / 1000);
	return buf;
}

/* What stands above the window: it explains most, so it comes first. */
static void say_override(const struct picture *p)
{
	const struct synhold_policy *pol = &p->svc->policy;
	char since[32], most[32];

	if (p->snap->bypass_until_ns)
		printf("Bypass is on: everything passes, whatever follows here. synhold bypass off ends that.\n");
	if (pol->mode == SYNHOLD_MODE_MONITOR)
		printf("The mode is monitor: what is over a limit is counted and let in all the same. synhold set %s mode=enforce acts on it.\n",
		       p->name);
	if (p->closed)
		printf("The service is closed: nothing new gets in. synhold open %s lets it in, at the pace below.\n",
		       p->name);
	if (p->svc->state == SNAPSHOT_DOWN)
		printf("Nothing has listened for %s: SYNs are held for up to %s (hold-down), and released when a listener is back.\n",
		       units_format_time(since, sizeof(since),
					 (double)(p->snap->now_ns - p->svc->runtime.down_since_ns) / 1e9),
		       units_format_duration(most, sizeof(most), pol->hold_down_ns));
	if (p->svc->suspended)
		printf("The window is suspended: nothing was ever seen leaving the port. Attach to the interface that the replies take.\n");
}

/* The signal behind a ceiling, where the daemon knows it. */
static const char *cause(const struct picture *p, char *buf, size_t size)
{
	const char *name = word(p->answer, "pressure_name");

	snprintf(buf, size, name[0] ? " (%s, at %.2f of its target)" : "", name, p->pressure);
	return buf;
}

/* As small as the law may make it. */
static int at_floor(const struct picture *p)
{
	return p->law_window <= p->svc->policy.window_min;
}

static void say_window(const struct picture *p)
{
	int64_t inflight = p->svc->inflight;
	char text[96];

	if (state_is(p, "fixed") && p->window <= 0) {
		printf("There is no window (window=none): %" PRIi64
		       " handshakes are in flight, and none is kept back for that.\n",
		       inflight);
		return;
	}
	printf("The window is %.0f handshakes, %" PRIi64 " are in flight, %u SYNs wait: ", p->window, inflight,
	       p->svc->runtime.held);
	if (state_is(p, "fixed"))
		printf("the policy sets it (window=%.0f).\n", p->window);
	else if (state_is(p, "calm") && number(p->answer, "peak_inflight") < 1)
		printf("it keeps nothing back.\n");
	else if (state_is(p, "calm"))
		printf("it keeps nothing back; it leaves room above the %.0f that were in flight at most of late.\n",
		       number(p->answer, "peak_inflight"));
	else if (state_is(p, "start") && at_floor(p))
		printf("it begins that small, as nothing is known yet of what the server can do, and grows with its answers.\n");
	else if (state_is(p, "start"))
		printf("it grows with the server's answers, as its limit is not in sight yet.\n");
	else if (state_is(p, "track"))
		printf("as many as keep the server at its pace of %.0f/s with a delay near the goal.\n", p->pace);
	else if (state_is(p, "stall"))
		printf("the server has answered nobody for %s, so it %s.\n",
		       units_format_time(text, sizeof(text), number(p->answer, "quiet_seconds")),
		       at_floor(p) ? "is down to the least (window-min), which goes on probing" :
				     "shrinks to a few that go on probing");
	else if (state_is(p, "ceiling"))
		printf("beside it stands a ceiling of %.0f/s, because of pressure behind accept()%s; it recovers by itself.\n",
		       p->ceiling, cause(p, text, sizeof(text)));
	else if (state_is(p, "drain"))
		printf("pressure stays high%s, so a ceiling of %.0f/s lets almost nothing in until it has fallen; it recovers by itself.\n",
		       cause(p, text, sizeof(text)), p->ceiling);
	else
		printf("state %s.\n", p->state);
	if (number(p->answer, "silent") > 0)
		printf("Of that window %.0f are for clients that connected and have said nothing since.\n",
		       number(p->answer, "silent"));
}

static void say_delay(const struct picture *p)
{
	double base_ms = number(p->answer, "base_delay_seconds") * 1e3, rtt_ms = number(p->answer, "rtt_seconds") * 1e3;
	double target_ms = number(p->answer, "target_delay_seconds") * 1e3;
	char text[24], other[24];

	if (p->delay_ms <= 0) {
		printf("No first byte has been seen yet, so nothing is known of the server's delay; its target is %s.\n",
		       delay(target_ms, text, sizeof(text)));
		return;
	}
	printf("The server's delay to its first byte %s %s", state_is(p, "stall") ? "was" : "is",
	       delay(p->delay_ms, text, sizeof(text)));
	if (state_is(p, "fixed")) { /* nothing steers by it */
		printf(".\n");
		return;
	}
	if (state_is(p, "stall")) { /* of another time */
		printf(" when it last answered.\n");
		return;
	}
	printf(" of a goal of %s: ", delay(p->goal_ms, text, sizeof(text)));
	if (p->delay_ms > 1.15 * p->goal_ms && at_floor(p))
		printf("over it, and the window is at its least (window-min=%u).\n", p->svc->policy.window_min);
	else if (p->delay_ms > 1.15 * p->goal_ms)
		printf("over it, so the window is cut while it keeps something back.\n");
	else if (p->delay_ms < 0.85 * p->goal_ms)
		printf("under it, so the window may grow while it keeps something back.\n");
	else
		printf("near it, so the window stays.\n");
	printf("The goal comes from target-delay (%s) and what the server needs by itself (%s)",
	       delay(target_ms, text, sizeof(text)), delay(base_ms, other, sizeof(other)));
	if (rtt_ms > 0)
		printf("; the round trip of %s is not counted", delay(rtt_ms, text, sizeof(text)));
	printf(".\n");
}

static const char *window_text(double window, char *buf, size_t size)
{
	snprintf(buf, size, window > 0 ? "%.0f" : "none", window);
	return buf;
}

static void say_change(const struct picture *p)
{
	double value = number(p->answer, "last_value"), age = number(p->answer, "last_age_seconds");
	const char *signal = word(p->answer, "last_signal");
	char when[32], from[32], to[24];

	if (!json_is_true(json_object_get(p->answer, "changed")) || age < 0) {
		printf("The window has not been changed since the daemon started.\n");
		return;
	}
	printf("The last change was %s -> %s, %s ago, because of ",
	       window_text(number(p->answer, "last_from"), from, sizeof(from)),
	       window_text(number(p->answer, "last_to"), to, sizeof(to)), units_format_time(when, sizeof(when), age));
	if (!strcmp(signal, "first_byte"))
		printf("the delay to the first byte (%s).\n", delay(value / 1e6, from, sizeof(from)));
	else if (!strcmp(signal, "stall"))
		printf("a stall: nobody had been answered for %s.\n",
		       units_format_time(from, sizeof(from), value / 1e9));
	else if (!strcmp(signal, "accept_queue"))
		printf("the accept queue: it overflowed %.0f times.\n", value);
	else if (!strcmp(signal, "demand") && value < 1)
		printf("calm: nothing was in flight, or the server is a new one.\n");
	else if (!strcmp(signal, "demand"))
		printf("demand: %.0f were in flight.\n", value);
	else if (!strcmp(signal, "policy"))
		printf("the policy.\n");
	else
		printf("%s (%.3g).\n", signal, value);
}

static void say_pressure(const struct picture *p)
{
	const char *name = word(p->answer, "pressure_name");
	char text[96];

	if (p->pressure >= 0.005) /* what prints as 0.00 is none */
		printf("The highest pressure of the last second is %s at %.2f of its target%s.\n",
		       name[0] ? name : "one without a name", p->pressure, p->pressure > 1 ? ": too much" : "");
	if (p->ceiling > 0 && !state_is(p, "ceiling") && !state_is(p, "drain"))
		printf("A ceiling of %.0f/s stands as well, because of pressure behind accept()%s; it recovers by itself.\n",
		       p->ceiling, cause(p, text, sizeof(text)));
	if (p->svc->listeners > 0)
		printf("%u of at most %u connections wait in the accept queue.\n", p->svc->accept_queue,
		       p->svc->accept_queue_max);
}

static void say_share(const struct picture *p)
{
	const struct synhold_policy *pol = &p->svc->policy;
	double share = (double)ramp_in_force(pol, &p->svc->runtime) / 1e4;
	char from[32], to[24];

	if (!pol->ramp_over_ns) {
		if (pol->share_ppm < 1000000)
			printf("The share is %.4g%% of the sources; the others are kept out. synhold set %s share=100%% lets them in.\n",
			       share, p->name);
		return;
	}
	printf("The share is %.1f%% of the sources, by a ramp from %s to %s", share,
	       units_format_share(from, sizeof(from), pol->ramp_from_ppm),
	       units_format_share(to, sizeof(to), pol->ramp_to_ppm));
	if (p->svc->runtime.ramp_stopped_ns)
		printf(" that pressure has stopped: synhold ramp %s resume, or reverse.\n", p->name);
	else if (pol->ramp_paused_ns)
		printf(" that is paused: synhold ramp %s resume, or reverse.\n", p->name);
	else if (ramp_running(pol, p->snap->now_ns, 0))
		printf(", with %s to go.\n",
		       units_format_time(from, sizeof(from),
					 (double)(pol->ramp_start_ns + pol->ramp_over_ns - p->snap->now_ns) / 1e9));
	else
		printf(" that has come to its end; synhold ramp %s cancel goes back to the share that is set (%.4g%%).\n",
		       p->name, (double)pol->share_ppm / 1e4);
}

/* The counters say what has limited; what does so at the moment follows from how things stand. */
static const char *limit_now(const struct picture *p)
{
	const struct synhold_policy *pol = &p->svc->policy;

	if (p->closed || p->svc->state == SNAPSHOT_DOWN)
		return "that nothing is let in";
	if (p->ceiling > 0 && p->svc->runtime.held)
		return "the ceiling that pressure has set";
	if (p->window > 0 && (double)p->svc->inflight >= 0.9 * p->window)
		return "the window";
	if (ramp_in_force(pol, &p->svc->runtime) < 1000000)
		return "the share";
	return pol->rate_pps || p->snap->global.global_rate_pps || pol->source_rate_pps ? "a rate" : "the window";
}

static void say_limits(const struct picture *p)
{
	const struct synhold_counters *count = &p->svc->count;
	const __u64 *over = p->svc->policy.mode == SYNHOLD_MODE_MONITOR ? count->would_limit : count->over_limit;
	uint64_t since = p->svc->runtime.limiting_since_ns;
	char when[32];
	int monitors = p->svc->policy.mode == SYNHOLD_MODE_MONITOR, any = 0;

	if (monitors)
		printf("Nothing is limited, as mode=monitor only counts");
	else if (p->closed)
		printf("What limits now is that the service is closed");
	else if (since && since <= p->snap->now_ns)
		printf("New connections have been limited for %s; what limits now is %s",
		       units_format_time(when, sizeof(when), (double)(p->snap->now_ns - since) / 1e9), limit_now(p));
	else
		printf("Nothing limits now");
	for (unsigned int i = 0; i < SYNHOLD_REASON_COUNT; i++)
		if (over[i])
			printf("%s%s %llu",
			       any++    ? ", " :
			       monitors ? "; in all, SYNs would have been over: " :
					  "; in all, SYNs were over: ",
			       snapshot_reason_name(i), over[i]);
	printf("%s\n", any      ? "." :
		       monitors ? "; no SYN would have been over a limit." :
				  "; no SYN was ever over a limit.");
}

static int window_full(const struct picture *p)
{
	return p->window > 0 && (double)p->svc->inflight >= 0.9 * p->window;
}

/* Those who wait, and what for, when it is not the server's pace. Returns whether that was it. */
static int say_advice_held(const struct picture *p)
{
	const struct synhold_policy *pol = &p->svc->policy;
	const struct synhold_runtime *run = &p->svc->runtime;

	if (run->held && !run->queued) {
		printf("What you can do: those who wait are outside the share, or above their own rate: synhold status %s --held names them; synhold set %s share=100%% or source-rate=none lets them in.\n",
		       p->name, p->name);
		return 1;
	}
	if (run->held && ramp_in_force(pol, run) < 1000000 && !window_full(p)) {
		printf("What you can do: the share keeps those who wait out, not the server: synhold %s %s %s lets them in.\n",
		       pol->ramp_over_ns ? "ramp" : "set", p->name, pol->ramp_over_ns ? "cancel" : "share=100%");
		return 1;
	}
	if (run->queued && pol->rate_pps && (!p->svc->window || p->svc->inflight < (int64_t)p->svc->window)) {
		printf("What you can do: the rate of %llu SYN/s that was set holds them back, not the server: synhold set %s rate=none, or a higher one.\n",
		       (unsigned long long)pol->rate_pps, p->name);
		return 1;
	}
	return 0;
}

static void say_advice(const struct picture *p)
{
	char time[32];

	if (p->snap->bypass_until_ns)
		printf("What you can do: synhold bypass off puts the limits in force again, when the server can do without.\n");
	else if (p->closed && p->svc->policy.ramp_over_ns)
		printf("What you can do: synhold open %s lets in the share that its ramp has reached.\n", p->name);
	else if (p->closed)
		printf("What you can do: synhold open %s lets new connections in again; synhold ramp %s --from 5%% --to 100%% --over 5m after it brings them back bit by bit.\n",
		       p->name, p->name);
	else if (p->svc->state == SNAPSHOT_DOWN)
		printf("What you can do: start the server; those who wait are released as it answers.\n");
	else if (state_is(p, "stall") || (number(p->answer, "quiet_seconds") > ADVICE_QUIET_S && p->svc->inflight))
		printf("What you can do: look at the server, it does not answer; synhold flush %s clears its accept queue, synhold close %s spares it new work.\n",
		       p->name, p->name);
	else if (state_is(p, "ceiling") || state_is(p, "drain") || p->pressure > 1)
		printf("What you can do: relieve %s; the ceiling then rises by itself. synhold set %s share=50%% lets fewer in.\n",
		       *word(p->answer, "pressure_name") ? word(p->answer, "pressure_name") : "the server", p->name);
	else if (say_advice_held(p))
		return;
	else if (p->svc->runtime.held && p->window > 0 && (double)p->svc->inflight > 1.5 * p->window)
		printf("What you can do: wait; what is in flight was let in before the window was cut, and has to be served first.\n");
	else if (p->svc->runtime.held && p->delay_ms > 1.15 * p->goal_ms)
		printf("What you can do: add capacity, or raise target-delay if clients can bear to wait longer for the server.\n");
	else if (p->svc->runtime.held && p->pace > 0)
		printf("What you can do: wait, at this pace those who wait are through in about %s; synhold prefer lets some sources go first.\n",
		       units_format_time(time, sizeof(time), (double)p->svc->runtime.held / p->pace));
	else
		printf("What you can do: nothing needs doing. synhold suggest %s tells limits that fit what was seen.\n",
		       p->name);
}

void explain_print(const struct snapshot *snap, const struct snapshot_service *svc, const json_t *answer)
{
	const struct synhold_policy *pol = &svc->policy;
	const struct picture p = {
		.snap = snap,
		.svc = svc,
		.answer = answer,
		.name = pol->name,
		.state = word(answer, "state"),
		.window = number(answer, "window") + number(answer, "silent"),
		.law_window = number(answer, "window"),
		.ceiling = number(answer, "ceiling"),
		.pace = number(answer, "settled_per_second"),
		.delay_ms = number(answer, "server_delay_seconds") * 1e3,
		.goal_ms = number(answer, "goal_delay_seconds") * 1e3,
		.pressure = number(answer, "pressure"),
		.closed = svc->state == SNAPSHOT_CLOSED,
	};

	say_override(&p);
	say_window(&p);
	say_delay(&p);
	say_change(&p);
	say_pressure(&p);
	say_share(&p);
	say_limits(&p);
	say_advice(&p);
}
