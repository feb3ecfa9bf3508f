// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/report.h"

static json_t *report_json_params(const struct drill_params *p)
{
	char retry[80];

	retry_format(&p->retry, retry, sizeof(retry));
	return json_pack("{sI sf ss s[ff] sf ss sf sI si}", "clients", (json_int_t)p->clients, "patience_seconds",
			 p->patience_ns / 1e9, "retry", retry, "rtt_seconds", p->rtt_min_ns / 1e9, p->rtt_max_ns / 1e9,
			 "cost_seconds", p->cost_ns / 1e9, "server", p->lazy ? "lazy" : "eager", "attach_at_seconds",
			 p->attach_at_ns / 1e9, "seed", (json_int_t)p->seed, "port", p->port);
}

static json_t *report_json_late(const struct result *r)
{
	if (!r->late)
		return json_null();
	return json_pack("{sf sf sf sf}", "drain_seconds", r->late_drain_s, "ideal_seconds", r->late_ideal_s,
			 "backlog_seconds", r->late_backlog_s, "ratio", r->late_ratio);
}

static json_t *report_json_half(const struct result *r)
{
	bool drained;

	if (!r)
		return json_null();
	drained = r->served == r->clients;
	return json_pack("{sb sI sI so sf so sb sf sI sI sf sf s{so so} s{sI sI sI} sI s{sf sI sI sb} so}", "incident",
			 result_incident(r), "clients", (json_int_t)r->clients, "served", (json_int_t)r->served,
			 "drain_seconds", drained ? json_real(r->drain_s) : json_null(), "ideal_seconds", r->ideal_s,
			 "ratio", drained ? json_real(r->ratio) : json_null(), "collapsed", r->end == BOARD_COLLAPSED,
			 "storm_seconds", r->lasted_s, "worked", (json_int_t)r->worked, "in_vain", (json_int_t)r->vain,
			 "wasted_percent", r->wasted_percent, "server_waited_seconds", r->server_waited_s,
			 "wait_seconds", "p50", r->served ? json_real(r->wait_p50_s) : json_null(), "p99",
			 r->served ? json_real(r->wait_p99_s) : json_null(), "failures", "patience",
			 (json_int_t)r->impatient, "refused", (json_int_t)r->refused, "cut_off", (json_int_t)r->lost,
			 "syns", (json_int_t)r->syns, "witness", "longest_stall_seconds", r->stall_ms / 1e3,
			 "lost_bytes", (json_int_t)r->witness_lost_bytes, "corrupt_bytes",
			 (json_int_t)r->witness_corrupt_bytes, "broken", r->witness_broken, "late",
			 report_json_late(r));
}

static json_t *report_json_shield(const struct board_shield *s)
{
	if (!s || !s->known)
		return json_null();
	return json_pack("{s{sI sI sI sI sI} s{sI sI sI} s{sI sI sI sI} sI sI sI sI sf}", "syn", "seen",
			 (json_int_t)s->seen, "admitted", (json_int_t)s->admitted, "held", (json_int_t)s->held_syns,
			 "dropped", (json_int_t)s->dropped, "rejected", (json_int_t)s->rejected, "hold", "entered",
			 (json_int_t)s->entered, "released", (json_int_t)s->released, "discarded",
			 (json_int_t)s->discarded, "handshakes", "started", (json_int_t)s->started, "settled",
			 (json_int_t)s->settled, "abandoned", (json_int_t)s->abandoned, "expired",
			 (json_int_t)s->expired, "held", (json_int_t)s->held, "held_peak", (json_int_t)s->held_peak,
			 "inflight", (json_int_t)s->inflight, "window", (json_int_t)s->window, "cpu_seconds",
			 s->cpu_ns / 1e9);
}

json_t *report_json(const struct report *report, const char *svg)
{
	const struct result *any = report->with ? report->with : report->without;
	const char *note = report->shield_note;

	return json_pack("{ss so s{s[ff] sf} sf so so so s{sb ss sf sf} ss? ss}", "drill", report->params->name,
			 "parameters", report_json_params(report->params), "capacity", "measured", report->capacity[0],
			 report->capacity[1], "per_second", (report->capacity[0] + report->capacity[1]) / 2,
			 "ideal_seconds", any ? any->ideal_s : 0.0, "without", report_json_half(report->without),
			 "with", report_json_half(report->with), "shield", report_json_shield(report->shield),
			 "verdict", "passed", report->passed, "reason", report->reason, "ratio_max", RESULT_RATIO_MAX,
			 "late_ratio_max", RESULT_LATE_RATIO_MAX, "shield_note", note && note[0] ? note : NULL, "svg",
			 svg);
}
