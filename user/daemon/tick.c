// SPDX-License-Identifier: GPL-2.0-or-later
/* Ten times a second: the heartbeat, the policy if it changed, and for each service what was counted, what the
 * controller makes of it. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/state.h"
#include "lib/inforce.h"
#include "lib/lists.h"
#include "lib/log.h"
#include "lib/snapshot.h"
#include "lib/units.h"

#define SWEEP_BUDGET 4096
#define LISTENER_TICKS 5 /* socket diagnostics every half second, or each tick while something is held */
#define BITE_NS 1000000000ULL
#define PRUNE_TICKS 50
#define SHARE_TICKS 3 /* signals for others to read */

/* What the data plane has counted so far; left as it was when it cannot be read, so that nothing seems to have
 * happened. */
static void read_counts(struct service *svc)
{
	const struct instance *inst = svc->daemon->inst;

	instance_sum_percpu(inst, INSTANCE_MAP_COUNTERS, svc->id, &svc->count, sizeof(svc->count));
	instance_sum_percpu(inst, INSTANCE_MAP_DELAYS, svc->id, &svc->delays, sizeof(svc->delays));
}

static void run_sweep(struct daemon *d)
{
	unsigned char frame[64] = {0};
	const struct synhold_global *all = d->inst->global;
	uint64_t behind = all->admission_head - all->admission_tail;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = sizeof(frame),
		    .repeat = 1 + (int)(behind / 512 < 31 ? behind / 512 : 31));

	bpf_prog_test_run_opts(d->sweep_fd, &opts);
}

/* Delays since the last tick, from the histogram that knows the round trip if it has enough, else from the raw one. */
static void fill_delays(struct control_input *in, const struct synhold_counters *now,
			const struct synhold_counters *was, const struct synhold_delays *hist,
			const struct synhold_delays *old)
{
	uint64_t server[SYNHOLD_HIST_BUCKETS], raw[SYNHOLD_HIST_BUCKETS], settled,
		known = now->rtt_count - was->rtt_count;

	for (unsigned int i = 0; i < SYNHOLD_HIST_BUCKETS; i++) {
		server[i] = hist->server[i] - old->server[i];
		raw[i] = hist->first_byte[i] - old->first_byte[i];
	}
	settled = now->outcome[SYNHOLD_OUTCOME_SETTLED] + now->late + now->answered -
		  was->outcome[SYNHOLD_OUTCOME_SETTLED] - was->late - was->answered;
	in->first_byte_p99_ns = control_quantile_ns(raw, 990);
	in->has_rtt = known && known * 2 >= settled;
	in->delay_count = in->has_rtt ? known : settled;
	if (!in->delay_count)
		return;
	if (in->has_rtt) {
		in->delay_mean_ns = (now->delay_sum_ns - was->delay_sum_ns) / known;
		in->rtt_mean_ns = (now->rtt_sum_ns - was->rtt_sum_ns) / known;
	} else {
		in->delay_mean_ns = (now->first_byte_sum_ns - was->first_byte_sum_ns) / settled;
	}
	in->delay_p50_ns = control_quantile_ns(in->has_rtt ? server : raw, 500);
	in->delay_p99_ns = control_quantile_ns(in->has_rtt ? server : raw, 990);
}

/* The signal's value with its unit: delays and silences are times, the rest are numbers. */
static const char *change_value(const struct control_change *change, char *buf, size_t size)
{
	if (change->signal == CONTROL_SIGNAL_FIRST_BYTE || change->signal == CONTROL_SIGNAL_STALL)
		snprintf(buf, size, "%.1f ms", change->value / 1e6);
	else
		snprintf(buf, size, "%.6g", change->value);
	return buf;
}

static void log_change(const struct service *svc, const char *what, const struct control_change *change)
{
	char from[24] = "none", to[24] = "none", value[32];

	if (!change->changed)
		return;
	if (change->from)
		snprintf(from, sizeof(from), "%u", change->from);
	if (change->to)
		snprintf(to, sizeof(to), "%u", change->to);
	log_line(LOG_LEVEL_INFO, "%s: %s %s -> %s (%s %s)", svc->policy.name, what, from, to, change->name,
		 change_value(change, value, sizeof(value)));
}

