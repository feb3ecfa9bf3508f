/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects of one size out of slabs that are mapped as needed and unmapped once nothing is in them, so that
 * memory really goes back after a storm; all within a budget that several pools share.
 */
#ifndef SYNHOLD_DAEMON_POOL_H
#define SYNHOLD_DAEMON_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POOL_SLAB_BYTES 65536

struct budget {
	uint64_t limit_bytes;
	uint64_t used_bytes;
};

/* Zeroed memory on account of the budget; NULL when it is used up or there is none. */
void *budget_alloc(struct budget *budget, size_t bytes);
void budget_free(struct budget *budget, void *memory, size_t bytes);

struct pool_slab;

struct pool {
	struct budget *budget;
	size_t object_bytes; /* with the word in front */
	uint32_t per_slab;
	struct pool_slab *open; /* slabs with room and something in them */
	/* One empty slab is kept, or a queue at a slab's edge would map and unmap all the time. */
	struct pool_slab *spare;
};

/* object_bytes: at most a quarter of a slab. Objects are aligned to 8 bytes. */
void pool_init(struct pool *pool, struct budget *budget, size_t object_bytes);
/* Uninitialised memory, or NULL when the budget is used up. */
void *pool_alloc(struct pool *pool);
void pool_release(struct pool *pool, void *object);
/* True when pool_alloc() would not have to ask for another slab, or the budget would grant it. */
bool pool_has_room(const struct pool *pool);
/* Give the spare slab back. */
void pool_trim(struct pool *pool);

#endif
