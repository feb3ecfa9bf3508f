// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/frame.h"

#include <errno.h>
#include <stdbool.h>

#define FRAME_IPV4_LEN 20
#define FRAME_IPV6_LEN 40
#define FRAME_TCP_LEN 20
#define FRAME_TCP_SEQ 4
#define FRAME_TCP_DOFF 12
#define FRAME_TCP_CHECK 16
#define FRAME_PROTO_TCP 6
#define FRAME_OPT_EOL 0
#define FRAME_OPT_NOP 1
#define FRAME_OPT_TS 8
#define FRAME_OPT_TS_LEN 10
#define FRAME_NS_PER_S 1e9

static uint16_t frame_get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static void frame_put16(uint8_t *at, uint16_t value)
{
	at[0] = value >> 8;
	at[1] = value & 0xff;
}

static uint32_t frame_get32(const uint8_t *at)
{
	return (uint32_t)frame_get16(at) << 16 | frame_get16(at + 2);
}

/* Sum of 16-bit words, an odd last byte padded with zero. No carry is lost below 2^16 words. */
static uint32_t frame_sum(const uint8_t *at, size_t len)
{
	uint32_t sum = 0;

	for (; len > 1; at += 2, len -= 2)
		sum += frame_get16(at);
	if (len)
		sum += (uint32_t)at[0] << 8;
	return sum;
}

static uint16_t frame_fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/*
 * Length of the TCP segment by the IP header, and the sum of its pseudo header; false unless all of it is
 * here.
 */
static bool frame_segment(const uint8_t *frame, size_t len, size_t l3, size_t l4, size_t *tcp_len, uint32_t *pseudo)
{
	size_t end, addresses, addresses_len;

	if (l3 >= len || l4 > len || l4 < l3 + FRAME_IPV4_LEN)
		return false;
	if (frame[l3] >> 4 == 4) {
		/* IHL is looked at first: 4 bits, so the header ends within 60 bytes of l3. */
		if (l4 != l3 + (frame[l3] & 15u) * 4 || frame[l3 + 9] != FRAME_PROTO_TCP)
			return false;
		end = l3 + frame_get16(frame + l3 + 2);
		addresses = l3 + 12;
		addresses_len = 8;
	} else if (frame[l3] >> 4 == 6 && l4 >= l3 + FRAME_IPV6_LEN) {
		end = l3 + FRAME_IPV6_LEN + frame_get16(frame + l3 + 4);
		addresses = l3 + 8;
		addresses_len = 32;
	} else {
		return false;
	}
	if (end > len || end < l4 + FRAME_TCP_LEN)
		return false;
	*tcp_len = end - l4;
	*pseudo = frame_sum(frame + addresses, addresses_len) + FRAME_PROTO_TCP + (uint32_t)*tcp_len;
	return true;
}

int frame_complete_checksum(uint8_t *frame, size_t len, size_t l3, size_t l4)
{
	uint8_t *check;
	uint32_t pseudo;
	size_t tcp_len;

	if (!frame_segment(frame, len, l3, l4, &tcp_len, &pseudo))
		return -EINVAL;
	check = frame + l4 + FRAME_TCP_CHECK;
	if (frame_get16(check) != frame_fold(pseudo))
		return 0;
	frame_put16(check, 0);
	frame_put16(check, (uint16_t)~frame_fold(pseudo + frame_sum(frame + l4, tcp_len)));
	return 1;
}

/* Offset of TSval in the frame: 0 with *at set, -ENOENT, -EINVAL. Walks as Linux does (tcp_parse_options). */
static int frame_find_tsval(const uint8_t *frame, size_t len, size_t l4, size_t *at)
{
	size_t end, i, option_len;

	if (l4 > len || len - l4 < FRAME_TCP_LEN)
		return -EINVAL;
	end = l4 + (frame[l4 + FRAME_TCP_DOFF] >> 4) * 4u;
	if (end > len || end < l4 + FRAME_TCP_LEN)
		return -EINVAL;
	for (i = l4 + FRAME_TCP_LEN; i < end; i += option_len) {
		if (frame[i] == FRAME_OPT_EOL)
			break;
		option_len = 1;
		if (frame[i] == FRAME_OPT_NOP)
			continue;
		if (i + 1 >= end)
			return -EINVAL;
		option_len = frame[i + 1];
		if (option_len < 2 || option_len > end - i)
			return -EINVAL;
		if (frame[i] == FRAME_OPT_TS && option_len == FRAME_OPT_TS_LEN) {
			*at = i + 2;
			return 0;
		}
	}
	return -ENOENT;
}

