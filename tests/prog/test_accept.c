// SPDX-License-Identifier: GPL-2.0-or-later
/* The listener's own queue: once it has been seen filling, a SYN that it could not take waits outside. */
#include "tests/prog/world.h"

#include <arpa/inet.h>
#include <unistd.h>

#define CLIENTS_MAX 16

struct crowd {
	int listener, client[CLIENTS_MAX];
	unsigned int count;
};

static void crowd_open(struct crowd *crowd, bool v6, int backlog, bool group)
{
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(443)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(443)};
	int one = 1;

	crowd->count = 0;
	crowd->listener = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
	world_ok(crowd->listener);
	world_ok(setsockopt(crowd->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	if (group)
		world_ok(setsockopt(crowd->listener, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)));
	world_ok(v6 ? bind(crowd->listener, (struct sockaddr *)&six, sizeof(six)) :
		      bind(crowd->listener, (struct sockaddr *)&four, sizeof(four)));
	world_ok(listen(crowd->listener, backlog));
}

/* Connects clients whom nobody accepts. */
static void crowd_grow(struct crowd *crowd, bool v6, unsigned int count)
{
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(443)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6,
				   .sin6_port = htons(443),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT};

	four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (; crowd->count < count; crowd->count++) {
		int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);

		world_ok(fd);
		crowd->client[crowd->count] = fd;
		world_ok(v6 ? connect(fd, (struct sockaddr *)&six, sizeof(six)) :
			      connect(fd, (struct sockaddr *)&four, sizeof(four)));
	}
}

static void crowd_close(struct crowd *crowd)
{
	for (unsigned int i = 0; i < crowd->count; i++)
		close(crowd->client[i]);
	close(crowd->listener);
}

static const struct {
	const char *name;
	bool v6, guard;
	int backlog;
	unsigned int waiting, window; /* window 0: none */
	bool held;
} rows[] = {
	{"not looked at", false, false, 8, 8, 100, false},
	{"empty", false, true, 8, 0, 100, false},
	{"below three quarters", false, true, 8, 5, 100, false},
	{"three quarters", false, true, 8, 6, 100, true},
	{"full", false, true, 8, 8, 100, true},
	{"full, IPv6", true, true, 8, 8, 100, true},
	{"below, IPv6", true, true, 8, 5, 100, false},
	{"as many as the window", false, true, 100, 4, 4, true},
	{"fewer than the window", false, true, 100, 4, 5, false},
	{"no window", false, true, 8, 8, 0, false},
};

static void each_length_of_the_queue(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *local = rows[i].v6 ? "::1" : "127.0.0.1";
		struct synhold_policy pol;
		struct crowd crowd;

		world_check(state);
		world_reset(state);
		snprintf(world.row, sizeof(world.row), "%s:", rows[i].name);
		crowd_open(&crowd, rows[i].v6, rows[i].backlog, false);
		crowd_grow(&crowd, rows[i].v6, rows[i].waiting);
		pol = world_policy();
		if (rows[i].window)
			world_set_window(&pol, rows[i].window);
		world_put_policy(0, 0, &pol);
		world.runtime[0].accept_guard = rows[i].guard;
		world_syn(.v6 = rows[i].v6, .src = local, .dst = local);
		world_counted(0, .seen = 1, .offered = 1, .verdict[SYNHOLD_VERDICT_ADMIT] = !rows[i].held,
			      .verdict[SYNHOLD_VERDICT_HOLD] = rows[i].held, .started = !rows[i].held,
			      .bites = rows[i].held, .over_limit[SYNHOLD_REASON_WINDOW] = rows[i].held);
		crowd_close(&crowd);
	}
}

/* A SYN of the same tuple as that of a connection that stands is no business of the listener. */
static void established_is_no_listener(void **state)
{
	struct sockaddr_in name;
	socklen_t length = sizeof(name);
	struct synhold_policy pol;
	struct crowd crowd;

	(void)state;
	crowd_open(&crowd, false, 8, false);
	crowd_grow(&crowd, false, 8);
	world_ok(getsockname(crowd.client[0], (struct sockaddr *)&name, &length));
	pol = world_policy();
	world_set_window(&pol, 100);
	world_put_policy(0, 0, &pol);
	world.runtime[0].accept_guard = 1;
	assert_int_equal(world_syn(.src = "127.0.0.1", .dst = "127.0.0.1", .sport = ntohs(name.sin_port)), XDP_PASS);
	crowd_close(&crowd);
}

/* What waits because the queue is full is released when the server has accepted, and not before. */
static void released_when_there_is_room(void **state)
{
	struct synhold_policy pol = world_policy();
	struct crowd crowd;
	struct frame syn;
	int fd;

	(void)state;
	crowd_open(&crowd, false, 8, false);
	crowd_grow(&crowd, false, 6);
	world_set_window(&pol, 100);
	world_put_policy(0, 0, &pol);
	world.runtime[0].accept_guard = 1;
	frames_build(&syn, &(struct frame_spec){.src = "127.0.0.1", .dst = "127.0.0.1", .tcp_options = 20});
	assert_int_equal(world_shield(&syn), XDP_DROP);
	assert_int_equal(world_release(&syn, 0, 0), SYNHOLD_RELEASE_REFUSED);
	assert_int_equal(world.release_io->reason, SYNHOLD_REASON_WINDOW);
	fd = accept(crowd.listener, NULL, NULL);
	world_ok(fd);
	assert_int_equal(world_release(&syn, 0, 0), SYNHOLD_RELEASE_DONE);
	close(fd);
	crowd_close(&crowd);
}

/* One member of a SO_REUSEPORT group that is full holds only those whom the kernel would give to it. */
static void members_of_a_group(void **state)
{
	struct synhold_policy pol = world_policy();
	struct crowd full, room;
	unsigned int passed = 0;

	(void)state;
	crowd_open(&full, false, 1, true); /* three quarters of one: as soon as one waits */
	crowd_grow(&full, false, 1);
	crowd_open(&room, false, 1000, true);
	world_set_window(&pol, 4000);
	world_put_policy(0, 0, &pol);
	world.runtime[0].accept_guard = 1;
	for (unsigned int i = 0; i < 200; i++)
		passed += world_syn(.src = "127.0.0.1", .dst = "127.0.0.1", .sport = (uint16_t)(2000 + i)) == XDP_PASS;
	assert_in_range(passed, 50, 150);
	crowd_close(&full);
	crowd_close(&room);
}

static int load_in_private_net(void **state)
{
	world_private_net();
	return world_load(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(each_length_of_the_queue),
		world_test(established_is_no_listener),
		world_test(released_when_there_is_room),
		world_test(members_of_a_group),
	};

	return cmocka_run_group_tests(tests, load_in_private_net, world_unload);
}
