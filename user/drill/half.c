// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/half.h"

#include <stdio.h>
#include <string.h>

#include "drill/client.h"
#include "drill/net.h"
#include "drill/progress.h"
#include "drill/result.h"
#include "drill/server.h"
#include "drill/shield.h"
#include "drill/wan.h"
#include "drill/witness.h"
#include "drill/world.h"

#define HALF_READY_MS 10000
#define HALF_STALL_SECONDS 10  /* nobody served for so long while the server works: it never drains */
#define HALF_STATUS_SAMPLES 10 /* read the shield's status once a second */
#define HALF_WARM_UP_NS 1000000000ull
#define HALF_PROBES_MIN 64
#define HALF_PROBES_MAX BOARD_PROBES_MAX
#define HALF_LAPS_MIN 1200 /* replies in a measurement of the capacity: noise well below 1 % */
#define HALF_WINDOW_MIN_NS 2500000000ull
#define HALF_WINDOW_MAX_NS 10000000000ull
#define HALF_LIMIT_SECONDS_MIN 40
#define HALF_LIMIT_RATIO 3.2
#define HALF_MEASUREMENTS_MAX 4
#define HALF_WAN_NICE (-18)    /* packets must leave on time, or the delay is not the one asked for */
#define HALF_SERVER_NICE (-15) /* the clients are another machine's load, not the server's */

struct half {
	struct world *world;
	struct board *board;
	struct world_actor *server;
	struct world_actor *witness;
	struct world_actor *crowd[8];
	struct client_job job[8];
	int crowds;
	struct shield shield;
	bool shielded;
	uint64_t syns_before;
	uint64_t waited_before_ns;
};

static int half_open(struct half *h)
{
	struct world_actor *wan;

	wan = world_spawn(h->world, "delay line", WORLD_ROUTER, HALF_WAN_NICE, wan_actor, NULL);
	if (!wan || world_await(h->world, wan, 'R', HALF_READY_MS))
		return -1;
	h->server = world_spawn(h->world, "server", WORLD_SERVER, HALF_SERVER_NICE, server_actor, NULL);
	return h->server ? world_await(h->world, h->server, 'R', HALF_READY_MS) : -1;
}

static int half_pause(struct half *h, uint64_t ns)
{
	world_sleep_until(board_now_ns() + ns);
	return world_reap(h->world);
}

static uint64_t half_between(uint64_t value, uint64_t min, uint64_t max)
{
	return value < min ? min : value > max ? max : value;
}

/* Until the server is idle again: after a round trip nothing is on its way to it any more. */
static int half_calm(struct half *h)
{
	uint64_t begin = board_now_ns();

	if (half_pause(h, h->board->params->rtt_max_ns))
		return -1;
	while (BOARD_GET(h->board->server.open))
		if (half_pause(h, 10000000) || board_now_ns() - begin > HALF_WINDOW_MAX_NS)
			return board_fail(h->board, NULL, "the server still holds connections of the measurement");
	return 0;
}

/* The capacity: replies a second while more clients than the server can serve ask again as soon as served. */
static int half_measure(struct half *h, double *capacity)
{
	const struct drill_params *params = h->board->params;
	/* Enough to keep the server busy over two round trips, connect and request, twice over. */
	uint64_t busy = 4 * (params->rtt_max_ns + 10000000) / params->cost_ns;
	struct client_job job = {.count = half_between(busy, HALF_PROBES_MIN, HALF_PROBES_MAX), .closed_loop = true};
	uint64_t begin, laps,
		window = half_between(HALF_LAPS_MIN * params->cost_ns, HALF_WINDOW_MIN_NS, HALF_WINDOW_MAX_NS);
	struct world_actor *crowd;

	crowd = world_spawn(h->world, "probe", WORLD_CLIENTS, 0, client_actor, &job);
	if (!crowd || world_await(h->world, crowd, 'R', HALF_READY_MS))
		return -1;
	world_tell(crowd, 'G');
	if (half_pause(h, HALF_WARM_UP_NS))
		return -1;
	begin = board_now_ns();
	laps = BOARD_GET(h->board->crowd.laps);
	if (half_pause(h, window))
		return -1;
	laps = BOARD_GET(h->board->crowd.laps) - laps;
	*capacity = laps * 1e9 / (board_now_ns() - begin);
	world_tell(crowd, 'S');
	if (half_calm(h))
		return -1;
	if (!laps)
		return board_fail(h->board, NULL, "the server served nobody while its capacity was measured");
	return 0;
}

