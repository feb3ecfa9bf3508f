/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parser said of a frame; good for PARSE_TCP only, but for the result. */
#ifndef TESTS_FUZZ_PARSE_ANSWER_H
#define TESTS_FUZZ_PARSE_ANSWER_H

#include <synhold/abi.h>

struct parse_answer {
	__s32 result;
	__u32 l3, l4, ip_payload, l3_offset;
	__u8 flags, ipv6, fragment, pad;
	struct synhold_tuple in, out; /* seen from the client: as it sent the frame, as the server did */
};

#endif
