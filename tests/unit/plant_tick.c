// SPDX-License-Identifier: GPL-2.0-or-later
/* What is seen of the simulated storm at a tick: by the controller, and by the trace. */
#include <math.h>
#include <string.h>

#include "plant_impl.h"

#define PLANT_PRESSURE_NS 250e6 /* target of the lagged work's wait */
#define PLANT_ANSWERS 8

static void plant_trace(struct plant *plant, const struct control_input *input)
{
	struct plant_result *result = plant->result;
	struct plant_sample *sample = &result->trace[result->ticks];
	double delay_ns;
	uint64_t answers = 0;
	double idle_ms = 1e3 * plant->config->workers / plant_ideal(plant->config, (double)plant->now_ns / 1e9);

	/* A median of one or two answers would be the work of those: take the answers of more ticks then. */
	for (unsigned int i = 0; i < SYNHOLD_HIST_BUCKETS; i++)
		answers += plant->own_hist[i];
	delay_ns = answers ? (double)control_quantile_ns(plant->own_hist, 500) : 0;
	if (answers >= PLANT_ANSWERS || plant->now_ns - plant->median_ns > 1000000000ULL) {
		memset(plant->own_hist, 0, sizeof(plant->own_hist));
		plant->median_ns = plant->now_ns;
	}
	if (delay_ns <= 0 && plant->ready.head < plant->ready.tail)
		delay_ns = (double)(plant->now_ns - plant->attempt[plant->ready.id[plant->ready.head]].arrive_ns);
	sample->window = (uint32_t)fmin(plant->limits.window, UINT32_MAX);
	sample->ceiling_pps = (uint32_t)plant->limits.ceiling_pps;
	sample->inflight = (uint32_t)plant->inflight;
	sample->held = (uint32_t)plant->held_count;
	sample->settled = (uint32_t)(input->settled + input->late_settled);
	sample->limited = input->window_limited;
	sample->delay_ms = (float)(delay_ns / 1e6);
	result->late_share += delay_ns / 1e6 > 500 + idle_ms;
	if (result->ticks < PLANT_TICKS_MAX - 1)
		result->ticks++;
}

/* What the server's acknowledgements tell. */
static void plant_asks(struct plant *plant, struct control_input *input)
{
	const struct plant_config *config = plant->config;

	if (config->server_first || config->unseen) {
		input->greeted = plant->settled;
		input->silent_expired = plant->expired;
	} else {
		input->asked_settled = plant->settled;
		input->silent_expired = plant->silent_expired;
	}
	for (size_t i = plant->slots.head; i < plant->slots.tail; i++) {
		const struct plant_attempt *attempt = &plant->attempt[plant->slots.id[i]];

		if (attempt->slot != PLANT_INFLIGHT)
			continue;
		if (!attempt->idle && attempt->at_server && !config->server_first && !config->unseen)
			input->asking++;
		else if (plant->now_ns - attempt->admit_ns >= plant->limits.silent_after_ns)
			input->silent++;
	}
}

void plant_tick(struct plant *plant, plant_controller controller, void *state)
{
	struct control_input input = {.now_ns = plant->now_ns, .admitted = plant->admitted};
	size_t jobs = plant->jobs.tail - plant->jobs.head;

	plant_expire(plant);
	plant_release(plant);
	input.admitted = plant->admitted;
	input.settled = plant->settled;
	input.abandoned = plant->abandoned;
	input.expired = plant->expired;
	input.late_settled = plant->late;
	input.window_limited = plant->limited;
	input.inflight = plant->inflight;
	input.held = plant->held_count;
	plant_asks(plant, &input);
	input.has_rtt = plant->config->rtt_known;
	input.delay_count = plant->delays;
	if (plant->delays) {
		input.delay_mean_ns = plant->delay_sum_ns / plant->delays;
		input.rtt_mean_ns = plant->rtt_sum_us * 1000 / plant->delays;
	}
	input.delay_p50_ns = control_quantile_ns(plant->server_hist, 500);
	input.delay_p99_ns = control_quantile_ns(plant->server_hist, 990);
	input.first_byte_p99_ns = control_quantile_ns(plant->raw_hist, 990);
	input.accept_queue = plant->config->eager ? 0 : (int64_t)(plant->ready.tail - plant->ready.head);
	input.accept_queue_max = plant->config->backlog ? (int64_t)plant->config->backlog : -1;
	input.listen_overflows = plant->overflows;
	if (plant->config->lagged) {
		input.pressures = 1;
		input.pressure[0].name = "sessions";
		if (jobs)
			input.pressure[0].ratio =
				(double)(plant->now_ns - plant->job_at_ns[plant->jobs.id[plant->jobs.head]]) /
				PLANT_PRESSURE_NS;
	}
	plant_trace(plant, &input);
	plant->result->admitted += plant->admitted;
	plant->result->settled += plant->settled;
	plant->result->abandoned += plant->abandoned;
	plant->result->expired += plant->expired;
	plant->result->late += plant->late;
	plant->settled = plant->late = plant->abandoned = plant->expired = plant->silent_expired = plant->admitted = 0;
	plant->overflows = plant->rtt_sum_us = plant->delay_sum_ns = plant->delays = 0;
	memset(plant->server_hist, 0, sizeof(plant->server_hist));
	memset(plant->raw_hist, 0, sizeof(plant->raw_hist));
	plant->limited = false;
	plant->jitter = 1 + plant->config->noise * (2 * plant_random(plant) - 1);
	controller(state, &input, &plant->limits);
	plant_at(plant, 0.1, PLANT_TICK, 0);
}
