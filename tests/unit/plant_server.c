// SPDX-License-Identifier: GPL-2.0-or-later
/* The simulated server: workers, their queue, and how fast they are. */
#include <math.h>

#include "plant_impl.h"

/* The capacity the server would have with an empty queue. */
double plant_ideal(const struct plant_config *config, double at_s)
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

void plant_serve(struct plant *plant)
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

/* The first byte was not all: the rest of the work is there now. */
void plant_lag(struct plant *plant, uint32_t id)
{
	plant->job_at_ns[id] = plant->now_ns;
	plant_put(plant, &plant->jobs, id);
}

void plant_first_byte(struct plant *plant, uint32_t id)
{
	struct plant_attempt *attempt = &plant->attempt[id];
	uint64_t raw_ns = plant->now_ns - attempt->admit_ns, delay_ns = plant->now_ns - attempt->arrive_ns;

	attempt->answered = true;
	if (attempt->slot == PLANT_EXPIRED)
		plant->late++;
	else
		plant_free(plant, id, &plant->settled);
	sim_count_delay(plant->own_hist, delay_ns);
	if (!attempt->gone || attempt->slot == PLANT_EXPIRED) {
		sim_count_delay(plant->raw_hist, raw_ns);
		sim_count_delay(plant->server_hist, plant->config->rtt_known ? delay_ns : raw_ns);
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
