// SPDX-License-Identifier: GPL-2.0-or-later
/* The keyed hash against a plain SipHash of any length and number of rounds, itself held against a vector of its paper;
 * prefix masks. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/hash.h"

static uint64_t random_state = 3;

static uint64_t rnd(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t rotate(uint64_t word, int bits)
{
	return word << bits | word >> (64 - bits);
}

static void sip_rounds(uint64_t *v, int rounds)
{
	while (rounds--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13);
		v[3] = rotate(v[3], 16);
		v[1] ^= v[0];
		v[3] ^= v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17);
		v[3] = rotate(v[3], 21);
		v[1] ^= v[2];
		v[3] ^= v[0];
		v[2] = rotate(v[2], 32);
	}
}

/* SipHash-c-d as section 2 of the paper has it, byte by byte. */
static uint64_t siphash(int c, int d, const uint8_t *key, const uint8_t *in, size_t len)
{
	uint64_t k[2] = {0, 0}, v[4], word = 0;
	size_t i;

	for (i = 0; i < 16; i++)
		k[i / 8] |= (uint64_t)key[i] << (i % 8 * 8);
	v[0] = k[0] ^ 0x736f6d6570736575ULL; /* "somepseudorandomlygeneratedbytes" */
	v[1] = k[1] ^ 0x646f72616e646f6dULL;
	v[2] = k[0] ^ 0x6c7967656e657261ULL;
	v[3] = k[1] ^ 0x7465646279746573ULL;
	for (i = 0; i < len / 8 * 8 + 8; i++) {
		uint64_t byte = i < len ? in[i] : i % 8 == 7 ? len & 0xff : 0;

		word |= byte << (i % 8 * 8);
		if (i % 8 == 7) {
			v[3] ^= word;
			sip_rounds(v, c);
			v[0] ^= word;
			word = 0;
		}
	}
	v[2] ^= 0xff;
	sip_rounds(v, d);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static void the_model_gives_the_vector_of_the_paper(void **state)
{
	uint8_t key[16], in[15];
	size_t i;

	(void)state;
	for (i = 0; i < 16; i++)
		key[i] = (uint8_t)i;
	for (i = 0; i < 15; i++)
		in[i] = (uint8_t)i;
	assert_true(siphash(2, 4, key, in, 15) == 0xa129ca6149be45e5ULL); /* appendix A */
}

static void pairs_hash_as_the_model_does(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		uint64_t words[4] = {rnd(), rnd(), rnd(),
				     rnd()}; /* little-endian machine: words are the bytes in order */
		uint8_t bytes[32];

		memcpy(bytes, words, sizeof(bytes));
		assert_true(hash_pair(words[0], words[1], words[2], words[3]) == siphash(1, 3, bytes, bytes + 16, 16));
	}
}

static void masks_are_the_first_bits_in_memory(void **state)
{
	uint32_t bits, i;

	(void)state;
	for (bits = 0; bits <= 64; bits++) {
		uint64_t mask = hash_prefix_mask(bits);
		uint8_t bytes[8];

		memcpy(bytes, &mask, 8);
		for (i = 0; i < 64; i++)
			assert_int_equal(bytes[i / 8] >> (7 - i % 8) & 1, i < bits);
	}
	assert_true(hash_prefix_mask(65) == ~0ULL);
}

/* Two addresses are one source exactly when they agree in the prefix of their family. */
static void prefixes_make_sources(void **state)
{
	int round;
	uint32_t i;

	(void)state;
	for (round = 0; round < 20000; round++) {
		bool v4 = rnd() & 1;
		uint32_t prefix = (uint32_t)rnd() % (v4 ? 33 : 129), first = v4 ? 96 : 0,
			 flip = (uint32_t)rnd() % (128 - first) + first;
		uint8_t one[16], other[16];
		uint64_t k0 = rnd(), k1 = rnd(), a, b;

		for (i = 0; i < 16; i++)
			one[i] = (uint8_t)rnd();
		if (v4)
			memcpy(one, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
		else
			one[0] = 0x20;
		memcpy(other, one, 16);
		other[flip / 8] ^= (uint8_t)(0x80 >> flip % 8);
		a = hash_source(k0, k1, one, v4 ? prefix : 32, v4 ? 64 : prefix);
		b = hash_source(k0, k1, other, v4 ? prefix : 32, v4 ? 64 : prefix);
		assert_int_equal(a == b, flip >= first + prefix);
		if (prefix == (v4 ? 32 : 128)) {
			uint64_t words[2] = {k0, k1};
			uint8_t key[16];

			memcpy(key, words, 16);
			assert_true(a == siphash(1, 3, key, one, 16));
		}
	}
}

/* The families do not mix, though an IPv4 address is kept as a mapped one: ::ffff:0:0/96 is IPv4's, and only that. */
static void only_mapped_addresses_are_ipv4(void **state)
{
	static const uint8_t mapped[16] = {[10] = 0xff, 0xff, 198, 51, 100, 1},
			     near_it[16] = {[9] = 1, 0xff, 0xff, 198, 51, 100, 1};
	static const uint8_t mapped2[16] = {[10] = 0xff, 0xff, 198, 51, 100, 2},
			     near_it2[16] = {[9] = 1, 0xff, 0xff, 198, 51, 100, 2};
	static const uint8_t nat64[16] = {[1] = 0x64, 0xff, 0x9b, [12] = 198, 51, 100, 1},
			     nat642[16] = {[1] = 0x64, 0xff, 0x9b, [12] = 198, 51, 100, 2};

	(void)state;
	assert_true(hash_source(1, 2, mapped, 32, 64) != hash_source(1, 2, mapped2, 32, 64));
	assert_true(hash_source(1, 2, mapped, 24, 128) == hash_source(1, 2, mapped2, 24, 128));
	assert_true(hash_source(1, 2, near_it, 32, 64) == hash_source(1, 2, near_it2, 32, 64));
	assert_true(hash_source(1, 2, nat64, 32, 64) == hash_source(1, 2, nat642, 32, 64));
	assert_true(hash_source(1, 2, nat64, 32, 128) != hash_source(1, 2, nat642, 32, 128));
}

/* The places of a thousand sources in the share, in the sets and under the tags are spread: no half is empty. */
static void the_parts_of_a_hash_are_spread(void **state)
{
	uint32_t share_low = 0, set_low = 0, tag_low = 0, i, services = 0;

	(void)state;
	for (i = 0; i < 10000; i++) {
		uint8_t addr[16] = {[10] = 0xff, 0xff, 10, 0, (uint8_t)(i >> 8), (uint8_t)i};
		uint64_t source = hash_source(5, 6, addr, 32, 64);

		share_low += hash_share(source) < 1u << 31;
		set_low += (hash_for_service(source, 3) & 0x1ffff) < 0x10000;
		tag_low += hash_for_service(source, 3) >> 63;
		services += hash_for_service(source, 3) == hash_for_service(source, 4);
	}
	assert_in_range(share_low, 4750, 5250); /* five standard deviations */
	assert_in_range(set_low, 4750, 5250);
	assert_in_range(tag_low, 4750, 5250);
	assert_int_equal(services, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_model_gives_the_vector_of_the_paper),
		cmocka_unit_test(pairs_hash_as_the_model_does),
		cmocka_unit_test(masks_are_the_first_bits_in_memory),
		cmocka_unit_test(prefixes_make_sources),
		cmocka_unit_test(only_mapped_addresses_are_ipv4),
		cmocka_unit_test(the_parts_of_a_hash_are_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
