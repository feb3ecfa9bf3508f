// SPDX-License-Identifier: GPL-2.0-or-later
/* What the server sends, seen by the egress program: what settles a handshake and what does not. */
#include "tests/prog/world.h"

#define ROWS(t) (sizeof(t) / sizeof((t)[0]))

static struct synhold_delays delays(void)
{
	size_t cpus = (size_t)libbpf_num_possible_cpus(), i, k;
	struct synhold_delays *each = calloc(cpus, sizeof(*each)), sum = {0};
	uint32_t service = 0;

	assert_non_null(each);
	world_ok(bpf_map_lookup_elem(world.delays, &service, each));
	for (i = 0; i < cpus; i++) {
		for (k = 0; k < SYNHOLD_HIST_BUCKETS; k++) {
			sum.first_byte[k] += each[i].first_byte[k];
			sum.server[k] += each[i].server[k];
		}
	}
	free(each);
	return sum;
}

static uint64_t total(const __u64 *buckets)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < SYNHOLD_HIST_BUCKETS; i++)
		sum += buckets[i];
	return sum;
}

static const struct {
	const char *name;
	struct frame_spec answer;
	bool settles;
} answers[] = {
	{"SYN-ACK", {.flags = FRAMES_SYN | FRAMES_ACK, .tcp_options = 20}, false},
	{"SYN-ACK, padded", {.flags = FRAMES_SYN | FRAMES_ACK, .padding = 6}, false},
	{"ACK", {.flags = FRAMES_ACK}, false},
	{"ACK, padded to the least Ethernet frame", {.flags = FRAMES_ACK, .padding = 6}, false},
	{"ACK with options", {.flags = FRAMES_ACK, .tcp_options = 40, .ip_options = 40}, false},
	{"a byte", {.data = 1}, true},
	{"a byte without PSH", {.data = 1, .flags = FRAMES_ACK}, true},
	{"a byte behind options and tags", {.data = 1, .vlans = 2, .ip_options = 12, .tcp_options = 12}, true},
	{"a segment", {.data = 900}, true},
	{"FIN", {.flags = FRAMES_FIN | FRAMES_ACK}, true},
	{"RST", {.flags = FRAMES_RST | FRAMES_ACK}, true},
	{"RST, padded", {.flags = FRAMES_RST | FRAMES_ACK, .padding = 6}, true},
	{"another client's", {.data = 1, .src = "198.51.100.2"}, false},
	{"another port's", {.data = 1, .sport = 40001}, false},
	{"from an unprotected port", {.data = 1, .dport = 444}, false},
	{"a later fragment", {.data = 8, .fragment = 1480}, false},
};

static void each_answer(void **state)
{
	size_t i, v6;

	for (v6 = 0; v6 < 2; v6++) {
		for (i = 0; i < ROWS(answers); i++) {
			struct frame_spec answer = answers[i].answer;

			if (v6 && answer.src)
				answer.src = "2001:db8:1::2";
			if (v6 && answer.fragment)
				answer.ext[0] = 44;
			world_check(state);
			world_reset(state);
			snprintf(world.row, sizeof(world.row), "v%d %s:", v6 ? 6 : 4, answers[i].name);
			answer.reply = true;
			answer.v6 = v6;
			assert_int_equal(world_syn(.v6 = v6), XDP_PASS);
			world_egress_spec(answer);
			world_egress_spec(answer); /* the same again settles nothing more */
			world_counted(0, .seen = 1, .verdict[SYNHOLD_VERDICT_ADMIT] = 1, .started = 1, .offered = 1,
				      .outcome[SYNHOLD_OUTCOME_SETTLED] = answers[i].settles);
			assert_int_equal(total(delays().first_byte), answers[i].settles);
		}
	}
}

static void the_reply_of_a_client_is_no_settlement(void **state)
{
	(void)state;
	/* a protected port as a client's port: our host connects out from 443 */
	assert_int_equal(world_syn(.sport = 1), XDP_PASS);
	world_egress_spec((struct frame_spec){.sport = 1, .data = 10}); /* same direction as the SYN */
	assert_int_equal(world_counters(0).outcome[SYNHOLD_OUTCOME_SETTLED], 0);
}

