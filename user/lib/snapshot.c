// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/snapshot.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/inforce.h"
#include "lib/lists.h"
#include "lib/ramp.h"
#include "lib/signals.h"
#include "lib/sockets.h"

#define TEXT(e, t) t,
static const char *const verdict_names[] = {SYNHOLD_VERDICTS(TEXT)};
static const char *const reason_names[] = {SYNHOLD_REASONS(TEXT)};
static const char *const discard_names[] = {SYNHOLD_DISCARDS(TEXT)};
static const char *const outcome_names[] = {SYNHOLD_OUTCOMES(TEXT)};
static const char *const unparsed_names[] = {SYNHOLD_UNPARSED(TEXT)};
static const char *const state_names[] = {"closed", "static", "down", "monitor", "ramping", "limiting", "open"};

#define NAME_OF(table, index) ((index) < sizeof(table) / sizeof(*(table)) ? (table)[index] : "unknown")

const char *snapshot_verdict_name(unsigned int verdict)
{
	return NAME_OF(verdict_names, verdict);
}

const char *snapshot_reason_name(unsigned int reason)
{
	return NAME_OF(reason_names, reason);
}

const char *snapshot_discard_name(unsigned int discard)
{
	return NAME_OF(discard_names, discard);
}

const char *snapshot_outcome_name(unsigned int outcome)
{
	return NAME_OF(outcome_names, outcome);
}

const char *snapshot_unparsed_name(unsigned int unparsed)
{
	return NAME_OF(unparsed_names, unparsed);
}

const char *snapshot_state_name(enum snapshot_state state)
{
	return NAME_OF(state_names, state);
}

uint64_t snapshot_ceiling_pps(const struct snapshot_service *svc)
{
	uint64_t interval_ns = svc->runtime.ceiling_interval_ns;

	return interval_ns ? (1000000000ULL + interval_ns / 2) / interval_ns : 0;
}

double snapshot_bucket_bound(unsigned int bucket)
{
	unsigned int octave, quarter;

	if (bucket == 0)
		return ldexp(1e-9, SYNHOLD_HIST_MIN_SHIFT);
	if (bucket >= SYNHOLD_HIST_BUCKETS - 1)
		return INFINITY;
	octave = (bucket - 1) / 4;
	quarter = (bucket - 1) % 4;
	return ldexp((5.0 + quarter) / 4 * 1e-9, SYNHOLD_HIST_MIN_SHIFT + (int)octave);
}

double snapshot_quantile(const uint64_t histogram[SYNHOLD_HIST_BUCKETS], double q)
{
	double total = 0, seen = 0, wanted;

	for (unsigned int i = 0; i < SYNHOLD_HIST_BUCKETS; i++)
		total += (double)histogram[i];
	if (total == 0)
		return -1;
	wanted = q * total;
	for (unsigned int i = 0; i < SYNHOLD_HIST_BUCKETS; i++) {
		double low = i ? snapshot_bucket_bound(i - 1) : 0, high = snapshot_bucket_bound(i),
		       here = (double)histogram[i];

		if (here > 0 && seen + here >= wanted)
			return isinf(high) ? low : low + (high - low) * (wanted - seen) / here;
		seen += here;
	}
	return snapshot_bucket_bound(SYNHOLD_HIST_BUCKETS - 2);
}

/* Expires what is over in services that nobody connects to, so that the numbers are of now. */
static void sweep(const struct instance *inst)
{
	unsigned char frame[64] = {0};
	char path[192];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = sizeof(frame), .repeat = 1);
	int fd;

	snprintf(path, sizeof(path), "%s/prog_sweep", inst->pin_dir);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return;
	bpf_prog_test_run_opts(fd, &opts);
	close(fd);
}

static enum snapshot_state state_of(const struct snapshot *snap, const struct snapshot_service *svc)
{
	const struct synhold_policy *pol = &svc->policy;

	if (inforce_closed(pol, snap->now_ns))
		return SNAPSHOT_CLOSED;
	if (!snap->daemon_alive)
		return SNAPSHOT_STATIC;
	if (svc->runtime.state_flags & SYNHOLD_FLAG_DOWN)
		return SNAPSHOT_DOWN;
	if (pol->mode == SYNHOLD_MODE_MONITOR)
		return SNAPSHOT_MONITOR;
	if (ramp_running(pol, snap->now_ns, svc->runtime.ramp_stopped_ns))
		return SNAPSHOT_RAMPING;
	if (svc->runtime.limiting_since_ns || svc->runtime.held)
		return SNAPSHOT_LIMITING;
	return SNAPSHOT_OPEN;
}

static void add_listener(void *ctx, const struct sockets_listener *listener)
{
	struct snapshot *snap = ctx;

	for (unsigned int i = 0; i < snap->service_count; i++) {
		struct snapshot_service *svc = &snap->service[i];

		if (!sockets_serves(listener, &svc->specs))
			continue;
		svc->listeners++;
		svc->accept_queue += listener->queue;
		svc->accept_queue_max += listener->limit;
	}
}

