// SPDX-License-Identifier: GPL-2.0-or-later
/* The object of `status --json`. Its keys are a contract (docs/design.md): more may come, none may go. */
#include <string.h>

#include "export/export.h"
#include "lib/keys.h"
#include "lib/ramp.h"
#include "lib/signals.h"
#include "lib/units.h"
#include "lib/version.h"

typedef const char *(*name_fn)(unsigned int index);

static json_t *counts(const __u64 *values, unsigned int count, name_fn name)
{
	json_t *object = json_object();

	for (unsigned int i = 0; i < count; i++)
		json_object_set_new(object, name(i), json_integer((json_int_t)values[i]));
	return object;
}

static json_t *number_or_null(uint64_t value)
{
	return value ? json_integer((json_int_t)value) : json_null();
}

/* Seconds, to six digits: more would be a precision that no bucket has. */
static double rounded(double seconds)
{
	return (double)(int64_t)(seconds * 1e6 + 0.5) / 1e6;
}

static json_t *quantile(const __u64 *histogram, double q)
{
	double seconds = snapshot_quantile((const uint64_t *)histogram, q);

	return seconds < 0 ? json_null() : json_real(rounded(seconds));
}

static json_t *quantiles(const __u64 *histogram)
{
	return json_pack("{s:o,s:o}", "p50", quantile(histogram, 0.5), "p99", quantile(histogram, 0.99));
}

static json_t *flags_json(const struct snapshot_service *svc)
{
	const struct {
		int on;
		const char *name;
	} flags[] = {
		{svc->runtime.state_flags & SYNHOLD_FLAG_PROOF, "proof"},
		{svc->runtime.state_flags & SYNHOLD_FLAG_COLD, "cold"},
		{svc->stalled, "stalled"},
		{svc->confirm_pending, "confirm_pending"},
		{svc->suspended, "window_suspended"},
		{svc->bypass, "bypass"},
		{svc->no_hold, "no_hold"},
	};
	json_t *array = json_array();

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (flags[i].on)
			json_array_append_new(array, json_string(flags[i].name));
	return array;
}

static json_t *ports_json(const struct synhold_specs *specs)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < specs->count && i < SYNHOLD_SPECS; i++)
		json_array_append_new(array, json_pack("[i,i]", specs->spec[i].port_lo, specs->spec[i].port_hi));
	return array;
}

static json_t *key_text(const char *name, const struct synhold_policy *policy)
{
	char text[64];

	return json_string(keys_format(keys_find(name), policy, NULL, text, sizeof(text)));
}

static json_t *syn_json(const struct synhold_counters *count)
{
	json_t *syn = counts(count->verdict, SYNHOLD_VERDICT_COUNT, snapshot_verdict_name);

	json_object_set_new(syn, "seen", json_integer((json_int_t)count->seen));
	json_object_set_new(syn, "offered", json_integer((json_int_t)count->offered));
	json_object_set_new(syn, "retransmits", json_integer((json_int_t)count->retransmits));
	json_object_set_new(syn, "allowed", json_integer((json_int_t)count->allowed));
	json_object_set_new(syn, "bypassed", json_integer((json_int_t)count->bypassed));
	json_object_set_new(syn, "unproved", json_integer((json_int_t)count->unproved));
	json_object_set_new(syn, "proved", json_integer((json_int_t)count->proved));
	return syn;
}

static json_t *hold_json(const struct snapshot_service *svc)
{
	return json_pack("{s:I,s:I,s:o,s:i,s:o}", "entered", (json_int_t)svc->tally.entered, "released",
			 (json_int_t)svc->tally.released, "discarded",
			 counts(svc->tally.discarded, SYNHOLD_DISCARD_COUNT, snapshot_discard_name), "held",
			 (int)svc->runtime.held, "wait_seconds", quantiles(svc->tally.wait));
}

static json_t *handshakes_json(const struct synhold_counters *count)
{
	json_t *object = counts(count->outcome, SYNHOLD_OUTCOME_COUNT, snapshot_outcome_name);

	json_object_set_new(object, "started", json_integer((json_int_t)count->started));
	json_object_set_new(object, "late", json_integer((json_int_t)count->late));
	json_object_set_new(object, "asked", json_integer((json_int_t)count->asked));
	return object;
}

