/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two simulated storms (plant.h, fleet.h) have in common: randomness from a seed, and counting delays. */
#ifndef SYNHOLD_TESTS_SIM_H
#define SYNHOLD_TESTS_SIM_H

#include <stdint.h>

#include "synhold/abi.h"

/* splitmix64 (Steele, Lea and Flood, 2014); *state begins as the seed */
static inline uint64_t sim_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* From 0 up to, but not including, 1. */
static inline double sim_uniform(uint64_t *state)
{
	return (double)(sim_random(state) >> 11) / 9007199254740992.0;
}

/* Into the bucket that the programs would count it in. */
static inline void sim_count_delay(uint64_t histogram[SYNHOLD_HIST_BUCKETS], uint64_t delay_ns)
{
	unsigned int octave, shift = SYNHOLD_HIST_MIN_SHIFT;

	if (delay_ns < 1ULL << shift) {
		histogram[0]++;
		return;
	}
	octave = 63 - (unsigned int)__builtin_clzll(delay_ns);
	if (octave >= shift + SYNHOLD_HIST_OCTAVES)
		histogram[SYNHOLD_HIST_BUCKETS - 1]++;
	else
		histogram[1 + (octave - shift) * 4 + ((delay_ns >> (octave - 2)) & 3)]++;
}

#endif
