// SPDX-License-Identifier: GPL-2.0-or-later
/* Life of a held SYN: it enters, is refreshed, leaves. */
#include <errno.h>
#include <string.h>

#include "daemon/holdq_impl.h"
#include "daemon/tuplehash.h"
#include "lib/frame.h"

#define HOLDQ_SECOND_NS 1000000000ULL
/* For measurements of other values see HOLDQ_NEWEST_PERCENT. */
#ifndef HOLDQ_SLACK_NS
#define HOLDQ_SLACK_NS 500000000ULL
#endif
#define HOLDQ_RTO_MAX_NS (120 * HOLDQ_SECOND_NS) /* Linux TCP_RTO_MAX: nobody waits longer between two SYNs */

static uint32_t holdq_source_max(const struct holdq_config *cfg)
{
	if (cfg->source_max)
		return cfg->source_max;
	return cfg->max >= 16 ? cfg->max / 16 : 1;
}

/*
 * SYNs come back after 1, 1, 1, 1, 1, 2, 4, 8, 16 s (Linux since 6.5, XNU) or 1, 2, 4, 8, 16 s.
 * Retransmission timers of Linux may fire up to an eighth of their length late (timer wheel,
 * kernel/time/timer.c: 256 ms at 8 s with HZ=250, 512 ms with HZ=1000). The fixed slack is for machines that are
 * busy, as those of a storm are: with 0.3 s, 10 of 300 clients that were there counted as gone. That half a second
 * costs nothing is simulated (docs/control.md).
 */
uint64_t holdq_overdue_ns(const struct holdq_entry *e)
{
	uint64_t expected = e->gap_ns > HOLDQ_RTO_MAX_NS / 2 ? HOLDQ_RTO_MAX_NS : 2 * e->gap_ns;

	if (expected < HOLDQ_SECOND_NS)
		expected = HOLDQ_SECOND_NS;
	return e->last_ns + expected + expected / 8 + HOLDQ_SLACK_NS;
}

uint32_t holdq_entry_ticks(const struct holdq_entry *e, uint64_t now_ns)
{
	if (!e->ts_ns)
		return 0;
	return frame_ts_ticks(holdq_since(now_ns, e->last_ns), e->ts_first, e->ts_ns, e->ts_last, e->last_ns);
}

/* Take an entry out of every set; its memory stays until holdq_item_free(). */
static void holdq_item_unlink(struct holdq *q, struct holdq_item *item)
{
	holdq_order_unlink(q, item);
	treap_remove(&q->due, &item->due);
	hashindex_remove(&q->tuples, &item->link);
	holdq_source_unlink(item->source, item);
	holdq_source_put(q, item->source);
	q->counters.held--;
}

void holdq_discard(struct holdq *q, struct holdq_entry *e, unsigned int reason, uint64_t now_ns)
{
	struct holdq_item *item = holdq_item(e);

	holdq_item_unlink(q, item);
	q->counters.discarded[reason]++;
	if (q->ops.discarded)
		q->ops.discarded(q->ops_ctx, e, reason, now_ns);
	pool_release(&q->memory->entries, item);
}

uint64_t holdq_release(struct holdq *q, struct holdq_entry *e, uint64_t now_ns)
{
	struct holdq_item *item = holdq_item(e);
	uint64_t waited_ns = holdq_since(now_ns, e->first_ns);

	holdq_pick_book(q, item);
	/* Behind every source that is due already: eligible sources take turns. */
	if (e->wait == HOLDQ_WAIT_SOURCE && item->source->ready.key < now_ns)
		holdq_source_set_ready(q, item->source, now_ns);
	holdq_item_unlink(q, item);
	q->counters.released++;
	pool_release(&q->memory->entries, item);
	return waited_ns;
}

static void holdq_learn_patience(struct holdq *q, const struct holdq_entry *e)
{
	uint64_t age = (holdq_since(e->last_ns, e->first_ns) + HOLDQ_SECOND_NS / 2) / HOLDQ_SECOND_NS;

	q->gone_ages[age < HOLDQ_GONE_BUCKETS ? age : HOLDQ_GONE_BUCKETS - 1]++;
}

void holdq_item_expire(struct holdq *q, struct holdq_item *item, uint64_t now_ns)
{
	if (holdq_overdue_ns(&item->entry) > now_ns) {
		holdq_discard(q, &item->entry, SYNHOLD_DISCARD_HOLD_TIME, now_ns);
		return;
	}
	holdq_learn_patience(q, &item->entry);
	holdq_discard(q, &item->entry, SYNHOLD_DISCARD_GONE, now_ns);
}

/* Make room by an entry whose client has left (or whose time is over); false when there is none. */
static bool holdq_evict(struct holdq *q, uint64_t now_ns)
{
	struct holdq_item *item = holdq_item_by_due(treap_first(q->due));

	if (!item || !holdq_item_overdue(item, now_ns))
		return false;
	holdq_learn_patience(q, &item->entry);
	holdq_discard(q, &item->entry, SYNHOLD_DISCARD_EVICTED, now_ns);
	return true;
}

static struct holdq_item *holdq_lookup(const struct holdq *q, const struct synhold_tuple *tuple, uint64_t hash)
{
	struct hashindex_link *link;
	struct holdq_item *item;

	for (link = hashindex_chain(&q->tuples, hash); link; link = link->next) {
		item = HOLDQ_CONTAINER(link, struct holdq_item, link);
		if (link->hash == hash && !memcmp(&item->entry.tuple, tuple, sizeof(*tuple)))
			return item;
	}
	return NULL;
}

struct holdq_entry *holdq_find(struct holdq *q, const struct synhold_tuple *tuple)
{
	struct holdq_item *item = holdq_lookup(q, tuple, tuplehash(tuple, q->seed));