static json_t *limiting_seconds(const struct snapshot *snap, const struct snapshot_service *svc)
{
	uint64_t since = svc->runtime.limiting_since_ns;

	return since && since <= snap->now_ns ? json_real((double)((snap->now_ns - since) / 1000000) / 1e3) :
						json_null();
}

static json_t *ramp_json(const struct snapshot *snap, const struct snapshot_service *svc)
{
	const struct synhold_policy *pol = &svc->policy;

	if (!pol->ramp_over_ns)
		return json_null();
	return json_pack("{s:f,s:f,s:f,s:b,s:b,s:b}", "from_percent", (double)pol->ramp_from_ppm / 1e4, "to_percent",
			 (double)pol->ramp_to_ppm / 1e4, "over_seconds", (double)pol->ramp_over_ns / 1e9, "running",
			 snap->daemon_alive && ramp_running(pol, snap->now_ns, svc->runtime.ramp_stopped_ns), "paused",
			 pol->ramp_paused_ns != 0, "stopped", svc->runtime.ramp_stopped_ns != 0);
}

static json_t *signals_json(const struct snapshot *snap, const struct snapshot_service *svc)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < SYNHOLD_SIGNALS && svc->signals.signal[i].name[0]; i++) {
		const struct synhold_signal *signal = &svc->signals.signal[i];

		json_array_append_new(array,
				      json_pack("{s:s,s:f,s:s,s:o,s:f}", "name", signal->name, "value",
						signals_value(signal), "unit", signals_unit_name(signal->unit),
						"target",
						signal->target_micro ? json_real(signals_target(signal)) : json_null(),
						"age_seconds", rounded(signals_age(signal, snap->now_ns))));
	}
	return array;
}

/* Not the seconds to six digits: the oldest are minutes ago. */
static json_t *offenders_json(const struct snapshot *snap, const struct snapshot_service *svc)
{
	json_t *array = json_array();
	char text[64];

	for (size_t i = 0; i < svc->offender_count; i++) {
		const struct offender *o = &svc->offender[i];
		uint64_t age_ns = snap->now_ns > o->last_ns ? snap->now_ns - o->last_ns : 0;

		units_format_cidr(text, sizeof(text), o->addr, o->prefixlen);
		json_array_append_new(array,
				      json_pack("{s:s,s:I,s:f}", "source", text, "refused", (json_int_t)o->refused,
						"last_seconds", (double)(age_ns / 1000000) / 1e3));
	}
	return array;
}

static json_t *service_json(const struct snapshot *snap, const struct snapshot_service *svc)
{
	const struct synhold_policy *pol = &svc->policy;
	json_t *object = json_object();

	json_object_set_new(object, "name", json_string(pol->name));
	json_object_set_new(object, "ports", ports_json(&svc->specs));
	json_object_set_new(object, "mode", key_text("mode", pol));
	json_object_set_new(object, "action", key_text("action", pol));
	json_object_set_new(object, "state", json_string(snapshot_state_name(svc->state)));
	json_object_set_new(object, "flags", flags_json(svc));
	json_object_set_new(object, "window", number_or_null(svc->window));
	json_object_set_new(object, "inflight", json_integer((json_int_t)svc->inflight));
	json_object_set_new(object, "held", json_integer(svc->runtime.held));
	json_object_set_new(object, "share_percent", json_real((double)ramp_in_force(pol, &svc->runtime) / 1e4));
	json_object_set_new(object, "ramp", ramp_json(snap, svc));
	json_object_set_new(object, "rate", number_or_null(pol->rate_pps));
	json_object_set_new(object, "source_rate", number_or_null(pol->source_rate_pps));
	json_object_set_new(object, "syn", syn_json(&svc->count));
	json_object_set_new(object, "over_limit",
			    counts(svc->count.over_limit, SYNHOLD_REASON_COUNT, snapshot_reason_name));
	json_object_set_new(object, "would_limit",
			    counts(svc->count.would_limit, SYNHOLD_REASON_COUNT, snapshot_reason_name));
	json_object_set_new(object, "hold", hold_json(svc));
	json_object_set_new(object, "handshakes", handshakes_json(&svc->count));
	json_object_set_new(object, "first_byte_seconds", quantiles(svc->delays.first_byte));
	json_object_set_new(object, "release_delay_seconds", quantiles(svc->tally.release_delay));
	json_object_set_new(object, "limiting_seconds", limiting_seconds(snap, svc));
	json_object_set_new(object, "offenders", offenders_json(snap, svc));
	json_object_set_new(object, "accept_queue",
			    svc->listeners > 0 ? json_pack("{s:I,s:I}", "length", (json_int_t)svc->accept_queue, "max",
							   (json_int_t)svc->accept_queue_max) :
						 json_null());
	json_object_set_new(object, "rate_ceiling", number_or_null(snapshot_ceiling_pps(svc)));
	json_object_set_new(object, "signals", signals_json(snap, svc));
	return object;
}

