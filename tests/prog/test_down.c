// SPDX-License-Identifier: GPL-2.0-or-later
/* Hold-down: SYNs wait while a listener that was there is away. And a ramp's share, which is the daemon's to move. */
#include "tests/prog/world.h"

#include <arpa/inet.h>
#include <unistd.h>

#define HOLD_DOWN (30 * WORLD_SECOND)

/* A listener on port 443 of the loopback: 0.0.0.0 or ::, the latter for both families. */
static int listener(bool v6)
{
	struct sockaddr_in six_less = {.sin_family = AF_INET, .sin_port = htons(443)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(443)};
	int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0), one = 1;

	world_ok(fd);
	world_ok(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	world_ok(v6 ? bind(fd, (struct sockaddr *)&six, sizeof(six)) :
		      bind(fd, (struct sockaddr *)&six_less, sizeof(six_less)));
	world_ok(listen(fd, 8));
	return fd;
}

static const struct {
	const char *name;
	bool listens, dual, v6; /* dual: the listener is the IPv6 one, for both families */
	bool seen;
	uint64_t hold_down_ns;
	int64_t down_for_s; /* below 0: the daemon has not noticed */
	bool held;
} rows[] = {
	{"off", false, false, false, true, 0, 5, false},
	{"there", true, false, false, true, HOLD_DOWN, -1, false},
	{"there, dual", true, true, false, true, HOLD_DOWN, -1, false},
	{"there, IPv6", true, true, true, true, HOLD_DOWN, -1, false},
	{"away, just now", false, false, false, true, HOLD_DOWN, -1, true},
	{"away", false, false, false, true, HOLD_DOWN, 5, true},
	{"away, IPv6", false, false, true, true, HOLD_DOWN, 5, true},
	{"only IPv4 is there", true, false, true, true, HOLD_DOWN, 5, true},
	{"away for too long", false, false, false, true, HOLD_DOWN, 31, false},
	{"never seen here", false, false, false, false, HOLD_DOWN, -1, false},
	{"back, not noticed", true, false, false, true, HOLD_DOWN, 5, false},
};

static void each_state_of_the_listener(void **state)
{
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct synhold_policy pol;
		int fd = rows[i].listens ? listener(rows[i].dual) : -1;
		const char *local = rows[i].v6 ? "::1" : "127.0.0.1";

		world_check(state);
		world_reset(state);
		snprintf(world.row, sizeof(world.row), "%s:", rows[i].name);
		pol = world_policy();
		pol.hold_down_ns = rows[i].hold_down_ns;
		world_put_policy(0, 0, &pol);
		world.runtime[0].listener_seen = rows[i].seen;
		if (rows[i].down_for_s >= 0)
			world.runtime[0].down_since_ns = world_now() - (uint64_t)rows[i].down_for_s * WORLD_SECOND;
		world_syn(.v6 = rows[i].v6, .src = local, .dst = local);
		world_counted(0, .seen = 1, .offered = 1, .verdict[SYNHOLD_VERDICT_ADMIT] = !rows[i].held,
			      .verdict[SYNHOLD_VERDICT_HOLD] = rows[i].held, .started = !rows[i].held,
			      .over_limit[SYNHOLD_REASON_CLOSED] = rows[i].held);
		if (fd >= 0)
			close(fd);
	}
}

/* What waits for a listener is released when it is back, and not before. */
static void released_when_it_is_back(void **state)
{
	size_t v6;

	for (v6 = 0; v6 < 2; v6++) {
		struct synhold_policy pol;
		const char *local = v6 ? "::1" : "127.0.0.1";
		uint8_t flags = v6 ? SYNHOLD_RELEASE_IPV6 : 0;
		struct frame syn;
		int fd;

		world_check(state);
		world_reset(state);
		pol = world_policy();
		pol.hold_down_ns = HOLD_DOWN;
		world_put_policy(0, 0, &pol);
		world.runtime[0].listener_seen = 1;
		frames_build(&syn, &(struct frame_spec){.v6 = v6, .src = local, .dst = local, .tcp_options = 20});
		assert_int_equal(world_shield(&syn), XDP_DROP);
		assert_int_equal(world_release(&syn, 0, flags), SYNHOLD_RELEASE_REFUSED);
		assert_int_equal(world.release_io->reason, SYNHOLD_REASON_CLOSED);
		fd = listener(v6);
		assert_int_equal(world_release(&syn, 0, flags), SYNHOLD_RELEASE_DONE);
		close(fd);
	}
}

/* A handshake that the listener took down with it: the next copy of its SYN waits, and starts anew when released. */
static void what_was_in_flight_waits_too(void **state)
{
	struct synhold_policy pol;
	struct frame syn;
	int fd;

	world_check(state);
	world_reset(state);
	pol = world_policy();
	pol.hold_down_ns = HOLD_DOWN;
	world_put_policy(0, 0, &pol);
	world.runtime[0].listener_seen = 1;
	frames_build(&syn, &(struct frame_spec){.src = "127.0.0.1", .dst = "127.0.0.1", .tcp_options = 20});
	fd = listener(false);
	assert_int_equal(world_shield(&syn), XDP_PASS);
	assert_int_equal(world_shield(&syn), XDP_PASS);
	close(fd);
	assert_int_equal(world_shield(&syn), XDP_DROP);
	assert_int_equal(world_shield(&syn), XDP_DROP);
	world_counted(0, .seen = 4, .offered = 1, .retransmits = 1, .started = 1, .verdict[SYNHOLD_VERDICT_ADMIT] = 2,
		      .verdict[SYNHOLD_VERDICT_HOLD] = 2, .over_limit[SYNHOLD_REASON_CLOSED] = 2);
	fd = listener(false);
	assert_int_equal(world_release(&syn, 0, 0), SYNHOLD_RELEASE_DONE);
	close(fd);
	world_counted(0, .seen = 4, .offered = 1, .retransmits = 1, .started = 2, .verdict[SYNHOLD_VERDICT_ADMIT] = 2,
		      .verdict[SYNHOLD_VERDICT_HOLD] = 2, .over_limit[SYNHOLD_REASON_CLOSED] = 2);
}

static uint32_t inside(uint32_t port)
{
	uint32_t i, count = 0;

	for (i = 0; i < 4000; i++)
		count += world_syn(.src4 = 0x0a000000 + i, .sport = (uint16_t)port) == XDP_PASS;
	return count;
}

/* The policy's share rules unless there is a ramp and the daemon has computed where it stands. */
static void the_share_of_a_ramp(void **state)
{
	struct synhold_policy pol = world_policy();

	(void)state;
	pol.action = SYNHOLD_ACTION_DROP;
	world_set_share(&pol, 100000);
	world_put_policy(0, 0, &pol);
	world.runtime[0].share_threshold = 1ULL << 31;
	assert_in_range(inside(1), 300, 500);
	pol.ramp_over_ns = WORLD_HOUR;
	world_put_policy(0, 0, &pol);
	assert_in_range(inside(2), 1850, 2150);
	world.runtime[0].share_threshold = 0;
	assert_in_range(inside(3), 300, 500);
	world.runtime[0].share_threshold = (1ULL << 32) + 1;
	assert_int_equal(inside(4), 4000);
	world.runtime[0].share_threshold = 1; /* nobody */
	assert_int_equal(inside(5), 0);
}

static int load_in_private_net(void **state)
{
	world_private_net();
	return world_load(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(each_state_of_the_listener),
		world_test(released_when_it_is_back),
		world_test(what_was_in_flight_waits_too),
		world_test(the_share_of_a_ramp),
	};

	return cmocka_run_group_tests(tests, load_in_private_net, world_unload);
}
