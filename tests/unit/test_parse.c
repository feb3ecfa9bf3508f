// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The parser on frames as they should be, on every cut of them with a guard page behind, and on mutations without end.
 * Frames end where the page does, so their headers lie as they come: with the undefined behaviour sanitizer, build with
 * -fno-sanitize=alignment.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/parse_model.h"

#define FRAME_MAX 512

struct text_frame {
	const char *name, *hex;
	int result;
	size_t l3, l4;
	uint32_t ip_payload;
	uint8_t flags, fragment;
};

#define MACS "020000000010 020000000001 "
#define IP4(len, more) "4500" len "1234" more "4006 0000 c6336401 c000020a "
#define IP6(len, next) "60000000" len next "40 20010db8000100000000000000000001 20010db8000000000000000000000010 "
#define SYN "9c40 01bb 01020304 00000000 5002 faf0 0000 0000 "
#define SYN_MSS "9c40 01bb 01020304 00000000 6002 faf0 0000 0000 020405b4 "

static const struct text_frame frames[] = {
	{"IPv4 SYN", MACS "0800" IP4("0028", "4000") SYN, PARSE_TCP, 14, 34, 20, PARSE_SYN, 0},
	{"with an option", MACS "0800" IP4("002c", "4000") SYN_MSS, PARSE_TCP, 14, 34, 24, PARSE_SYN, 0},
	{"IP options", MACS "0800 4600002c 1234 4000 4006 0000 c6336401 c000020a 01010101" SYN, PARSE_TCP, 14, 38, 20,
	 PARSE_SYN, 0},
	{"data", MACS "0800" IP4("002c", "4000") SYN "61626364", PARSE_TCP, 14, 34, 24, PARSE_SYN, 0},
	{"padding", MACS "0800" IP4("0028", "4000") SYN "000000000000", PARSE_TCP, 14, 34, 20, PARSE_SYN, 0},
	{"a tag", MACS "8100 0064 0800" IP4("0028", "4000") SYN, PARSE_TCP, 18, 38, 20, PARSE_SYN, 0},
	{"two tags", MACS "88a8 0064 8100 0065 0800" IP4("0028", "4000") SYN, PARSE_TCP, 22, 42, 20, PARSE_SYN, 0},
	{"three tags", MACS "88a8 0064 8100 0065 8100 0066 0800" IP4("0028", "4000") SYN, PARSE_BAD(VLAN_DEPTH), 0, 0,
	 0, 0, 0},
	{"first fragment", MACS "0800" IP4("0028", "2000") SYN, PARSE_TCP, 14, 34, 20, PARSE_SYN, 1},
	{"later fragment", MACS "0800" IP4("0028", "0001") SYN, PARSE_OTHER, 0, 0, 0, 0, 0},
	{"all flags", MACS "0800" IP4("0028", "0000") "9c40 01bb 01020304 00000000 50ff faf0 0000 0000", PARSE_TCP, 14,
	 34, 20, 0xff, 0},
	{"ARP", MACS "0806 0001080006040001", PARSE_OTHER, 0, 0, 0, 0, 0},
	{"IPv6 SYN", MACS "86dd" IP6("0014", "06") SYN, PARSE_TCP, 14, 54, 20, PARSE_SYN, 0},
	{"IPv6, tags", MACS "88a8 0064 8100 0065 86dd" IP6("0018", "06") SYN_MSS, PARSE_TCP, 22, 62, 24, PARSE_SYN, 0},
	{"hop-by-hop", MACS "86dd" IP6("001c", "00") "06000104 00000000" SYN, PARSE_TCP, 14, 62, 20, PARSE_SYN, 0},
	{"atomic fragment", MACS "86dd" IP6("001c", "2c") "06000000 00001234" SYN, PARSE_TCP, 14, 62, 20, PARSE_SYN, 0},
	{"IPv6 first fragment", MACS "86dd" IP6("001c", "2c") "06ff0001 00001234" SYN, PARSE_TCP, 14, 62, 20, PARSE_SYN,
	 1},
	{"IPv6 later fragment", MACS "86dd" IP6("001c", "2c") "06000008 00001234" SYN, PARSE_OTHER, 0, 0, 0, 0, 0},
	{"authentication", MACS "86dd" IP6("002c", "33") "0604 0000 00000001 00000001 000000000000000000000000" SYN,
	 PARSE_TCP, 14, 78, 20, PARSE_SYN, 0},
	{"six extensions",
	 MACS
	 "86dd" IP6("004c",
		    "00") "3c000104 00000000 2b000104 00000000 3c000400 00000000 2c000104 00000000 3c000000 00000000"
			  "06010104 00000000 0104 000000000000" SYN,
	 PARSE_TCP, 14, 110, 20, PARSE_SYN, 0},
	{"seven extensions",
	 MACS
	 "86dd" IP6("004c",
		    "00") "3c000104 00000000 2b000104 00000000 3c000400 00000000 2c000104 00000000 3c000000 00000000"
			  "3c000104 00000000 06000104 00000000" SYN,
	 PARSE_BAD(EXTENSION), 0, 0, 0, 0, 0},
	{"encrypted", MACS "86dd" IP6("001c", "32") "06000104 00000000" SYN, PARSE_OTHER, 0, 0, 0, 0, 0},
};
#define FRAMES (sizeof(frames) / sizeof(frames[0]))

static uint8_t *page_end; /* the last byte before a page that must not be touched is page_end[-1] */
static size_t page_size;

static size_t bytes_of(const char *hex, uint8_t *to)
{
	size_t len = 0;
	unsigned int byte;

	for (; *hex; hex += *hex == ' ' ? 1 : 2) {
		if (*hex == ' ')
			continue;
		assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		to[len++] = (uint8_t)byte;
	}
	return len;
}

