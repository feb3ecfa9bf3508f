// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/compare.h"

/*
 * Trello, 2016: a third of all websockets dropped at once, the clients reconnected without back-off, and
 * the servers spent 26 minutes on connections whose clients had given up on them.
 */
static const struct drill_params trello_defaults = {
	.name = "trello",
	.clients = 6000,
	.patience_ns = 5000000000,
	.retry = {.kind = RETRY_FIXED, .base_ns = 1000000000},
	.rtt_min_ns = 10000000,
	.rtt_max_ns = 100000000,
	.cost_ns = 2000000,
	.seed = 1,
	.port = 8000,
};

/* Only at its own defaults does the drill claim that the storm melts the server. */
static bool trello_must_collapse(const struct drill_params *p)
{
	const struct drill_params *d = &trello_defaults;

	return p->clients == d->clients && p->patience_ns == d->patience_ns && p->retry.kind == d->retry.kind &&
	       p->retry.base_ns == d->retry.base_ns && p->rtt_min_ns == d->rtt_min_ns &&
	       p->rtt_max_ns == d->rtt_max_ns && p->cost_ns == d->cost_ns && p->lazy == d->lazy && !p->seconds;
}

static int trello_run(const struct drill_params *params)
{
	return compare_run(params, trello_must_collapse(params));
}

const struct drill drill_trello = {
	.name = "trello",
	.doc = "every client reconnects at once; each connection costs the server CPU time; impatient "
	       "clients retry",
	.defaults = &trello_defaults,
	.run = trello_run,
};
