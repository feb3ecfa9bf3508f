// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Orders of release against fleets of clients, in simulated time through the real hold queue, gate and controller
 * (tests/unit/fleet.h says what is simulated). Prints what docs/control.md quotes. tests/bench/order.sh builds and runs
 * it.
 */
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/fleet_list.h"

struct order_cell {
	double drain, drain_worst; /* divided by the ideal */
	double wait_p99_s;
	double failures;
	double wasted, stale, gone_wrong; /* per client */
	uint32_t unserved;                /* of all runs */
};

struct order_table {
	struct fleet_list list;
	unsigned int seeds;
	struct order_cell cell[FLEET_LIST_MAX][FLEET_ORDER_COUNT];
};

static int order_measure(struct order_table *table, unsigned int fleet, unsigned int order)
{
	struct fleet_config config = table->list.fleet[fleet];
	struct order_cell *cell = &table->cell[fleet][order];
	struct fleet_result result;

	config.queue = fleet_orders[order].queue;
	config.young_percent = fleet_orders[order].young_percent;
	for (unsigned int seed = 1; seed <= table->seeds; seed++) {
		double drain, each = 1.0 / table->seeds;
		int err;

		config.seed = seed;
		err = fleet_run(&config, &result);
		if (err)
			return err;
		drain = result.drain_s / result.ideal_s;
		cell->drain += drain * each;
		if (drain > cell->drain_worst)
			cell->drain_worst = drain;
		cell->wait_p99_s += result.wait_p99_s * each;
		cell->failures += result.failures * each;
		cell->wasted += (double)result.wasted / config.clients * each;
		cell->stale += (double)result.stale / config.clients * each;
		cell->gone_wrong += (double)result.gone_wrong / config.clients * each;
		cell->unserved += config.clients - result.served;
	}
	return 0;
}

static void order_heading(const char *what)
{
	printf("\n%s\n%-32s", what, "clients");
	for (unsigned int o = 0; o < FLEET_ORDER_COUNT; o++)
		printf(" %11s", fleet_orders[o].name);
	putchar('\n');
}

/* Where not all were served, what is printed is the end of the run: at least that. */
static void order_print(const struct order_table *table)
{
	double sum[FLEET_ORDER_COUNT] = {0}, worst[FLEET_ORDER_COUNT] = {0};

	order_heading("drain / ideal: mean (worst seed); ! not all were served in four times the ideal");
	for (unsigned int f = 0; f < table->list.count; f++) {
		double best = table->cell[f][0].wait_p99_s;

		printf("%-32s", table->list.name[f]);
		for (unsigned int o = 0; o < FLEET_ORDER_COUNT; o++) {
			const struct order_cell *cell = &table->cell[f][o];

			printf(" %c%4.2f(%4.2f)", cell->unserved ? '!' : ' ', cell->drain, cell->drain_worst);
			if (cell->wait_p99_s < best)
				best = cell->wait_p99_s;
		}
		putchar('\n');
		for (unsigned int o = 0; o < FLEET_ORDER_COUNT; o++) {
			double ratio = table->cell[f][o].wait_p99_s / best;

			sum[o] += ratio / table->list.count;
			if (ratio > worst[o])
				worst[o] = ratio;
		}
	}
	order_heading("99th percentile of the wait, s / failures of a client");
	for (unsigned int f = 0; f < table->list.count; f++) {
		printf("%-32s", table->list.name[f]);
		for (unsigned int o = 0; o < FLEET_ORDER_COUNT; o++)
			printf(" %5.1f /%4.1f", table->cell[f][o].wait_p99_s, table->cell[f][o].failures);
		putchar('\n');
	}
	order_heading("that wait over the best order's of each fleet");
	printf("%-32s", "mean");
	for (unsigned int o = 0; o < FLEET_ORDER_COUNT; o++)
		printf(" %11.3f", sum[o]);
	printf("\n%-32s", "worst");
	for (unsigned int o = 0; o < FLEET_ORDER_COUNT; o++)
		printf(" %11.3f", worst[o]);
	putchar('\n');
}

static int order_print_json(const struct order_table *table)
{
	json_t *rows = json_array();
	int err;

	for (unsigned int f = 0; f < table->list.count; f++) {
		for (unsigned int o = 0; o < FLEET_ORDER_COUNT; o++) {
			const struct order_cell *cell = &table->cell[f][o];

			json_array_append_new(rows, json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:i}",
							      "clients", table->list.name[f], "order",
							      fleet_orders[o].name, "drain", cell->drain, "drain_worst",
							      cell->drain_worst, "wait_p99_seconds", cell->wait_p99_s,
							      "failures", cell->failures, "wasted", cell->wasted,
							      "stale", cell->stale, "gone_wrong", cell->gone_wrong,
							      "unserved", (int)cell->unserved));
		}
	}
	err = json_dumpf(rows, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(4));
	putchar('\n');
	json_decref(rows);
	return err;
}

static int order_usage(void)
{
	fprintf(stderr, "usage: order [--all] [--json] [--clients N] [--seeds N]\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"all", no_argument, NULL, 'a'},
						{"json", no_argument, NULL, 'j'},
						{"clients", required_argument, NULL, 'c'},
						{"seeds", required_argument, NULL, 's'},
						{0}};
	struct order_table *table = calloc(1, sizeof(*table));
	unsigned long clients = 6000, seeds = 2;
	bool all = false, json = false;
	int option, err = 0;

	if (!table)
		return 1;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'a')
			all = true;
		else if (option == 'j')
			json = true;
		else if (option == 'c')
			clients = strtoul(optarg, NULL, 10);
		else if (option == 's')
			seeds = strtoul(optarg, NULL, 10);
		else
			return order_usage();
	}
	if (optind != argc || !clients || clients > 100000 || !seeds || seeds > 1000)
		return order_usage();
	table->seeds = (unsigned int)seeds;
	fleet_list_fill(&table->list, (uint32_t)clients, all);
	for (unsigned int f = 0; f < table->list.count && !err; f++) {
		for (unsigned int o = 0; o < FLEET_ORDER_COUNT && !err; o++)
			err = order_measure(table, f, o);
	}
	if (err)
		fprintf(stderr, "order: %s\n", strerror(-err));
	else if (json)
		err = order_print_json(table);
	else
		order_print(table);
	free(table);
	return err ? 1 : 0;
}
