// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plant.h"

#define PLANT_NOBODY UINT32_MAX /* client of calm traffic and of spare connections */
#define PLANT_PRESSURE_NS 250e6 /* target of the lagged work's wait */
#define PLANT_OLDEST_BELOW_NS 2000000000ULL
#define PLANT_ANSWERS 8
#define PLANT_OLDEST_SHARE 0.15

enum plant_event_kind {
	PLANT_SYN,
	PLANT_LEAVE,
	PLANT_EVICT,
	PLANT_HANDSHAKE,
	PLANT_ABANDON,
	PLANT_DONE,
	PLANT_LAG,
	PLANT_LAG_DONE,
	PLANT_DEAD_DONE,
	PLANT_CALM,
	PLANT_SILENT,
	PLANT_KICK,
	PLANT_TICK
};
enum plant_slot { PLANT_HELD, PLANT_INFLIGHT, PLANT_FREE, PLANT_EXPIRED };

struct plant_event {
	uint64_t at_ns;
	uint32_t id;
	uint32_t kind;
};

struct plant_attempt {
	uint64_t syn_ns;
	uint64_t admit_ns;
	uint64_t arrive_ns;
	uint32_t client;
	uint32_t rtt_us;
	uint8_t slot;
	bool gone, idle, at_server, answered;
};

/* Growing array used as a queue: taken from the front, for the hold queue also from the back. */
struct plant_fifo {
	uint32_t *id;
	size_t head, tail, room;
};

struct plant {
	const struct plant_config *config;
	struct plant_result *result;
	struct plant_limits limits;
	uint64_t now_ns, end_ns, random, token_ns;
	struct plant_event *heap;
	size_t events, events_room;
	struct plant_attempt *attempt;
	size_t attempts, attempts_room;
	bool *client_served;
	struct plant_fifo held, ready, jobs, slots;
	uint64_t *job_at_ns; /* of the attempts' lagged work, by attempt */
	size_t held_count, inflight;
	unsigned int busy;
	double dead_work, jitter, tokens;
	uint64_t done_ns, median_ns;
	/* since the last tick */
	uint64_t settled, late, abandoned, expired, silent_expired, admitted, overflows, rtt_sum_us, delay_sum_ns,
		delays;
	uint64_t server_hist[SYNHOLD_HIST_BUCKETS], raw_hist[SYNHOLD_HIST_BUCKETS], own_hist[SYNHOLD_HIST_BUCKETS];
	bool limited, failed;
};

static double plant_random(struct plant *plant)
{
	uint64_t x = plant->random += 0x9e3779b97f4a7c15ULL; /* splitmix64 */

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return (double)((x ^ (x >> 31)) >> 11) / 9007199254740992.0;
}

static bool plant_room(struct plant *plant, void **array, size_t *room, size_t used, size_t size)
{
	size_t want = *room ? *room * 2 : 1024;
	void *bigger;

	if (used < *room)
		return true;
	bigger = realloc(*array, want * size);
	if (!bigger) {
		plant->failed = true;
		return false;
	}
	*array = bigger;
	*room = want;
	return true;
}

static void plant_put(struct plant *plant, struct plant_fifo *fifo, uint32_t id)
{
	if (plant_room(plant, (void **)&fifo->id, &fifo->room, fifo->tail, sizeof(*fifo->id)))
		fifo->id[fifo->tail++] = id;
}

static void plant_at(struct plant *plant, double in_s, enum plant_event_kind kind, uint32_t id)
{
	struct plant_event event = {plant->now_ns + (uint64_t)(in_s * 1e9), id, kind};
	size_t i = plant->events;

	if (!plant_room(plant, (void **)&plant->heap, &plant->events_room, i, sizeof(event)))
		return;
	plant->events++;
	for (; i && plant->heap[(i - 1) / 2].at_ns > event.at_ns; i = (i - 1) / 2)
		plant->heap[i] = plant->heap[(i - 1) / 2];
	plant->heap[i] = event;
}

static struct plant_event plant_next(struct plant *plant)
{
	struct plant_event first = plant->heap[0], last = plant->heap[--plant->events];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < plant->events) {
		if (child + 1 < plant->events && plant->heap[child + 1].at_ns < plant->heap[child].at_ns)
			child++;
		if (plant->heap[child].at_ns >= last.at_ns)
			break;
		plant->heap[i] = plant->heap[child];
		i = child;
	}
	plant->heap[i] = last;
	return first;
}

/* The capacity the server would have with an empty queue. */
static double plant_ideal(const struct plant_config *config, double at_s)
{
	double capacity = config->capacity;

	if (config->cold_seconds > 0)
		capacity *= fmin(1, 0.25 + 0.75 * at_s / config->cold_seconds);
	if (at_s >= config->step_from && at_s < config->step_to)
		capacity *= config->step_factor;
	return capacity;
}

