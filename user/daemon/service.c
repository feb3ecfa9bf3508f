// SPDX-License-Identifier: GPL-2.0-or-later
/* One service in the daemon: its queue comes with the first SYN held, so that 256 quiet services cost nothing. */
#include <bpf/bpf.h>
#include <string.h>

#include "daemon/state.h"
#include "lib/inforce.h"
#include "lib/keys.h"

#define GRACE_NS 10000000000ULL /* longer than the 8 s that Linux waits after seven copies */

void service_discarded(struct service *svc, const struct synhold_tuple *tuple, unsigned int reason)
{
	struct synhold_mark mark;
	int marks = svc->daemon->inst->map[INSTANCE_MAP_MARKS];

	svc->daemon->inst->tally[svc->id].discarded[reason]++;
	/* a mark that is in flight by now belongs to somebody else: admitted by fallback while this daemon was away */
	if (!bpf_map_lookup_elem(marks, tuple, &mark) && mark.state == SYNHOLD_MARK_HELD)
		bpf_map_delete_elem(marks, tuple);
}

static void on_discard(void *ctx, const struct holdq_entry *e, unsigned int reason, uint64_t now_ns)
{
	(void)now_ns;
	service_discarded(ctx, &e->tuple, reason);
}

static const struct holdq_ops queue_ops = {.discarded = on_discard};

static struct holdq_config queue_config(const struct synhold_policy *pol)
{
	struct holdq_config cfg = HOLDQ_CONFIG_DEFAULT;

	cfg.max = pol->hold_max;
	cfg.source_max = keys_hold_source_max(pol);
	cfg.order = pol->hold_order == SYNHOLD_ORDER_NEWEST ? HOLDQ_NEWEST : HOLDQ_MIXED;
	cfg.hold_time_ns = pol->hold_time_ns;
	return cfg;
}

int service_start_queue(struct service *svc)
{
	struct holdq_config cfg = queue_config(&svc->policy);
	const uint64_t seed[2] = {svc->daemon->inst->control->hash_key[0], svc->daemon->inst->control->hash_key[1]};

	if (svc->queue)
		return holdq_configure(svc->queue, &cfg);
	svc->queue = holdq_new(svc->daemon->memory, &cfg, seed, &queue_ops, svc);
	if (svc->queue && svc->daemon->grace_ns)
		holdq_grace(svc->queue, svc->daemon->grace_ns);
	return svc->queue ? 0 : -1;
}

void service_grace(struct daemon *d, uint64_t now_ns)
{
	d->grace_ns = now_ns + GRACE_NS;
	for (unsigned int i = 0; i < SYNHOLD_SERVICES; i++)
		if (d->service[i].queue)
			holdq_grace(d->service[i].queue, d->grace_ns);
}

uint32_t service_window(const struct service *svc)
{
	const struct instance *inst = svc->daemon->inst;
	uint32_t window = inforce_window(&svc->policy, &inst->runtime[svc->id]);

	return inforce_suspended(&inst->gates[svc->id], window) ? 0 : window;
}

int64_t service_inside(const struct service *svc)
{
	const struct instance *inst = svc->daemon->inst;

	return __atomic_load_n(&inst->gates[svc->id].inflight, __ATOMIC_RELAXED) +
	       __atomic_load_n(&inst->owed[svc->id].inflight, __ATOMIC_RELAXED);
}
