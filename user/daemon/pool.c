// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/pool.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Freed objects are inside live mappings, so the sanitizer has to be told. */
#if defined(__SANITIZE_ADDRESS__)
#define POOL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POOL_ASAN 1
#endif
#endif
#ifdef POOL_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

struct pool_object {
	union {
		struct pool_slab *slab; /* in use */
		struct pool_object *next_free;
	};
	uint64_t payload[];
};

struct pool_slab {
	struct pool_slab *prev;
	struct pool_slab *next;
	struct pool_object *free;
	uint32_t used;
	uint32_t fresh; /* objects from here on were never handed out: their pages stay untouched */
};

void *budget_alloc(struct budget *budget, size_t bytes)
{
	void *memory;

	if (budget->used_bytes + bytes > budget->limit_bytes)
		return NULL;
	memory = calloc(1, bytes);
	if (memory)
		budget->used_bytes += bytes;
	return memory;
}

void budget_free(struct budget *budget, void *memory, size_t bytes)
{
	if (!memory)
		return;
	free(memory);
	budget->used_bytes -= bytes;
}

void pool_init(struct pool *pool, struct budget *budget, size_t object_bytes)
{
	*pool = (struct pool){
		.budget = budget,
		.object_bytes = (sizeof(struct pool_object) + object_bytes + 7) & ~(size_t)7,
	};
	pool->per_slab = (POOL_SLAB_BYTES - sizeof(struct pool_slab)) / pool->object_bytes;
}

static struct pool_object *pool_slot(const struct pool *pool, struct pool_slab *slab, uint32_t index)
{
	return (struct pool_object *)((char *)(slab + 1) + index * pool->object_bytes);
}

static void pool_link(struct pool *pool, struct pool_slab *slab)
{
	slab->prev = NULL;
	slab->next = pool->open;
	if (slab->next)
		slab->next->prev = slab;
	pool->open = slab;
}

static void pool_unlink(struct pool *pool, struct pool_slab *slab)
{
	if (slab->prev)
		slab->prev->next = slab->next;
	else
		pool->open = slab->next;
	if (slab->next)
		slab->next->prev = slab->prev;
}

static struct pool_slab *pool_map(struct pool *pool)
{
	struct pool_slab *slab;

	if (pool->budget->used_bytes + POOL_SLAB_BYTES > pool->budget->limit_bytes)
		return NULL;
	slab = mmap(NULL, POOL_SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (slab == MAP_FAILED)
		return NULL;
	pool->budget->used_bytes += POOL_SLAB_BYTES;
	return slab;
}

static void pool_unmap(struct pool *pool, struct pool_slab *slab)
{
	ASAN_UNPOISON_MEMORY_REGION(slab, POOL_SLAB_BYTES);
	munmap(slab, POOL_SLAB_BYTES);
	pool->budget->used_bytes -= POOL_SLAB_BYTES;
}

void *pool_alloc(struct pool *pool)
{
	struct pool_slab *slab = pool->open;
	struct pool_object *object;

	if (!slab) {
		slab = pool->spare ? pool->spare : pool_map(pool);
		if (!slab)
			return NULL;
		pool->spare = NULL;
		pool_link(pool, slab);
	}
	object = slab->free;
	if (object)
		slab->free = object->next_free;
	else
		object = pool_slot(pool, slab, slab->fresh++);
	if (++slab->used == pool->per_slab)
		pool_unlink(pool, slab);
	object->slab = slab;
	ASAN_UNPOISON_MEMORY_REGION(object->payload, pool->object_bytes - sizeof(*object));
	return object->payload;
}

void pool_release(struct pool *pool, void *memory)
{
	void *start = (char *)memory - offsetof(struct pool_object, payload);
	struct pool_object *object = start;
	struct pool_slab *slab = object->slab;

	ASAN_POISON_MEMORY_REGION(object->payload, pool->object_bytes - sizeof(*object));
	object->next_free = slab->free;
	slab->free = object;
	if (slab->used-- == pool->per_slab)
		pool_link(pool, slab);
	if (slab->used)
		return;
	pool_unlink(pool, slab);
	if (pool->spare)
		pool_unmap(pool, slab);
	else
		pool->spare = slab;
}

bool pool_has_room(const struct pool *pool)
{
	return pool->open || pool->spare || pool->budget->used_bytes + POOL_SLAB_BYTES <= pool->budget->limit_bytes;
}

void pool_trim(struct pool *pool)
{
	if (pool->spare)
		pool_unmap(pool, pool->spare);
	pool->spare = NULL;
}