static double plant_service(struct plant *plant, double share)
{
	const struct plant_config *config = plant->config;
	double queue = (double)(plant->ready.tail - plant->ready.head + plant->jobs.tail - plant->jobs.head);
	double low = config->capacity / 4, high = config->capacity * 2;
	double capacity = plant_ideal(config, (double)plant->now_ns / 1e9);

	capacity *= 1 - config->fall * fmin(1, fmax(0, (queue - low) / (high - low)));
	return config->workers / (capacity * plant->jitter) * share * (0.5 + plant_random(plant));
}

static void plant_serve(struct plant *plant)
{
	const struct plant_config *config = plant->config;
	double now_s = (double)plant->now_ns / 1e9;
	bool any = true;

	if (now_s >= config->hang_from && now_s < config->hang_to)
		return;
	while (plant->busy < config->workers && any) {
		bool ready = plant->ready.head < plant->ready.tail, job = plant->jobs.head < plant->jobs.tail;

		if (plant->dead_work >= 1) {
			plant->dead_work--;
			plant_at(plant, plant_service(plant, 1), PLANT_DEAD_DONE, 0);
		} else if (job && (!ready || plant_random(plant) < 0.5)) {
			plant_at(plant, plant_service(plant, 0.7), PLANT_LAG_DONE, plant->jobs.id[plant->jobs.head++]);
		} else if (ready) {
			plant_at(plant, plant_service(plant, config->lagged ? 0.3 : 1), PLANT_DONE,
				 plant->ready.id[plant->ready.head++]);
		} else {
			break;
		}
		plant->busy++;
	}
}

static void plant_admit(struct plant *plant, uint32_t id)
{
	struct plant_attempt *attempt = &plant->attempt[id];

	attempt->slot = PLANT_INFLIGHT;
	attempt->admit_ns = plant->now_ns;
	plant->inflight++;
	plant->admitted++;
	if (plant->limits.ceiling_pps > 0)
		plant->tokens--;
	plant_put(plant, &plant->slots, id);
	plant_at(plant, attempt->rtt_us / 1e6, PLANT_HANDSHAKE, id);
}

static bool plant_token(struct plant *plant)
{
	double rate = plant->limits.ceiling_pps;

	if (rate <= 0) {
		plant->token_ns = plant->now_ns;
		return true;
	}
	plant->tokens += rate * (double)(plant->now_ns - plant->token_ns) / 1e9;
	plant->tokens = fmin(plant->tokens, fmax(2, rate / 10));
	plant->token_ns = plant->now_ns;
	return plant->tokens >= 1;
}

static bool plant_window(struct plant *plant)
{
	if ((double)plant->inflight < plant->limits.window)
		return true;
	plant->limited = true;
	return false;
}

static void plant_release(struct plant *plant)
{
	struct plant_fifo *held = &plant->held;

	while (plant->held_count && plant_window(plant) && plant_token(plant)) {
		uint32_t id;

		while (plant->attempt[held->id[held->head]].slot != PLANT_HELD)
			held->head++;
		while (plant->attempt[held->id[held->tail - 1]].slot != PLANT_HELD)
			held->tail--;
		if (plant->now_ns - plant->attempt[held->id[held->head]].syn_ns < PLANT_OLDEST_BELOW_NS ||
		    plant_random(plant) < PLANT_OLDEST_SHARE)
			id = held->id[held->head++];
		else
			id = held->id[--held->tail];
		plant->held_count--;
		plant_admit(plant, id);
	}
}

static void plant_connect(struct plant *plant, uint32_t client, bool idle)
{
	const struct plant_config *config = plant->config;
	struct plant_attempt *attempt;
	uint32_t id = (uint32_t)plant->attempts;
	size_t room = plant->attempts_room;

	if (!plant_room(plant, (void **)&plant->attempt, &plant->attempts_room, id, sizeof(*attempt)))
		return;
	if (room != plant->attempts_room) {
		uint64_t *bigger = realloc(plant->job_at_ns, plant->attempts_room * sizeof(*bigger));

		if (!bigger) {
			plant->failed = true;
			return;
		}
		plant->job_at_ns = bigger;
	}
	plant->attempts++;
	attempt = &plant->attempt[id];
	memset(attempt, 0, sizeof(*attempt));
	attempt->client = client;
	attempt->idle = idle;
	attempt->syn_ns = plant->now_ns;
	attempt->rtt_us =
		(uint32_t)(1e6 * (config->rtt_min + (config->rtt_max - config->rtt_min) * plant_random(plant)));
	if (client != PLANT_NOBODY && config->patience > 0)
		plant_at(plant, config->patience, PLANT_LEAVE, id);
	if (!plant->held_count && plant_window(plant) && plant_token(plant)) {
		plant_admit(plant, id);
		return;
	}
	attempt->slot = PLANT_HELD;
	plant->held_count++;
	plant_put(plant, &plant->held, id);
}