static void settle_bytes_count_what_was_sent_so_far(void **state)
{
	struct synhold_policy pol = world_policy();

	(void)state;
	pol.settle_bytes = 1000;
	world_put_policy(0, 0, &pol);
	assert_int_equal(world_syn(.sport = 1), XDP_PASS);
	world_reply(.sport = 1, .flags = FRAMES_SYN | FRAMES_ACK, .seq = 0xffffff00u - 1);
	world_reply(.sport = 1, .data = 400, .seq = 0xffffff00u);
	world_reply(.sport = 1, .data = 400, .seq = 0xffffff00u); /* a retransmission brings nothing new */
	world_reply(.sport = 1, .flags = FRAMES_ACK, .seq = 0xffffff00u + 400);
	world_reply(.sport = 1, .data = 599, .seq = 0xffffff00u + 400); /* the sequence number wraps on the way */
	assert_int_equal(world_counters(0).outcome[SYNHOLD_OUTCOME_SETTLED], 0);
	world_reply(.sport = 1, .data = 1, .seq = 0xffffff00u + 999);
	world_counted(0, .seen = 1, .verdict[SYNHOLD_VERDICT_ADMIT] = 1, .started = 1, .offered = 1,
		      .outcome[SYNHOLD_OUTCOME_SETTLED] = 1);
	/* a server that closes has settled, however little it said */
	assert_int_equal(world_syn(.sport = 2), XDP_PASS);
	world_reply(.sport = 2, .data = 10, .seq = 1);
	world_reply(.sport = 2, .flags = FRAMES_FIN | FRAMES_ACK, .seq = 11);
	assert_int_equal(world_counters(0).outcome[SYNHOLD_OUTCOME_SETTLED], 2);
	/* all at once */
	assert_int_equal(world_syn(.sport = 3), XDP_PASS);
	world_reply(.sport = 3, .data = 600, .seq = 1);
	world_reply(.sport = 3, .data = 600, .seq = 601);
	assert_int_equal(world_counters(0).outcome[SYNHOLD_OUTCOME_SETTLED], 3);
}

static void the_delay_is_measured_from_the_admission(void **state)
{
	struct synhold_counters c;
	struct synhold_mark mark;
	struct synhold_delays d;
	struct frame frame;

	(void)state;
	frames_build(&frame, &(struct frame_spec){.sport = 1});
	assert_int_equal(world_shield(&frame), XDP_PASS);
	assert_true(world_mark(&frame.tuple, &mark));
	mark.since_ns -= 300000000; /* as if admitted 300 ms ago */
	world_ok(bpf_map_update_elem(world.marks, &frame.tuple, &mark, BPF_EXIST));
	world_reply(.sport = 1, .data = 5);
	c = world_counters(0);
	assert_in_range(c.first_byte_sum_ns, 300000000, 300000000 + WORLD_SECOND / 10);
	assert_int_equal(c.rtt_count, 0); /* no socket here, so no round trip is known */
	d = delays();
	assert_int_equal(total(d.first_byte), 1);
	/* 2^28 = 268 ms; quarters of 67 ms: [268, 335) is the first of its octave, [335, 403) the second */
	assert_int_equal(d.first_byte[1 + (28 - SYNHOLD_HIST_MIN_SHIFT) * 4] +
				 d.first_byte[2 + (28 - SYNHOLD_HIST_MIN_SHIFT) * 4],
			 1);
	assert_int_equal(total(d.server), 0);
}

/* Each bucket of the histogram, by ages that fall into its middle; only coarse ones, as the run itself takes time. */
static void delays_fall_into_their_buckets(void **state)
{
	uint32_t octave, quarter;

	(void)state;
	for (octave = 24; octave < SYNHOLD_HIST_MIN_SHIFT + SYNHOLD_HIST_OCTAVES; octave++) {
		for (quarter = 0; quarter < 4; quarter++) {
			uint64_t age = (1ULL << octave) + (2 * quarter + 1) * (1ULL << (octave - 3));
			uint32_t bucket = 1 + (octave - SYNHOLD_HIST_MIN_SHIFT) * 4 + quarter;
			uint64_t before = delays().first_byte[bucket];
			struct synhold_mark mark;
			struct frame frame;

			frames_build(&frame, &(struct frame_spec){.sport = (uint16_t)(octave * 4 + quarter)});
			assert_int_equal(world_shield(&frame), XDP_PASS);
			assert_true(world_mark(&frame.tuple, &mark));
			mark.since_ns = world_now() - age;
			world_ok(bpf_map_update_elem(world.marks, &frame.tuple, &mark, BPF_EXIST));
			world_reply(.sport = (uint16_t)(octave * 4 + quarter), .data = 5);
			assert_int_equal(delays().first_byte[bucket], before + 1);
		}
	}
}

/* The daemon is woken by a settlement or a leaving client, but only while it holds something. */
static void wake_ups_only_while_something_is_held(void **state)
{
	(void)state;
	assert_int_equal(world_syn(.sport = 1), XDP_PASS);
	assert_int_equal(world_syn(.sport = 2), XDP_PASS);
	assert_int_equal(world_syn(.sport = 3), XDP_PASS);
	world_reply(.sport = 1, .data = 1);
	world_drain();
	assert_int_equal(world.wake_count, 0);
	world.runtime[0].held = 1;
	world_reply(.sport = 2, .data = 1);
	assert_int_equal(world_syn(.sport = 3, .flags = FRAMES_RST), XDP_PASS);
	world_drain();
	assert_int_equal(world.wake_count, 2);
	assert_int_equal(world.wake[0].kind, SYNHOLD_WAKE_SLOT);
	assert_int_equal(world.wake[1].kind, SYNHOLD_WAKE_SLOT);
	assert_int_equal(world.wake[1].service, 0);
	assert_in_range(world.wake[1].when_ns, world_now() - WORLD_SECOND, world_now());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(each_answer),
		world_test(the_reply_of_a_client_is_no_settlement),
		world_test(settle_bytes_count_what_was_sent_so_far),
		world_test(the_delay_is_measured_from_the_admission),
		world_test(delays_fall_into_their_buckets),
		world_test(wake_ups_only_while_something_is_held),
	};

	return world_run(tests);
}
