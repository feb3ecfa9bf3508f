// SPDX-License-Identifier: GPL-2.0-or-later
/* The simulated clients: who comes and when, and who leaves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plant_impl.h"

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
	plant_knock(plant, id);
}

/* Somebody connects, and opens spare connections beside. */
void plant_come(struct plant *plant, uint32_t client)
{
	while (plant_random(plant) < plant->config->idle_share)
		plant_connect(plant, PLANT_NOBODY, true);
	plant_connect(plant, client, false);
}

void plant_calm(struct plant *plant)
{
	plant_come(plant, PLANT_NOBODY);
	plant_at(plant, -log(1 - plant_random(plant)) / plant->config->calm_pps, PLANT_CALM, 0);
}

void plant_silent(struct plant *plant)
{
	plant_connect(plant, PLANT_NOBODY, true);
	if ((double)plant->now_ns < plant->config->silent_to * 1e9)
		plant_at(plant, 1 / plant->config->silent_pps, PLANT_SILENT, 0);
}

void plant_leave(struct plant *plant, uint32_t id)
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

void plant_handshake(struct plant *plant, uint32_t id)
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