static void plant_free(struct plant *plant, uint32_t id, uint64_t *counter)
{
	struct plant_attempt *attempt = &plant->attempt[id];

	if (attempt->slot != PLANT_INFLIGHT)
		return;
	attempt->slot = PLANT_FREE;
	plant->inflight--;
	++*counter;
}

static void plant_leave(struct plant *plant, uint32_t id)
{
	struct plant_attempt *attempt = &plant->attempt[id];

	if (attempt->answered || attempt->gone)
		return;
	attempt->gone = true;
	/* A held SYN whose client has left is noticed when its next copy does not come. */
	if (attempt->slot == PLANT_HELD)
		plant_at(plant, 0.3 + plant_random(plant), PLANT_EVICT, id);
	else if (attempt->at_server && !plant->config->fin_keeps_slot)
		plant_at(plant, attempt->rtt_us / 2e6, PLANT_ABANDON, id);
	plant_at(plant, plant->config->retry, PLANT_SYN, attempt->client);
}

static void plant_handshake(struct plant *plant, uint32_t id)
{
	struct plant_attempt *attempt = &plant->attempt[id];
	const struct plant_config *config = plant->config;

	if (attempt->gone) {
		plant_free(plant, id, &plant->abandoned);
		return;
	}
	if (config->backlog && !config->eager && plant->ready.tail - plant->ready.head > config->backlog) {
		plant->overflows++;
		plant_at(plant, 1, PLANT_HANDSHAKE, id);
		return;
	}
	attempt->at_server = true;
	attempt->arrive_ns = plant->now_ns;
	if (attempt->idle)
		return;
	plant_put(plant, &plant->ready, id);
}

static void plant_bucket(uint64_t histogram[SYNHOLD_HIST_BUCKETS], uint64_t delay_ns)
{
	unsigned int octave, shift = SYNHOLD_HIST_MIN_SHIFT;

	if (delay_ns < 1ULL << shift) {
		histogram[0]++;
		return;
	}
	octave = 63 - (unsigned int)__builtin_clzll(delay_ns);
	if (octave >= shift + SYNHOLD_HIST_OCTAVES)
		histogram[SYNHOLD_HIST_BUCKETS - 1]++;
	else
		histogram[1 + (octave - shift) * 4 + ((delay_ns >> (octave - 2)) & 3)]++;
}

static void plant_first_byte(struct plant *plant, uint32_t id)
{
	struct plant_attempt *attempt = &plant->attempt[id];
	uint64_t raw_ns = plant->now_ns - attempt->admit_ns, delay_ns = plant->now_ns - attempt->arrive_ns;

	attempt->answered = true;
	if (attempt->slot == PLANT_EXPIRED)
		plant->late++;
	else
		plant_free(plant, id, &plant->settled);
	plant_bucket(plant->own_hist, delay_ns);
	if (!attempt->gone || attempt->slot == PLANT_EXPIRED) {
		plant_bucket(plant->raw_hist, raw_ns);
		plant_bucket(plant->server_hist, plant->config->rtt_known ? delay_ns : raw_ns);
		plant->delays++;
		plant->delay_sum_ns += delay_ns;
		plant->rtt_sum_us += attempt->rtt_us;
	}
	if (plant->config->lagged)
		plant_at(plant, 1 + 4 * plant_random(plant), PLANT_LAG, id);
	if (attempt->gone) {
		plant->result->wasted++;
	} else if (attempt->client != PLANT_NOBODY && !plant->client_served[attempt->client]) {
		plant->client_served[attempt->client] = true;
		plant->done_ns = plant->now_ns;
		plant->result->served++;
	}
}

static void plant_expire(struct plant *plant)
{
	struct plant_fifo *slots = &plant->slots;

	for (; slots->head < slots->tail; slots->head++) {
		struct plant_attempt *attempt = &plant->attempt[slots->id[slots->head]];

		if (attempt->slot == PLANT_INFLIGHT) {
			if (plant->now_ns - attempt->admit_ns < plant->limits.expire_ns)
				break;
			plant_free(plant, slots->id[slots->head], &plant->expired);
			plant->silent_expired += attempt->idle || !attempt->at_server;
			attempt->slot = PLANT_EXPIRED;
		}
	}
}

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

static void plant_tick(struct plant *plant, plant_controller controller, void *state)
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