	return item ? &item->entry : NULL;
}

/* Take over frame and offsets of a copy, and what is in them. */
static void holdq_store_frame(struct holdq_entry *e, const struct holdq_syn *syn, bool first)
{
	uint32_t tsval;

	e->ifindex = syn->ifindex;
	e->frame_len = syn->frame_len;
	e->l3_offset = syn->l3_offset;
	e->l4_offset = syn->l4_offset;
	memcpy(e->frame, syn->frame, syn->frame_len);
	e->last_ns = syn->seen_ns;
	if (first)
		e->ts_ns = 0;
	if (frame_get_tsval(e->frame, e->frame_len, e->l4_offset, &tsval))
		return;
	if (!e->ts_ns) {
		e->ts_ns = syn->seen_ns;
		e->ts_first = tsval;
	}
	e->ts_last = tsval;
}

static void holdq_refresh(struct holdq *q, struct holdq_item *item, const struct holdq_syn *syn)
{
	struct holdq_entry *e = &item->entry;
	uint16_t weight = syn->weight ? syn->weight : 1;
	uint32_t seq = e->seq;
	uint64_t gap_ns;
	bool first;

	e->attempts++;
	item->source->attempts++;
	q->counters.refreshed++;
	if (syn->seen_ns < e->last_ns)
		return; /* records of several CPUs may overtake each other; the newer copy is here already */

	gap_ns = syn->seen_ns - e->last_ns;
	frame_get_seq(syn->frame, syn->frame_len, syn->l4_offset, &seq);
	first = seq != e->seq;
	e->seq = seq;
	/* The longest, not the last: a copy doubled on the way must not make a patient client look gone. */
	if (first)
		e->gap_ns = 0;
	else if (gap_ns > e->gap_ns)
		e->gap_ns = gap_ns;
	treap_remove(&q->due, &item->due);
	holdq_store_frame(e, syn, first);
	holdq_due_link(q, item);

	if (e->wait == syn->wait && e->weight == weight && e->share_hash == syn->share_hash)
		return;
	holdq_order_unlink(q, item);
	e->wait = syn->wait;
	e->weight = weight;
	e->share_hash = syn->share_hash;
	holdq_order_link(q, item);
}

/* Memory for one more entry of this source. */
static struct holdq_item *holdq_item_new(struct holdq *q, uint64_t source_key, struct holdq_source **source)
{
	struct holdq_item *item;

	if (!hashindex_reserve(&q->tuples, &q->memory->budget))
		return NULL;
	item = pool_alloc(&q->memory->entries);
	if (!item)
		return NULL;
	*source = holdq_source_get(q, source_key);
	if (!*source) {
		pool_release(&q->memory->entries, item);
		return NULL;
	}
	return item;
}

static void holdq_enter(struct holdq *q, struct holdq_item *item, struct holdq_source *source,
			const struct holdq_syn *syn, uint64_t hash)
{
	struct holdq_entry *e = &item->entry;

	*item = (struct holdq_item){
		.entry =
			{
				.tuple = syn->tuple,
				.attempts = syn->proved_ns ? 2 : 1,
				/* at most: with doubling gaps the last one was half of it */
				.gap_ns = syn->proved_ns,
				.source = syn->source,
				.first_ns = syn->seen_ns,
				.share_hash = syn->share_hash,
				.weight = syn->weight ? syn->weight : 1,
				.wait = syn->wait,
			},
		.link.hash = hash,
		.order = {.seq = q->seq, .priority = holdq_random(q)},
		.due = {.seq = q->seq, .priority = holdq_random(q)},
	};
	q->seq++;
	frame_get_seq(syn->frame, syn->frame_len, syn->l4_offset, &e->seq);
	holdq_store_frame(e, syn, true);
	holdq_source_link(source, item);
	hashindex_insert(&q->tuples, &q->memory->budget, &item->link);
	holdq_due_link(q, item);
	holdq_order_link(q, item);
	q->counters.entered++;
	q->counters.held++;
}

int holdq_offer(struct holdq *q, const struct holdq_syn *syn, uint64_t now_ns, struct holdq_entry **entry)
{
	uint64_t hash = tuplehash(&syn->tuple, q->seed);
	struct holdq_source *source;
	struct holdq_item *item;

	if (syn->frame_len > SYNHOLD_FRAME_LEN || syn->l3_offset > syn->l4_offset || syn->l4_offset > syn->frame_len ||
	    syn->wait >= HOLDQ_WAIT_COUNT)
		return -EINVAL;

	item = holdq_lookup(q, &syn->tuple, hash);
	if (item) {
		holdq_refresh(q, item, syn);
		if (entry)
			*entry = &item->entry;
		return HOLDQ_REFRESHED;
	}

	while ((source = holdq_source_find(q, syn->source)) && source->count >= holdq_source_max(&q->config)) {
		if (!holdq_item_overdue(source->first, now_ns)) {
			q->counters.entered++;
			q->counters.discarded[SYNHOLD_DISCARD_SOURCE_CAP]++;
			return HOLDQ_SOURCE_CAP;
		}
		holdq_item_expire(q, source->first, now_ns);
	}

	while (q->counters.held >= q->config.max) {
		if (!holdq_evict(q, now_ns))
			goto full;
	}
	while (!(item = holdq_item_new(q, syn->source, &source))) {
		if (!holdq_evict(q, now_ns))
			goto full;
	}
	holdq_enter(q, item, source, syn, hash);
	if (entry)
		*entry = &item->entry;
	return HOLDQ_ENTERED;

full:
	q->counters.refused_full++;
	return HOLDQ_FULL;
}
