// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who has asked: connections of the kernel's own, over a loopback that the programs are attached to, as a test run has
 * no socket that a client has sent something to.
 */
#include <arpa/inet.h>
#include <linux/if_link.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/prog/world.h"

#define LOOPBACK 1
#define WAIT_NS (20 * WORLD_SECOND)

static int listener = -1;

/* A client and what the server has accepted of it. */
struct pair {
	int client, server;
};

static struct pair connected(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(443),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct pair pair = {.client = socket(AF_INET, SOCK_STREAM, 0)};

	world_ok(pair.client);
	world_ok(connect(pair.client, (struct sockaddr *)&to, sizeof(to)));
	pair.server = accept(listener, NULL, NULL);
	world_ok(pair.server);
	return pair;
}

static void disconnect(struct pair pair)
{
	close(pair.client);
	close(pair.server);
}

static void say(int from)
{
	assert_int_equal(send(from, "x", 1, MSG_NOSIGNAL), 1);
}

static void hear(int at)
{
	struct pollfd poll_at = {.fd = at, .events = POLLIN};
	char byte;

	assert_int_equal(poll(&poll_at, 1, (int)(WAIT_NS / 1000000)), 1);
	assert_int_equal(recv(at, &byte, 1, 0), 1);
}

/* Waits until a counter of the service has a value; what the programs do is done by then. */
#define until(counter, value)                                                                    \
	do {                                                                                     \
		uint64_t until_ns = world_now() + WAIT_NS;                                       \
                                                                                                 \
		while (world_counters(0).counter != (uint64_t)(value) && world_now() < until_ns) \
			usleep(1000);                                                            \
		assert_int_equal(world_counters(0).counter, value);                              \
	} while (0)

static void a_client_that_sends_has_asked(void **state)
{
	struct pair pair = connected();
	struct synhold_counters c;
	uint32_t i, same = 0;

	(void)state;
	until(started, 1);
	assert_int_equal(world_counters(0).asked, 0);
	assert_int_equal(world.asked[0].inflight, 0);
	say(pair.client);
	until(asked, 1);
	say(pair.client); /* more of it says nothing more */
	hear(pair.server);
	hear(pair.server);
	assert_int_equal(world.asked[0].inflight, 1);
	for (i = 0; i < SYNHOLD_BUCKETS; i++) /* in the very bucket of its admission */
		same += world.gates[0].buckets[i] && world.gates[0].buckets[i] == world.asked[0].buckets[i];
	assert_int_equal(same, 1);
	say(pair.server);
	until(outcome[SYNHOLD_OUTCOME_SETTLED], 1);
	c = world_counters(0);
	assert_int_equal(c.asked, 1);
	assert_int_equal(c.asked_settled, 1);
	assert_int_equal(c.greeted, 0);
	assert_int_equal(world.asked[0].inflight, 0);
	disconnect(pair);
}

static void a_server_that_speaks_first_was_not_asked(void **state)
{
	struct pair pair = connected();

	(void)state;
	say(pair.server);
	until(outcome[SYNHOLD_OUTCOME_SETTLED], 1);
	assert_int_equal(world_counters(0).greeted, 1);
	say(pair.client);
	hear(pair.server);
	say(pair.server);
	hear(pair.client);
	hear(pair.client);
	assert_int_equal(world_counters(0).asked, 0);
	disconnect(pair);
}

/* With settle-bytes the mark outlives the server's first: what the client sends then is an answer and no request. */
static void an_answer_to_the_server_is_no_request(void **state)
{
	struct synhold_policy pol = world_policy();
	struct pair pair;

	(void)state;
	pol.settle_bytes = 3;
	world_put_policy(0, 0, &pol);
	pair = connected();
	say(pair.server);
	hear(pair.client);
	say(pair.client);
	hear(pair.server);
	say(pair.server);
	hear(pair.client);
	say(pair.server);
	until(outcome[SYNHOLD_OUTCOME_SETTLED], 1);
	assert_int_equal(world_counters(0).asked, 0);
	assert_int_equal(world_counters(0).greeted, 1);
	disconnect(pair);
}

static void who_leaves_waits_no_more(void **state)
{
	const struct linger at_once = {.l_onoff = 1};
	struct pair reset = connected(), closed = connected();

	(void)state;
	say(reset.client);
	say(closed.client);
	until(asked, 2);
	assert_int_equal(world.asked[0].inflight, 2);
	world_ok(setsockopt(reset.client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)));
	disconnect(reset);
	until(outcome[SYNHOLD_OUTCOME_ABANDONED], 1);
	assert_int_equal(world.asked[0].inflight, 1);
	world_ok(shutdown(closed.client, SHUT_WR));
	until(left, 1);
	assert_int_equal(world.asked[0].inflight, 0);
	assert_int_equal(world.owed[0].inflight, 1);
	say(closed.server); /* work in vain says nothing of whether clients ask */
	until(answered, 1);
	assert_int_equal(world_counters(0).asked_settled + world_counters(0).greeted, 0);
	disconnect(closed);
}

static void what_expires_tells_whether_it_had_asked(void **state)
{
	struct pair asks, silent;
	uint64_t end_ns = world_now() + WAIT_NS;

	(void)state;
	world.runtime[0].expire_ns = SYNHOLD_EXPIRE_MIN_NS;
	asks = connected();
	silent = connected();
	say(asks.client);
	until(asked, 1);
	while (world_counters(0).outcome[SYNHOLD_OUTCOME_EXPIRED] < 2 && world_now() < end_ns) {
		usleep(20000);
		world_sweep();
	}
	assert_int_equal(world_counters(0).outcome[SYNHOLD_OUTCOME_EXPIRED], 2);
	assert_int_equal(world_counters(0).asked_expired, 1);
	assert_int_equal(world.asked[0].inflight, 0);
	say(silent.client); /* too late to count for anything in flight */
	until(asked, 2);
	assert_int_equal(world.asked[0].inflight, 0);
	say(silent.server);
	until(late, 1);
	disconnect(asks);
	disconnect(silent);
}

static int load_and_attach(void **state)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons(443),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = LOOPBACK, .attach_point = BPF_TC_EGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts);

	world_private_net();
	if (world_load(state))
		return -1;
	opts.prog_fd = world.egress;
	listener = socket(AF_INET, SOCK_STREAM, 0);
	return bpf_tc_hook_create(&hook) || bpf_tc_attach(&hook, &opts) ||
			       bpf_xdp_attach(LOOPBACK, world.shield, XDP_FLAGS_SKB_MODE, NULL) || listener < 0 ||
			       bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 16) ?
		       -1 :
		       0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(a_client_that_sends_has_asked),
		world_test(a_server_that_speaks_first_was_not_asked),
		world_test(an_answer_to_the_server_is_no_request),
		world_test(who_leaves_waits_no_more),
		world_test(what_expires_tells_whether_it_had_asked),
	};

	return cmocka_run_group_tests(tests, load_and_attach, world_unload);
}
