/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_WAN_H
#define DRILL_WAN_H

#include "drill/world.h"

/*
 * The delay line: an actor that carries packets between the two TUN devices, each pair of addresses with a
 * fixed one-way delay of its own. (In user space because netem is a module that many kernels lack.)
 */
int wan_actor(struct world *world, int ctl, const void *arg);

/* One-way delay of the client behind the address (host order), from the run's seed. */
uint64_t wan_delay_ns(const struct drill_params *params, uint32_t client_addr);

#endif
