// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/suggest.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/units.h"

#define RATE_FACTOR 2    /* above what it did: the window sets the pace, the rate is the net below */
#define SOURCE_PART 8    /* of the pace, for one source */
#define DOMINATES_PART 4 /* of what waits */
#define TARGET_BASES 2.0 /* a target below this many times the server's own need is in its noise */
#define TARGET_P99 4.0
#define TARGET_FAR 10.0 /* a target this far above is none */
#define BANNER_SECONDS 0.001
#define TARGET_LEAST_SECONDS 0.1

/* Servers that speak first, and what they have sent when the costly part has begun. */
static const struct banner {
	uint16_t port;
	uint32_t bytes;
	const char *name;
} banners[] = {
	{21, 128, "FTP"},   {22, 1500, "SSH"},   {25, 256, "SMTP"},   {110, 128, "POP3"},  {143, 256, "IMAP"},
	{587, 256, "SMTP"}, {3306, 96, "MySQL"}, {3307, 96, "MySQL"}, {2222, 1500, "SSH"},
};

static struct suggest_line *add(struct suggest_result *out, const char *key, const char *reason, ...)
	__attribute__((format(printf, 3, 4)));

static struct suggest_line *add(struct suggest_result *out, const char *key, const char *reason, ...)
{
	static struct suggest_line spare; /* a list that is full loses its last lines */
	struct suggest_line *line = out->count < SUGGEST_LINES ? &out->line[out->count++] : &spare;
	va_list args;

	memset(line, 0, sizeof(*line));
	snprintf(line->key, sizeof(line->key), "%s", key ? key : "");
	va_start(args, reason);
	vsnprintf(line->reason, sizeof(line->reason), reason, args);
	va_end(args);
	return line;
}

static void set_number(struct suggest_line *line, uint64_t value)
{
	snprintf(line->value, sizeof(line->value), "%" PRIu64, value);
}

/* Two digits are as much as an observation is worth. Rounded up. */
static uint64_t two_digits(double value)
{
	double unit = 1;

	while (value / unit >= 100)
		unit *= 10;
	return (uint64_t)(ceil(value / unit - 1e-9) * unit);
}

/* A suggestion within a third of what is set is no news. */
static int near(uint64_t set, uint64_t wanted)
{
	return set && wanted && (double)set < 1.34 * (double)wanted && (double)wanted < 1.34 * (double)set;
}

static void suggest_rate(const struct suggest_input *in, struct suggest_result *out)
{
	uint64_t rate;

	if (in->settled_pps <= 0) {
		if (!in->policy->rate_pps)
			add(out, NULL,
			    "rate: none can be told; the window has kept nothing back yet, so the server's limit was not seen");
		return;
	}
	rate = two_digits(RATE_FACTOR * in->settled_pps);
	rate = rate ? rate : 1;
	if (near(in->policy->rate_pps, rate))
		return;
	if (in->policy->rate_pps && (double)in->policy->rate_pps <= in->settled_pps * 1.1) {
		add(out, NULL,
		    "rate=%" PRIu64
		    ": the server was never seen doing more than this rate lets in, so how much it can do is not known",
		    (uint64_t)in->policy->rate_pps);
		return;
	}
	set_number(add(out, "rate",
		       "twice the %.0f/s that the server finished while the window limited: a net below the window",
		       in->settled_pps),
		   rate);
}

static void suggest_source_rate(const struct suggest_input *in, struct suggest_result *out)
{
	uint64_t rate;

	if (!in->top_source || in->held < SUGGEST_HELD_MIN || (uint64_t)in->top_held * DOMINATES_PART < in->held)
		return;
	if (in->settled_pps <= 0) {
		add(out, NULL,
		    "%s has %u of the %u SYNs that wait; the server's pace is not known yet, so no source-rate can be told",
		    in->top_source, in->top_held, in->held);
		return;
	}
	rate = two_digits(in->settled_pps / SOURCE_PART);
	rate = rate ? rate : 1;
	if (in->policy->source_rate_pps && in->policy->source_rate_pps <= rate * 4 / 3)
		return;
	set_number(
		add(out, "source-rate",
		    "%s has %u of the %u SYNs that wait; with this no source gets more than an eighth of the server's pace",
		    in->top_source, in->top_held, in->held),
		rate);
}

