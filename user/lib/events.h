/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Verdicts as they are given, at a limited rate: ring `events`, written only while a reader has a lease. One reader at
 * a time: a ring has one end. A reader that dies leaves a lease of EVENTS_LEASE_NS at most.
 */
#ifndef SYNHOLD_LIB_EVENTS_H
#define SYNHOLD_LIB_EVENTS_H

#include <stdint.h>

#include <synhold/abi.h>

#include "lib/error.h"

struct instance;
struct events;

#define EVENTS_LEASE_NS 2000000000ULL
#define EVENTS_RATE_PPS 200U /* of a CPU, by default */

struct events_options {
	uint32_t rate_pps; /* most records a second of a CPU, and as many at once; 0 = EVENTS_RATE_PPS */
	uint32_t verdicts; /* 1 << enum synhold_verdict, or-ed; 0 = all */
	int service;       /* id, or -1 = all */
	uint8_t addr[16];  /* with prefixlen > 0: only these sources, mapped */
	uint8_t prefixlen; /* 0 = all */
};

/* File descriptors of the maps. */
struct events_maps {
	int ring, tap, state;
	unsigned int cpus; /* possible ones */
};
struct events_maps events_maps_of(const struct instance *inst);

/* Switches the feed on; what an earlier reader left is thrown away. 0; -EBUSY naming the pid that reads; -ENOMEM;
 * -errno. */
int events_open(struct events **ev, const struct events_maps *maps, const struct events_options *options,
		struct error *err);
/* Waits up to timeout_ms (at most half a lease) and calls fn for each record. Renews the lease: call it at least once a
 * second. The number of records, or -errno. */
int events_poll(struct events *ev, int timeout_ms, void (*fn)(void *ctx, const struct synhold_event *event), void *ctx);
/* Records that the rate left out since events_open(). */
uint64_t events_suppressed(const struct events *ev);
/* Switches the feed off. */
void events_close(struct events *ev);

#endif
