/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sources that were refused because of themselves, by name: over their own rate (counted by the data plane), or holding
 * all the places that one source may have (counted by the daemon). Heavy ones keep their place whatever the number of
 * light ones; see bpf/offender.h.
 */
#ifndef SYNHOLD_LIB_OFFENDERS_H
#define SYNHOLD_LIB_OFFENDERS_H

#include <stddef.h>
#include <stdint.h>

#include <synhold/abi.h>

struct instance;

#define OFFENDERS_SHOWN 16
#define OFFENDERS_FORGET_NS 600000000000ULL /* not refused for this long: no offender any more */

struct offender {
	uint8_t addr[16]; /* cut to the service's source prefix, mapped */
	uint8_t prefixlen;
	uint64_t refused; /* since it is known; never too many */
	uint64_t last_ns;
};

/* The same as the data plane does, for the daemon's own map. source: keyed hash of the aggregated source. */
void offenders_refused(struct synhold_offender_set *sets, uint64_t source, const uint8_t addr[16], uint32_t service,
		       uint64_t now_ns, uint32_t random);

/* All that the maps know; to be freed. NULL with *set_count 0 when out of memory. */
struct synhold_offender_set *offenders_load(const struct instance *inst, size_t *set_count);
/* Those of one service, the most refused first. Returns how many. */
size_t offenders_of(const struct synhold_offender_set *sets, size_t set_count, uint32_t service,
		    const struct synhold_policy *pol, uint64_t now_ns, struct offender list[OFFENDERS_SHOWN]);

/* The place goes to a service of another name. */
void offenders_forget(struct instance *inst, uint32_t service);

#endif
