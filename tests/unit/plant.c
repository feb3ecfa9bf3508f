// SPDX-License-Identifier: GPL-2.0-or-later
/* Time in the simulated storm: what happens next, and how it all begins and ends. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plant_impl.h"

double plant_random(struct plant *plant)
{
	return sim_uniform(&plant->random);
}

bool plant_room(struct plant *plant, void **array, size_t *room, size_t used, size_t size)
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

void plant_put(struct plant *plant, struct plant_fifo *fifo, uint32_t id)
{
	if (plant_room(plant, (void **)&fifo->id, &fifo->room, fifo->tail, sizeof(*fifo->id)))
		fifo->id[fifo->tail++] = id;
}

void plant_at(struct plant *plant, double in_s, enum plant_event_kind kind, uint32_t id)
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

static void plant_handle(struct plant *plant, struct plant_event event)
{
	switch ((enum plant_event_kind)event.kind) {
	case PLANT_SYN:
		plant_come(plant, event.id);
		break;
	case PLANT_LEAVE:
		plant_leave(plant, event.id);
		break;
	case PLANT_EVICT:
		plant_evict(plant, event.id);
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
		plant_lag(plant, event.id);
		break;
	case PLANT_LAG_DONE:
	case PLANT_DEAD_DONE:
		plant->busy--;
		break;
	case PLANT_CALM:
		plant_calm(plant);
		break;
	case PLANT_SILENT:
		plant_silent(plant);
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
