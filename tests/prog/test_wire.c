// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The programs on a real pair of interfaces, in two network namespaces of our own: a client's connect() meets the
 * shield, the server's socket the egress program. What BPF_PROG_TEST_RUN cannot show: offloaded checksums, sockets, the
 * RST's way back. Needs ip(8).
 */
#define _GNU_SOURCE 1
#include "tests/prog/world.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERVER4 "192.0.2.10"
#define SERVER6 "2001:db8::10"
#define WAIT_MS 5000

static int server_net, client_net;
static int server_if;
static struct synhold_policy pol;

static void in_net(int net)
{
	world_ok(setns(net, CLONE_NEWNET));
}

static void command(const char *format, ...)
{
	char line[256];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (system(line))
		fail_msg("failed: %s", line);
}

static void attach_tc(int prog, enum bpf_tc_attach_point point)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = server_if, .attach_point = point);
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = prog);
	int err = bpf_tc_hook_create(&hook);

	assert_true(!err || err == -EEXIST);
	assert_int_equal(bpf_tc_attach(&hook, &opts), 0);
}

static int setup(void **state)
{
	world_private_net();
	client_net = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	world_private_net();
	server_net = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (client_net < 0 || server_net < 0 || world_load(state))
		return -1;
	command("ip link add shw0 type veth peer name shw1");
	command("ip link set shw1 netns /proc/%d/fd/%d", getpid(), client_net);
	command("ip addr add " SERVER4 "/24 dev shw0 && ip addr add " SERVER6
		"/64 dev shw0 nodad && ip link set shw0 up");
	in_net(client_net);
	command("ip addr add 192.0.2.1/24 dev shw1 && ip addr add 2001:db8::1/64 dev shw1 nodad");
	command("ip link set shw1 up");
	in_net(server_net);
	server_if = (int)if_nametoindex("shw0");
	attach_tc(world.egress, BPF_TC_EGRESS);
	attach_tc(world.reject, BPF_TC_INGRESS);
	return server_if ? 0 : -1;
}

static void shield_on(uint32_t mode)
{
	world_ok(bpf_xdp_attach(server_if, world.shield, mode, NULL));
}

static void shield_off(uint32_t mode)
{
	world_ok(bpf_xdp_detach(server_if, mode, NULL));
}

static int address(bool v6, struct sockaddr_storage *to)
{
	struct sockaddr_in *four = (struct sockaddr_in *)to;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)to;

	memset(to, 0, sizeof(*to));
	to->ss_family = v6 ? AF_INET6 : AF_INET;
	if (v6) {
		six->sin6_port = htons(443);
		assert_int_equal(inet_pton(AF_INET6, SERVER6, &six->sin6_addr), 1);
	} else {
		four->sin_port = htons(443);
		assert_int_equal(inet_pton(AF_INET, SERVER4, &four->sin_addr), 1);
	}
	return v6 ? sizeof(*six) : sizeof(*four);
}

static int listener(bool v6)
{
	int fd, one = 1, len;
	struct sockaddr_storage at;

	in_net(server_net);
	fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
	world_ok(fd);
	world_ok(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	len = address(v6, &at);
	world_ok(bind(fd, (struct sockaddr *)&at, (socklen_t)len));
	world_ok(listen(fd, 16));
	return fd;
}

/* A client that has begun to connect. */
static int client(bool v6)
{
	struct sockaddr_storage to;
	int fd, len = address(v6, &to);

	in_net(client_net);
	fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	world_ok(fd);
	assert_true(connect(fd, (struct sockaddr *)&to, (socklen_t)len) == -1 && errno == EINPROGRESS);
	in_net(server_net);
	return fd;
}

/* How the client's connect() ends within `ms`: 0, an errno, or -1 when it still waits. */
static int connected(int fd, int ms)
{
	struct pollfd wait = {.fd = fd, .events = POLLOUT};
	socklen_t size = sizeof(int);
	int err = 0;

	if (poll(&wait, 1, ms) != 1)
		return -1;
	world_ok(getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size));
	return err;
}

static void readable(int fd)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};

	assert_int_equal(poll(&wait, 1, WAIT_MS), 1);
}

static void rejecting(void)
{
	pol = world_policy();
	pol.closed = 1;
	pol.action = SYNHOLD_ACTION_REJECT;
	world_put_policy(0, 0, &pol);
}

