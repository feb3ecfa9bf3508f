/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fleets and the orders that are measured against one another. */
#ifndef SYNHOLD_TESTS_FLEET_LIST_H
#define SYNHOLD_TESTS_FLEET_LIST_H

#include "fleet.h"

#define FLEET_LIST_MAX 128
#define FLEET_NAME_LEN 48

struct fleet_order {
	const char *name;
	struct holdq_config queue;
	unsigned int young_percent;
};

enum fleet_order_id {
	FLEET_ORDER_OLDEST,
	FLEET_ORDER_50,
	FLEET_ORDER_70,
	FLEET_ORDER_85,
	FLEET_ORDER_95,
	FLEET_ORDER_100,
	FLEET_ORDER_NEWEST,
	FLEET_ORDER_YOUNG,
	FLEET_ORDER_COUNT
};

struct fleet_list {
	struct fleet_config fleet[FLEET_LIST_MAX];
	char name[FLEET_LIST_MAX][FLEET_NAME_LEN];
	unsigned int count;
};

extern const struct fleet_order fleet_orders[FLEET_ORDER_COUNT];

/*
 * The storms of `clients` against a server of 500 a second: a chosen few, or `all` combinations. list->fleet[].name
 * points into the list: it must stay where it is.
 */
void fleet_list_fill(struct fleet_list *list, uint32_t clients, bool all);

#endif
