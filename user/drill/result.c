// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/result.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int result_order(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Nearest rank: the smallest value that at least `part` of all do not exceed. */
static double result_quantile(const float *sorted, uint32_t count, double part)
{
	uint32_t rank = part * count;

	if (rank < part * count)
		rank++;
	return count ? sorted[rank ? rank - 1 : 0] : 0;
}

static uint64_t result_missing(const struct board_witness *from, const struct board_witness *to)
{
	return from->sent_bytes > to->received_bytes ? from->sent_bytes - to->received_bytes : 0;
}

static int result_clients(const struct board *board, struct result *r)
{
	float *waits = calloc(r->clients, sizeof(*waits));

	r->curve_s = calloc(r->clients, sizeof(*r->curve_s));
	if (!waits || !r->curve_s) {
		free(waits);
		free(r->curve_s);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < r->clients; i++) {
		const struct board_client *c = &board->client[i];

		if (!c->served_ns)
			continue;
		waits[r->served] = (c->served_ns - c->first_ns) / 1e9;
		r->curve_s[r->served++] = (c->served_ns - board->start_ns) / 1e9;
	}
	r->curve_points = r->served;
	qsort(waits, r->served, sizeof(*waits), result_order);
	qsort(r->curve_s, r->served, sizeof(*r->curve_s), result_order);
	r->wait_p50_s = result_quantile(waits, r->served, 0.5);
	r->wait_p99_s = result_quantile(waits, r->served, 0.99);
	free(waits);
	return 0;
}

static void result_late(const struct board *board, struct result *r)
{
	double capacity = board_capacity(board);

	r->late = board->attached_ns;
	if (!r->late || capacity <= 0)
		return;
	r->late_drain_s = r->drain_s - board->attached_ns / 1e9;
	if (r->late_drain_s < 0)
		r->late_drain_s = 0;
	r->late_ideal_s = (r->clients - board->attached_served) / capacity;
	r->late_backlog_s = board->attached_backlog / capacity;
	r->late_ratio = (r->late_drain_s - r->late_backlog_s) / r->ideal_s;
}

int result_compute(const struct board *board, struct result *result)
{
	const struct board_witness *w = board->witness;
	struct result r = {
		.with_shield = board->with_shield,
		.end = board->end,
		.clients = board->params->clients,
		.ideal_s = board_ideal_seconds(board),
		.lasted_s = board->end_ns / 1e9,
		.worked = board->server_after.worked - board->server_before.worked,
		.server_waited_s = board->server_waited_ns / 1e9,
		.impatient = board->crowd.impatient,
		.refused = board->crowd.refused,
		.lost = board->crowd.lost,
		.syns = board->syns,
		.stall_ms = w[w[0].longest_stall_ns < w[1].longest_stall_ns].longest_stall_ns / 1e6,
		.witness_lost_bytes = result_missing(&w[0], &w[1]) + result_missing(&w[1], &w[0]),
		.witness_corrupt_bytes = w[0].corrupt_bytes + w[1].corrupt_bytes,
		.witness_broken = w[0].broken || w[1].broken,
	};
	int ret = result_clients(board, &r);

	if (ret)
		return ret;
	if (r.served)
		r.drain_s = r.curve_s[r.served - 1];
	if (board->server_waited_ns > board->shield.cpu_ns)
		r.kept_off_s = (board->server_waited_ns - board->shield.cpu_ns) / 1e9;
	if (r.ideal_s > 0)
		r.ratio = r.drain_s / r.ideal_s;
	/* A reply may still be on its way as the storm ends: that is no vain work, nor less than none. */
	r.vain = r.worked > r.served ? r.worked - r.served : 0;
	r.wasted_percent = r.worked ? 100.0 * r.vain / r.worked : 0;
	result_late(board, &r);
	*result = r;
	return 0;
}

void result_free(struct result *result)
{
	free(result->curve_s);
	result->curve_s = NULL;
}

bool result_incident(const struct result *r)
{
	if (r->served < r->clients)
		return true;
	if (r->late)
		return r->late_ratio > RESULT_LATE_RATIO_MAX;
	return r->ratio > RESULT_RATIO_MAX;
}

/* Too slow, but not if the server had had the CPU to itself, as while its capacity was measured. */
static bool result_starved(const struct result *r)
{
	return r->served == r->clients && !r->late && r->ratio > RESULT_RATIO_MAX &&
	       r->drain_s - r->kept_off_s <= RESULT_RATIO_MAX * r->ideal_s;
}

static void result_story(const struct result *r, char *text, size_t size)
{
	if (r->served < r->clients)
		snprintf(text, size,
			 "served %u of %u in %.1f s (ideal %.1f s), %" PRIu64 " connections worked on in vain",
			 r->served, r->clients, r->lasted_s, r->ideal_s, r->vain);
	else if (r->late)
		snprintf(text, size,
			 "drained %.1f s after it attached: %.1f s for what the server had accepted, the "
			 "rest %.2f x the ideal of %.1f s (at most %.1f x)",
			 r->late_drain_s, r->late_backlog_s, r->late_ratio, r->ideal_s, RESULT_LATE_RATIO_MAX);
	else
		snprintf(text, size, "drained in %.1f s, %.2f x the ideal of %.1f s (at most %.1f x)", r->drain_s,
			 r->ratio, r->ideal_s, RESULT_RATIO_MAX);
}

bool result_judge(const struct result *without, const struct result *with, bool must_collapse,
		  char reason[RESULT_REASON_MAX])
{
	char story[256];

	if (with) {
		result_story(with, story, sizeof(story));
		if (result_starved(with)) {
			snprintf(
				reason, RESULT_REASON_MAX,
				"inconclusive: with the shield it %s, but other programs kept the server off the CPU for %.1f s; "
				"run it again on a quieter machine",
				story, with->kept_off_s);
			return false;
		}
		if (result_incident(with)) {
			snprintf(reason, RESULT_REASON_MAX, "the shield did not prevent the incident: with it %s",
				 story);
			return false;
		}
		if (with->lost || with->witness_broken || with->witness_lost_bytes || with->witness_corrupt_bytes) {
			snprintf(reason, RESULT_REASON_MAX,
				 "established connections did not survive: %" PRIu64
				 " served clients cut off, witness %s, %" PRIu64 " bytes lost, %" PRIu64 " altered",
				 with->lost, with->witness_broken ? "cut off" : "alive", with->witness_lost_bytes,
				 with->witness_corrupt_bytes);
			return false;
		}
	}
	if (without && must_collapse && !result_incident(without)) {
		result_story(without, story, sizeof(story));
		snprintf(reason, RESULT_REASON_MAX, "the storm did not melt the server: without the shield it %s",
			 story);
		return false;
	}
	if (with)
		snprintf(reason, RESULT_REASON_MAX, "with the shield it %s", story);
	if (without && !with) {
		result_story(without, story, sizeof(story));
		snprintf(reason, RESULT_REASON_MAX, "without the shield it %s", story);
	}
	return true;
}
