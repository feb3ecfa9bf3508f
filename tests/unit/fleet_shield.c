// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The shield of the simulated storm: bpf/gate.h, the hold queue and the controller, put together as judge.h, left.h,
 * settle.h, release.c and tick.c do it.
 */
#include <errno.h>
#include <string.h>

#include "fleet_impl.h"

#define FLEET_TARGET_NS 100000000ULL /* the default of target-delay; so are the next two */
#define FLEET_WINDOW_MIN 8
#define FLEET_WINDOW_MAX 65536
#define FLEET_SWEEP 4096
#define FLEET_FRAME_LEN 54

static void fleet_discarded(void *ctx, const struct holdq_entry *e, unsigned int reason, uint64_t now_ns)
{
	struct fleet *f = ctx;
	struct fleet_attempt *a = &f->attempt[fleet_id(e)];

	(void)now_ns;
	a->shield_side = FLEET_UNKNOWN; /* with its mark gone, a copy is a new SYN */
	if (reason != SYNHOLD_DISCARD_GONE && reason != SYNHOLD_DISCARD_EVICTED)
		return;
	if (e->attempts > 1) /* a single SYN may be anybody's */
		fleet_young_learn(f, e->last_ns - e->first_ns);
	f->result->gone++;
	f->result->gone_wrong += a->client_side == FLEET_WAITING;
}

int fleet_shield_init(struct fleet *f)
{
	static const struct holdq_ops ops = {.discarded = fleet_discarded};
	const struct control_policy policy = {
		.window_min = FLEET_WINDOW_MIN,
		.window_max = FLEET_WINDOW_MAX,
		.window_mode = SYNHOLD_WINDOW_AUTO,
		.target_delay_ns = FLEET_TARGET_NS,
	};
	const uint64_t seed[2] = {f->config->seed, 1};

	f->window = f->config->window ? f->config->window : CONTROL_WINDOW_START;
	f->expire_ns = SYNHOLD_EXPIRE_MIN_NS;
	f->memory = holdq_memory_new(HOLDQ_MEMORY_DEFAULT_BYTES);
	f->queue = f->memory ? holdq_new(f->memory, &f->config->queue, seed, &ops, f) : NULL;
	if (!f->queue)
		return -ENOMEM;
	fleet_at(f, CONTROL_TICK_NS, FLEET_TICK, 0);
	return control_init(&f->control, &policy, f->now_ns, 0, 0);
}

void fleet_shield_free(struct fleet *f)
{
	holdq_free(f->queue);
	holdq_memory_free(f->memory);
}

/* A slot for the attempt, as slots_start() takes it. */
static bool fleet_start(struct fleet *f, struct fleet_attempt *a, uint32_t id)
{
	int64_t room = (int64_t)f->window - f->owed.inflight;
	uint32_t expired = 0, epoch = gate_epoch(f->now_ns);

	if (room <= 0 || gate_start(&f->gate, epoch, (uint32_t)room, &expired)) {
		f->count.window_limited = true;
		return false;
	}
	f->count.expired += expired;
	f->count.admitted++;
	a->shield_side = FLEET_INFLIGHT;
	a->epoch = epoch;
	a->admit_ns = f->now_ns;
	fleet_at(f, f->client[a->client].rtt_ns / 2, FLEET_SYNACK, id);
	return true;
}

static void fleet_release(struct fleet *f)
{
	while (f->gate.inflight + f->owed.inflight < (int64_t)f->window) {
		struct holdq_entry *e = f->config->young_percent ? fleet_young_next(f) : NULL;
		uint32_t id;

		if (!e)
			e = holdq_next(f->queue, f->now_ns, HOLDQ_PICK_WINDOW | HOLDQ_PICK_SOURCE);
		if (!e)
			break;
		id = fleet_id(e);
		if (!fleet_start(f, &f->attempt[id], id))
			break;
		holdq_release(f->queue, e, f->now_ns);
	}
}

static void fleet_hold(struct fleet *f, struct fleet_attempt *a, uint32_t id)
{
	uint8_t frame[FLEET_FRAME_LEN] = {[14] = 0x45, [46] = 0x50, [47] = 2};
	struct holdq_syn syn = {
		.tuple = fleet_tuple(id),
		.source = a->client,
		.wait = HOLDQ_WAIT_WINDOW,
		.l3_offset = 14,
		.l4_offset = 34,
		.frame_len = sizeof(frame),
		.seen_ns = f->now_ns,
		.frame = frame,
	};

	if (holdq_offer(f->queue, &syn, f->now_ns, NULL) != HOLDQ_ENTERED)
		return;
	a->shield_side = FLEET_HELD;
	fleet_young_entered(f, id);
}

