// SPDX-License-Identifier: GPL-2.0-or-later
/* The simulated gate: the window, the rate, who is held and who goes next. */
#include <math.h>

#include "plant_impl.h"

#define PLANT_OLDEST_BELOW_NS 2000000000ULL
#define PLANT_OLDEST_SHARE 0.15

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

/* It goes ahead if there is room and nobody waits; otherwise it is held. */
void plant_knock(struct plant *plant, uint32_t id)
{
	if (!plant->held_count && plant_window(plant) && plant_token(plant)) {
		plant_admit(plant, id);
		return;
	}
	plant->attempt[id].slot = PLANT_HELD;
	plant->held_count++;
	plant_put(plant, &plant->held, id);
}

/* Its client has left. */
void plant_evict(struct plant *plant, uint32_t id)
{
	if (plant->attempt[id].slot != PLANT_HELD)
		return;
	plant->attempt[id].slot = PLANT_FREE;
	plant->held_count--;
}

void plant_release(struct plant *plant)
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

/* The slot of a connection that is in flight, and the counter of why it is free. */
void plant_free(struct plant *plant, uint32_t id, uint64_t *counter)
{
	struct plant_attempt *attempt = &plant->attempt[id];

	if (attempt->slot != PLANT_INFLIGHT)
		return;
	attempt->slot = PLANT_FREE;
	plant->inflight--;
	++*counter;
}

void plant_expire(struct plant *plant)
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
