/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of the hold queue share: holdq.c (life of an entry), holdq_sets.c (where it is found),
 * holdq_pick.c (whose turn), holdq_admin.c (the whole queue), holdq_view.c (listings).
 */
#ifndef SYNHOLD_DAEMON_HOLDQ_IMPL_H
#define SYNHOLD_DAEMON_HOLDQ_IMPL_H

#include "daemon/hashindex.h"
#include "daemon/holdq.h"
#include "daemon/pool.h"
#include "daemon/treap.h"

#define HOLDQ_CONTAINER(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

struct holdq_memory {
	struct budget budget;
	struct pool entries;
	struct pool sources;
};

struct holdq_source {
	struct hashindex_link link;
	uint64_t source;
	struct holdq_item *first; /* all its entries, in order of arrival */
	struct holdq_item *last;
	uint32_t count;
	uint64_t attempts;
	struct treap_node *waiting; /* its WAIT_SOURCE entries, by age */
	struct treap_node ready;    /* in holdq.ready while there are any; key = not-before time */
};

struct holdq_item {
	struct holdq_entry entry;
	struct hashindex_link link;
	struct treap_node order; /* in the set of its class: by age, in WAIT_SHARE by share_hash */
	struct treap_node due;   /* in holdq.due: when it is discarded unless a copy comes */
	struct holdq_source *source;
	struct holdq_item *prev; /* same source */
	struct holdq_item *next;
};

/*
 * One weight class of the main queue. Classes share like in start-time fair queueing: the least `pass` is
 * served.
 */
struct holdq_lane {
	struct treap_node *entries;
	uint64_t pass;
	uint32_t newest_sum; /* error diffusion: percent that the newest-first side has to its credit */
};

/* What holdq_next() chose, to be booked only when the entry is really released. */
struct holdq_pick {
	struct holdq_item *item;
	bool beyond; /* the order law was in its mixed part */
	bool newest;
	bool contended; /* main queue and WAIT_SOURCE were both asked for */
};

struct holdq {
	struct holdq_memory *memory;
	struct holdq_config config;
	struct holdq_ops ops;
	void *ops_ctx;
	uint64_t seed[2];
	uint64_t random;
	uint64_t seq;
	uint64_t grace_ns; /* nobody counts as gone before */
	struct hashindex tuples;
	struct hashindex sources;
	struct holdq_lane lane[HOLDQ_WEIGHT_CLASSES];
	uint64_t lane_pass; /* of the lane served last: where one that fills again starts */
	struct treap_node *share;
	struct treap_node *closed;
	struct treap_node *ready; /* sources with WAIT_SOURCE entries */
	struct treap_node *due;
	int64_t source_sum; /* error diffusion between main queue and WAIT_SOURCE, in 2^-32 */
	struct holdq_pick pick;
	struct holdq_counters counters;
	uint64_t gone_ages[HOLDQ_GONE_BUCKETS];
};

static inline struct holdq_item *holdq_item(struct holdq_entry *entry)
{
	return HOLDQ_CONTAINER(entry, struct holdq_item, entry);
}

static inline struct holdq_item *holdq_item_by_order(struct treap_node *node)
{
	return node ? HOLDQ_CONTAINER(node, struct holdq_item, order) : NULL;
}

static inline struct holdq_item *holdq_item_by_due(struct treap_node *node)
{
	return node ? HOLDQ_CONTAINER(node, struct holdq_item, due) : NULL;
}

static inline struct holdq_source *holdq_source_by_ready(struct treap_node *node)
{
	return node ? HOLDQ_CONTAINER(node, struct holdq_source, ready) : NULL;
}

static inline uint64_t holdq_since(uint64_t now_ns, uint64_t then_ns)
{
	return now_ns > then_ns ? now_ns - then_ns : 0;
}

static inline unsigned int holdq_lane_of(uint16_t weight)
{
	unsigned int power = weight > 1 ? 31 - __builtin_clz(weight) : 0;

	return power < HOLDQ_WEIGHT_CLASSES ? power : HOLDQ_WEIGHT_CLASSES - 1;
}

static inline bool holdq_item_overdue(const struct holdq_item *item, uint64_t now_ns)
{
	return item->due.key <= now_ns;
}

/* holdq.c */
/* Discard an entry that is overdue, or whose hold time is over. */
void holdq_item_expire(struct holdq *q, struct holdq_item *item, uint64_t now_ns);

/* holdq_sets.c */
uint64_t holdq_mix(uint64_t x);
uint32_t holdq_random(struct holdq *q);
/* Enter item into q->due at the time its present state gives. */
void holdq_due_link(struct holdq *q, struct holdq_item *item);
/* Into and out of the set of its class; wait, weight and share_hash must not change in between. */
void holdq_order_link(struct holdq *q, struct holdq_item *item);
void holdq_order_unlink(struct holdq *q, struct holdq_item *item);
struct holdq_source *holdq_source_find(const struct holdq *q, uint64_t key);
/* Find or make; NULL when there is no memory. */
struct holdq_source *holdq_source_get(struct holdq *q, uint64_t key);
/* Free it if nothing is left in it. */
void holdq_source_put(struct holdq *q, struct holdq_source *source);
void holdq_source_link(struct holdq_source *source, struct holdq_item *item);
void holdq_source_unlink(struct holdq_source *source, struct holdq_item *item);
void holdq_source_set_ready(struct holdq *q, struct holdq_source *source, uint64_t not_before_ns);

/* holdq_pick.c */
/* item is being released: advance the shares if it is what holdq_next() chose. */
void holdq_pick_book(struct holdq *q, const struct holdq_item *item);

#endif
