// SPDX-License-Identifier: GPL-2.0-or-later
/* A queue as a whole: made, configured, swept, emptied; and the memory that all queues share. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/holdq_impl.h"

/* Memory of an empty queue; the slabs of others stay with them. */
static void holdq_give_back(struct holdq *q)
{
	if (q->counters.held)
		return;
	hashindex_trim(&q->tuples, &q->memory->budget);
	hashindex_trim(&q->sources, &q->memory->budget);
	pool_trim(&q->memory->entries);
	pool_trim(&q->memory->sources);
}

uint32_t holdq_sweep(struct holdq *q, uint64_t now_ns, uint32_t budget)
{
	struct holdq_item *item;
	uint32_t discarded;

	for (discarded = 0; discarded < budget; discarded++) {
		item = holdq_item_by_due(treap_first(q->due));
		if (!item || !holdq_item_overdue(item, now_ns))
			break;
		holdq_item_expire(q, item, now_ns);
	}
	holdq_give_back(q);
	return discarded;
}

uint32_t holdq_flush(struct holdq *q, unsigned int reason, uint64_t now_ns)
{
	uint32_t discarded = 0;

	while (q->due) {
		holdq_discard(q, &holdq_item_by_due(q->due)->entry, reason, now_ns);
		discarded++;
	}
	holdq_give_back(q);
	return discarded;
}

/* Every deadline anew. */
static void holdq_due_rebuild(struct holdq *q)
{
	struct treap_node *old = q->due;
	struct holdq_item *item;

	q->due = NULL;
	while (old) {
		item = holdq_item_by_due(old);
		treap_remove(&old, &item->due);
		holdq_due_link(q, item);
	}
}

void holdq_grace(struct holdq *q, uint64_t until_ns)
{
	q->grace_ns = until_ns;
	holdq_due_rebuild(q);
}

int holdq_configure(struct holdq *q, const struct holdq_config *cfg)
{
	bool rebuild = cfg->hold_time_ns != q->config.hold_time_ns;

	if (cfg->newest_percent > 100)
		return -EINVAL;
	q->config = *cfg;
	if (rebuild)
		holdq_due_rebuild(q);
	return 0;
}

struct holdq *holdq_new(struct holdq_memory *mem, const struct holdq_config *cfg, const uint64_t seed[2],
			const struct holdq_ops *ops, void *ctx)
{
	struct holdq *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->memory = mem;
	q->seed[0] = seed[0];
	q->seed[1] = seed[1];
	q->random = holdq_mix(seed[0]) ^ seed[1];
	if (ops)
		q->ops = *ops;
	q->ops_ctx = ctx;
	if (holdq_configure(q, cfg)) {
		free(q);
		return NULL;
	}
	return q;
}

void holdq_free(struct holdq *q)
{
	if (!q)
		return;
	holdq_flush(q, SYNHOLD_DISCARD_DETACHED, 0);
	free(q);
}

struct holdq_memory *holdq_memory_new(uint64_t limit_bytes)
{
	struct holdq_memory *mem = calloc(1, sizeof(*mem));

	if (!mem)
		return NULL;
	mem->budget.limit_bytes = limit_bytes;
	pool_init(&mem->entries, &mem->budget, sizeof(struct holdq_item));
	pool_init(&mem->sources, &mem->budget, sizeof(struct holdq_source));
	return mem;
}

void holdq_memory_free(struct holdq_memory *mem)
{
	if (!mem)
		return;
	pool_trim(&mem->entries);
	pool_trim(&mem->sources);
	free(mem);
}

void holdq_memory_set_limit(struct holdq_memory *mem, uint64_t limit_bytes)
{
	mem->budget.limit_bytes = limit_bytes;
}

uint64_t holdq_memory_used(const struct holdq_memory *mem)
{
	return mem->budget.used_bytes;
}
