/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An intrusive ordered set (Seidel and Aragon, "Randomized search trees", 1996): every node keeps a random
 * priority that nobody outside knows, so the expected depth is O(log n) whatever keys come. It allocates
 * nothing. Nodes are ordered by key, then by seq, which must be unique within a tree.
 */
#ifndef SYNHOLD_DAEMON_TREAP_H
#define SYNHOLD_DAEMON_TREAP_H

#include <stdint.h>

struct treap_node {
	struct treap_node *left;
	struct treap_node *right;
	uint64_t key;
	uint64_t seq;
	uint32_t priority;
};

/* key, seq and priority are set by the caller and must not change while the node is in a tree. */
void treap_insert(struct treap_node **root, struct treap_node *node);
/* node must be in this tree. */
void treap_remove(struct treap_node **root, struct treap_node *node);
/* NULL when the tree is empty. */
struct treap_node *treap_first(struct treap_node *root);
struct treap_node *treap_last(struct treap_node *root);

#endif
