/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_LATENCY_H
#define DRILL_LATENCY_H

#include <stdint.h>

/*
 * A histogram of delays that several processes may add to: 8 buckets an octave from 64 µs on, so a quantile is at most
 * 9 % too high. Longer than 2 hours counts as 2 hours.
 */
#define LATENCY_BUCKETS 216

struct latency {
	uint64_t bucket[LATENCY_BUCKETS];
	uint64_t longest_ns;
};

void latency_add(struct latency *latency, uint64_t ns);

/* The delay in ns that the given part (0 to 1) of all do not exceed, rounded up to a bucket's end; 0 without any. */
uint64_t latency_quantile_ns(const struct latency *latency, double part);

uint64_t latency_count(const struct latency *latency);

#endif
