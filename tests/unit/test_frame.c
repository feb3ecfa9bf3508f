// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/frame.h"

#define MS 1000000ULL
#define SECOND 1000000000ULL

struct packet {
	uint8_t frame[192];
	size_t len, l3, l4;
};

static uint64_t rng = 7;

static uint32_t rnd(uint32_t below)
{
	rng = rng * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)((rng >> 33) % below);
}

static void put16(uint8_t *at, unsigned int value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static unsigned int get16(const uint8_t *at)
{
	return at[0] << 8 | at[1];
}

/* The Internet checksum the slow and obvious way (RFC 1071): over a copy of pseudo header and segment. */
static unsigned int sum_all(const struct packet *p, bool pseudo_only)
{
	bool v6 = p->frame[p->l3] >> 4 == 6;
	size_t tcp_len =
		v6 ? get16(p->frame + p->l3 + 4) + p->l3 + 40 - p->l4 : get16(p->frame + p->l3 + 2) + p->l3 - p->l4;
	uint8_t bytes[512] = {0};
	size_t n = 0, i;
	unsigned int sum = 0;

	memcpy(bytes, p->frame + p->l3 + (v6 ? 8 : 12), v6 ? 32 : 8);
	n = v6 ? 32 : 8;
	bytes[n + 1] = 6;
	put16(bytes + n + 2, (unsigned int)tcp_len);
	n += 4;
	if (!pseudo_only) {
		memcpy(bytes + n, p->frame + p->l4, tcp_len);
		n += tcp_len + (tcp_len & 1);
	}
	for (i = 0; i < n; i += 2) {
		sum += get16(bytes + i);
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return sum;
}

static bool valid(const struct packet *p)
{
	return sum_all(p, false) == 0xffff;
}

static void set_full(struct packet *p)
{
	put16(p->frame + p->l4 + 16, 0);
	put16(p->frame + p->l4 + 16, ~sum_all(p, false) & 0xffff);
}

static void set_partial(struct packet *p)
{
	put16(p->frame + p->l4 + 16, sum_all(p, true));
}

/* A SYN with random addresses and numbers. The options must be a multiple of 4 long. */
static struct packet make(unsigned int version, unsigned int vlans, unsigned int ip_options, const uint8_t *options,
			  size_t options_len)
{
	struct packet p = {.l3 = 14 + 4 * vlans};
	size_t i, tcp_len = 20 + options_len;

	for (i = 0; i < sizeof(p.frame); i++)
		p.frame[i] = rnd(256);
	if (version == 4) {
		p.l4 = p.l3 + 20 + ip_options;
		p.frame[p.l3] = 0x40 | (5 + ip_options / 4);
		p.frame[p.l3 + 9] = 6;
		put16(p.frame + p.l3 + 2, (unsigned int)(p.l4 - p.l3 + tcp_len));
	} else {
		p.l4 = p.l3 + 40 + ip_options;
		p.frame[p.l3] = 0x60;
		put16(p.frame + p.l3 + 4, (unsigned int)(ip_options + tcp_len));
	}
	p.frame[p.l4 + 12] = (uint8_t)(tcp_len / 4 << 4);
	memcpy(p.frame + p.l4 + 20, options, options_len);
	p.len = p.l4 + tcp_len;
	set_full(&p);
	return p;
}

/* MSS, SACK permitted, timestamps, NOP, window scale: a SYN of Linux. */
static const uint8_t linux_options[20] = {
	2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0x12, 0x34, 0, 0, 0, 0, 1, 3, 3, 7,
};

static const struct shape {
	unsigned int version, vlans, ip_options;
} shapes[] = {
	{4, 0, 0}, {4, 1, 0}, {4, 2, 0}, {4, 0, 40}, /* vlans, options */
	{6, 0, 0}, {6, 1, 0}, {6, 2, 8}, {6, 0, 24},
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static struct packet make_shape(size_t i)
{
	const struct shape *s = &shapes[i];

	return make(s->version, s->vlans, s->ip_options, linux_options, sizeof(linux_options));
}

static void test_partial_checksum_is_completed(void **state)
{
	size_t i, k;

	(void)state;
	for (i = 0; i < SHAPES; i++) {
		for (k = 0; k < 200; k++) {
			struct packet p = make_shape(i), full = p;

			set_partial(&p);
			assert_int_equal(frame_complete_checksum(p.frame, p.len, p.l3, p.l4), 1);
			assert_true(valid(&p));
			assert_memory_equal(p.frame, full.frame, p.len);
		}
	}
}

static void test_padding_is_no_part_of_the_segment(void **state)
{
	struct packet p = make(4, 0, 0, linux_options, 0);

	(void)state;
	set_partial(&p);
	p.len = 60; /* 54 and what Ethernet adds: random bytes here */
	assert_int_equal(frame_complete_checksum(p.frame, p.len, p.l3, p.l4), 1);
	assert_true(valid(&p));
}

static void test_other_checksums_are_left_alone(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < SHAPES; i++) {
		struct packet p = make_shape(i), before;
		unsigned int partial = sum_all(&p, true), right = get16(p.frame + p.l4 + 16), check;

		for (check = 0; check < 0x10000; check++) {
			if (check == partial)
				continue;
			put16(p.frame + p.l4 + 16, check);
			before = p;
			assert_int_equal(frame_complete_checksum(p.frame, p.len, p.l3, p.l4), 0);
			assert_memory_equal(p.frame, before.frame, sizeof(p.frame));
			if (check != right)
				assert_false(valid(&p));
		}
	}
}

static void test_broken_headers(void **state)
{
	struct packet good = make_shape(0), good6 = make_shape(4), p;
	size_t len;

	(void)state;
	set_partial(&good);
	set_partial(&good6);
	for (len = 0; len < good.len; len++)
		assert_int_equal(frame_complete_checksum(good.frame, len, good.l3, good.l4), -EINVAL);
	for (len = 0; len < good6.len; len++)
		assert_int_equal(frame_complete_checksum(good6.frame, len, good6.l3, good6.l4), -EINVAL);
	assert_int_equal(frame_complete_checksum(good.frame, good.len, SIZE_MAX - 3, good.l4), -EINVAL);
	assert_int_equal(frame_complete_checksum(good.frame, good.len, good.l3, SIZE_MAX), -EINVAL);
	p = good;
	p.frame[p.l3 + 9] = 17;
	assert_int_equal(frame_complete_checksum(p.frame, p.len, p.l3, p.l4), -EINVAL);
	p = good;
	p.frame[p.l3] = 0x46; /* header longer than l4 says */
	assert_int_equal(frame_complete_checksum(p.frame, p.len, p.l3, p.l4), -EINVAL);
	p = good;
	p.frame[p.l3] = 0x55;
	assert_int_equal(frame_complete_checksum(p.frame, p.len, p.l3, p.l4), -EINVAL);
	p = good;
	put16(p.frame + p.l3 + 2, 39); /* no room for a TCP header */
	assert_int_equal(frame_complete_checksum(p.frame, p.len, p.l3, p.l4), -EINVAL);
	p = good6;
	put16(p.frame + p.l3 + 4, 0);
	assert_int_equal(frame_complete_checksum(p.frame, p.len, p.l3, p.l4), -EINVAL);
}

static void test_option_walk(void **state)
{
	static const struct {
		uint8_t options[40];
		uint8_t len;
		int err;
		uint32_t tsval;
	} cases[] = {
		{{8, 10, 1, 2, 3, 4}, 12, 0, 0x01020304},
		{{1, 1, 8, 10, 1, 2, 3, 4}, 12, 0, 0x01020304},
		{{1, 8, 10, 0xff, 0xfe, 0xfd, 0xfc}, 12, 0, 0xfffefdfc}, /* at an odd offset */
		{{3, 3, 7, 8, 10, 1, 2, 3, 4}, 16, 0, 0x01020304},
		{{30, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 10, 9, 9, 9, 9}, 24, 0, 0x09090909},
		{{8, 8, 1, 2, 3, 4, 5, 6, 8, 10, 0, 0, 0, 1}, 20, 0, 1}, /* not this length */
		{{2, 4, 5, 180}, 4, -ENOENT, 0},
		{{0, 8, 10, 1, 2, 3, 4}, 12, -ENOENT, 0},    /* behind the end of the list */
		{{2, 0, 8, 10, 1, 2, 3, 4}, 12, -EINVAL, 0}, /* a length that goes nowhere */
		{{2, 1, 8, 10, 1, 2, 3, 4}, 12, -EINVAL, 0},
		{{2, 20, 8, 10, 1, 2, 3, 4}, 12, -EINVAL, 0}, /* a length that goes too far */
		{{1, 1, 1, 8, 10, 1, 2, 3}, 8, -EINVAL, 0},   /* cut off by the header */
		{{1, 1, 1, 8}, 4, -EINVAL, 0},
		{{0}, 0, -ENOENT, 0},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct packet p = make(4, 0, 0, cases[i].options, cases[i].len), before = p;
		uint32_t tsval = 0xdeadbeef;

		assert_int_equal(frame_get_tsval(p.frame, p.len, p.l4, &tsval), cases[i].err);
		assert_int_equal(tsval, cases[i].err ? 0xdeadbeef : cases[i].tsval);
		assert_int_equal(frame_advance_tsval(p.frame, p.len, p.l4, 1000), cases[i].err);
		if (cases[i].err) {
			assert_memory_equal(p.frame, before.frame, sizeof(p.frame));
			continue;
		}
		assert_int_equal(frame_get_tsval(p.frame, p.len, p.l4, &tsval), 0);
		assert_int_equal(tsval, cases[i].tsval + 1000);
		assert_true(valid(&p));
	}
}

static void test_header_length_is_checked(void **state)
{
	struct packet p = make_shape(0);
	uint32_t value = 5;
	size_t len;

	(void)state;
	for (len = 0; len < p.len; len++)
		assert_int_equal(frame_get_tsval(p.frame, len, p.l4, &value), -EINVAL);
	assert_int_equal(frame_get_tsval(p.frame, p.len, SIZE_MAX - 5, &value), -EINVAL);
	p.frame[p.l4 + 12] = 0x40;
	assert_int_equal(frame_get_tsval(p.frame, p.len, p.l4, &value), -EINVAL);
	p.frame[p.l4 + 12] = 0xf0;
	assert_int_equal(frame_get_tsval(p.frame, p.len, p.l4, &value), -EINVAL);
	assert_int_equal(frame_get_seq(p.frame, p.l4 + 19, p.l4, &value), -EINVAL);
	assert_int_equal(value, 5);
	memcpy(p.frame + p.l4 + 4, "\x01\x02\x03\x04", 4);
	assert_int_equal(frame_get_seq(p.frame, p.l4 + 20, p.l4, &value), 0);
	assert_int_equal(value, 0x01020304);
}

static void test_incremental_equals_full(void **state)
{
	uint8_t options[40];
	size_t i, nops;

	(void)state;
	for (i = 0; i < 100000; i++) {
		struct packet p, full;
		uint32_t ticks = rnd(4) ? rnd(100000) : (uint32_t)rnd(1u << 31) * 2;

		/* Values that make sums of all ones and of zero are where such arithmetic goes wrong. */
		memset(options, rnd(2) ? 0xff : 0, sizeof(options));
		nops = rnd(12);
		memset(options, 1, nops);
		options[nops] = 8;
		options[nops + 1] = 10;
		if (rnd(4))
			put16(options + nops + 2, rnd(0x10000));
		if (rnd(4))
			put16(options + nops + 4, rnd(0x10000));
		memset(options + nops + 10, 0, sizeof(options) - nops - 10);
		p = make(rnd(2) ? 4 : 6, rnd(3), 0, options, 24);
		assert_true(valid(&p));
		full = p;
		assert_int_equal(frame_advance_tsval(p.frame, p.len, p.l4, ticks), 0);
		memcpy(full.frame + full.l4 + 20, p.frame + p.l4 + 20, 24);
		set_full(&full);
		assert_memory_equal(p.frame, full.frame, p.len);
	}
}

static void test_corrupt_stays_corrupt(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		struct packet p = make_shape(i % SHAPES);
		unsigned int right = get16(p.frame + p.l4 + 16), check = rnd(0x10000);

		put16(p.frame + p.l4 + 16, check);
		/* 0 and 0xffff are the same number in this arithmetic. */
		if (check % 0xffff == right % 0xffff || check == sum_all(&p, true))
			continue;
		assert_false(valid(&p));
		assert_int_equal(frame_prepare(p.frame, p.len, p.l3, p.l4, 1 + rnd(100000)), 0);
		assert_false(valid(&p));
	}
}

static void test_prepare(void **state)
{
	uint32_t tsval;
	size_t i;

	(void)state;
	for (i = 0; i < SHAPES; i++) {
		struct packet p = make_shape(i);

		set_partial(&p);
		assert_int_equal(frame_prepare(p.frame, p.len, p.l3, p.l4, 14000), 0);
		assert_true(valid(&p));
		assert_int_equal(frame_get_tsval(p.frame, p.len, p.l4, &tsval), 0);
		assert_int_equal(tsval, 0x1234 + 14000);
		assert_int_equal(frame_prepare(p.frame, p.len - 1, p.l3, p.l4, 1), -EINVAL);
	}
	/* Without timestamps the checksum is still completed. */
	{
		struct packet p = make(4, 0, 0, (const uint8_t *)"\2\4\5\264", 4);

		set_partial(&p);
		assert_int_equal(frame_prepare(p.frame, p.len, p.l3, p.l4, 5), 0);
		assert_true(valid(&p));
	}
}

static void test_ticks_with_one_copy(void **state)
{
	(void)state;
	assert_int_equal(frame_ts_ticks(14 * SECOND, 5, SECOND, 5, SECOND), 13999);
	assert_int_equal(frame_ts_ticks(0, 5, SECOND, 5, SECOND), 0);
	assert_int_equal(frame_ts_ticks(MS, 5, SECOND, 5, SECOND), 0);
	assert_int_equal(frame_ts_ticks(3 * MS - 1, 5, SECOND, 5, SECOND), 1);
	assert_int_equal(frame_ts_ticks(UINT64_MAX, 5, SECOND, 5, SECOND), INT32_MAX);
	/* Two ticks in 200 ms may be one: too few to take them for 10 Hz. */
	assert_int_equal(frame_ts_ticks(10 * SECOND, 5, SECOND, 7, SECOND + 200 * MS), 39);
	/* Too close together to learn from. */
	assert_int_equal(frame_ts_ticks(SECOND, 5, SECOND, 90000, SECOND + 100 * MS), 999);
}

static void test_ticks_that_make_no_sense(void **state)
{
	(void)state;
	assert_int_equal(frame_ts_ticks(SECOND, 1000, SECOND, 1000, 2 * SECOND), 0);    /* stands still */
	assert_int_equal(frame_ts_ticks(SECOND, 1000, SECOND, 500, 2 * SECOND), 0);     /* runs backwards */
	assert_int_equal(frame_ts_ticks(SECOND, 0, SECOND, 1000000000, 2 * SECOND), 0); /* nanoseconds */
	/* Wrapping is no running backwards. */
	assert_int_equal(frame_ts_ticks(SECOND, UINT32_MAX - 499, SECOND, 500, 2 * SECOND), 999);
}

/*
 * A client's clock at some rate and phase sends its first copy, its newest one, and is answered after the
 * hold. Its frames come in late by some jitter. The echo must be in its past, and not too far.
 */
static void test_ticks_never_overshoot(void **state)
{
	static const uint32_t rates[] = {2, 10, 64, 100, 250, 1000, 1000000};
	size_t i;

	(void)state;
	for (i = 0; i < 200000; i++) {
		uint32_t rate = rates[rnd(7)];
		uint64_t phase = rnd(1000) * MS, jitter = rnd(50) * MS, rtt = 2 * jitter + 1;
		uint64_t last = (1 + rnd(34)) * SECOND, hold = rnd(16000) * MS;
		/* The first copy was late and the newest was not: the clock looks faster than it is. */
		uint64_t first_in = jitter, last_in = last + rnd(2);
		uint32_t base = rnd(2) ? UINT32_MAX - rnd(1000) : rnd(1u << 31);
		uint32_t ts_first = base + (uint32_t)(phase * rate / SECOND);
		uint32_t ts_last = base + (uint32_t)((phase + last) * rate / SECOND);
		uint32_t clock_then = base + (uint32_t)((phase + last + hold + rtt) * rate / SECOND);
		uint32_t ticks = frame_ts_ticks(hold, ts_first, SECOND + first_in, ts_last, SECOND + last_in);
		uint32_t behind = clock_then - (ts_last + ticks);

		assert_true(behind < 1u << 31);
		if (rate >= 100)
			assert_true(behind <= rtt * rate / SECOND + 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_partial_checksum_is_completed),
		cmocka_unit_test(test_padding_is_no_part_of_the_segment),
		cmocka_unit_test(test_other_checksums_are_left_alone),
		cmocka_unit_test(test_broken_headers),
		cmocka_unit_test(test_option_walk),
		cmocka_unit_test(test_header_length_is_checked),
		cmocka_unit_test(test_incremental_equals_full),
		cmocka_unit_test(test_corrupt_stays_corrupt),
		cmocka_unit_test(test_prepare),
		cmocka_unit_test(test_ticks_with_one_copy),
		cmocka_unit_test(test_ticks_that_make_no_sense),
		cmocka_unit_test(test_ticks_never_overshoot),
	};

	return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