static void plant_handle(struct plant *plant, struct plant_event event)
{
	const struct plant_config *config = plant->config;

	switch ((enum plant_event_kind)event.kind) {
	case PLANT_SYN:
		while (plant_random(plant) < config->idle_share)
			plant_connect(plant, PLANT_NOBODY, true);
		plant_connect(plant, event.id, false);
		break;
	case PLANT_LEAVE:
		plant_leave(plant, event.id);
		break;
	case PLANT_EVICT:
		if (plant->attempt[event.id].slot == PLANT_HELD) {
			plant->attempt[event.id].slot = PLANT_FREE;
			plant->held_count--;
		}
		break;
	case PLANT_HANDSHAKE:
		plant_handshake(plant, event.id);
		break;
	case PLANT_ABANDON:
		plant_free(plant, event.id, &plant->abandoned);
		break;
	case PLANT_DONE:
		plant->busy--;
		plant_first_byte(plant, event.id);
		break;
	case PLANT_LAG:
		plant->job_at_ns[event.id] = plant->now_ns;
		plant_put(plant, &plant->jobs, event.id);
		break;
	case PLANT_LAG_DONE:
	case PLANT_DEAD_DONE:
		plant->busy--;
		break;
	case PLANT_CALM:
		while (plant_random(plant) < config->idle_share)
			plant_connect(plant, PLANT_NOBODY, true);
		plant_connect(plant, PLANT_NOBODY, false);
		plant_at(plant, -log(1 - plant_random(plant)) / config->calm_pps, PLANT_CALM, 0);
		break;
	case PLANT_SILENT:
		plant_connect(plant, PLANT_NOBODY, true);
		if ((double)plant->now_ns < config->silent_to * 1e9)
			plant_at(plant, 1 / config->silent_pps, PLANT_SILENT, 0);
		break;
	case PLANT_KICK:
	case PLANT_TICK:
		break;
	}
	plant_serve(plant);
	plant_release(plant);
}

static double plant_ideal_drain(const struct plant_config *config)
{
	double served = 0, at_s = config->herd_at;

	while (served < config->clients && at_s < config->horizon) {
		served += plant_ideal(config, at_s) * 0.001;
		at_s += 0.001;
	}
	return at_s - config->herd_at;
}

int plant_run(const struct plant_config *config, plant_controller controller, void *state, struct plant_limits limits,
	      struct plant_result *result)
{
	struct plant plant = {.config = config, .result = result, .limits = limits, .jitter = 1};
	unsigned int herds = config->herds ? config->herds : 1;
	uint32_t clients = config->clients * herds, i;

	if (!config->workers || config->capacity <= 0 || config->horizon <= 0)
		return -EINVAL;
	memset(result, 0, sizeof(*result));
	plant.random = config->seed;
	plant.dead_work = config->dead_seconds * config->capacity;
	plant.client_served = calloc(clients + 1, sizeof(*plant.client_served));
	if (!plant.client_served)
		return -ENOMEM;
	for (i = 0; i < clients; i++)
		plant_at(&plant,
			 config->herd_at + i / config->clients * config->herd_period +
				 config->herd_spread * plant_random(&plant),
			 PLANT_SYN, i);
	if (config->calm_pps > 0)
		plant_at(&plant, 0, PLANT_CALM, 0);
	if (config->silent_pps > 0)
		plant_at(&plant, config->silent_from, PLANT_SILENT, 0);
	if (config->hang_to > 0)
		plant_at(&plant, config->hang_to, PLANT_KICK, 0);
	plant_at(&plant, 0.1, PLANT_TICK, 0);
	plant_serve(&plant);
	while (plant.events && !plant.failed) {
		struct plant_event event = plant_next(&plant);

		plant.now_ns = event.at_ns;
		if ((double)plant.now_ns > config->horizon * 1e9 ||
		    (clients && result->served == clients && config->calm_pps <= 0))
			break;
		if (event.kind == PLANT_TICK)
			plant_tick(&plant, controller, state);
		plant_handle(&plant, event);
	}
	result->admitted += plant.admitted;
	result->settled += plant.settled;
	result->abandoned += plant.abandoned;
	result->expired += plant.expired;
	result->late += plant.late;
	result->inflight_end = plant.inflight;
	result->ideal_seconds = plant_ideal_drain(config);
	result->drain_seconds = result->served == clients && clients ? (double)plant.done_ns / 1e9 - config->herd_at :
								       config->horizon - config->herd_at;
	result->late_share /= result->ticks ? result->ticks : 1;
	free(plant.client_served);
	free(plant.heap);
	free(plant.attempt);
	free(plant.job_at_ns);
	free(plant.held.id);
	free(plant.ready.id);
	free(plant.jobs.id);
	free(plant.slots.id);
	return plant.failed ? -ENOMEM : 0;
}
