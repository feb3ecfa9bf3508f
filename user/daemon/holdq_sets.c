// SPDX-License-Identifier: GPL-2.0-or-later
/* The ordered sets and tables that a held SYN is in. */
#include "daemon/holdq_impl.h"

/*
 * splitmix64 (Steele, Lea and Flood, 2014): priorities of tree nodes, and a finaliser for hashes keyed
 * elsewhere.
 */
uint64_t holdq_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

uint32_t holdq_random(struct holdq *q)
{
	q->random += 0x9e3779b97f4a7c15ULL;
	return (uint32_t)(holdq_mix(q->random) >> 32);
}

void holdq_due_link(struct holdq *q, struct holdq_item *item)
{
	uint64_t due = holdq_overdue_ns(&item->entry), max_ns = q->config.hold_time_ns, limit;

	if (due < q->grace_ns)
		due = q->grace_ns;
	if (max_ns && !__builtin_add_overflow(item->entry.first_ns, max_ns, &limit) && limit < due)
		due = limit;
	item->due.key = due;
	treap_insert(&q->due, &item->due);
}

void holdq_source_set_ready(struct holdq *q, struct holdq_source *source, uint64_t not_before_ns)
{
	if (source->waiting)
		treap_remove(&q->ready, &source->ready);
	source->ready.key = not_before_ns;
	if (source->waiting)
		treap_insert(&q->ready, &source->ready);
}

static struct treap_node **holdq_order_root(struct holdq *q, struct holdq_item *item)
{
	switch (item->entry.wait) {
	case HOLDQ_WAIT_SOURCE:
		return &item->source->waiting;
	case HOLDQ_WAIT_SHARE:
		return &q->share;
	case HOLDQ_WAIT_CLOSED:
		return &q->closed;
	default:
		return &q->lane[holdq_lane_of(item->entry.weight)].entries;
	}
}

void holdq_order_link(struct holdq *q, struct holdq_item *item)
{
	struct treap_node **root = holdq_order_root(q, item);
	struct holdq_lane *lane;

	if (!*root && item->entry.wait == HOLDQ_WAIT_SOURCE)
		treap_insert(&q->ready, &item->source->ready);
	if (!*root && item->entry.wait == HOLDQ_WAIT_WINDOW) {
		/* An idle lane saves nothing up, or it would shut the others out when it fills again. */
		lane = HOLDQ_CONTAINER(root, struct holdq_lane, entries);
		if (lane->pass < q->lane_pass)
			lane->pass = q->lane_pass;
	}
	item->order.key = item->entry.first_ns;
	if (item->entry.wait == HOLDQ_WAIT_SHARE)
		item->order.key = item->entry.share_hash;
	treap_insert(root, &item->order);
	q->counters.held_class[item->entry.wait]++;
}

void holdq_order_unlink(struct holdq *q, struct holdq_item *item)
{
	struct treap_node **root = holdq_order_root(q, item);

	treap_remove(root, &item->order);
	if (!*root && item->entry.wait == HOLDQ_WAIT_SOURCE)
		treap_remove(&q->ready, &item->source->ready);
	q->counters.held_class[item->entry.wait]--;
	if (q->pick.item == item)
		q->pick.item = NULL;
}

static uint64_t holdq_source_hash(const struct holdq *q, uint64_t key)
{
	return holdq_mix(key ^ q->seed[0]);
}

struct holdq_source *holdq_source_find(const struct holdq *q, uint64_t key)
{
	struct hashindex_link *link;
	struct holdq_source *source;

	for (link = hashindex_chain(&q->sources, holdq_source_hash(q, key)); link; link = link->next) {
		source = HOLDQ_CONTAINER(link, struct holdq_source, link);
		if (source->source == key)
			return source;
	}
	return NULL;
}

struct holdq_source *holdq_source_get(struct holdq *q, uint64_t key)
{
	struct holdq_source *source = holdq_source_find(q, key);

	if (source || !hashindex_reserve(&q->sources, &q->memory->budget))
		return source;
	source = pool_alloc(&q->memory->sources);
	if (!source)
		return NULL;
	*source = (struct holdq_source){
		.link.hash = holdq_source_hash(q, key),
		.source = key,
		.ready = {.seq = q->seq++, .priority = holdq_random(q)},
	};
	hashindex_insert(&q->sources, &q->memory->budget, &source->link);
	q->counters.sources++;
	return source;
}

void holdq_source_put(struct holdq *q, struct holdq_source *source)
{
	if (source->count)
		return;
	hashindex_remove(&q->sources, &source->link);
	pool_release(&q->memory->sources, source);
	q->counters.sources--;
}

void holdq_source_link(struct holdq_source *source, struct holdq_item *item)
{
	item->source = source;
	item->prev = source->last;
	item->next = NULL;
	if (source->last)
		source->last->next = item;
	else
		source->first = item;
	source->last = item;
	source->count++;
	source->attempts += item->entry.attempts;
}

void holdq_source_unlink(struct holdq_source *source, struct holdq_item *item)
{
	if (item->prev)
		item->prev->next = item->next;
	else
		source->first = item->next;
	if (item->next)
		item->next->prev = item->prev;
	else
		source->last = item->prev;
	source->count--;
	source->attempts -= item->entry.attempts;
}