static void publish_control(struct service *svc, const struct control_output *out)
{
	struct synhold_runtime *run = &svc->daemon->inst->runtime[svc->id];
	struct synhold_tally *tally = &svc->daemon->inst->tally[svc->id];
	const struct control_change *change = &out->window_change;

	__atomic_store_n(&run->window, out->window, __ATOMIC_RELAXED);
	__atomic_store_n(&run->expire_ns, out->expire_ns, __ATOMIC_RELAXED);
	if (out->ceiling_pps) {
		uint64_t interval = (1000000000ULL + out->ceiling_pps - 1) / out->ceiling_pps;
		uint32_t burst = out->ceiling_pps / 10 > 8 ? out->ceiling_pps / 10 : 8;

		__atomic_store_n(&run->ceiling_limit_ns, interval * burst, __ATOMIC_RELAXED);
		__atomic_store_n(&run->ceiling_interval_ns, interval, __ATOMIC_RELEASE);
	} else {
		__atomic_store_n(&run->ceiling_interval_ns, 0, __ATOMIC_RELAXED);
	}
	if (out->cold)
		run->state_flags |= SYNHOLD_FLAG_COLD;
	else
		run->state_flags &= ~(uint32_t)SYNHOLD_FLAG_COLD;
	if (change->changed && change->to > change->from)
		tally->window_up[change->signal]++;
	else if (change->changed)
		tally->window_down[change->signal]++;
	log_change(svc, "window", change);
	log_change(svc, "ceiling", &out->ceiling_change);
	svc->last = *out;
}

/* One line when the server is seen to answer nobody, and one when it does again. */
static void watch_stall(struct service *svc, const struct control_output *out, const struct control_input *in)
{
	struct synhold_runtime *run = &svc->daemon->inst->runtime[svc->id];
	char text[32];

	if (out->stalled)
		svc->stalled_ns = out->quiet_ns;
	if (out->stalled == !!(run->state_flags & SYNHOLD_FLAG_STALLED))
		return;
	run->state_flags ^= SYNHOLD_FLAG_STALLED;
	if (out->stalled)
		log_line(LOG_LEVEL_WARNING,
			 "%s: the server answers nobody: no first byte for %s, %llu handshakes wait for one",
			 svc->policy.name, units_format_time(text, sizeof(text), (double)out->quiet_ns / 1e9),
			 (unsigned long long)in->inflight);
	else
		log_line(LOG_LEVEL_INFO, "%s: the server answers again, or nobody waits, after %s", svc->policy.name,
			 units_format_time(text, sizeof(text), (double)svc->stalled_ns / 1e9));
}

/* One line when a limit starts to bite, naming it, and one when none does any more. */
static void watch_limits(struct service *svc, const struct synhold_counters *now, const struct synhold_counters *was,
			 uint64_t now_ns)
{
	struct synhold_runtime *run = &svc->daemon->inst->runtime[svc->id];
	unsigned int held = svc->queue ? holdq_counters(svc->queue)->held : 0;
	uint64_t over = 0, most = 0;
	unsigned int reason = 0;
	char text[32];

	for (unsigned int i = 0; i < SYNHOLD_REASON_COUNT; i++) {
		uint64_t here = now->over_limit[i] - was->over_limit[i];

		over += here;
		if (here > most) {
			most = here;
			reason = i;
		}
	}
	if (over)
		svc->bitten_ns = now_ns;
	if (over && !svc->biting) {
		svc->biting = reason + 1;
		run->limiting_since_ns = now_ns;
		log_line(LOG_LEVEL_INFO, "%s: %s starts to limit (window %u, in flight %lld, held %u)",
			 svc->policy.name, snapshot_reason_name(reason), service_window(svc),
			 (long long)svc->daemon->inst->gates[svc->id].inflight, held);
	} else if (svc->biting && !held && now_ns - svc->bitten_ns > BITE_NS) {
		log_line(LOG_LEVEL_INFO, "%s: no limit bites any more, after %s", svc->policy.name,
			 units_format_time(text, sizeof(text), (double)(now_ns - run->limiting_since_ns) / 1e9));
		svc->biting = 0;
		run->limiting_since_ns = 0;
	}
}

static void watch_blindness(struct service *svc)
{
	const struct synhold_gate *gate = &svc->daemon->inst->gates[svc->id];
	int suspended = inforce_suspended(gate, inforce_window(&svc->policy, &svc->daemon->inst->runtime[svc->id]));

	if (suspended == svc->suspended)
		return;
	svc->suspended = suspended;
	if (suspended)
		log_line(
			LOG_LEVEL_WARNING,
			"%s: window suspended: nothing was ever seen leaving its ports; attach to the interface that replies take",
			svc->policy.name);
	else
		log_line(LOG_LEVEL_INFO, "%s: window in force again: replies are seen", svc->policy.name);
}

