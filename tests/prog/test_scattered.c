// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Answers whose headers are not in one piece. A packet socket's transmit ring leaves all but the Ethernet header in the
 * pages of the ring; user-space stacks send like that. The egress program has to read them there. In a private network
 * namespace, on a real interface.
 */
#define _GNU_SOURCE 1
#include "tests/prog/world.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define SLOT_BYTES 2048
#define SLOTS 8
#define DATA_AT TPACKET_ALIGN(sizeof(struct tpacket2_hdr))

static int ring_fd, ifindex;
static uint8_t *ring;
static unsigned int next_slot;

static int setup(void **state)
{
	struct tpacket_req req = {
		.tp_block_size = SLOT_BYTES * SLOTS,
		.tp_block_nr = 1,
		.tp_frame_size = SLOT_BYTES,
		.tp_frame_nr = SLOTS,
	};
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	LIBBPF_OPTS(bpf_tc_hook, hook, .attach_point = BPF_TC_EGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts);
	int version = TPACKET_V2;

	world_private_net();
	if (world_load(state) ||
	    system("ip link add sc0 type veth peer name sc1 && ip link set sc0 up && ip link set sc1 up"))
		return -1;
	at.sll_ifindex = hook.ifindex = ifindex = (int)if_nametoindex("sc0");
	opts.prog_fd = world.egress;
	ring_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (!ifindex || bpf_tc_hook_create(&hook) || bpf_tc_attach(&hook, &opts) || ring_fd < 0 ||
	    setsockopt(ring_fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) ||
	    setsockopt(ring_fd, SOL_PACKET, PACKET_TX_RING, &req, sizeof(req)) ||
	    bind(ring_fd, (struct sockaddr *)&at, sizeof(at)))
		return -1;
	ring = mmap(NULL, SLOT_BYTES * SLOTS, PROT_READ | PROT_WRITE, MAP_SHARED, ring_fd, 0);
	return ring == MAP_FAILED ? -1 : 0;
}

/* Sends a frame and returns when it is gone. */
static void send_frame(const struct frame_spec *spec)
{
	struct tpacket2_hdr *slot = (void *)(ring + SLOT_BYTES * (next_slot++ % SLOTS));
	struct frame frame;

	frames_build(&frame, spec);
	assert_int_equal(slot->tp_status, TP_STATUS_AVAILABLE);
	memcpy((uint8_t *)slot + DATA_AT, frame.bytes, frame.len);
	slot->tp_len = (uint32_t)frame.len;
	slot->tp_status = TP_STATUS_SEND_REQUEST;
	assert_int_equal(send(ring_fd, NULL, 0, 0), (int)frame.len);
}

static const struct {
	const char *name;
	struct frame_spec spec;
	bool settles;
} rows[] = {
	{"a byte", {.data = 1}, true},
	{"many of them", {.data = 900}, true},
	{"the longest IPv4 headers", {.ip_options = 40, .tcp_options = 40, .data = 10}, true},
	{"two tags", {.vlans = 2, .data = 10}, true},
	{"IPv6", {.v6 = true, .data = 10}, true},
	{"IPv6 with six extension headers",
	 {.v6 = true, .hop_by_hop = true, .ext = {60, 43, 51, 60, 60}, .tcp_options = 40, .data = 10},
	 true},
	{"an end", {.flags = FRAMES_FIN | FRAMES_ACK}, true},
	{"a reset", {.flags = FRAMES_RST}, true},
	{"neither", {.flags = FRAMES_ACK}, false},
	{"of another connection", {.sport = 9, .data = 10}, false},
};

static void each_answer_is_read(void **state)
{
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct frame_spec spec = rows[i].spec;

		world_check(state);
		world_reset(state);
		snprintf(world.row, sizeof(world.row), "%s:", rows[i].name);
		assert_int_equal(world_syn(.v6 = spec.v6), XDP_PASS);
		spec.reply = true;
		send_frame(&spec);
		world_counted(0, .seen = 1, .offered = 1, .verdict[SYNHOLD_VERDICT_ADMIT] = 1, .started = 1,
			      .outcome[SYNHOLD_OUTCOME_SETTLED] = rows[i].settles);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(each_answer_is_read),
	};

	return cmocka_run_group_tests(tests, setup, world_unload);
}