static void suggest_target(const struct suggest_input *in, struct suggest_result *out)
{
	const double *seen = in->server_seconds[0] >= 0 ? in->server_seconds : in->first_byte_seconds;
	double target = (double)in->policy->target_delay_ns / 1e9, base = in->base_seconds > 0 ? in->base_seconds : 0,
	       wanted;
	struct suggest_line *line;

	if (in->policy->window_mode != SYNHOLD_WINDOW_AUTO || seen[1] < 0)
		return;
	if (TARGET_BASES * base > 1.34 * target) {
		wanted = TARGET_BASES * base;
		line = add(out, "target-delay",
			   "the server needs %.3g ms even without a queue: a target of %.3g ms leaves it no room",
			   base * 1e3, target * 1e3);
	} else if (target > 1.34 * TARGET_LEAST_SECONDS && target > TARGET_FAR * seen[1]) {
		wanted = fmax(TARGET_LEAST_SECONDS, TARGET_P99 * seen[1]);
		line = add(out, "target-delay",
			   "99 of 100 first bytes come within %.3g ms: a target of %.3g ms notices trouble late",
			   seen[1] * 1e3, target * 1e3);
	} else {
		return;
	}
	units_format_duration(line->value, sizeof(line->value), two_digits(wanted * 1e3) * 1000000);
}

static void suggest_hold(const struct suggest_input *in, struct suggest_result *out)
{
	uint64_t refused = in->over_limit[SYNHOLD_REASON_HOLD_FULL], max = in->policy->hold_max, need;
	int short_of_room = refused || in->evicted;
	struct suggest_line *line;

	if (in->policy->action != SYNHOLD_ACTION_HOLD)
		return;
	if (short_of_room && max < 65536) {
		max = max * 2 < 65536 ? max * 2 : 65536;
		set_number(add(out, "hold-max",
			       "%" PRIu64 " SYNs found the queue of %u full, and %" PRIu64 " held ones had to go",
			       refused, in->policy->hold_max, in->evicted),
			   max);
	}
	need = max * SUGGEST_HELD_BYTES;
	if (need <= in->global->hold_memory_bytes)
		return;
	line = add(out, "hold-memory",
		   "what %" PRIu64 " held SYNs of about %d bytes need; with less, hold-max is not reached", max,
		   SUGGEST_HELD_BYTES);
	line->global = 1;
	units_format_size(line->value, sizeof(line->value), (need + (1 << 20) - 1) >> 20 << 20);
}

static const struct banner *banner_of(const struct synhold_specs *specs)
{
	for (uint32_t i = 0; i < specs->count && i < SYNHOLD_SPECS; i++)
		for (size_t j = 0; j < sizeof(banners) / sizeof(*banners); j++)
			if (banners[j].port >= specs->spec[i].port_lo && banners[j].port <= specs->spec[i].port_hi)
				return &banners[j];
	return NULL;
}

static void suggest_settle(const struct suggest_input *in, struct suggest_result *out)
{
	const double *seen = in->server_seconds[0] >= 0 ? in->server_seconds : in->first_byte_seconds;
	const struct banner *banner = banner_of(in->specs);

	if (in->policy->settle_bytes > 1 || seen[1] < 0 || seen[1] >= BANNER_SECONDS)
		return;
	if (banner)
		set_number(
			add(out, "settle-bytes",
			    "first bytes within %.2g ms on a port of %s: that is the banner, the work comes after it",
			    seen[1] * 1e3, banner->name),
			banner->bytes);
	else
		add(out, NULL,
		    "99 of 100 first bytes come within %.2g ms; if that is a greeting and the work comes after it, "
		    "see settle-bytes, signal and rate",
		    seen[1] * 1e3);
}

static void note_monitor(const struct suggest_input *in, struct suggest_result *out)
{
	static const char *const names[] = {
#define NAME(e, t) t,
		SYNHOLD_REASONS(NAME)
#undef NAME
	};
	unsigned int most = 0;
	uint64_t sum = 0;

	if (in->policy->mode != SYNHOLD_MODE_MONITOR)
		return;
	for (unsigned int i = 0; i < SYNHOLD_REASON_COUNT; i++) {
		sum += in->would_limit[i];
		if (in->would_limit[i] > in->would_limit[most])
			most = i;
	}
	if (sum)
		add(out, NULL,
		    "mode=monitor: %" PRIu64 " SYNs of %" PRIu64
		    " connections offered would have been over a limit, most of them %s",
		    sum, in->offered, names[most]);
	else
		add(out, NULL,
		    "mode=monitor: nothing of the %" PRIu64
		    " connections offered would have been over a limit; mode=enforce changes nothing for them",
		    in->offered);
}

int suggest(const struct suggest_input *in, struct suggest_result *result)
{
	if (in->settled < SUGGEST_SETTLEMENTS)
		return -EAGAIN;
	result->count = 0;
	suggest_rate(in, result);
	suggest_source_rate(in, result);
	suggest_target(in, result);
	suggest_hold(in, result);
	suggest_settle(in, result);
	note_monitor(in, result);
	return 0;
}
