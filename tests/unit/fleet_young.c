// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The order that the hold queue could learn and does not: the oldest of those well below the age at which clients give
 * up. Here to be measured beside the queue's own (docs/control.md has the result).
 */
#include <string.h>

#include "fleet_impl.h"

#define FLEET_AGE_NS 125000000ULL
#define FLEET_LEFT_ENOUGH 20  /* fewer say nothing about the others */
#define FLEET_LEFT_FULL 1024  /* then all are halved: a fleet changes */
#define FLEET_LEFT_PERCENT 10 /* the quantile */

struct synhold_tuple fleet_tuple(uint32_t id)
{
	struct synhold_tuple tuple = {.saddr = {[10] = 0xff, [11] = 0xff}, .dport = 443};

	memcpy(tuple.saddr + 12, &id, sizeof(id));
	return tuple;
}

uint32_t fleet_id(const struct holdq_entry *e)
{
	uint32_t id;

	memcpy(&id, e->tuple.saddr + 12, sizeof(id));
	return id;
}

void fleet_young_entered(struct fleet *f, uint32_t id)
{
	if (!f->config->young_percent ||
	    !fleet_room(f, &f->entered, &f->entered_room, f->entered_count, sizeof(*f->entered)))
		return;
	f->entered[f->entered_count++] = (struct fleet_entered){.at_ns = f->now_ns, .id = id};
}

void fleet_young_learn(struct fleet *f, uint64_t age_ns)
{
	uint64_t bucket = age_ns / FLEET_AGE_NS;
	uint32_t below = 0, i;

	f->left[bucket < FLEET_AGES ? bucket : FLEET_AGES - 1]++;
	if (++f->left_total >= FLEET_LEFT_FULL) {
		for (f->left_total = 0, i = 0; i < FLEET_AGES; i++)
			f->left_total += f->left[i] /= 2;
	}
	if (f->left_total < FLEET_LEFT_ENOUGH)
		return;
	for (i = 0; i < FLEET_AGES - 1; i++) {
		below += f->left[i];
		if (below * 100ULL > f->left_total * (uint64_t)FLEET_LEFT_PERCENT)
			break;
	}
	f->result->patience_ns = i * FLEET_AGE_NS;
}

struct holdq_entry *fleet_young_next(struct fleet *f)
{
	uint64_t below_ns = f->result->patience_ns / 100 * f->config->young_percent;
	size_t low = 0, high = f->entered_count;
	struct holdq_entry *e;

	if (!below_ns || f->now_ns - holdq_oldest_ns(f->queue) < f->config->queue.oldest_until_ns)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->entered[middle].at_ns + below_ns > f->now_ns)
			high = middle;
		else
			low = middle + 1;
	}
	for (; low < f->entered_count; low++) {
		const struct synhold_tuple tuple = fleet_tuple(f->entered[low].id);

		if (f->attempt[f->entered[low].id].shield_side != FLEET_HELD)
			continue;
		e = holdq_find(f->queue, &tuple);
		if (e && holdq_overdue_ns(e) > f->now_ns)
			return e;
	}
	return NULL;
}