static void fleet_syn(struct fleet *f, uint32_t id)
{
	struct fleet_attempt *a = &f->attempt[id];

	if (a->shield_side == FLEET_INFLIGHT && gate_slot_live(&f->gate, a->epoch))
		return;
	if (a->shield_side == FLEET_HELD || holdq_held(f->queue, HOLDQ_WAIT_WINDOW) || !fleet_start(f, a, id))
		fleet_hold(f, a, id);
	fleet_release(f);
}

static void fleet_reset(struct fleet *f, uint32_t id)
{
	struct fleet_attempt *a = &f->attempt[id];

	if (a->shield_side == FLEET_INFLIGHT && gate_end(&f->gate, a->epoch))
		f->count.abandoned++;
	else if (a->shield_side == FLEET_OWED)
		gate_end(&f->owed, a->epoch);
	a->shield_side = FLEET_ENDED;
	fleet_young_learn(f, f->now_ns - a->first_ns);
	fleet_release(f);
}

static void fleet_fin(struct fleet *f, uint32_t id)
{
	struct fleet_attempt *a = &f->attempt[id];
	uint32_t expired = 0;

	if (a->shield_side != FLEET_INFLIGHT || !gate_end(&f->gate, a->epoch))
		return;
	a->epoch = gate_epoch(f->now_ns);
	a->shield_side = FLEET_OWED;
	gate_start(&f->owed, a->epoch, 0, &expired);
}

void fleet_shield_settle(struct fleet *f, uint32_t id)
{
	struct fleet_attempt *a = &f->attempt[id];
	uint64_t raw_ns = f->now_ns - a->admit_ns, rtt_ns = f->client[a->client].rtt_ns;
	struct synhold_gate *gate = a->shield_side == FLEET_OWED ? &f->owed : &f->gate;

	if (a->shield_side != FLEET_OWED && a->shield_side != FLEET_INFLIGHT)
		return;
	if (gate_end(gate, a->epoch))
		f->count.settled++;
	else
		f->count.late_settled++;
	a->shield_side = FLEET_ENDED;
	sim_count_delay(f->raw_hist, raw_ns);
	sim_count_delay(f->server_hist, raw_ns > rtt_ns ? raw_ns - rtt_ns : 0);
	f->count.delay_count++;
	f->delay_sum_ns += raw_ns > rtt_ns ? raw_ns - rtt_ns : 0;
	f->rtt_sum_ns += rtt_ns;
	fleet_release(f);
}

static uint32_t fleet_retire(struct fleet *f, struct synhold_gate *gate)
{
	uint32_t limit = gate_retire_limit(f->now_ns, f->expire_ns), epoch, expired = 0;

	for (epoch = gate_retire_from(gate, limit); epoch < limit; epoch++)
		expired += gate_retire_epoch(gate, epoch);
	return expired;
}

static void fleet_tick(struct fleet *f)
{
	struct control_input *in = &f->count;
	struct control_output out;

	in->expired += fleet_retire(f, &f->gate);
	fleet_retire(f, &f->owed);
	in->now_ns = f->now_ns;
	in->inflight = (uint64_t)(f->gate.inflight + f->owed.inflight);
	in->held = holdq_held(f->queue, HOLDQ_WAIT_WINDOW);
	in->window_limited |= in->held != 0;
	in->has_rtt = in->delay_count != 0;
	if (in->delay_count) {
		in->delay_mean_ns = f->delay_sum_ns / in->delay_count;
		in->rtt_mean_ns = f->rtt_sum_ns / in->delay_count;
	}
	in->delay_p50_ns = control_quantile_ns(f->server_hist, 500);
	in->delay_p99_ns = control_quantile_ns(f->server_hist, 990);
	in->first_byte_p99_ns = control_quantile_ns(f->raw_hist, 990);
	in->accept_queue = in->accept_queue_max = -1;
	if (!control_tick(&f->control, in, &out)) {
		f->expire_ns = out.expire_ns;
		if (!f->config->window)
			f->window = out.window;
	}
	*in = (struct control_input){0};
	f->delay_sum_ns = f->rtt_sum_ns = 0;
	memset(f->server_hist, 0, sizeof(f->server_hist));
	memset(f->raw_hist, 0, sizeof(f->raw_hist));
	holdq_sweep(f->queue, f->now_ns, FLEET_SWEEP);
	fleet_release(f);
	fleet_at(f, CONTROL_TICK_NS, FLEET_TICK, 0);
}

void fleet_shield_event(struct fleet *f, enum fleet_kind kind, uint32_t id)
{
	switch (kind) {
	case FLEET_SYN:
		fleet_syn(f, id);
		break;
	case FLEET_RESET:
		fleet_reset(f, id);
		break;
	case FLEET_FIN:
		fleet_fin(f, id);
		break;
	default:
		fleet_tick(f);
		break;
	}
}
