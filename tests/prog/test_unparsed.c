// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames in odd shapes: what can be read is judged, what cannot passes and is counted under its reason, and what is not
 * TCP passes unseen. */
#include "tests/prog/world.h"

enum outcome { JUDGED, SHORT_FRAME, VLAN_DEPTH, IP_HEADER, EXTENSION, TCP_HEADER, IGNORED };

struct change {
	uint8_t offset, value; /* from the IP header */
};

static const struct {
	const char *name;
	enum outcome outcome;
	struct frame_spec spec;
	struct change change; /* value 0 at 0 = none */
	unsigned int cut;     /* this many bytes less; above 1000: all but so many less 1000 */
} rows[] = {
	{.name = "plain", .outcome = JUDGED},
	{.name = "most options", .outcome = JUDGED, .spec = {.ip_options = 40, .tcp_options = 40}},
	{.name = "one tag", .outcome = JUDGED, .spec = {.vlans = 1}},
	{.name = "two tags", .outcome = JUDGED, .spec = {.vlans = 2}},
	{.name = "three tags", .outcome = VLAN_DEPTH, .spec = {.vlans = 3}},
	{.name = "tag cut", .outcome = SHORT_FRAME, .spec = {.vlans = 1}, .cut = 1017},
	{.name = "second tag cut", .outcome = SHORT_FRAME, .spec = {.vlans = 2}, .cut = 1021},
	{.name = "no IP header", .outcome = IP_HEADER, .cut = 1014},
	{.name = "IP header cut", .outcome = IP_HEADER, .cut = 1033},
	{.name = "version 5", .outcome = IP_HEADER, .change = {0, 0x55}},
	{.name = "IP header of 16 bytes", .outcome = IP_HEADER, .change = {0, 0x44}},
	{.name = "IP header longer than the packet", .outcome = IP_HEADER, .change = {0, 0x4f}},
	{.name = "IP options cut", .outcome = TCP_HEADER, .spec = {.ip_options = 40}, .cut = 1054},
	{.name = "total length below the header", .outcome = IP_HEADER, .change = {3, 19}},
	{.name = "total length within the TCP header", .outcome = TCP_HEADER, .change = {3, 39}},
	{.name = "no TCP header", .outcome = TCP_HEADER, .cut = 20},
	{.name = "TCP header cut", .outcome = TCP_HEADER, .cut = 1},
	{.name = "TCP options cut", .outcome = JUDGED, .spec = {.tcp_options = 40}, .cut = 30},
	{.name = "data offset 4", .outcome = TCP_HEADER, .change = {32, 0x40}},
	{.name = "data offset past the segment", .outcome = TCP_HEADER, .change = {32, 0x60}},
	{.name = "UDP", .outcome = IGNORED, .change = {9, 17}},
	{.name = "IPIP", .outcome = IGNORED, .change = {9, 4}},
	{.name = "first fragment", .outcome = JUDGED, .spec = {.more = true}},
	{.name = "later fragment", .outcome = IGNORED, .spec = {.fragment = 8, .more = true}},
	{.name = "last fragment", .outcome = IGNORED, .spec = {.fragment = 65528}},
	{.name = "IPv6", .outcome = JUDGED, .spec = {.v6 = true}},
	{.name = "IPv6, two tags", .outcome = JUDGED, .spec = {.v6 = true, .vlans = 2}},
	{.name = "IPv6 header cut", .outcome = IP_HEADER, .spec = {.v6 = true}, .cut = 1053},
	{.name = "IPv6 of version 4", .outcome = IP_HEADER, .spec = {.v6 = true}, .change = {0, 0x40}},
	{.name = "hop-by-hop", .outcome = JUDGED, .spec = {.v6 = true, .hop_by_hop = true}},
	{.name = "routing", .outcome = JUDGED, .spec = {.v6 = true, .ext = {43}}},
	{.name = "destination options", .outcome = JUDGED, .spec = {.v6 = true, .ext = {60}}},
	{.name = "authentication", .outcome = JUDGED, .spec = {.v6 = true, .ext = {51}}},
	{.name = "atomic fragment", .outcome = JUDGED, .spec = {.v6 = true, .ext = {44}}},
	{.name = "IPv6 first fragment", .outcome = JUDGED, .spec = {.v6 = true, .ext = {44}, .more = true}},
	{.name = "IPv6 later fragment", .outcome = IGNORED, .spec = {.v6 = true, .ext = {44}, .fragment = 8}},
	{.name = "all kinds", .outcome = JUDGED, .spec = {.v6 = true, .hop_by_hop = true, .ext = {60, 43, 44, 51, 60}}},
	{.name = "seven of them",
	 .outcome = EXTENSION,
	 .spec = {.v6 = true, .hop_by_hop = true, .ext = {60, 43, 44, 51, 60, 60}}},
	{.name = "extension cut", .outcome = EXTENSION, .spec = {.v6 = true, .ext = {60}}, .cut = 1056},
	{.name = "extension past the payload",
	 .outcome = EXTENSION,
	 .spec = {.v6 = true, .ext = {60}},
	 .change = {41, 200}},
	{.name = "no payload length (jumbogram)",
	 .outcome = EXTENSION,
	 .spec = {.v6 = true, .hop_by_hop = true},
	 .change = {5, 0}},
	{.name = "IPv6 TCP header cut", .outcome = TCP_HEADER, .spec = {.v6 = true, .ext = {60}}, .cut = 1},
	{.name = "encrypted", .outcome = IGNORED, .spec = {.v6 = true}, .change = {6, 50}},
	{.name = "ICMPv6", .outcome = IGNORED, .spec = {.v6 = true}, .change = {6, 58}},
	{.name = "no next header", .outcome = IGNORED, .spec = {.v6 = true}, .change = {6, 59}},
};

