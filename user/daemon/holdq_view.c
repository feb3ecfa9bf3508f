// SPDX-License-Identifier: GPL-2.0-or-later
/* What others want to know about a hold queue; nothing here changes it. */
#include "daemon/holdq_impl.h"

const struct holdq_counters *holdq_counters(const struct holdq *q)
{
	return &q->counters;
}

uint32_t holdq_held(const struct holdq *q, enum holdq_wait wait)
{
	return q->counters.held_class[wait];
}

bool holdq_full(const struct holdq *q)
{
	return q->counters.held >= q->config.max || !pool_has_room(&q->memory->entries) ||
	       !pool_has_room(&q->memory->sources);
}

uint64_t holdq_oldest_ns(const struct holdq *q)
{
	const struct treap_node *node;
	uint64_t oldest = 0;
	unsigned int i;

	for (i = 0; i < HOLDQ_WEIGHT_CLASSES; i++) {
		node = treap_first(q->lane[i].entries);
		if (node && (!oldest || node->key < oldest))
			oldest = node->key;
	}
	return oldest;
}

uint64_t holdq_next_deadline(const struct holdq *q)
{
	const struct treap_node *node = treap_first(q->due);

	return node ? node->key : UINT64_MAX;
}

uint64_t holdq_next_source_ns(const struct holdq *q)
{
	const struct treap_node *node = treap_first(q->ready);

	return node ? node->key : UINT64_MAX;
}

const uint64_t *holdq_gone_ages(const struct holdq *q)
{
	return q->gone_ages;
}

int holdq_each_source(const struct holdq *q, int (*fn)(void *ctx, const struct holdq_source_info *info), void *ctx)
{
	const struct holdq_source *source;
	struct hashindex_link *link;
	uint32_t i;
	int err;

	for (i = 0; i < q->sources.size; i++) {
		for (link = q->sources.bucket[i]; link; link = link->next) {
			source = HOLDQ_CONTAINER(link, struct holdq_source, link);
			err = fn(ctx, &(struct holdq_source_info){
					      .source = source->source,
					      .count = source->count,
					      .attempts = source->attempts,
					      .oldest_ns = source->first->entry.first_ns,
					      .not_before_ns = source->waiting ? source->ready.key : 0,
					      .oldest = &source->first->entry,
				      });
			if (err)
				return err;
		}
	}
	return 0;
}

int holdq_each_entry(const struct holdq *q, uint64_t source_key, int (*fn)(void *ctx, const struct holdq_entry *e),
		     void *ctx)
{
	const struct holdq_source *source = holdq_source_find(q, source_key);
	const struct holdq_item *item;
	int err;

	for (item = source ? source->first : NULL; item; item = item->next) {
		err = fn(ctx, &item->entry);
		if (err)
			return err;
	}
	return 0;
}