/* A copy that ends where the page does; nothing may be read behind it. */
static uint8_t *at_the_edge(const uint8_t *bytes, size_t len)
{
	memset(page_end - FRAME_MAX, 0x2f, FRAME_MAX); /* not zeros: what is read in front must not look harmless */
	memcpy(page_end - len, bytes, len);
	return page_end - len;
}

static int setup(void **state)
{
	uint8_t *pages;

	(void)state;
	page_size = (size_t)sysconf(_SC_PAGESIZE);
	pages = mmap(NULL, 2 * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || mprotect(pages + page_size, page_size, PROT_NONE))
		return -1;
	page_end = pages + page_size;
	return 0;
}

static void golden_frames(void **state)
{
	uint8_t bytes[FRAME_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < FRAMES; i++) {
		const struct text_frame *row = &frames[i];
		size_t len = bytes_of(row->hex, bytes);
		uint8_t *frame = at_the_edge(bytes, len);
		struct synhold_tuple tuple;
		struct parse_packet pkt;
		int result = parse_frame(frame, frame + len, &pkt);

		if (result != row->result)
			fail_msg("%s: %d, expected %d", row->name, result, row->result);
		assert_true(parse_model_agrees(frame, len));
		if (result != PARSE_TCP)
			continue;
		assert_ptr_equal(pkt.l3, frame + row->l3);
		assert_ptr_equal(pkt.tcp, frame + row->l4);
		assert_int_equal(pkt.l3_offset, row->l3);
		assert_int_equal(pkt.ip_payload, row->ip_payload);
		assert_int_equal(pkt.flags, row->flags);
		assert_int_equal(pkt.fragment, row->fragment);
		parse_tuple(&pkt, 0, &tuple);
		assert_int_equal(tuple.sport, htons(40000));
		assert_int_equal(tuple.dport, htons(443));
		if (pkt.ipv6) {
			assert_memory_equal(tuple.saddr, "\x20\x01\x0d\xb8\0\1\0\0\0\0\0\0\0\0\0\1", 16);
			assert_memory_equal(tuple.daddr, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x10", 16);
		} else {
			assert_memory_equal(tuple.saddr, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc6\x33\x64\1", 16);
			assert_memory_equal(tuple.daddr, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\2\x0a", 16);
		}
	}
}

/* Every cut of every frame: never read behind it, never TCP without a whole header, and for each the reason of the
 * model. */
static void every_cut(void **state)
{
	uint8_t bytes[FRAME_MAX];
	size_t i, len;

	(void)state;
	for (i = 0; i < FRAMES; i++) {
		size_t full = bytes_of(frames[i].hex, bytes);

		for (len = 0; len <= full; len++) {
			uint8_t *frame = at_the_edge(bytes, len);
			struct parse_packet pkt;
			int result = parse_frame(frame, frame + len, &pkt);

			if (!parse_model_agrees(frame, len))
				fail_msg("%s cut to %zu bytes", frames[i].name, len);
			if (result == PARSE_TCP)
				assert_true((uint8_t *)pkt.tcp >= frame && (uint8_t *)(pkt.tcp + 1) <= frame + len);
			else
				assert_true(result == PARSE_OTHER || PARSE_BAD_REASON(result) < SYNHOLD_UNPARSED_COUNT);
		}
	}
}

/* Every value of every byte. */
static void every_byte(void **state)
{
	uint8_t bytes[FRAME_MAX];
	unsigned int value;
	size_t i, at;

	(void)state;
	for (i = 0; i < FRAMES; i++) {
		size_t len = bytes_of(frames[i].hex, bytes);
		uint8_t *frame = at_the_edge(bytes, len);

		for (at = 12; at < len; at++) {
			uint8_t was = frame[at];

			for (value = 0; value < 256; value++) {
				frame[at] = (uint8_t)value;
				if (!parse_model_agrees(frame, len))
					fail_msg("%s, byte %zu = %u", frames[i].name, at, value);
			}
			frame[at] = was;
		}
	}
}

static void random_mutations(void **state)
{
	/* values that mean something somewhere: protocols, header numbers, lengths, versions */
	static const uint8_t telling[] = {0,  1,  4,    5,    6,    8,    16,   20,   40,   43,   44,
					  51, 60, 0x45, 0x4f, 0x60, 0x81, 0x86, 0x88, 0xa8, 0xdd, 0xff};
	uint64_t random = 99, i;
	uint8_t bytes[FRAME_MAX];
	uint32_t tcp = 0;

	(void)state;
	for (i = 0; i < 2000000; i++) {
		size_t full = bytes_of(frames[i % FRAMES].hex, bytes), len = full;
		int changes;
		uint8_t *frame;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		for (changes = (int)(random >> 60) % 5; changes > 0; changes--) {
			size_t at;

			random = random * 6364136223846793005ULL + 1442695040888963407ULL;
			at = 12 + (random >> 33) % (full - 12);
			bytes[at] = random >> 63 ? telling[(random >> 40) % sizeof(telling)] : (uint8_t)(random >> 20);
		}
		if (random >> 59 & 1)
			len = (random >> 30) % (full + 1);
		frame = at_the_edge(bytes, len);
		if (!parse_model_agrees(frame, len))
			fail_msg("mutation %llu of %s", (unsigned long long)i, frames[i % FRAMES].name);
		tcp += parse_frame(frame, frame + len, &(struct parse_packet){0}) == PARSE_TCP;
	}
	assert_true(tcp > 100000); /* the mutations still reach the end of the parser */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_frames),
		cmocka_unit_test(every_cut),
		cmocka_unit_test(every_byte),
		cmocka_unit_test(random_mutations),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
