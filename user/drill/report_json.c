// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <string.h>

#include "drill/curve.h"
#include "drill/report.h"

static json_t *report_json_params(const struct drill_params *p)
{
	char retry[80];

	retry_format(&p->retry, retry, sizeof(retry));
	return json_pack("{sI sI sf ss s[ff] sf ss sf sI si}", "clients", (json_int_t)p->clients, "dropped",
			 (json_int_t)board_dropped(p), "patience_seconds", p->patience_ns / 1e9, "retry", retry,
			 "rtt_seconds", p->rtt_min_ns / 1e9, p->rtt_max_ns / 1e9, "cost_seconds", p->cost_ns / 1e9,
			 "server", p->lazy ? "lazy" : "eager", "attach_at_seconds", p->attach_at_ns / 1e9, "seed",
			 (json_int_t)p->seed, "port", p->port);
}

static json_t *report_json_value(const struct figure *f)
{
	if (isnan(f->value))
		return json_null();
	if (f->unit == FIGURE_COUNT)
		return json_integer((json_int_t)f->value);
	if (f->unit == FIGURE_FLAG)
		return json_boolean(f->value != 0);
	return json_real(f->unit == FIGURE_MS ? f->value / 1e3 : f->value);
}

/* Puts it where its key says; dots nest. Returns 0 or -1. */
static int report_json_place(json_t *object, const char *key, json_t *value)
{
	size_t len = strcspn(key, ".");
	char name[64];
	json_t *inner;

	if (!key[len])
		return json_object_set_new(object, key, value);
	snprintf(name, sizeof(name), "%.*s", (int)len, key);
	inner = json_object_get(object, name);
	if (!inner) {
		inner = json_object();
		if (json_object_set_new(object, name, inner)) {
			json_decref(value);
			return -1;
		}
	}
	return report_json_place(inner, key + len + 1, value);
}

static json_t *report_json_curves(const struct drill *drill, const struct board *board)
{
	json_t *curves = json_object();

	for (int kind = 0; curves && kind < CURVE_KINDS; kind++) {
		json_t *t = json_array(), *y = json_array();
		struct curve curve;

		curve_take(board, kind, &curve);
		for (uint32_t i = 0; i < curve.points; i++) {
			json_array_append_new(t, json_real(round(curve.t[i] * 100) / 100));
			json_array_append_new(y, json_real(curve.y[i]));
		}
		if (curve_key(drill, kind) && curve.points)
			json_object_set_new(curves, curve_key(drill, kind),
					    json_pack("{sO sO}", "seconds", t, "value", y));
		json_decref(t);
		json_decref(y);
	}
	return curves;
}

static json_t *report_json_marks(const struct board *board)
{
	json_t *marks = json_array();

	for (int i = 0; i < board->marks; i++)
		json_array_append_new(marks, json_pack("{sf ss}", "seconds", (double)board->mark[i].t, "what",
						       board->mark[i].text));
	return marks;
}

json_t *report_json_run(const struct report *report, const struct report_run *run)
{
	json_t *object;

	if (!run->ran)
		return json_null();
	object = json_object();
	for (int i = 0; i < run->figures.count; i++) {
		const struct figure *f = &run->figures.figure[i];

		if (report_json_place(object, f->key, report_json_value(f))) {
			json_decref(object);
			return NULL;
		}
	}
	json_object_set_new(object, "marks", report_json_marks(run->board));
	json_object_set_new(object, "curves", report_json_curves(report->drill, run->board));
	return object;
}

/* What was judged, with its bound: what a script would want to print. */
static json_t *report_json_judged(const struct report *report)
{
	json_t *judged = json_array();

	for (int r = 0; r < RUN_COUNT; r++) {
		for (int i = 0; report->run[r].ran && i < report->run[r].figures.count; i++) {
			const struct figure *f = &report->run[r].figures.figure[i];

			if (f->bound == FIGURE_ANY)
				continue;
			json_array_append_new(judged,
					      json_pack("{ss ss so ss sf sb}", "run", report_key(r), "figure", f->key,
							"value", report_json_value(f), "must_be",
							f->bound == FIGURE_AT_MOST ? "at most" : "at least", "bound",
							f->unit == FIGURE_MS ? f->limit / 1e3 : f->limit, "held",
							!figure_broken(f)));
		}
	}
	return judged;
}

/* The counters of the run with the shield, or of the one with the ramp when only that was made. */
static json_t *report_json_shield(const struct report *report)
{
	const struct report_run *run = report->run[RUN_WITH].ran ? &report->run[RUN_WITH] : &report->run[RUN_RAMP];
	struct board_shield s = {0};

	if (run->ran)
		s = board_shields(run->board);
	if (!s.known)
		return json_null();
	return json_pack("{s{sI sI sI sI sI} s{sI sI sI} s{sI sI sI sI} sI sI sI sI sf}", "syn", "seen",
			 (json_int_t)s.seen, "admitted", (json_int_t)s.admitted, "held", (json_int_t)s.held_syns,
			 "dropped", (json_int_t)s.dropped, "rejected", (json_int_t)s.rejected, "hold", "entered",
			 (json_int_t)s.entered, "released", (json_int_t)s.released, "discarded",
			 (json_int_t)s.discarded, "handshakes", "started", (json_int_t)s.started, "settled",
			 (json_int_t)s.settled, "abandoned", (json_int_t)s.abandoned, "expired", (json_int_t)s.expired,
			 "held", (json_int_t)s.held, "held_peak", (json_int_t)s.held_peak, "inflight",
			 (json_int_t)s.inflight, "window", (json_int_t)s.window, "cpu_seconds", s.cpu_ns / 1e9);
}

static const char *report_note(const struct report *report)
{
	for (int r = 0; r < RUN_COUNT; r++)
		if (report->run[r].ran && report->run[r].board->shield_note[0])
			return report->run[r].board->shield_note;
	return NULL;
}

json_t *report_json(const struct report *report, const char *svg, const char *html)
{
	return json_pack("{ss so s{s[ff] sf} sf so so so so so s{sb ss sf sf so} ss? ss ss}", "drill",
			 report->params->name, "parameters", report_json_params(report->params), "capacity", "measured",
			 report->capacity[0], report->capacity[1], "per_second",
			 (report->capacity[0] + report->capacity[1]) / 2, "ideal_seconds", report->ideal_s, "without",
			 report_json_run(report, &report->run[RUN_WITHOUT]), "with",
			 report_json_run(report, &report->run[RUN_WITH]), "ramp",
			 report_json_run(report, &report->run[RUN_RAMP]), "compared", report_compared_json(report),
			 "shield", report_json_shield(report), "verdict", "passed", report->passed, "reason",
			 report->reason, "ratio_max", RESULT_RATIO_MAX, "late_ratio_max", RESULT_LATE_RATIO_MAX,
			 "judged", report_json_judged(report), "shield_note", report_note(report), "svg", svg, "html",
			 html);
}
