// SPDX-License-Identifier: GPL-2.0-or-later
/* The order law: whose turn it is to be released. Measurements behind it: docs/design.md. */
#include "daemon/holdq_impl.h"

#define HOLDQ_STRIDE (1u << 20)
#define HOLDQ_ONE (1LL << 32)
#define HOLDQ_DEFER_DEFAULT_NS 1000000ULL

/* Oldest or newest entry of a set whose client is still there; those that are not go on the way. */
static struct holdq_item *holdq_live(struct holdq *q, struct treap_node **root,
				     struct treap_node *(*end)(struct treap_node *), uint64_t now_ns)
{
	struct holdq_item *item;

	while ((item = holdq_item_by_order(end(*root))) && holdq_item_overdue(item, now_ns))
		holdq_item_expire(q, item, now_ns);
	return item;
}

static struct holdq_item *holdq_pick_lane(struct holdq *q, struct holdq_lane *lane, uint64_t now_ns,
					  struct holdq_pick *pick)
{
	struct holdq_item *oldest;

	if (q->config.order == HOLDQ_NEWEST)
		return holdq_live(q, &lane->entries, treap_last, now_ns);

	oldest = holdq_live(q, &lane->entries, treap_first, now_ns);
	if (!oldest || holdq_since(now_ns, oldest->entry.first_ns) < q->config.oldest_until_ns)
		return oldest;
	pick->beyond = true;
	pick->newest = lane->newest_sum + q->config.newest_percent >= 100;
	return pick->newest ? holdq_live(q, &lane->entries, treap_last, now_ns) : oldest;
}

static struct holdq_item *holdq_pick_main(struct holdq *q, uint64_t now_ns, struct holdq_pick *pick)
{
	struct holdq_lane *best, *lane;
	struct holdq_item *item;

	for (;;) {
		best = NULL;
		/* From the heaviest: it wins a tie. */
		for (lane = q->lane + HOLDQ_WEIGHT_CLASSES; lane-- > q->lane;) {
			if (lane->entries && (!best || lane->pass < best->pass))
				best = lane;
		}
		if (!best)
			return NULL;
		item = holdq_pick_lane(q, best, now_ns, pick);
		if (item)
			return item;
	}
}

static struct holdq_item *holdq_pick_source(struct holdq *q, uint64_t now_ns)
{
	struct holdq_source *source;
	struct holdq_item *item;

	for (;;) {
		source = holdq_source_by_ready(treap_first(q->ready));
		if (!source || source->ready.key > now_ns)
			return NULL;
		/* Not holdq_live(): with its last entry the source goes too, and the root with it. */
		item = holdq_item_by_order(treap_first(source->waiting));
		if (!holdq_item_overdue(item, now_ns))
			return item;
		holdq_item_expire(q, item, now_ns);
	}
}

/* Part of all releases that WAIT_SOURCE entries have a right to, in 2^-32. */
static int64_t holdq_source_part(const struct holdq *q)
{
	uint64_t source = q->counters.held_class[HOLDQ_WAIT_SOURCE];
	uint64_t all = source + q->counters.held_class[HOLDQ_WAIT_WINDOW];

	return all ? (int64_t)((source << 32) / all) : 0;
}

struct holdq_entry *holdq_next(struct holdq *q, uint64_t now_ns, unsigned int classes)
{
	struct holdq_pick pick = {0};
	bool source_first;

	pick.contended = (classes & HOLDQ_PICK_WINDOW) && (classes & HOLDQ_PICK_SOURCE);
	source_first = !pick.contended || q->source_sum + holdq_source_part(q) >= HOLDQ_ONE;

	if ((classes & HOLDQ_PICK_SOURCE) && source_first)
		pick.item = holdq_pick_source(q, now_ns);
	if (!pick.item && (classes & HOLDQ_PICK_WINDOW))
		pick.item = holdq_pick_main(q, now_ns, &pick);
	if (!pick.item && pick.contended && !source_first)
		pick.item = holdq_pick_source(q, now_ns);
	q->pick = pick;
	return pick.item ? &pick.item->entry : NULL;
}

void holdq_pick_book(struct holdq *q, const struct holdq_item *item)
{
	struct holdq_lane *lane;

	if (q->pick.item != item)
		return;
	if (q->pick.contended) {
		q->source_sum += holdq_source_part(q);
		if (item->entry.wait == HOLDQ_WAIT_SOURCE)
			q->source_sum -= HOLDQ_ONE;
		/* A turn that nobody could take is lost, and one taken for want of others owes little. */
		if (q->source_sum > HOLDQ_ONE)
			q->source_sum = HOLDQ_ONE;
		if (q->source_sum < -HOLDQ_ONE)
			q->source_sum = -HOLDQ_ONE;
	}
	if (item->entry.wait != HOLDQ_WAIT_WINDOW)
		return;
	lane = &q->lane[holdq_lane_of(item->entry.weight)];
	q->lane_pass = lane->pass;
	lane->pass += HOLDQ_STRIDE >> holdq_lane_of(item->entry.weight);
	if (q->pick.beyond) {
		lane->newest_sum += q->config.newest_percent;
		if (q->pick.newest)
			lane->newest_sum -= 100;
	}
}

static void holdq_move(struct holdq *q, struct holdq_item *item, enum holdq_wait to)
{
	holdq_order_unlink(q, item);
	item->entry.wait = to;
	holdq_order_link(q, item);
}

void holdq_defer(struct holdq *q, struct holdq_entry *e, uint64_t now_ns, uint64_t until_ns)
{
	struct holdq_item *item = holdq_item(e);

	if (until_ns <= now_ns)
		until_ns = now_ns + HOLDQ_DEFER_DEFAULT_NS;
	if (e->wait != HOLDQ_WAIT_SOURCE)
		holdq_move(q, item, HOLDQ_WAIT_SOURCE);
	holdq_source_set_ready(q, item->source, until_ns);
}

uint32_t holdq_open_share(struct holdq *q, uint64_t threshold, uint32_t budget)
{
	struct treap_node *node;
	uint32_t moved;

	for (moved = 0; moved < budget; moved++) {
		node = treap_first(q->share);
		if (!node || node->key >= threshold)
			break;
		holdq_move(q, holdq_item_by_order(node), HOLDQ_WAIT_WINDOW);
	}
	return moved;
}

/* Some entry of a class, the oldest of its set. */
static struct holdq_item *holdq_first_of(struct holdq *q, enum holdq_wait wait)
{
	struct holdq_source *source;
	unsigned int i;

	switch (wait) {
	case HOLDQ_WAIT_SOURCE:
		source = holdq_source_by_ready(treap_first(q->ready));
		return source ? holdq_item_by_order(treap_first(source->waiting)) : NULL;
	case HOLDQ_WAIT_SHARE:
		return holdq_item_by_order(treap_first(q->share));
	case HOLDQ_WAIT_CLOSED:
		return holdq_item_by_order(treap_first(q->closed));
	default:
		for (i = HOLDQ_WEIGHT_CLASSES; i-- > 0;) {
			if (q->lane[i].entries)
				return holdq_item_by_order(treap_first(q->lane[i].entries));
		}
		return NULL;
	}
}

uint32_t holdq_reclass(struct holdq *q, enum holdq_wait from, enum holdq_wait to, uint32_t budget)
{
	struct holdq_item *item;
	uint32_t moved;

	if (from == to)
		return 0;
	for (moved = 0; moved < budget; moved++) {
		item = holdq_first_of(q, from);
		if (!item)
			break;
		holdq_move(q, item, to);
	}
	return moved;
}
