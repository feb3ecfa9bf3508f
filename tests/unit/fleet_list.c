// SPDX-License-Identifier: GPL-2.0-or-later
#include "fleet_list.h"

#include <stdio.h>
#include <string.h>

#define FLEET_CAPACITY 500.0
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MIXED(percent)                                                                                            \
	{                                                                                                         \
		.max = 65536, .order = HOLDQ_MIXED, .newest_percent = (percent), .oldest_until_ns = 2000000000ULL \
	}

const struct fleet_order fleet_orders[FLEET_ORDER_COUNT] = {
	[FLEET_ORDER_OLDEST] = {.name = "oldest", .queue = MIXED(0)},
	[FLEET_ORDER_50] = {.name = "50 %", .queue = MIXED(50)},
	[FLEET_ORDER_70] = {.name = "70 %", .queue = MIXED(70)},
	[FLEET_ORDER_85] = {.name = "85 %", .queue = MIXED(85)},
	[FLEET_ORDER_95] = {.name = "95 %", .queue = MIXED(95)},
	[FLEET_ORDER_100] = {.name = "100 %", .queue = MIXED(100)},
	[FLEET_ORDER_NEWEST] = {.name = "newest", .queue = {.max = 65536, .order = HOLDQ_NEWEST}},
	[FLEET_ORDER_YOUNG] = {.name = "learned", .queue = MIXED(85), .young_percent = 75},
};

static const struct {
	const char *name;
	double s[FLEET_PATIENCES];
} patiences[] = {{"3 s", {3}}, {"5 s", {5}}, {"60 s", {60}}, {"3/5/10/60 s", {3, 5, 10, 60}}};

static const struct {
	const char *name;
	struct retry_policy policy;
} retries[] = {
	{"now", {.kind = RETRY_NOW}},
	{"1 s", {.kind = RETRY_FIXED, .base_ns = 1000000000ULL}},
	{"exp", {.kind = RETRY_EXP, .base_ns = 500000000ULL, .max_ns = 30000000000ULL}},
	{"jitter", {.kind = RETRY_EXP_JITTER, .base_ns = 500000000ULL, .max_ns = 30000000000ULL}},
};

static const struct {
	const char *name;
	double min_s, max_s;
} distances[] = {{"1-200 ms", 0.001, 0.2}, {"1 ms", 0.001, 0.001}, {"200 ms", 0.2, 0.2}};

static const struct {
	const char *name;
	enum fleet_schedule schedule;
} schedules[] = {{"new", FLEET_NEW}, {"old", FLEET_OLD}};

static struct fleet_config *fleet_add(struct fleet_list *list, uint32_t clients)
{
	struct fleet_config *fleet = &list->fleet[list->count];

	*fleet = (struct fleet_config){
		.name = list->name[list->count],
		.clients = clients,
		.spread_s = 0.3,
		.rtt_min_s = distances[0].min_s,
		.rtt_max_s = distances[0].max_s,
		.capacity = FLEET_CAPACITY,
		.workers = 4,
		.horizon_s = 4 * clients / FLEET_CAPACITY,
	};
	list->count++;
	return fleet;
}

/* Everybody of them, all together; and on busy machines, whose timers come late. */
static void fleet_list_mixed(struct fleet_list *list, uint32_t clients)
{
	static const char *const names[] = {"all kinds mixed", "all kinds mixed, late timers"};

	for (unsigned int i = 0; i < COUNT(names); i++) {
		struct fleet_config *fleet = fleet_add(list, clients);

		snprintf(list->name[list->count - 1], FLEET_NAME_LEN, "%s", names[i]);
		memcpy(fleet->patience_s, patiences[3].s, sizeof(fleet->patience_s));
		fleet->retry_mixed = true;
		fleet->schedule = FLEET_BOTH;
		fleet->timer_late_s = i == 1 ? 0.08 : 0;
	}
}

void fleet_list_fill(struct fleet_list *list, uint32_t clients, bool all)
{
	list->count = 0;
	for (unsigned int i = 0; i < COUNT(patiences) * COUNT(retries) * COUNT(distances) * COUNT(schedules); i++) {
		unsigned int s = i % COUNT(schedules), d = i / COUNT(schedules) % COUNT(distances),
			     r = i / COUNT(schedules) / COUNT(distances) % COUNT(retries),
			     p = i / COUNT(schedules) / COUNT(distances) / COUNT(retries);
		struct fleet_config *fleet;

		/* of the few: each kind of clients, then what distance does, and the schedule, to the hasty ones */
		if (!all && (d || s) && (r || p > 1 || (d && s)))
			continue;
		fleet = fleet_add(list, clients);
		snprintf(list->name[list->count - 1], FLEET_NAME_LEN, "%s, %s, %s, %s", patiences[p].name,
			 retries[r].name, distances[d].name, schedules[s].name);
		memcpy(fleet->patience_s, patiences[p].s, sizeof(fleet->patience_s));
		fleet->retry = retries[r].policy;
		fleet->rtt_min_s = distances[d].min_s;
		fleet->rtt_max_s = distances[d].max_s;
		fleet->schedule = schedules[s].schedule;
	}
	fleet_list_mixed(list, clients);
}
