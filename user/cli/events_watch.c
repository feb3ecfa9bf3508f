// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/events_watch.h"

#include <string.h>

#include "lib/units.h"

/* FNV-1a over the address: only to know it again, within one service's short list. */
static uint64_t name_of(const struct offender *o)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (unsigned int i = 0; i < sizeof(o->addr); i++)
		hash = (hash ^ o->addr[i]) * 0x100000001b3ULL;
	return hash | 1; /* 0 is nobody */
}

/* Where the source is noted, or the place of the one that was told of least. */
static unsigned int place_of(const struct events_watch *watch, unsigned int id, uint64_t who)
{
	unsigned int least = 0;

	for (unsigned int i = 0; i < OFFENDERS_SHOWN; i++) {
		if (watch->who[id][i] == who)
			return i;
		if (watch->told[id][i] < watch->told[id][least])
			least = i;
	}
	return least;
}

static void watch_offenders(struct events_watch *watch, const struct snapshot_service *svc, int tell,
			    void (*fn)(void *, const struct events_change *), void *ctx)
{
	for (size_t i = 0; i < svc->offender_count; i++) {
		const struct offender *o = &svc->offender[i];
		uint64_t who = name_of(o);
		unsigned int place = place_of(watch, svc->id, who);
		int known = watch->who[svc->id][place] == who;
		char source[64];

		if (known && o->refused < 2 * watch->told[svc->id][place])
			continue;
		watch->who[svc->id][place] = who;
		watch->told[svc->id][place] = o->refused;
		units_format_cidr(source, sizeof(source), o->addr, o->prefixlen);
		if (tell)
			fn(ctx, &(struct events_change){.kind = EVENTS_OFFENDER,
							.service = svc->policy.name,
							.source = source,
							.refused = o->refused});
	}
}

void events_watch(struct events_watch *watch, const struct snapshot *snap, const char *service,
		  void (*fn)(void *ctx, const struct events_change *change), void *ctx)
{
	for (unsigned int i = 0; i < snap->service_count; i++) {
		const struct snapshot_service *svc = &snap->service[i];
		unsigned int id = svc->id;
		int known = !strcmp(watch->name[id], svc->policy.name);

		if (service && strcmp(service, svc->policy.name))
			continue;
		if (!known) {
			memset(watch->who[id], 0, sizeof(watch->who[id]));
			memset(watch->told[id], 0, sizeof(watch->told[id]));
		}
		if (watch->begun && (!known || watch->state[id] != svc->state))
			fn(ctx, &(struct events_change){.kind = EVENTS_STATE,
							.service = svc->policy.name,
							.from = known ? snapshot_state_name(watch->state[id]) : "",
							.to = snapshot_state_name(svc->state)});
		watch_offenders(watch, svc, watch->begun, fn, ctx);
		memcpy(watch->name[id], svc->policy.name, sizeof(watch->name[id]));
		watch->state[id] = svc->state;
	}
	watch->begun = 1;
}
