// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The order of release that is the default, against the others on simulated fleets: a small version of
 * tests/bench/order.c, whose full tables are in docs/control.md.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fleet_list.h"

#define CLIENTS 3000 /* six seconds of the server: more than the patience of most */
#define SEEDS 2

static struct fleet_list list;

/* Mean over the seeds: the 99th percentile of the wait over the ideal time of the drain. */
static double wait_ratio(const struct fleet_config *fleet, const struct holdq_config *queue, unsigned int young_percent,
			 double *failures)
{
	struct fleet_config config = *fleet;
	struct fleet_result result;
	double sum = 0;

	config.queue = *queue;
	config.young_percent = young_percent;
	*failures = 0;
	for (config.seed = 1; config.seed <= SEEDS; config.seed++) {
		assert_int_equal(fleet_run(&config, &result), 0);
		sum += result.wait_p99_s / result.ideal_s / SEEDS;
		*failures += result.failures / SEEDS;
	}
	return sum;
}

/* Wait and failures of the default, against the best of some orders: at most `factor` worse, and 0.15 failures more. */
static void check_default(const struct fleet_config *fleet, double factor)
{
	static const enum fleet_order_id others[] = {FLEET_ORDER_OLDEST, FLEET_ORDER_70, FLEET_ORDER_100,
						     FLEET_ORDER_NEWEST, FLEET_ORDER_YOUNG};
	const struct holdq_config standard = HOLDQ_CONFIG_DEFAULT;
	double failures, own_failures, own = wait_ratio(fleet, &standard, 0, &own_failures);
	double best = own, least = own_failures;

	for (unsigned int o = 0; o < sizeof(others) / sizeof(others[0]); o++) {
		const struct fleet_order *order = &fleet_orders[others[o]];
		double ratio = wait_ratio(fleet, &order->queue, order->young_percent, &failures);

		best = ratio < best ? ratio : best;
		least = failures < least ? failures : least;
	}
	print_message("%5u %-34s wait %.2f of the ideal, best order %.2f; failures %.2f, least %.2f\n", fleet->clients,
		      fleet->name, own, best, own_failures, least);
	assert_true(own <= factor * best);
	assert_true(own_failures <= least + 0.15);
}

static void test_default_is_near_the_best_on_the_mixed_fleet(void **state)
{
	(void)state;
	fleet_list_fill(&list, 2 * CLIENTS, false);
	for (unsigned int f = list.count - 2; f < list.count; f++)
		check_default(&list.fleet[f], 1.04);
}

/*
 * Herds that are served in about the time that clients are patient are where the oldest first may do better: up to 9 %
 * was seen, with patience of 3 to 60 s and a second between tries.
 */
static void test_default_is_never_far_from_the_best(void **state)
{
	(void)state;
	fleet_list_fill(&list, CLIENTS, false);
	for (unsigned int f = 0; f < list.count; f++)
		check_default(&list.fleet[f], 1.15);
}

/* What the order is there for: first come, first served wastes the server on clients that are about to leave. */
static void test_oldest_first_fails_the_impatient(void **state)
{
	const struct holdq_config standard = HOLDQ_CONFIG_DEFAULT;
	double failures, oldest;

	(void)state;
	fleet_list_fill(&list, 2 * CLIENTS, false);
	oldest = wait_ratio(&list.fleet[0], &fleet_orders[FLEET_ORDER_OLDEST].queue, 0, &failures);
	assert_true(oldest > 1.25 * wait_ratio(&list.fleet[0], &standard, 0, &failures));
}

/* The simulation itself: what comes in comes out, the same each time, and nobody is served faster than can be. */
static void test_simulation(void **state)
{
	struct fleet_config config;
	struct fleet_result first, again;

	(void)state;
	fleet_list_fill(&list, 1000, false);
	config = list.fleet[0];
	config.queue = (struct holdq_config)HOLDQ_CONFIG_DEFAULT;
	config.seed = 5;
	assert_int_equal(fleet_run(&config, &first), 0);
	assert_int_equal(fleet_run(&config, &again), 0);
	assert_memory_equal(&first, &again, sizeof(first));
	assert_int_equal(first.served, config.clients);
	assert_true(first.drain_s >= first.ideal_s * 0.97);
	assert_int_equal(first.gone_wrong, 0);
	/* a server that keeps up has no queue, and nobody gives up */
	config.capacity = 100000;
	config.workers = 200;
	assert_int_equal(fleet_run(&config, &first), 0);
	assert_true(first.failures == 0);
	assert_true(first.wait_p99_s < 1);
	config.workers = 0;
	assert_true(fleet_run(&config, &first) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_simulation),
		cmocka_unit_test(test_oldest_first_fails_the_impatient),
		cmocka_unit_test(test_default_is_near_the_best_on_the_mixed_fleet),
		cmocka_unit_test(test_default_is_never_far_from_the_best),
	};

	return cmocka_run_group_tests_name("order_law", tests, NULL, NULL);
}