/* What the dispatcher runs, in its order; null where the shield has the interface to itself. */
static json_t *dispatcher_json(const struct deploy_interface *iface)
{
	json_t *array = iface->chained ? json_array() : json_null();

	for (unsigned int i = 0; i < iface->chain_count; i++)
		json_array_append_new(array, json_pack("{s:s,s:i,s:b}", "name", iface->chain[i].name, "id",
						       (int)iface->chain[i].id, "ours", iface->chain[i].ours));
	return array;
}

static json_t *interfaces_json(const struct snapshot *snap)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < snap->interface_count; i++) {
		const struct deploy_interface *iface = &snap->interface[i];

		json_array_append_new(array,
				      json_pack("{s:s,s:i,s:s,s:b,s:o}", "name", iface->name, "index",
						(int)iface->index, "mode", iface->generic ? "generic" : "native",
						"present", iface->present, "dispatcher", dispatcher_json(iface)));
	}
	return array;
}

static json_t *daemon_json(const struct snapshot *snap)
{
	double age = snap->heartbeat_age_seconds;

	return json_pack("{s:b,s:o,s:o}", "alive", snap->daemon_alive, "pid",
			 snap->daemon_alive ? json_integer(snap->daemon_pid) : json_null(), "heartbeat_age_seconds",
			 age < 0 ? json_null() : json_real((double)(int64_t)(age * 1e6) / 1e6));
}

static json_t *seconds_left(const struct snapshot *snap, uint64_t until_ns)
{
	if (!until_ns || until_ns == SYNHOLD_FOREVER || until_ns < snap->now_ns)
		return json_null();
	return json_real((double)((until_ns - snap->now_ns) / 1000000) / 1e3);
}

json_t *export_status(const struct snapshot *snap, const char *service)
{
	json_t *services = json_array(), *root;

	for (unsigned int i = 0; i < snap->service_count; i++)
		if (!service || !strcmp(snap->service[i].policy.name, service))
			json_array_append_new(services, service_json(snap, &snap->service[i]));
	root = json_pack("{s:s,s:s,s:b,s:o,s:o,s:o,s:{s:o}}", "version", SYNHOLD_VERSION, "instance", snap->instance,
			 "attached", snap->attached, "daemon", daemon_json(snap), "interfaces", interfaces_json(snap),
			 "services", services, "limits", "global_rate", number_or_null(snap->global.global_rate_pps));
	if (root) {
		json_object_set_new(root, "bypass", json_boolean(snap->bypass_until_ns != 0));
		json_object_set_new(root, "bypass_seconds_left", seconds_left(snap, snap->bypass_until_ns));
		json_object_set_new(root, "confirm_seconds_left", seconds_left(snap, snap->confirm_deadline_ns));
	}
	return root;
}

char *export_window_text(const struct snapshot_service *svc, char *buf, size_t size)
{
	if (svc->policy.window_mode == SYNHOLD_WINDOW_NONE)
		snprintf(buf, size, "none");
	else if (!svc->window)
		snprintf(buf, size, "auto");
	else
		snprintf(buf, size, "%u", svc->window);
	return buf;
}