int frame_get_tsval(const uint8_t *frame, size_t len, size_t l4, uint32_t *tsval)
{
	size_t at;
	int err = frame_find_tsval(frame, len, l4, &at);

	if (!err)
		*tsval = frame_get32(frame + at);
	return err;
}

int frame_get_seq(const uint8_t *frame, size_t len, size_t l4, uint32_t *seq)
{
	if (l4 > len || len - l4 < FRAME_TCP_LEN)
		return -EINVAL;
	*seq = frame_get32(frame + l4 + FRAME_TCP_SEQ);
	return 0;
}

int frame_advance_tsval(uint8_t *frame, size_t len, size_t l4, uint32_t ticks)
{
	uint32_t tsval, sum;
	size_t at, from, words_len;
	int err = frame_find_tsval(frame, len, l4, &at);

	if (err)
		return err;
	/*
	 * TSval may lie across the words of the checksum: take those it touches, which the header holds
	 * whole.
	 */
	from = l4 + ((at - l4) & ~(size_t)1);
	words_len = (at - l4) & 1 ? 6 : 4;

	sum = (uint16_t)~frame_get16(frame + l4 + FRAME_TCP_CHECK);
	sum += (uint16_t)~frame_fold(frame_sum(frame + from, words_len));
	tsval = frame_get32(frame + at) + ticks;
	frame_put16(frame + at, tsval >> 16);
	frame_put16(frame + at + 2, tsval & 0xffff);
	sum += frame_sum(frame + from, words_len);
	frame_put16(frame + l4 + FRAME_TCP_CHECK, (uint16_t)~frame_fold(sum));
	return 0;
}

/* Ticks a second that the client's clock certainly makes; 0 = none that could be trusted. */
static double frame_ts_rate(uint32_t ticks, uint64_t between_ns)
{
	static const double common[] = {10, 100, 250, 1000, 1000000};
	double seconds = (double)between_ns / FRAME_NS_PER_S, measured = ticks / seconds;
	size_t i;

	if (ticks == 0 || measured > 1.5e6)
		return 0;
	/* With few ticks, one more or less is too much of the rate to tell it. */
	for (i = 0; ticks >= 8 && i < sizeof(common) / sizeof(common[0]); i++) {
		if (measured >= common[i] * 7 / 8 && measured <= common[i] * 3 / 2)
			return common[i];
	}
	return (ticks - 1) / (seconds + 0.05);
}

uint32_t frame_ts_ticks(uint64_t held_ns, uint32_t first_tsval, uint64_t first_ns, uint32_t last_tsval,
			uint64_t last_ns)
{
	uint64_t between_ns = last_ns > first_ns ? last_ns - first_ns : 0;
	double rate = 1000, ticks;

	if (between_ns >= 200000000) {
		if (last_tsval - first_tsval > INT32_MAX)
			return 0;
		rate = frame_ts_rate(last_tsval - first_tsval, between_ns);
	}
	ticks = (double)held_ns / FRAME_NS_PER_S * rate;
	if (ticks < 2)
		return 0;
	return ticks > INT32_MAX ? INT32_MAX : (uint32_t)ticks - 1;
}

int frame_prepare(uint8_t *frame, size_t len, size_t l3, size_t l4, uint32_t ticks)
{
	int err = frame_complete_checksum(frame, len, l3, l4);

	if (err < 0)
		return err;
	if (ticks)
		frame_advance_tsval(frame, len, l4, ticks);
	return 0;
}
