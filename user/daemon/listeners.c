// SPDX-License-Identifier: GPL-2.0-or-later
/* Who listens for a service, how full the queues are, and what follows when nobody does. */
#include <string.h>

#include "daemon/state.h"
#include "lib/log.h"
#include "lib/sockets.h"

static void count_listener(void *ctx, const struct sockets_listener *listener)
{
	struct daemon *d = ctx;

	for (unsigned int i = 0; i < SYNHOLD_SERVICES; i++) {
		struct service *svc = &d->service[i];

		if (!svc->active || !sockets_serves(listener, &svc->specs))
			continue;
		svc->listeners++;
		svc->accept_queue += listener->queue;
		svc->accept_queue_max += listener->limit;
		svc->listener_inode = listener->inode;
		svc->drops += listener->drops;
	}
}

/* A service that has lost its listener, or has one again. Only with hold-down is that more than a number. */
static void follow_listener(struct service *svc, uint64_t now_ns)
{
	struct synhold_runtime *run = &svc->daemon->inst->runtime[svc->id];

	if (svc->listeners) {
		if (run->down_since_ns) {
			log_line(LOG_LEVEL_INFO, "%s: a listener is back after %.1f s; starting cold", svc->policy.name,
				 (double)(now_ns - run->down_since_ns) / 1e9);
			control_restart(&svc->control, now_ns);
		}
		__atomic_store_n(&run->down_since_ns, 0, __ATOMIC_RELAXED);
		run->listener_seen = 1;
		run->state_flags &= ~(uint32_t)SYNHOLD_FLAG_DOWN;
		return;
	}
	if (!run->listener_seen || !svc->policy.hold_down_ns || run->down_since_ns)
		return;
	__atomic_store_n(&run->down_since_ns, now_ns, __ATOMIC_RELAXED);
	run->state_flags |= SYNHOLD_FLAG_DOWN;
	log_line(LOG_LEVEL_WARNING, "%s: nothing listens; SYNs are held for up to %.0f s", svc->policy.name,
		 (double)svc->policy.hold_down_ns / 1e9);
}

/*
 * What the queues could not take. A listener's own count of drops has more in it (resets of handshakes, for one), so it
 * counts only while a queue is nearly full. Each starts from nothing when it is made anew: only what was added since
 * the last look counts.
 */
static void follow_drops(struct service *svc)
{
	int same = svc->listeners == svc->listeners_before && svc->listener_inode == svc->inode_before;
	int full = svc->accept_queue_max && (uint64_t)svc->accept_queue * 4 >= (uint64_t)svc->accept_queue_max * 3;
	uint32_t added = svc->drops - svc->drops_before;

	if (same && (full || svc->full_before) && added < 1U << 31)
		svc->daemon->inst->tally[svc->id].listen_overflows += added;
	svc->drops_before = svc->drops;
	svc->full_before = full;
	svc->listeners_before = svc->listeners;
	svc->inode_before = svc->listener_inode;
}

void listeners_read(struct daemon *d, uint64_t now_ns)
{
	for (unsigned int i = 0; i < SYNHOLD_SERVICES; i++) {
		d->service[i].listeners = 0;
		d->service[i].accept_queue = d->service[i].accept_queue_max = d->service[i].drops = 0;
	}
	if (sockets_listeners(count_listener, d))
		return; /* not known this time: nothing changes */
	for (unsigned int i = 0; i < SYNHOLD_SERVICES; i++)
		if (d->service[i].active) {
			follow_drops(&d->service[i]);
			follow_listener(&d->service[i], now_ns);
		}
}

int listeners_down(const struct service *svc, uint64_t now_ns)
{
	uint64_t since = svc->daemon->inst->runtime[svc->id].down_since_ns;

	return svc->policy.hold_down_ns && since && now_ns <= since + svc->policy.hold_down_ns;
}