static int half_capacity(struct half *h)
{
	struct board *board = h->board;

	/* The first may see cold caches, any may see a neighbour's work: two in a row have to agree. */
	for (int i = 0; i < HALF_MEASUREMENTS_MAX && !board_capacity_agrees(board); i++) {
		board->capacity[0] = board->capacity[1];
		if (half_measure(h, &board->capacity[1]))
			return -1;
	}
	progress_say("capacity %.1f and %.1f connections/s: %u clients need %.1f s at best", board->capacity[0],
		     board->capacity[1], board->params->clients, board_ideal_seconds(board));
	/* Only the storm's own attempts are to be seen in the log. */
	memset(&board->crowd, 0, sizeof(board->crowd));
	memset(board->client, 0, board_clients(board->params) * sizeof(board->client[0]));
	return 0;
}

static int half_gather(struct half *h)
{
	uint32_t left = h->board->params->clients;

	h->witness = world_spawn(h->world, "witness", WORLD_CLIENTS, WITNESS_NICE, witness_actor, NULL);
	if (!h->witness || world_await(h->world, h->witness, 'R', HALF_READY_MS))
		return -1;
	for (uint32_t first = 0; left; h->crowds++) {
		struct client_job *job = &h->job[h->crowds];

		*job = (struct client_job){.first = first, .count = left < CLIENT_CROWD_MAX ? left : CLIENT_CROWD_MAX};
		h->crowd[h->crowds] = world_spawn(h->world, "clients", WORLD_CLIENTS, 0, client_actor, job);
		if (!h->crowd[h->crowds])
			return -1;
		first += job->count;
		left -= job->count;
	}
	for (int i = 0; i < h->crowds; i++)
		if (world_await(h->world, h->crowd[i], 'R', HALF_READY_MS))
			return -1;
	return 0;
}

static int half_attach(struct half *h)
{
	struct board *board = h->board;

	if (shield_start(h->world, &h->shield))
		return -1;
	h->shielded = true;
	if (board->start_ns) {
		board->attached_ns = board_now_ns() - board->start_ns;
		board->attached_served = BOARD_GET(board->crowd.served);
		board->attached_backlog = BOARD_GET(board->server.queue) + BOARD_GET(board->server.accept_queue);
	}
	return 0;
}

static struct board_sample *half_sample(struct half *h)
{
	struct board *board = h->board;
	struct board_sample *s = &board->sample[board->samples];

	/* A storm longer than the log keeps overwriting its end; the clients' own log is complete. */
	if (board->samples < BOARD_SAMPLES_MAX - 1)
		board->samples++;
	s->t = (board_now_ns() - board->start_ns) / 1e9;
	s->served = BOARD_GET(board->crowd.served);
	s->worked = BOARD_GET(board->server.worked) - board->server_before.worked;
	s->held = -1;
	if (h->shielded) {
		if (board->samples % HALF_STATUS_SAMPLES == 0)
			shield_read(&h->shield);
		s->held = board->shield.known ? board->shield.held : -1;
	}
	return s;
}

/* From here on the shield has to show: a late one after the server is done with what it had accepted. */
static double half_shield_from(const struct board *board)
{
	if (!board->attached_ns)
		return board->params->attach_at_ns / 1e9;
	return board->attached_ns / 1e9 + board->attached_backlog / board_capacity(board);
}