static int take_service(const struct instance *inst, struct snapshot *snap, struct snapshot_service *svc, uint32_t id,
			uint32_t bank)
{
	const struct synhold_gate *gate = &inst->gates[id];
	int ret;

	svc->id = id;
	svc->policy = inst->policy[bank * SYNHOLD_SERVICES + id];
	svc->specs = inst->specs[bank * SYNHOLD_SERVICES + id];
	svc->runtime = inst->runtime[id];
	svc->tally = inst->tally[id];
	signals_read(&inst->signals[id], &svc->signals);
	svc->inflight = __atomic_load_n(&gate->inflight, __ATOMIC_RELAXED);
	if (svc->inflight < 0)
		svc->inflight = 0; /* a slot between its two words */
	svc->window = inforce_window(&svc->policy, &svc->runtime);
	svc->suspended = inforce_suspended(gate, svc->window);
	svc->stalled = snap->daemon_alive && svc->runtime.state_flags & SYNHOLD_FLAG_STALLED;
	svc->confirm_pending = snap->confirm_deadline_ns != 0;
	svc->bypass = snap->bypass_until_ns != 0;
	svc->no_hold = svc->policy.action == SYNHOLD_ACTION_HOLD && !instance_holds(inst);
	ret = instance_sum_percpu(inst, INSTANCE_MAP_COUNTERS, id, &svc->count, sizeof(svc->count));
	if (!ret)
		ret = instance_sum_percpu(inst, INSTANCE_MAP_DELAYS, id, &svc->delays, sizeof(svc->delays));
	svc->state = state_of(snap, svc);
	return ret;
}

static void take_offenders(struct snapshot *snap, const struct instance *inst)
{
	size_t count;
	struct synhold_offender_set *sets = offenders_load(inst, &count);

	for (unsigned int i = 0; i < snap->service_count; i++) {
		struct snapshot_service *svc = &snap->service[i];

		svc->offender_count = offenders_of(sets, count, svc->id, &svc->policy, snap->now_ns, svc->offender);
	}
	free(sets);
}

static int take(struct snapshot *snap, struct instance *inst)
{
	uint32_t bank = instance_bank(inst);
	int ret = 0;

	sweep(inst);
	snap->attached = 1;
	snap->now_ns = instance_now_ns();
	snap->daemon_alive = instance_daemon_alive(inst);
	snap->daemon_pid = inst->daemon->pid;
	for (int i = 0; i < 3; i++) {
		uint32_t permille = inst->daemon->pressure_permille[i];

		snap->pressure[i] = snap->daemon_alive && permille ? (permille - 1) / 1000.0 : -1;
	}
	if (inst->daemon->heartbeat_ns)
		snap->heartbeat_age_seconds = ((double)snap->now_ns - (double)inst->daemon->heartbeat_ns) / 1e9;
	if (snap->heartbeat_age_seconds < 0 && inst->daemon->heartbeat_ns)
		snap->heartbeat_age_seconds = 0;
	snap->interface_count = deploy_interfaces(inst, snap->interface, SNAPSHOT_INTERFACES);
	if (snap->interface_count > SNAPSHOT_INTERFACES)
		snap->interface_count = SNAPSHOT_INTERFACES;
	snap->global = inst->globals[bank];
	if (inst->control->bypass_until_ns > snap->now_ns)
		snap->bypass_until_ns = inst->control->bypass_until_ns;
	instance_confirm_pending(inst, &snap->confirm_deadline_ns);
	for (uint32_t i = 0; i < SYNHOLD_UNPARSED_COUNT && !ret; i++)
		ret = instance_sum_percpu(inst, INSTANCE_MAP_UNPARSED, i, &snap->unparsed[i],
					  sizeof(snap->unparsed[i]));
	if (!ret)
		ret = lists_count(inst, snap->list_entries);
	for (uint32_t id = 0; id < SYNHOLD_SERVICES && !ret; id++)
		if (inst->policy[bank * SYNHOLD_SERVICES + id].name[0])
			ret = take_service(inst, snap, &snap->service[snap->service_count++], id, bank);
	take_offenders(snap, inst);
	for (unsigned int i = 0; i < snap->service_count;
	     i++) /* ended ones linger some seconds: counting the map itself would cost too much */
		snap->map_entries[INSTANCE_MAP_MARKS] +=
			(uint64_t)snap->service[i].inflight + snap->service[i].runtime.held;
	if (!ret)
		sockets_listeners(add_listener, snap);
	return ret;
}

int snapshot_take(struct snapshot *snap, const char *instance, struct error *err)
{
	struct instance inst;
	int ret;

	memset(snap, 0, sizeof(*snap));
	snap->heartbeat_age_seconds = -1;
	ret = instance_init(&inst, instance, err);
	if (ret)
		return ret;
	memcpy(snap->instance, inst.name, sizeof(snap->instance));
	ret = instance_open(&inst, err);
	if (ret == -ENOENT)
		return 0;
	if (ret)
		return ret;
	snap->service = calloc(SYNHOLD_SERVICES, sizeof(*snap->service));
	ret = snap->service ? take(snap, &inst) : -ENOMEM;
	instance_close(&inst);
	if (ret) {
		snapshot_free(snap);
		return error_set(err, ret, "instance '%s' cannot be read: %s", snap->instance, strerror(-ret));
	}
	return 0;
}

void snapshot_free(struct snapshot *snap)
{
	free(snap->service);
	snap->service = NULL;
	snap->service_count = 0;
}

const struct snapshot_service *snapshot_find(const struct snapshot *snap, const char *name)
{
	for (unsigned int i = 0; i < snap->service_count; i++)
		if (!strcmp(snap->service[i].policy.name, name))
			return &snap->service[i];
	return NULL;
}
