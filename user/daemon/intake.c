// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the rings into the queues. The ring of SYNs is drained, then left alone for a millisecond: a reader that sleeps
 * at once makes the data plane wake it for every SYN, which costs a flood twenty-five times as much. The ring of
 * settlements is answered at once.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/state.h"
#include "lib/lists.h"
#include "lib/log.h"
#include "lib/offenders.h"

#define HELD_PAUSE_US 1000

static enum holdq_wait wait_of(unsigned int reason)
{
	switch (reason) {
	case SYNHOLD_REASON_SOURCE_RATE:
		return HOLDQ_WAIT_SOURCE;
	case SYNHOLD_REASON_SHARE:
		return HOLDQ_WAIT_SHARE;
	case SYNHOLD_REASON_CLOSED:
		return HOLDQ_WAIT_CLOSED;
	default:
		return HOLDQ_WAIT_WINDOW;
	}
}

static int on_held(void *ctx, void *data, size_t size)
{
	const struct synhold_held *record = data;
	struct daemon *d = ctx;
	struct service *svc;
	struct holdq_syn syn;
	int result;

	if (size < sizeof(*record) || record->service >= SYNHOLD_SERVICES)
		return 0;
	svc = &d->service[record->service];
	syn = (struct holdq_syn){
		.tuple = record->tuple,
		.source = record->source,
		.share_hash = record->share_hash,
		.ifindex = record->ifindex,
		.wait = (uint8_t)wait_of(record->reason),
		.l3_offset = record->l3_offset,
		.l4_offset = record->l4_offset,
		.frame_len = record->frame_len,
		.weight = lists_weight(&d->prefer, d->inst, record->tuple.saddr),
		.seen_ns = record->seen_ns,
		.proved_ns = record->first_ms * 1000000ULL,
		.frame = record->frame,
	};
	if (!svc->queue && service_start_queue(svc)) {
		log_line(LOG_LEVEL_ERROR, "%s: no memory for the hold queue", svc->policy.name);
		return 0;
	}
	if (record->retransmit && !holdq_find(svc->queue, &syn.tuple))
		return 0; /* its first copy was released while this one was on its way */
	result = holdq_offer(svc->queue, &syn, syn.seen_ns, NULL);
	if (result < 0 || result == HOLDQ_REFRESHED)
		return 0;
	d->inst->tally[svc->id].entered++;
	if (result == HOLDQ_SOURCE_CAP && record->reason != SYNHOLD_REASON_SOURCE_RATE) /* counted already */
		offenders_refused(d->inst->capped, syn.source, syn.tuple.saddr, svc->id, syn.seen_ns, arc4random());
	if (result == HOLDQ_SOURCE_CAP || result == HOLDQ_FULL)
		service_discarded(svc, &syn.tuple,
				  result == HOLDQ_FULL ? SYNHOLD_DISCARD_EVICTED : SYNHOLD_DISCARD_SOURCE_CAP);
	return 0;
}

static int on_wake(void *ctx, void *data, size_t size)
{
	const struct synhold_wake *event = data;
	struct daemon *d = ctx;
	struct service *svc;

	if (size < sizeof(*event) || event->service >= SYNHOLD_SERVICES)
		return 0;
	svc = &d->service[event->service];
	if (event->kind == SYNHOLD_WAKE_RESET && svc->queue) {
		struct holdq_entry *e = holdq_find(svc->queue, &event->tuple);

		if (e)
			holdq_discard(svc->queue, e, SYNHOLD_DISCARD_RESET, event->when_ns);
		return 0;
	}
	d->woken_ns = event->when_ns;
	release_service(svc, instance_now_ns());
	d->woken_ns = 0;
	return 0;
}

static void drain_held(evutil_socket_t fd, short what, void *ctx)
{
	const struct timeval pause = {.tv_usec = HELD_PAUSE_US};
	struct daemon *d = ctx;
	int got = ring_buffer__consume(d->held);

	(void)fd;
	(void)what;
	if (got > 0) {
		release_all(d);
		event_del(d->held_event);
		event_add(d->held_timer, &pause);
	} else {
		event_add(d->held_event, NULL);
	}
}

static void drain_wake(evutil_socket_t fd, short what, void *ctx)
{
	struct daemon *d = ctx;

	(void)fd;
	(void)what;
	ring_buffer__consume(d->wake);
}

static int forget(void *ctx, void *data, size_t size)
{
	(void)ctx;
	(void)data;
	(void)size;
	return 0;
}

/* What an earlier daemon did not read: its clients' SYNs are no longer marked as held. */
static void drop_leftovers(int map)
{
	struct ring_buffer *ring = ring_buffer__new(map, forget, NULL, NULL);

	if (ring)
		ring_buffer__consume(ring);
	ring_buffer__free(ring);
}

int intake_init(struct daemon *d, struct error *err)
{
	drop_leftovers(d->inst->map[INSTANCE_MAP_HELD]);
	drop_leftovers(d->inst->map[INSTANCE_MAP_WAKE]);
	d->held = ring_buffer__new(d->inst->map[INSTANCE_MAP_HELD], on_held, d, NULL);
	d->wake = ring_buffer__new(d->inst->map[INSTANCE_MAP_WAKE], on_wake, d, NULL);
	if (!d->held || !d->wake)
		return error_set(err, -errno, "the ring buffers cannot be mapped: %s", strerror(errno));
	d->held_event = event_new(d->base, ring_buffer__epoll_fd(d->held), EV_READ | EV_PERSIST, drain_held, d);
	d->wake_event = event_new(d->base, ring_buffer__epoll_fd(d->wake), EV_READ | EV_PERSIST, drain_wake, d);
	d->held_timer = evtimer_new(d->base, drain_held, d);
	if (!d->held_event || !d->wake_event || !d->held_timer)
		return error_set(err, -ENOMEM, "out of memory");
	event_priority_set(d->wake_event, 0);
	event_add(d->held_event, NULL);
	event_add(d->wake_event, NULL);
	return 0;
}

void intake_free(struct daemon *d)
{
	struct event **events[] = {&d->held_event, &d->wake_event, &d->held_timer};

	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		if (*events[i])
			event_free(*events[i]);
		*events[i] = NULL;
	}
	ring_buffer__free(d->held);
	ring_buffer__free(d->wake);
	d->held = d->wake = NULL;
}