/* Before this the half with the shield may still turn out well. */
static double half_lost_from(const struct board *board)
{
	if (!board->with_shield)
		return 0;
	if (!board->params->attach_at_ns)
		return RESULT_RATIO_MAX * board_ideal_seconds(board);
	return half_shield_from(board) + RESULT_LATE_RATIO_MAX * board_ideal_seconds(board);
}

/* The server works at half its capacity or more, and not one client has been served for a while. */
static bool half_collapsed(const struct board *board)
{
	const uint32_t span = HALF_STALL_SECONDS * 1000 / BOARD_SAMPLE_MS;
	const struct board_sample *now = &board->sample[board->samples - 1], *then = now - span;

	if (board->samples <= span || now->t < half_lost_from(board))
		return false;
	return now->served == then->served &&
	       now->worked - then->worked > HALF_STALL_SECONDS * board_capacity(board) / 2;
}

static double half_limit_seconds(const struct board *board)
{
	double limit = HALF_LIMIT_RATIO * board_ideal_seconds(board);
	double late = board->with_shield ? half_shield_from(board) : 0;

	if (board->params->seconds)
		return board->params->seconds;
	return late + (limit < HALF_LIMIT_SECONDS_MIN ? HALF_LIMIT_SECONDS_MIN : limit);
}

/* Time the server was runnable and had no CPU: not its doing, nor the shield's, if a neighbour was busy. */
static uint64_t half_server_waited_ns(const struct half *h)
{
	unsigned long long waited = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", h->server->pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%*u %llu", &waited) != 1)
		waited = 0;
	fclose(f);
	return waited;
}

static int half_storm(struct half *h)
{
	struct board *board = h->board;
	uint64_t tick;

	h->syns_before = net_syns_sent(h->world);
	h->waited_before_ns = half_server_waited_ns(h);
	board->server_before = board->server;
	tick = board_now_ns();
	BOARD_SET(board->start_ns, tick);
	for (int i = 0; i < h->crowds; i++)
		world_tell(h->crowd[i], 'G');
	while (board->end == BOARD_RUNNING) {
		const struct board_sample *s;

		tick += BOARD_SAMPLE_MS * 1000000;
		world_sleep_until(tick);
		if (board->with_shield && !h->shielded && tick - board->start_ns >= board->params->attach_at_ns &&
		    half_attach(h))
			return -1;
		s = half_sample(h);
		if (world_reap(h->world) || (h->shielded && shield_alive(&h->shield)))
			return -1;
		if (s->served >= board->params->clients)
			board->end = BOARD_ALL_SERVED;
		else if (half_collapsed(board))
			board->end = BOARD_COLLAPSED;
		else if (s->t >= half_limit_seconds(board))
			board->end = BOARD_OUT_OF_TIME;
		progress_show(board, s);
	}
	board->end_ns = board_now_ns() - board->start_ns;
	board->server_after = board->server;
	board->server_waited_ns = half_server_waited_ns(h) - h->waited_before_ns;
	board->syns = net_syns_sent(h->world) - h->syns_before;
	return 0;
}

/* The shield goes first: connections that are served must outlive it. */
static int half_close(struct half *h)
{
	if (h->shielded) {
		shield_read(&h->shield);
		shield_stop(&h->shield);
	}
	world_tell(h->witness, 'S');
	if (world_await(h->world, h->witness, 'D', HALF_READY_MS))
		return -1;
	for (int i = 0; i < h->crowds; i++)
		world_tell(h->crowd[i], 'S');
	return 0;
}

static int half_body(struct world *world)
{
	struct half h = {.world = world, .board = world->board};

	if (half_open(&h))
		return -1;
	if (world->board->measure && half_capacity(&h))
		return -1;
	if (world->board->measure && !board_capacity_agrees(world->board))
		return 0;
	if (half_gather(&h))
		return -1;
	if (world->board->with_shield && !world->board->params->attach_at_ns && half_attach(&h))
		return -1;
	return half_storm(&h) || half_close(&h) ? -1 : 0;
}

int half_run(struct board *board)
{
	return world_run(board, half_body);
}