/* Of those in flight, who has asked, and who is old enough to have and has not: bucket by bucket of the two gates. */
static void fill_silent(const struct service *svc, struct control_input *in)
{
	const struct instance *inst = svc->daemon->inst;
	const struct synhold_gate *all = &inst->gates[svc->id], *asked = &inst->asked[svc->id];
	uint64_t after_ns = svc->last.silent_after_ns;
	int64_t asking = __atomic_load_n(&asked->inflight, __ATOMIC_RELAXED);
	uint32_t young = (uint32_t)((in->now_ns - after_ns) >> SYNHOLD_EPOCH_SHIFT);

	in->asking = asking > 0 ? (uint64_t)asking : 0;
	for (unsigned int i = 0; after_ns && i < SYNHOLD_BUCKETS; i++) {
		uint64_t here = __atomic_load_n(&all->buckets[i], __ATOMIC_RELAXED);
		uint64_t beside = __atomic_load_n(&asked->buckets[i], __ATOMIC_RELAXED);
		uint32_t slots = (uint32_t)here, of_asked = here >> 32 == beside >> 32 ? (uint32_t)beside : 0;

		if ((uint32_t)(here >> 32) < young && slots > of_asked)
			in->silent += slots - of_asked;
	}
}

static void tick_service(struct service *svc, uint64_t now_ns)
{
	struct daemon *d = svc->daemon;
	struct control_input in = {.now_ns = now_ns, .accept_queue = -1, .accept_queue_max = -1};
	struct synhold_counters was = svc->count;
	struct synhold_delays old = svc->delays;
	struct control_output out;
	int64_t inflight = service_inside(svc);

	in.inflight = inflight > 0 ? (uint64_t)inflight : 0;
	in.held = svc->queue ? holdq_held(svc->queue, HOLDQ_WAIT_WINDOW) : 0;
	if (svc->busy || in.inflight || in.held || d->inst->global->admission_head != d->admission_head ||
	    d->ticks % 10 == 0) {
		read_counts(svc);
		svc->busy = memcmp(&svc->count, &was, sizeof(was)) != 0 || in.inflight || in.held;
	}
	in.admitted = svc->count.started - was.started;
	/* to the controller a client that closed is one like others until the server has dealt with its request */
	in.settled = svc->count.outcome[SYNHOLD_OUTCOME_SETTLED] - was.outcome[SYNHOLD_OUTCOME_SETTLED] +
		     svc->count.answered - was.answered;
	in.abandoned = svc->count.outcome[SYNHOLD_OUTCOME_ABANDONED] - was.outcome[SYNHOLD_OUTCOME_ABANDONED];
	in.abandoned -= svc->count.left - was.left < in.abandoned ? svc->count.left - was.left : in.abandoned;
	in.expired = svc->count.outcome[SYNHOLD_OUTCOME_EXPIRED] - was.outcome[SYNHOLD_OUTCOME_EXPIRED];
	in.late_settled = svc->count.late - was.late;
	in.asked_settled = svc->count.asked_settled - was.asked_settled;
	in.greeted = svc->count.greeted - was.greeted;
	in.silent_expired = svc->count.asked_expired - was.asked_expired;
	in.silent_expired = in.expired > in.silent_expired ? in.expired - in.silent_expired : 0;
	if (in.inflight)
		fill_silent(svc, &in);
	/* not what only lacked proof: that is no demand */
	in.window_limited =
		svc->count.over_limit[SYNHOLD_REASON_WINDOW] + svc->count.would_limit[SYNHOLD_REASON_WINDOW] -
				svc->count.unproved !=
			was.over_limit[SYNHOLD_REASON_WINDOW] + was.would_limit[SYNHOLD_REASON_WINDOW] - was.unproved ||
		in.held;
	fill_delays(&in, &svc->count, &was, &svc->delays, &old);
	if (svc->listeners) {
		in.accept_queue = svc->accept_queue;
		in.accept_queue_max = svc->accept_queue_max;
	}
	in.listen_overflows = d->inst->tally[svc->id].listen_overflows - svc->overflows;
	svc->overflows = d->inst->tally[svc->id].listen_overflows;
	pressure_fill(svc, &in);
	signals_count(svc, &in, (double)(now_ns - d->tick_before_ns));
	if (!control_tick(&svc->control, &in, &out)) {
		publish_control(svc, &out);
		watch_stall(svc, &out, &in);
		follow_ramp(svc, now_ns);
	}
	if ((d->ticks + svc->id) % SHARE_TICKS == 0)
		signals_share(svc, now_ns);
	watch_limits(svc, &svc->count, &was, now_ns);
	watch_blindness(svc);
	follow_closed(svc, now_ns);
	spoofed_follow(svc, now_ns);
	if (svc->queue) {
		holdq_sweep(svc->queue, now_ns, SWEEP_BUDGET);
		release_publish(svc);
	}
}

static struct control_policy control_policy_of(const struct synhold_policy *pol)
{
	return (struct control_policy){
		.window_min = pol->window_min,
		.window_max = pol->window_max,
		.window = pol->window,
		.window_mode = pol->window_mode,
		.target_delay_ns = pol->target_delay_ns,
	};
}

