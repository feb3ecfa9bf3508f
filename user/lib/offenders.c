// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/offenders.h"

#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "lib/instance.h"

void offenders_refused(struct synhold_offender_set *sets, uint64_t source, const uint8_t addr[16], uint32_t service,
		       uint64_t now_ns, uint32_t random)
{
	struct synhold_offender_set *set = &sets[(source >> 20) % SYNHOLD_OFFENDER_SETS];
	struct synhold_offender *lightest = NULL;
	uint64_t least = UINT64_MAX;

	for (struct synhold_offender *place = set->place; place < set->place + SYNHOLD_OFFENDER_WAYS; place++) {
		uint64_t weight = place->last_ns + OFFENDERS_FORGET_NS < now_ns ? 0 : place->weight;

		if (place->source == source && place->service == service) {
			place->refused++;
			place->weight++;
			place->last_ns = now_ns;
			return;
		}
		if (weight < least) {
			least = weight;
			lightest = place;
		}
	}
	if (!lightest || least >= 1ULL << 31 || (random * (least + 1)) >> 32)
		return;
	*lightest = (struct synhold_offender){
		.source = source, .refused = 1, .weight = least + 1, .last_ns = now_ns, .service = service};
	memcpy(lightest->addr, addr, sizeof(lightest->addr));
}

/* The address as the policy aggregates it. */
static void cut(struct offender *to, const uint8_t addr[16], const struct synhold_policy *pol)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	unsigned int bits = memcmp(addr, mapped, sizeof(mapped)) ? pol->source_prefix6 : pol->source_prefix4 + 96U;

	to->prefixlen = (uint8_t)bits;
	for (unsigned int i = 0; i < 16; i++) {
		unsigned int keep = bits > i * 8 ? bits - i * 8 : 0;

		to->addr[i] = keep >= 8 ? addr[i] : (uint8_t)(addr[i] & ~(0xff >> keep));
	}
}

static int by_address(const void *a, const void *b)
{
	const struct offender *x = a, *y = b;

	return memcmp(x->addr, y->addr, sizeof(x->addr));
}

static int by_refused(const void *a, const void *b)
{
	const struct offender *x = a, *y = b;

	if (x->refused != y->refused)
		return x->refused < y->refused ? 1 : -1;
	return memcmp(x->addr, y->addr, sizeof(x->addr));
}

/* Makes one of those that several CPUs have seen. */
static size_t merge(struct offender *list, size_t count)
{
	size_t kept = 0;

	qsort(list, count, sizeof(*list), by_address);
	for (size_t i = 0; i < count; i++) {
		if (kept && !memcmp(list[kept - 1].addr, list[i].addr, sizeof(list[i].addr))) {
			list[kept - 1].refused += list[i].refused;
			if (list[i].last_ns > list[kept - 1].last_ns)
				list[kept - 1].last_ns = list[i].last_ns;
		} else {
			list[kept++] = list[i];
		}
	}
	return kept;
}

size_t offenders_of(const struct synhold_offender_set *sets, size_t set_count, uint32_t service,
		    const struct synhold_policy *pol, uint64_t now_ns, struct offender list[OFFENDERS_SHOWN])
{
	const struct synhold_offender *place = set_count ? sets->place : NULL;
	struct offender *all = calloc(set_count * SYNHOLD_OFFENDER_WAYS + 1, sizeof(*all));
	size_t count = 0;

	for (size_t i = 0; all && i < set_count * SYNHOLD_OFFENDER_WAYS; i++, place++) {
		if (!place->refused || place->service != service || place->last_ns + OFFENDERS_FORGET_NS < now_ns)
			continue;
		cut(&all[count], place->addr, pol);
		all[count].refused = place->refused;
		all[count++].last_ns = place->last_ns;
	}
	if (count) {
		count = merge(all, count);
		qsort(all, count, sizeof(*all), by_refused);
		count = count < OFFENDERS_SHOWN ? count : OFFENDERS_SHOWN;
		memcpy(list, all, count * sizeof(*all));
	}
	free(all);
	return count;
}

struct synhold_offender_set *offenders_load(const struct instance *inst, size_t *set_count)
{
	struct synhold_offender_set *sets = calloc((size_t)SYNHOLD_OFFENDER_SETS * (inst->cpus + 1), sizeof(*sets)),
				    *at = sets;

	*set_count = 0;
	for (uint32_t i = 0; sets && i < SYNHOLD_OFFENDER_SETS; i++) {
		*at++ = inst->capped[i];
		if (!bpf_map_lookup_elem(inst->map[INSTANCE_MAP_OFFENDERS], &i, at))
			at += inst->cpus;
	}
	if (sets)
		*set_count = (size_t)(at - sets);
	return sets;
}

static void forget(struct synhold_offender_set *set, uint32_t service)
{
	for (unsigned int i = 0; i < SYNHOLD_OFFENDER_WAYS; i++)
		if (set->place[i].service == service)
			memset(&set->place[i], 0, sizeof(set->place[i]));
}

void offenders_forget(struct instance *inst, uint32_t service)
{
	struct synhold_offender_set *cpus = calloc(inst->cpus, sizeof(*cpus));

	for (uint32_t i = 0; cpus && i < SYNHOLD_OFFENDER_SETS; i++) {
		forget(&inst->capped[i], service);
		if (bpf_map_lookup_elem(inst->map[INSTANCE_MAP_OFFENDERS], &i, cpus))
			continue;
		for (unsigned int cpu = 0; cpu < inst->cpus; cpu++)
			forget(&cpus[cpu], service);
		bpf_map_update_elem(inst->map[INSTANCE_MAP_OFFENDERS], &i, cpus, BPF_ANY);
	}
	free(cpus);
}