static void a_rejected_client_is_refused_at_once(void **state)
{
	static const uint32_t modes[] = {XDP_FLAGS_SKB_MODE, XDP_FLAGS_DRV_MODE};
	size_t m, v6;

	for (m = 0; m < 2; m++) {
		for (v6 = 0; v6 < 2; v6++) {
			int fd, server;

			world_check(state);
			world_reset(state);
			rejecting();
			shield_on(modes[m]);
			server = listener(v6);
			fd = client(v6);
			assert_int_equal(connected(fd, WAIT_MS), ECONNREFUSED);
			shield_off(modes[m]);
			world_counted(0, .seen = 1, .offered = 1, .verdict[SYNHOLD_VERDICT_REJECT] = 1,
				      .over_limit[SYNHOLD_REASON_CLOSED] = 1);
			close(fd);
			close(server);
		}
	}
}

/* XDP_TX in native mode, which reaches veth's other end if that has a program, too. With whole checksums, as on a card:
 * nobody completes them. */
static void a_rejected_client_is_refused_by_xdp_tx(void **state)
{
	struct synhold_interface iface = {.flags = SYNHOLD_IFACE_TX};
	uint32_t key = (uint32_t)server_if;
	int v6, client_if, fd, server;

	in_net(client_net);
	client_if = (int)if_nametoindex("shw1");
	command("ethtool -K shw1 tx off >/dev/null");
	world_ok(bpf_xdp_attach(client_if, world.shield, XDP_FLAGS_DRV_MODE, NULL)); /* passes what comes back */
	in_net(server_net);
	for (v6 = 0; v6 < 2; v6++) {
		world_check(state);
		world_reset(state);
		world_ok(bpf_map_update_elem(world.interfaces, &key, &iface, BPF_ANY));
		rejecting();
		shield_on(XDP_FLAGS_DRV_MODE);
		command("tc filter del dev shw0 ingress"); /* this is not the way */
		server = listener(v6);
		fd = client(v6);
		assert_int_equal(connected(fd, WAIT_MS), ECONNREFUSED);
		shield_off(XDP_FLAGS_DRV_MODE);
		attach_tc(world.reject, BPF_TC_INGRESS);
		world_counted(0, .seen = 1, .offered = 1, .verdict[SYNHOLD_VERDICT_REJECT] = 1,
			      .over_limit[SYNHOLD_REASON_CLOSED] = 1);
		close(fd);
		close(server);
	}
	in_net(client_net);
	world_ok(bpf_xdp_detach(client_if, XDP_FLAGS_DRV_MODE, NULL));
	command("ethtool -K shw1 tx on >/dev/null");
	in_net(server_net);
}

/* Waits for a counter that another CPU or a later packet moves. */
static void settled(uint64_t expected)
{
	uint64_t deadline = world_now() + 5 * WORLD_SECOND;

	while (world_counters(0).outcome[SYNHOLD_OUTCOME_SETTLED] < expected) {
		assert_true(world_now() < deadline);
		usleep(1000);
	}
}

/* A handshake and the client's request settle nothing; the first byte of the answer does, with the round trip the
 * socket knows. */
static void the_first_byte_of_the_server_settles(void **state)
{
	size_t v6;

	for (v6 = 0; v6 < 2; v6++) {
		struct synhold_counters c;
		char bulk[65536] = {0};
		int fd, conn, server, i;

		world_check(state);
		world_reset(state);
		shield_on(XDP_FLAGS_SKB_MODE);
		server = listener(v6);
		fd = client(v6);
		assert_int_equal(connected(fd, WAIT_MS), 0);
		readable(server);
		conn = accept(server, NULL, NULL);
		world_ok(conn);
		assert_int_equal(write(fd, "hello", 5), 5);
		readable(conn);
		world_counted(0, .seen = 1, .offered = 1, .verdict[SYNHOLD_VERDICT_ADMIT] = 1, .started = 1);
		assert_int_equal(write(conn, "x", 1), 1);
		settled(1);
		c = world_counters(0);
		assert_int_equal(c.rtt_count, 1);
		assert_in_range(c.rtt_sum_ns, 1000, WORLD_SECOND);
		assert_int_equal(c.delay_sum_ns,
				 c.first_byte_sum_ns > c.rtt_sum_ns ? c.first_byte_sum_ns - c.rtt_sum_ns : 0);
		for (i = 0; i < 20; i++) /* bulk later on is nobody's business */
			if (write(conn, bulk, sizeof(bulk)) > 0)
				while (recv(fd, bulk, sizeof(bulk), MSG_DONTWAIT) > 0)
					;
		close(conn);
		close(fd);
		close(server);
		shield_off(XDP_FLAGS_SKB_MODE);
		world_counted(0, .seen = 1, .offered = 1, .verdict[SYNHOLD_VERDICT_ADMIT] = 1, .started = 1,
			      .outcome[SYNHOLD_OUTCOME_SETTLED] = 1);
	}
}

