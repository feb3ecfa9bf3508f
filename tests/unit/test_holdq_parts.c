// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the hold queue is built of: ordered set, hash table, slabs. Mostly what would only show as slowness.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "daemon/hashindex.h"
#include "daemon/pool.h"
#include "daemon/treap.h"
#include "daemon/tuplehash.h"

#define NODES 65536

static uint64_t rng = 3;

static uint32_t rnd(void)
{
	rng = rng * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(rng >> 32);
}

struct walk {
	unsigned int depth;
	uint32_t count;
	const struct treap_node *last;
};

/* Depth and size; checks that keys ascend and that no node has a higher priority than its parent. */
static void walk_tree(const struct treap_node *node, unsigned int depth, struct walk *w)
{
	if (!node)
		return;
	w->depth = depth > w->depth ? depth : w->depth;
	walk_tree(node->left, depth + 1, w);
	assert_true(!w->last || w->last->key < node->key || (w->last->key == node->key && w->last->seq < node->seq));
	assert_true(!node->left || node->left->priority <= node->priority);
	assert_true(!node->right || node->right->priority <= node->priority);
	w->last = node;
	w->count++;
	walk_tree(node->right, depth + 1, w);
}

static void test_treap_stays_flat(void **state)
{
	struct treap_node *nodes = calloc(NODES, sizeof(*nodes)), *root = NULL;
	struct walk w = {0};
	uint32_t i;

	(void)state;
	assert_non_null(nodes);
	/* In order, with many equal keys: what kills a plain tree. */
	for (i = 0; i < NODES; i++) {
		nodes[i] = (struct treap_node){.key = i / 100, .seq = i, .priority = rnd()};
		treap_insert(&root, &nodes[i]);
	}
	walk_tree(root, 1, &w);
	assert_int_equal(w.count, NODES);
	assert_true(w.depth < 64); /* 40 expected; an unlucky 64 is out of all probability */
	for (i = 0; i < NODES; i++) {
		if (i % 5)
			treap_remove(&root, &nodes[i]);
	}
	w = (struct walk){0};
	walk_tree(root, 1, &w);
	assert_int_equal(w.count, NODES / 5 + 1);
	assert_true(w.depth < 60);
	assert_ptr_equal(treap_first(root), &nodes[0]);
	assert_ptr_equal(treap_last(root), &nodes[NODES - 1]);
	while (root)
		treap_remove(&root, root);
	assert_null(treap_first(root));
	free(nodes);
}

static void test_hash_table_grows_and_goes(void **state)
{
	struct budget budget = {.limit_bytes = 1 << 20};
	struct hashindex index = {0};
	struct hashindex_link *links = calloc(NODES, sizeof(*links)), *link;
	uint32_t i, longest = 0, n;

	(void)state;
	assert_non_null(links);
	assert_null(hashindex_chain(&index, 5));
	assert_true(hashindex_reserve(&index, &budget));
	for (i = 0; i < NODES; i++) {
		links[i].hash = (uint64_t)rnd() << 32 | rnd();
		hashindex_insert(&index, &budget, &links[i]);
	}
	assert_int_equal(index.size, NODES);
	assert_int_equal(budget.used_bytes, NODES * sizeof(void *));
	for (i = 0; i < NODES; i++) {
		link = hashindex_chain(&index, links[i].hash);
		for (n = 0; link != &links[i]; link = link->next)
			n++;
		longest = n > longest ? n : longest;
	}
	assert_true(longest < 20);
	for (i = 0; i < NODES; i++)
		hashindex_remove(&index, &links[i]);
	hashindex_trim(&index, &budget);
	assert_int_equal(budget.used_bytes, 0);
	free(links);
}

static void test_hash_table_works_without_room_to_grow(void **state)
{
	struct budget budget = {.limit_bytes = 4096};
	struct hashindex index = {0};
	struct hashindex_link links[2000], *link;
	uint32_t i;

	(void)state;
	assert_true(hashindex_reserve(&index, &budget));
	for (i = 0; i < 2000; i++) {
		links[i].hash = rnd();
		hashindex_insert(&index, &budget, &links[i]);
		assert_true(budget.used_bytes <= budget.limit_bytes);
	}
	for (i = 0; i < 2000; i++) {
		link = hashindex_chain(&index, links[i].hash);
		while (link && link != &links[i])
			link = link->next;
		assert_non_null(link);
		hashindex_remove(&index, link);
	}
	hashindex_trim(&index, &budget);
	budget.limit_bytes = 100;
	assert_false(hashindex_reserve(&index, &budget));
}

static void test_slabs_come_and_go(void **state)
{
	struct budget budget = {.limit_bytes = 4 * POOL_SLAB_BYTES};
	struct pool pool;
	void *object[4 * POOL_SLAB_BYTES / 400];
	uint32_t n = 0, i;

	(void)state;
	pool_init(&pool, &budget, 400);
	assert_int_equal(budget.used_bytes, 0);
	while ((object[n] = pool_alloc(&pool)))
		n++;
	assert_false(pool_has_room(&pool));
	assert_int_equal(budget.used_bytes, budget.limit_bytes);
	assert_int_equal(n, 4 * pool.per_slab);
	/* One freed anywhere is one more to have. */
	pool_release(&pool, object[n / 2]);
	assert_true(pool_has_room(&pool));
	assert_ptr_equal(pool_alloc(&pool), object[n / 2]);
	for (i = 0; i < n; i++)
		pool_release(&pool, object[i]);
	assert_int_equal(budget.used_bytes, POOL_SLAB_BYTES);
	pool_trim(&pool);
	assert_int_equal(budget.used_bytes, 0);
}

/* A key makes a difference, and so does each bit of a connection, by about half of the bits of the hash. */
static void test_tuple_hash_spreads(void **state)
{
	static const uint64_t keys[2][2] = {{1, 2}, {1, 3}};
	struct synhold_tuple tuple = {.sport = 1};
	uint64_t base = tuplehash(&tuple, keys[0]);
	unsigned int bit, changed, sum = 0;

	(void)state;
	assert_true(base != tuplehash(&tuple, keys[1]));
	for (bit = 0; bit < sizeof(tuple) * 8; bit++) {
		((uint8_t *)&tuple)[bit / 8] ^= 1 << bit % 8;
		changed = __builtin_popcountll(base ^ tuplehash(&tuple, keys[0]));
		((uint8_t *)&tuple)[bit / 8] ^= 1 << bit % 8;
		assert_in_range(changed, 10, 54);
		sum += changed;
	}
	assert_in_range(sum / (sizeof(tuple) * 8), 30, 34);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_treap_stays_flat),
		cmocka_unit_test(test_hash_table_grows_and_goes),
		cmocka_unit_test(test_hash_table_works_without_room_to_grow),
		cmocka_unit_test(test_slabs_come_and_go),
		cmocka_unit_test(test_tuple_hash_spreads),
	};

	return cmocka_run_group_tests_name("holdq_parts", tests, NULL, NULL);
}
