/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012; the reduced rounds are those
 * that the Linux kernel uses for hash tables) of a connection. Keyed, because attackers choose addresses and
 * ports.
 */
#ifndef SYNHOLD_DAEMON_TUPLEHASH_H
#define SYNHOLD_DAEMON_TUPLEHASH_H

#include <stdint.h>
#include <string.h>

#include <synhold/abi.h>

static inline uint64_t tuplehash_rotate(uint64_t word, unsigned int bits)
{
	return word << bits | word >> (64 - bits);
}

static inline void tuplehash_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = tuplehash_rotate(v[1], 13) ^ v[0];
	v[3] = tuplehash_rotate(v[3], 16) ^ v[2];
	v[0] = tuplehash_rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = tuplehash_rotate(v[1], 17) ^ v[2];
	v[3] = tuplehash_rotate(v[3], 21) ^ v[0];
	v[2] = tuplehash_rotate(v[2], 32);
}

static inline uint64_t tuplehash(const struct synhold_tuple *tuple, const uint64_t key[2])
{
	uint64_t v[4] = {
		key[0] ^ 0x736f6d6570736575ULL,
		key[1] ^ 0x646f72616e646f6dULL,
		key[0] ^ 0x6c7967656e657261ULL,
		key[1] ^ 0x7465646279746573ULL,
	};
	uint64_t words[5] = {0};
	unsigned int i;

	memcpy(words, tuple, sizeof(*tuple));
	words[4] |= (uint64_t)sizeof(*tuple) << 56;
	for (i = 0; i < 5; i++) {
		v[3] ^= words[i];
		tuplehash_round(v);
		v[0] ^= words[i];
	}
	v[2] ^= 0xff;
	for (i = 0; i < 3; i++)
		tuplehash_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif
