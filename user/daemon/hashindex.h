/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intrusive hash table with chains; it doubles while the budget lets it, and only gets slower when it does
 * not. Hashes come from the caller, keyed where the keys are somebody else's choice.
 */
#ifndef SYNHOLD_DAEMON_HASHINDEX_H
#define SYNHOLD_DAEMON_HASHINDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/pool.h"

struct hashindex_link {
	struct hashindex_link *next;
	uint64_t hash;
};

struct hashindex {
	struct hashindex_link **bucket; /* NULL until first used */
	uint32_t size;                  /* a power of two */
	uint32_t count;
};

/* Make sure that there is a table at all; false when the budget has no room for the smallest. */
bool hashindex_reserve(struct hashindex *index, struct budget *budget);
/* After hashindex_reserve(). link->hash is set by the caller. */
void hashindex_insert(struct hashindex *index, struct budget *budget, struct hashindex_link *link);
void hashindex_remove(struct hashindex *index, struct hashindex_link *link);
/* First link of the chain in which this hash would be. */
struct hashindex_link *hashindex_chain(const struct hashindex *index, uint64_t hash);
/* Give the table of an empty index back. */
void hashindex_trim(struct hashindex *index, struct budget *budget);

#endif
