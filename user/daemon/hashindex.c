// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/hashindex.h"

#define HASHINDEX_SIZE_MIN 256u

static size_t hashindex_bytes(uint32_t size)
{
	return (size_t)size * sizeof(struct hashindex_link *);
}

bool hashindex_reserve(struct hashindex *index, struct budget *budget)
{
	if (index->bucket)
		return true;
	index->bucket = budget_alloc(budget, hashindex_bytes(HASHINDEX_SIZE_MIN));
	index->size = index->bucket ? HASHINDEX_SIZE_MIN : 0;
	return index->bucket;
}

static void hashindex_grow(struct hashindex *index, struct budget *budget)
{
	uint32_t size = index->size * 2, i;
	struct hashindex_link **bucket, *link, *next;

	bucket = budget_alloc(budget, hashindex_bytes(size));
	if (!bucket)
		return;
	for (i = 0; i < index->size; i++) {
		for (link = index->bucket[i]; link; link = next) {
			next = link->next;
			link->next = bucket[link->hash & (size - 1)];
			bucket[link->hash & (size - 1)] = link;
		}
	}
	budget_free(budget, index->bucket, hashindex_bytes(index->size));
	index->bucket = bucket;
	index->size = size;
}

void hashindex_insert(struct hashindex *index, struct budget *budget, struct hashindex_link *link)
{
	struct hashindex_link **bucket;

	/*
	 * Only when the count passes a power of two, so that a refusal is not asked for again by every
	 * insertion.
	 */
	if (index->count >= index->size && !(index->count & (index->count - 1)) && index->size < 1u << 30)
		hashindex_grow(index, budget);
	bucket = &index->bucket[link->hash & (index->size - 1)];
	link->next = *bucket;
	*bucket = link;
	index->count++;
}

void hashindex_remove(struct hashindex *index, struct hashindex_link *link)
{
	struct hashindex_link **at = &index->bucket[link->hash & (index->size - 1)];

	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
	index->count--;
}

struct hashindex_link *hashindex_chain(const struct hashindex *index, uint64_t hash)
{
	return index->bucket ? index->bucket[hash & (index->size - 1)] : NULL;
}

void hashindex_trim(struct hashindex *index, struct budget *budget)
{
	if (index->count)
		return;
	budget_free(budget, index->bucket, hashindex_bytes(index->size));
	index->bucket = NULL;
	index->size = 0;
}
