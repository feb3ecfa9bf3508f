// SPDX-License-Identifier: GPL-2.0-or-later
/* Who listens for a service, how full the queues are, and what follows when nobody does. */
#include <string.h>

#include "daemon/state.h"
#include "lib/log.h"
#include "lib/sockets.h"
#include "lib/units.h"

#define FILLING_NS 60000000000ULL   /* the guard stays for so long after a quarter of the queue was full */
#define HANDSHAKES_NS 1000000000ULL /* between two counts of half-open handshakes, and ... */
#define HANDSHAKES_SHARE 400        /* ... so many times what one takes: a quarter of a per cent */

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
		if (svc->listeners <= LISTENERS_KNOWN)
			svc->inode[svc->listeners - 1] = listener->inode;
		svc->drops += listener->drops;
	}
}

/*
 * Whether none of the sockets that listened is there any more: another server, and a cold one. A reload that hands its
 * sockets on, or replaces the members of a SO_REUSEPORT group one by one, is none.
 */
static int was_replaced(const struct service *svc)
{
	for (unsigned int i = 0; i < LISTENERS_KNOWN && svc->inode_known[i]; i++)
		for (unsigned int j = 0; j < LISTENERS_KNOWN && svc->inode[j]; j++)
			if (svc->inode_known[i] == svc->inode[j])
				return 0;
	return svc->inode_known[0] != 0;
}

/* A service that has lost its listener, or has one again. Only with hold-down is that more than a number. */
static void follow_listener(struct service *svc, uint64_t now_ns)
{
	struct synhold_runtime *run = &svc->daemon->inst->runtime[svc->id];
	char text[32];

	if (svc->listeners) {
		if (run->down_since_ns) {
			log_line(LOG_LEVEL_INFO, "%s: a listener is back after %s; starting cold", svc->policy.name,
				 units_format_time(text, sizeof(text), (double)(now_ns - run->down_since_ns) / 1e9));
			control_restart(&svc->control, now_ns);
		} else if (was_replaced(svc)) {
			log_line(LOG_LEVEL_INFO, "%s: the listener was replaced; starting cold", svc->policy.name);
			control_restart(&svc->control, now_ns);
		}
		memcpy(svc->inode_known, svc->inode, sizeof(svc->inode_known));
		__atomic_store_n(&run->down_since_ns, 0, __ATOMIC_RELAXED);
		run->listener_seen = 1;
		run->state_flags &= ~(uint32_t)SYNHOLD_FLAG_DOWN;
		return;
	}
	if (!run->listener_seen || !svc->policy.hold_down_ns || run->down_since_ns)
		return;
	__atomic_store_n(&run->down_since_ns, now_ns, __ATOMIC_RELAXED);
	run->state_flags |= SYNHOLD_FLAG_DOWN;
	log_line(LOG_LEVEL_WARNING, "%s: nothing listens; SYNs are held for up to %s", svc->policy.name,
		 units_format_duration(text, sizeof(text), svc->policy.hold_down_ns));
}

/*
 * The first look at a service: unless something waits to be accepted already, its server is not in trouble, and what
 * comes next is more likely its usual traffic than a herd.
 */
static void follow_start(struct service *svc)
{
	if (svc->looked)
		return;
	svc->looked = 1;
	if (svc->listeners && svc->accept_queue < CONTROL_WINDOW_START)
		control_trust(&svc->control);
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

/*
 * The data plane looks at the listener's queue for each SYN only where that queue has been seen filling: a server that
 * accepts at once has none, and pays nothing.
 */
static void follow_filling(struct service *svc, uint64_t now_ns)
{
	struct synhold_runtime *run = &svc->daemon->inst->runtime[svc->id];
	uint32_t guard;

	if (svc->accept_queue_max && (uint64_t)svc->accept_queue * 4 >= svc->accept_queue_max)
		svc->filling_ns = now_ns;
	guard = svc->filling_ns && now_ns - svc->filling_ns < FILLING_NS;
	if (guard != run->accept_guard)
		__atomic_store_n(&run->accept_guard, guard, __ATOMIC_RELAXED);
}

static void count_handshake(void *ctx, const struct sockets_listener *local)
{
	struct daemon *d = ctx;

	for (unsigned int i = 0; i < SYNHOLD_SERVICES; i++)
		if (d->service[i].active && sockets_serves(local, &d->service[i].specs))
			d->service[i].syn_recv_counting++;
}

void listeners_count_handshakes(struct daemon *d, uint64_t now_ns)
{
	uint64_t took_ns;
	int ret;

	if (now_ns < d->handshakes_ns)
		return;
	for (unsigned int i = 0; i < SYNHOLD_SERVICES; i++)
		d->service[i].syn_recv_counting = 0;
	ret = sockets_handshakes(count_handshake, d);
	took_ns = instance_now_ns() - now_ns;
	d->handshakes_ns = now_ns + HANDSHAKES_NS + HANDSHAKES_SHARE * took_ns;
	for (unsigned int i = 0; !ret && i < SYNHOLD_SERVICES; i++) {
		d->service[i].syn_recv = d->service[i].syn_recv_counting;
		d->service[i].syn_recv_ns = now_ns;
	}
}

void listeners_read(struct daemon *d, uint64_t now_ns)
{
	for (unsigned int i = 0; i < SYNHOLD_SERVICES; i++) {
		d->service[i].listeners = 0;
		memset(d->service[i].inode, 0, sizeof(d->service[i].inode));
		d->service[i].accept_queue = d->service[i].accept_queue_max = d->service[i].drops = 0;
	}
	if (sockets_listeners(count_listener, d))
		return; /* not known this time: nothing changes */
	for (unsigned int i = 0; i < SYNHOLD_SERVICES; i++)
		if (d->service[i].active) {
			follow_drops(&d->service[i]);
			follow_start(&d->service[i]);
			d->service[i].listeners_ns = now_ns;
			follow_filling(&d->service[i], now_ns);
			follow_listener(&d->service[i], now_ns);
		}
}

int listeners_down(const struct service *svc, uint64_t now_ns)
{
	uint64_t since = svc->daemon->inst->runtime[svc->id].down_since_ns;

	return svc->policy.hold_down_ns && since && now_ns <= since + svc->policy.hold_down_ns;
}
