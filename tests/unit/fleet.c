// SPDX-License-Identifier: GPL-2.0-or-later
/* The simulated storm: time, the server, and what came out. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet_impl.h"

uint64_t fleet_random(struct fleet *f)
{
	return sim_random(&f->random);
}

double fleet_uniform(struct fleet *f)
{
	return sim_uniform(&f->random);
}

bool fleet_room(struct fleet *f, void *array_pointer, size_t *room, size_t used, size_t size)
{
	void **array = array_pointer, *bigger;
	size_t want = *room ? *room * 2 : 4096;

	if (used < *room)
		return true;
	bigger = realloc(*array, want * size);
	if (!bigger) {
		f->failed = true;
		return false;
	}
	*array = bigger;
	*room = want;
	return true;
}

static bool fleet_before(const struct fleet_event *a, const struct fleet_event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->seq < b->seq;
}

void fleet_at(struct fleet *f, uint64_t in_ns, enum fleet_kind kind, uint32_t id)
{
	struct fleet_event event = {.at_ns = f->now_ns + in_ns, .seq = f->event_seq++, .id = id, .kind = kind};
	size_t i = f->events;

	if (!fleet_room(f, &f->heap, &f->events_room, i, sizeof(event)))
		return;
	f->events++;
	for (; i && fleet_before(&event, &f->heap[(i - 1) / 2]); i = (i - 1) / 2)
		f->heap[i] = f->heap[(i - 1) / 2];
	f->heap[i] = event;
}

static struct fleet_event fleet_next(struct fleet *f)
{
	struct fleet_event first = f->heap[0], last = f->heap[--f->events];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < f->events) {
		if (child + 1 < f->events && fleet_before(&f->heap[child + 1], &f->heap[child]))
			child++;
		if (!fleet_before(&f->heap[child], &last))
			break;
		f->heap[i] = f->heap[child];
		i = child;
	}
	f->heap[i] = last;
	return first;
}

static void fleet_work(struct fleet *f)
{
	const struct fleet_config *config = f->config;
	double mean_ns = FLEET_S * config->workers / config->capacity;

	while (f->busy < config->workers && f->line_head < f->line_tail) {
		f->busy++;
		fleet_at(f, (uint64_t)(mean_ns * (0.5 + fleet_uniform(f))), FLEET_DONE, f->line[f->line_head++]);
	}
}

static void fleet_server_event(struct fleet *f, enum fleet_kind kind, uint32_t id)
{
	if (kind == FLEET_REQUEST) {
		if (fleet_room(f, &f->line, &f->line_room, f->line_tail, sizeof(*f->line)))
			f->line[f->line_tail++] = id;
	} else {
		f->busy--;
		fleet_at(f, f->client[f->attempt[id].client].rtt_ns / 2, FLEET_ANSWER, id);
		fleet_shield_settle(f, id);
	}
	fleet_work(f);
}

static void fleet_handle(struct fleet *f, const struct fleet_event *event)
{
	switch ((enum fleet_kind)event->kind) {
	case FLEET_CONNECT:
	case FLEET_TIMER:
	case FLEET_PATIENCE:
	case FLEET_SYNACK:
	case FLEET_ANSWER:
		fleet_client_event(f, event->kind, event->id);
		break;
	case FLEET_SYN:
	case FLEET_RESET:
	case FLEET_FIN:
	case FLEET_TICK:
		fleet_shield_event(f, event->kind, event->id);
		break;
	case FLEET_REQUEST:
	case FLEET_DONE:
		fleet_server_event(f, event->kind, event->id);
		break;
	}
}

static int fleet_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int fleet_sum_up(struct fleet *f, uint64_t start_ns)
{
	struct fleet_result *result = f->result;
	uint32_t n = f->config->clients, i;
	double *wait = malloc(n * sizeof(*wait));

	if (!wait)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		const struct fleet_client *c = &f->client[i];
		uint64_t end_ns = c->served_ns ? c->served_ns : start_ns + (uint64_t)(f->config->horizon_s * FLEET_S);

		result->drain_s = fmax(result->drain_s, (double)(end_ns - start_ns) / FLEET_S);
		wait[i] = (double)(end_ns - (c->first_ns ? c->first_ns : start_ns)) / FLEET_S;
		result->failures += (double)c->failures / n;
	}
	qsort(wait, n, sizeof(*wait), fleet_compare);
	result->ideal_s = n / f->config->capacity;
	result->wait_p50_s = wait[(n - 1) / 2];
	result->wait_p99_s = wait[(n - 1) * 99ULL / 100];
	free(wait);
	return 0;
}

int fleet_run(const struct fleet_config *config, struct fleet_result *result)
{
	const uint64_t start_ns = (uint64_t)(1000 * FLEET_S); /* a time of zero means "never" in the cores */
	struct fleet f = {.config = config, .result = result, .random = config->seed, .now_ns = start_ns};
	int err;

	if (!config->clients || config->capacity <= 0 || !config->workers)
		return -EINVAL;
	memset(result, 0, sizeof(*result));
	f.client = calloc(config->clients, sizeof(*f.client));
	err = f.client ? fleet_shield_init(&f) : -ENOMEM;
	if (!err) {
		fleet_client_init(&f);
		while (f.events && !f.failed && result->served < config->clients) {
			struct fleet_event event = fleet_next(&f);

			f.now_ns = event.at_ns;
			if ((double)(f.now_ns - start_ns) > config->horizon_s * FLEET_S)
				break;
			fleet_handle(&f, &event);
		}
		err = f.failed ? -ENOMEM : fleet_sum_up(&f, start_ns);
	}
	fleet_shield_free(&f);
	free(f.client);
	free(f.attempt);
	free(f.heap);
	free(f.line);
	free(f.entered);
	return err;
}