/* Small segments: past the first flight they are followed only when some service counts bytes. */
static void settle_bytes_in_small_segments(void **state)
{
	size_t counts;

	for (counts = 0; counts < 2; counts++) {
		struct synhold_global_policy all = {.settle_bytes_most = counts ? 20000 : 1};
		char data[100] = {0}, sink[4096];
		int fd, conn, server, i, one = 1;
		uint32_t bank = 0;

		world_check(state);
		world_reset(state);
		world_ok(bpf_map_update_elem(world.globals, &bank, &all, BPF_ANY));
		pol = world_policy();
		pol.settle_bytes = 20000;
		world_put_policy(0, 0, &pol);
		shield_on(XDP_FLAGS_SKB_MODE);
		server = listener(false);
		fd = client(false);
		assert_int_equal(connected(fd, WAIT_MS), 0);
		readable(server);
		conn = accept(server, NULL, NULL);
		world_ok(conn);
		world_ok(setsockopt(conn, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)));
		for (i = 0; i < 199; i++) {
			assert_int_equal(write(conn, data, sizeof(data)), sizeof(data));
			readable(fd);
			while (recv(fd, sink, sizeof(sink), MSG_DONTWAIT) > 0)
				;
		}
		assert_int_equal(world_counters(0).outcome[SYNHOLD_OUTCOME_SETTLED], 0);
		for (i = 0; i < 2; i++) {
			assert_int_equal(write(conn, data, sizeof(data)), sizeof(data));
			readable(fd);
			while (recv(fd, sink, sizeof(sink), MSG_DONTWAIT) > 0)
				;
		}
		if (counts)
			settled(1);
		assert_int_equal(world_counters(0).outcome[SYNHOLD_OUTCOME_SETTLED], counts);
		close(conn);
		close(fd);
		close(server);
		shield_off(XDP_FLAGS_SKB_MODE);
	}
}

static void a_held_client_connects_when_released(void **state)
{
	size_t v6;

	for (v6 = 0; v6 < 2; v6++) {
		struct frame frame = {.len = 0};
		uint64_t deadline;
		int fd, server;

		world_check(state);
		world_reset(state);
		pol = world_policy();
		pol.closed = 1;
		world_put_policy(0, 0, &pol);
		shield_on(XDP_FLAGS_SKB_MODE);
		server = listener(v6);
		fd = client(v6);
		deadline = world_now() + 5 * WORLD_SECOND;
		while (!world.held_count) {
			assert_true(world_now() < deadline);
			world_drain();
		}
		assert_int_equal(connected(fd, 20), -1);
		assert_int_equal(world.held[0].ifindex, server_if);
		frame.len = world.held[0].frame_len;
		frame.l4 = world.held[0].l4_offset;
		frame.tuple = world.held[0].tuple;
		memcpy(frame.bytes, world.held[0].frame, frame.len);
		frames_complete_checksum(&frame,
					 world.held[0].l3_offset); /* veth leaves it to the card that there is not */
		pol.closed = 0;
		world_put_policy(0, 0, &pol);
		assert_int_equal(world_release_on(server_if, &frame, 0, SYNHOLD_RELEASE_GENERIC), SYNHOLD_RELEASE_DONE);
		assert_int_equal(connected(fd, WAIT_MS), 0);
		close(fd);
		close(server);
		shield_off(XDP_FLAGS_SKB_MODE);
	}
}

/* A client that gives up before it is served gives its slot back: its FIN says so. */
static void a_client_that_closes_is_counted_as_abandoned(void **state)
{
	uint64_t deadline;
	int fd, server;

	(void)state;
	shield_on(XDP_FLAGS_SKB_MODE);
	server = listener(false);
	fd = client(false);
	assert_int_equal(connected(fd, WAIT_MS), 0);
	close(fd);
	deadline = world_now() + 5 * WORLD_SECOND;
	while (world.gates[0].inflight) {
		assert_true(world_now() < deadline);
		usleep(1000);
	}
	world_counted(0, .seen = 1, .offered = 1, .verdict[SYNHOLD_VERDICT_ADMIT] = 1, .started = 1,
		      .outcome[SYNHOLD_OUTCOME_ABANDONED] = 1, .left = 1);
	close(server);
	shield_off(XDP_FLAGS_SKB_MODE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(a_rejected_client_is_refused_at_once),
		world_test(a_rejected_client_is_refused_by_xdp_tx),
		world_test(the_first_byte_of_the_server_settles),
		world_test(settle_bytes_in_small_segments),
		world_test(a_held_client_connects_when_released),
		world_test(a_client_that_closes_is_counted_as_abandoned),
	};

	return cmocka_run_group_tests(tests, setup, world_unload);
}
