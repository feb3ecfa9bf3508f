/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random numbers that a seed repeats (Marsaglia 2003, xorshift64). The state must not be 0. */
#ifndef SYNHOLD_TESTS_RANDOM_H
#define SYNHOLD_TESTS_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline uint64_t random_below(uint64_t *state, uint64_t below)
{
	return random_next(state) % below;
}

/* Better in its upper bits: xorshift64* (Vigna 2016). */
static inline uint64_t random_draw(uint64_t *state)
{
	return random_next(state) * 0x2545f4914f6cdd1dULL;
}

#endif
