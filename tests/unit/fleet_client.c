// SPDX-License-Identifier: GPL-2.0-or-later
/* The clients of the simulated storm and their kernels. */
#include <math.h>
#include <string.h>

#include "fleet_impl.h"

#define FLEET_LINEAR 5 /* gaps of one second before they double: 4 linear timeouts after the first (Linux 6.5) */

static const struct retry_policy fleet_retries[] = {
	{.kind = RETRY_NOW},
	{.kind = RETRY_FIXED, .base_ns = 1000000000ULL},
	{.kind = RETRY_EXP, .base_ns = 500000000ULL, .max_ns = 30000000000ULL},
	{.kind = RETRY_EXP_JITTER, .base_ns = 500000000ULL, .max_ns = 30000000000ULL},
};
#define FLEET_RETRIES (sizeof(fleet_retries) / sizeof(fleet_retries[0]))

void fleet_client_init(struct fleet *f)
{
	const struct fleet_config *config = f->config;
	double low = log(fmax(config->rtt_min_s, 1e-6)), high = log(fmax(config->rtt_max_s, 1e-6));
	uint32_t kinds = 0, i;

	while (kinds < FLEET_PATIENCES && config->patience_s[kinds] > 0)
		kinds++;
	for (i = 0; i < config->clients; i++) {
		struct fleet_client *c = &f->client[i];

		/* independent of one another, and the same whatever else is drawn */
		c->patience_ns = kinds ? (uint64_t)(config->patience_s[fleet_random(f) % kinds] * FLEET_S) : 0;
		c->retry = (uint8_t)(fleet_random(f) % FLEET_RETRIES);
		c->old_schedule = fleet_random(f) % 2;
		if (config->schedule != FLEET_BOTH)
			c->old_schedule = config->schedule == FLEET_OLD;
		c->rtt_ns = (uint64_t)(FLEET_S * exp(low + (high - low) * fleet_uniform(f)));
		fleet_at(f, (uint64_t)(FLEET_S * config->spread_s * fleet_uniform(f)), FLEET_CONNECT, i);
	}
}

static void fleet_connect(struct fleet *f, uint32_t id)
{
	struct fleet_client *c = &f->client[id];
	uint32_t attempt = (uint32_t)f->attempts;

	if (!fleet_room(f, &f->attempt, &f->attempts_room, attempt, sizeof(*f->attempt)))
		return;
	f->attempts++;
	f->attempt[attempt] = (struct fleet_attempt){.first_ns = f->now_ns, .client = id};
	if (!c->first_ns)
		c->first_ns = f->now_ns;
	if (c->patience_ns)
		fleet_at(f, c->patience_ns, FLEET_PATIENCE, attempt);
	fleet_client_event(f, FLEET_TIMER, attempt);
}

static uint64_t fleet_gap_ns(struct fleet *f, const struct fleet_client *c, uint32_t copies)
{
	uint32_t linear = c->old_schedule ? 1 : FLEET_LINEAR;
	uint32_t doubled = copies > linear ? copies - linear : 0;
	double gap_s = (double)(1ULL << (doubled < 6 ? doubled : 6));

	/* the timer wheel rounds up, by up to a sixteenth in the mean of clock rates and lengths */
	gap_s *= 1 + fleet_uniform(f) / 16;
	if (f->config->timer_late_s > 0)
		gap_s -= log(1 - fleet_uniform(f)) * f->config->timer_late_s;
	return (uint64_t)(gap_s * FLEET_S);
}

static void fleet_timer(struct fleet *f, uint32_t id)
{
	struct fleet_attempt *a = &f->attempt[id];
	const struct fleet_client *c = &f->client[a->client];

	if (a->client_side != FLEET_WAITING)
		return;
	a->copies++;
	fleet_at(f, c->rtt_ns / 2, FLEET_SYN, id);
	fleet_at(f, fleet_gap_ns(f, c, a->copies), FLEET_TIMER, id);
}

static void fleet_give_up(struct fleet *f, uint32_t id)
{
	struct fleet_attempt *a = &f->attempt[id];
	struct fleet_client *c = &f->client[a->client];
	const struct retry_policy *retry = f->config->retry_mixed ? &fleet_retries[c->retry] : &f->config->retry;

	if (a->client_side == FLEET_SERVED)
		return;
	if (a->client_side == FLEET_CONNECTED)
		fleet_at(f, c->rtt_ns / 2, FLEET_FIN, id);
	a->client_side = FLEET_LEFT;
	c->failures++;
	fleet_at(f, retry_delay_ns(retry, c->failures, fleet_random(f)), FLEET_CONNECT, a->client);
}

static void fleet_synack(struct fleet *f, uint32_t id)
{
	struct fleet_attempt *a = &f->attempt[id];
	uint64_t half_ns = f->client[a->client].rtt_ns / 2;

	if (a->client_side == FLEET_LEFT) {
		f->result->stale++;
		fleet_at(f, half_ns, FLEET_RESET, id);
	} else if (a->client_side == FLEET_WAITING) {
		a->client_side = FLEET_CONNECTED;
		fleet_at(f, half_ns, FLEET_REQUEST, id);
	}
}

static void fleet_answer(struct fleet *f, uint32_t id)
{
	struct fleet_attempt *a = &f->attempt[id];
	struct fleet_client *c = &f->client[a->client];

	if (a->client_side != FLEET_CONNECTED) {
		f->result->wasted++;
		return;
	}
	a->client_side = FLEET_SERVED;
	c->served_ns = f->now_ns;
	f->result->served++;
}

void fleet_client_event(struct fleet *f, enum fleet_kind kind, uint32_t id)
{
	switch (kind) {
	case FLEET_CONNECT:
		fleet_connect(f, id);
		break;
	case FLEET_TIMER:
		fleet_timer(f, id);
		break;
	case FLEET_PATIENCE:
		fleet_give_up(f, id);
		break;
	case FLEET_SYNACK:
		fleet_synack(f, id);
		break;
	default:
		fleet_answer(f, id);
		break;
	}
}
