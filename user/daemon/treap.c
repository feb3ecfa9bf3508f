// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/treap.h"

#include <stdbool.h>
#include <stddef.h>

static bool treap_less(const struct treap_node *a, const struct treap_node *b)
{
	return a->key != b->key ? a->key < b->key : a->seq < b->seq;
}

void treap_insert(struct treap_node **root, struct treap_node *node)
{
	struct treap_node **left = &node->left, **right = &node->right, *below;

	while (*root && (*root)->priority >= node->priority)
		root = treap_less(node, *root) ? &(*root)->left : &(*root)->right;

	/* Split what hangs here around the new node. */
	for (below = *root; below;) {
		if (treap_less(below, node)) {
			*left = below;
			left = &below->right;
			below = below->right;
		} else {
			*right = below;
			right = &below->left;
			below = below->left;
		}
	}
	*left = NULL;
	*right = NULL;
	*root = node;
}

void treap_remove(struct treap_node **root, struct treap_node *node)
{
	struct treap_node *left = node->left, *right = node->right;

	while (*root != node)
		root = treap_less(node, *root) ? &(*root)->left : &(*root)->right;

	while (left && right) {
		if (left->priority >= right->priority) {
			*root = left;
			root = &left->right;
			left = left->right;
		} else {
			*root = right;
			root = &right->left;
			right = right->left;
		}
	}
	*root = left ? left : right;
}

struct treap_node *treap_first(struct treap_node *root)
{
	while (root && root->left)
		root = root->left;
	return root;
}

struct treap_node *treap_last(struct treap_node *root)
{
	while (root && root->right)
		root = root->right;
	return root;
}