static void each_shape(void **state)
{
	uint32_t reason;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t judged = rows[i].outcome == JUDGED;
		struct world_out out;
		struct frame frame;

		world_check(state);
		world_reset(state);
		snprintf(world.row, sizeof(world.row), "%s:", rows[i].name);
		frames_build(&frame, &rows[i].spec);
		if (rows[i].change.offset || rows[i].change.value)
			frame.bytes[frame.l3 + rows[i].change.offset] = rows[i].change.value;
		frame.len = rows[i].cut > 1000 ? rows[i].cut - 1000 : frame.len - rows[i].cut;
		world_shield_out(&frame, &out);
		assert_int_equal(out.action, XDP_PASS);
		assert_int_equal(out.len, frame.len);
		assert_memory_equal(out.bytes, frame.bytes, frame.len);
		world_counted(0, .seen = judged, .verdict[SYNHOLD_VERDICT_ADMIT] = judged, .started = judged,
			      .offered = judged);
		for (reason = 0; reason < SYNHOLD_UNPARSED_COUNT; reason++)
			if (world_unparsed(reason) != ((uint32_t)rows[i].outcome == SHORT_FRAME + reason))
				fail_msg("%s unparsed %u: %llu", world.row, reason,
					 (unsigned long long)world_unparsed(reason));
		world_egress_spec(rows[i].spec); /* the way out must bear the same shapes */
	}
}

/* What a tuple is made of: one handshake for each, whatever surrounds it. */
static void shapes_of_one_connection_are_one_tuple(void **state)
{
	static const struct frame_spec same[] = {
		{.seq = 1},          {.vlans = 1}, {.vlans = 2, .ip_options = 8},
		{.tcp_options = 40}, {.data = 10}, {.padding = 6},
	};
	static const struct frame_spec same6[] = {{.v6 = true},
						  {.v6 = true, .ext = {60, 43}},
						  {.v6 = true, .hop_by_hop = true, .vlans = 1}};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_int_equal(world_shield_spec(same[i]), XDP_PASS);
	for (i = 0; i < sizeof(same6) / sizeof(same6[0]); i++)
		assert_int_equal(world_shield_spec(same6[i]), XDP_PASS);
	world_counted(0, .seen = 9, .verdict[SYNHOLD_VERDICT_ADMIT] = 9, .started = 2, .offered = 2, .retransmits = 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(each_shape),
		world_test(shapes_of_one_connection_are_one_tuple),
	};

	return world_run(tests);
}