void tick_load_policy(struct daemon *d, int first)
{
	struct instance *inst = d->inst;
	uint32_t bank = instance_bank(inst);
	uint64_t now_ns = instance_now_ns();

	d->generation = __atomic_load_n(&inst->control->generation, __ATOMIC_ACQUIRE);
	d->bank = bank;
	d->holds_down = 0;
	holdq_memory_set_limit(d->memory, inst->globals[bank].hold_memory_bytes);
	for (uint32_t id = 0; id < SYNHOLD_SERVICES; id++) {
		struct service *svc = &d->service[id];
		const struct synhold_policy *pol = &inst->policy[bank * SYNHOLD_SERVICES + id];
		int renamed = strcmp(svc->policy.name, pol->name) != 0;
		struct control_policy control = control_policy_of(pol);

		if (svc->active && renamed)
			release_flush(svc, SYNHOLD_DISCARD_DETACHED);
		svc->daemon = d;
		svc->id = id;
		svc->policy = *pol;
		svc->specs = inst->specs[bank * SYNHOLD_SERVICES + id];
		svc->active = pol->name[0] != '\0';
		if (!svc->active)
			continue;
		d->holds_down |= pol->hold_down_ns != 0;
		if (renamed) {
			control_init(&svc->control, &control, now_ns, inst->runtime[id].window,
				     inst->runtime[id].expire_ns);
			memset(&svc->count, 0, sizeof(svc->count));
			read_counts(svc);
			proof_init(&svc->proof, inst->runtime[id].state_flags & SYNHOLD_FLAG_PROOF, now_ns);
			svc->biting = 0;
			svc->looked = 0;
			memset(svc->inode_known, 0, sizeof(svc->inode_known));
			svc->overflows = inst->tally[id].listen_overflows;
			inst->runtime[id].limiting_since_ns = 0;
			inst->runtime[id].state_flags &= ~(uint32_t)SYNHOLD_FLAG_STALLED;
		} else {
			control_set_policy(&svc->control, &control);
		}
		if (svc->queue)
			service_start_queue(svc);
		svc->retry_ns = 0;
		follow_closed(svc, now_ns);
	}
	if (!first)
		log_line(LOG_LEVEL_INFO, "policy changed: generation %llu in force", (unsigned long long)d->generation);
}

/* Our pins are gone: somebody detached the instance while we were running. */
static int still_attached(const struct daemon *d)
{
	char path[192];
	struct stat st;

	snprintf(path, sizeof(path), "%s/control", d->inst->pin_dir);
	return stat(path, &st) == 0;
}

void tick_run(struct daemon *d)
{
	uint64_t now_ns = instance_now_ns(), bypass = d->inst->control->bypass_until_ns;
	unsigned int held = 0;

	__atomic_store_n(&d->inst->daemon->heartbeat_ns, now_ns, __ATOMIC_RELEASE);
	d->ticks++;
	if (d->tick_ns && now_ns - d->tick_ns > SYNHOLD_HEARTBEAT_STALE_NS) {
		log_line(LOG_LEVEL_WARNING, "this daemon stood still for %.1f s; fallback was in force",
			 (double)(now_ns - d->tick_ns) / 1e9);
		service_grace(d, now_ns);
	}
	d->tick_before_ns = d->tick_ns ? d->tick_ns : now_ns - CONTROL_TICK_NS;
	d->tick_ns = now_ns;
	if (!still_attached(d)) {
		log_line(LOG_LEVEL_INFO, "instance '%s' has been detached", d->inst->name);
		d->detached = 1;
		event_base_loopbreak(d->base);
		return;
	}
	links_look(d);
	d->bypassed = bypass && now_ns < bypass;
	if (__atomic_load_n(&d->inst->control->generation, __ATOMIC_ACQUIRE) != d->generation ||
	    instance_bank(d->inst) != d->bank)
		tick_load_policy(d, 0);
	run_sweep(d);
	for (unsigned int i = 0; i < SYNHOLD_SERVICES; i++)
		held += d->service[i].queue ? holdq_counters(d->service[i].queue)->held : 0;
	if (held || d->holds_down || d->inst->global->admission_head != d->admission_head ||
	    d->ticks % LISTENER_TICKS == 0 || d->ticks == 1)
		listeners_read(d, now_ns);
	listeners_count_handshakes(d, now_ns);
	if (!held && d->ticks % PRUNE_TICKS == 0 && lists_have_ended(d->inst, now_ns) && !instance_trylock(d->inst)) {
		lists_sweep(d->inst);
		instance_unlock(d->inst);
	}
	pressure_read(d, now_ns);
	for (unsigned int i = 0; i < SYNHOLD_SERVICES; i++)
		if (d->service[i].active)
			tick_service(&d->service[i], now_ns);
	spoofed_watch(d);
	d->admission_head = d->inst->global->admission_head;
	if (held)
		release_all(d);
}
