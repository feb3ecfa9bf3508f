// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/net.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* A burst of every client's SYN has to fit, or the drill would test the queue of its own delay line. */
#define NET_QUEUE_LEN "200000"

/* The prefix is 10.PREFIX.HOST.0/24: .1 is the router, .2 the node or the front. */
static const char net_stub_setup[] = "link set lo up\n"
				     "link set " NET_SHIELD_IFACE " up\n"
				     "addr add 10.%d.%d.2/24 dev " NET_SHIELD_IFACE "\n"
				     "route add default via 10.%d.%d.1\n";

static const char net_down_setup[] = "link set %s up\n"
				     "addr add 10.%d.%d.1/24 dev %s\n";

static const char net_router_setup[] = "link set lo up\n"
				       "addr add " NET_CHECKER_TEXT "/32 dev lo\n"
				       "link set up0 txqueuelen " NET_QUEUE_LEN " up\n"
				       "addr add 10.98.0.1/30 dev up0\n"
				       "route add 10.10.0.0/15 via 10.98.0.2 dev up0 onlink\n";

static const char net_clients_setup[] = "link set lo up\n"
					"route add local 10.10.0.0/15 dev lo\n"
					"link set wan0 txqueuelen " NET_QUEUE_LEN " up\n"
					"addr add 10.98.0.2/30 dev wan0\n"
					"route add default via 10.98.0.1 dev wan0 onlink\n";

/* Runs `ip -batch` with the script in the network the caller is in; its complaint becomes the error. */
static int net_ip(struct world *world, const char *script)
{
	int in = memfd_create("in", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC), status = -1;
	char said[160] = "";
	ssize_t len;
	pid_t pid;

	if (in < 0 || out < 0 || write(in, script, strlen(script)) < 0 || lseek(in, 0, SEEK_SET))
		return board_fail(world->board, NULL, "cannot write a script for ip: %s", strerror(errno));
	pid = fork();
	if (!pid) {
		dup2(in, 0);
		dup2(out, 1);
		dup2(out, 2);
		execlp("ip", "ip", "-batch", "-", NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return board_fail(world->board, NULL, "cannot run ip: %s", strerror(errno));
	len = pread(out, said, sizeof(said) - 1, 0);
	close(in);
	close(out);
	if (!status)
		return 0;
	said[len > 0 ? len : 0] = '\0';
	said[strcspn(said, "\n")] = '\0';
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return board_fail(world->board, "install iproute2", "cannot run ip: not found");
	return board_fail(world->board, NULL, "cannot set up the private network: ip: %s", said);
}

static void net_sysctl(const char *name, const char *value)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/net/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	/* A kernel without the setting (no IPv6, say) does not need it. */
	if (fd < 0)
		return;
	if (write(fd, value, strlen(value)) < 0)
		fprintf(stderr, "synhold: drill: cannot set %s to %s: %s\n", path, value, strerror(errno));
	close(fd);
}

static int net_tun(struct world *world, const char *name)
{
	struct ifreq ifr = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	strcpy(ifr.ifr_name, name);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &ifr)) {
		board_fail(world->board, "load the tun module", "cannot create a TUN device: %s", strerror(errno));
		return -1;
	}
	return fd;
}

static void net_settings(void)
{
	net_sysctl("ipv6/conf/all/disable_ipv6", "1");
	net_sysctl("ipv6/conf/default/disable_ipv6", "1");
	net_sysctl("ipv4/conf/all/rp_filter", "0");
	net_sysctl("ipv4/conf/default/rp_filter", "0");
	net_sysctl("ipv4/ip_forward", "1");
	net_sysctl("core/somaxconn", "4096");
	net_sysctl("unix/max_dgram_qlen", "512"); /* the shield's reports must not wait for the runner */
}

/* A network that only this descriptor keeps; the caller is in it afterwards. */
static int net_here(struct world *world, enum world_net net, bool create)
{
	if (create && unshare(CLONE_NEWNET))
		return board_fail(world->board, NULL, "cannot create a network: %s", strerror(errno));
	world->net[net] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (world->net[net] < 0)
		return board_fail(world->board, NULL, "cannot open a network: %s", strerror(errno));
	net_settings();
	return 0;
}

static int net_veth(struct world *world, const char *name, enum world_net peer_net)
{
	char script[160];
	int fd = fcntl(world->net[peer_net], F_DUPFD, 64); /* survives the exec of ip */
	int ret;

	snprintf(script, sizeof(script),
		 "link add %s type veth peer name " NET_SHIELD_IFACE " netns /proc/self/fd/%d\n", name, fd);
	ret = net_ip(world, script);
	close(fd);
	return ret;
}

static int net_enter(struct world *world, enum world_net net)
{
	int ret = world_enter(world, net);

	return ret ? board_fail(world->board, NULL, "cannot enter a private network: %s", strerror(-ret)) : 0;
}

/* A network with one card, behind the router. The caller is in the router's network before and after. */
static int net_stub(struct world *world, enum world_net net, int prefix, int host)
{
	char script[256], name[16];

	snprintf(name, sizeof(name), "down%d", net);
	if (net != WORLD_NODE0 && (net_here(world, net, true) || net_enter(world, WORLD_ROUTER)))
		return -1;
	if (net_veth(world, name, net))
		return -1;
	snprintf(script, sizeof(script), net_down_setup, name, prefix, host, name);
	if (net_ip(world, script) || net_enter(world, net))
		return -1;
	snprintf(script, sizeof(script), net_stub_setup, prefix, host, prefix, host);
	return net_ip(world, script) || net_enter(world, WORLD_ROUTER) ? -1 : 0;
}

int net_build(struct world *world)
{
	if (net_here(world, WORLD_NODE0, false) || net_here(world, WORLD_CLIENTS, true))
		return -1;
	world->tun[0] = net_tun(world, "wan0");
	if (world->tun[0] < 0 || net_ip(world, net_clients_setup) || net_here(world, WORLD_ROUTER, true))
		return -1;
	world->tun[1] = net_tun(world, "up0");
	if (world->tun[1] < 0 || net_ip(world, net_router_setup))
		return -1;
	for (int i = 0; i < world->plan.nodes; i++)
		if (net_stub(world, world_node(i), 99, i))
			return -1;
	if (world->plan.front && net_stub(world, WORLD_FRONT, 97, 0))
		return -1;
	return net_enter(world, WORLD_NODE0);
}

/* One number of a /proc/net file that pairs a line of names with a line of values. */
static uint64_t net_counter(const char *path, const char *group, const char *name)
{
	char names[4096], values[4096], *n, *v, *ns, *vs;
	uint64_t found = 0;
	FILE *f = fopen(path, "re");

	if (!f)
		return 0;
	while (fgets(names, sizeof(names), f) && fgets(values, sizeof(values), f)) {
		if (strncmp(names, group, strlen(group)))
			continue;
		n = strtok_r(names, " \n", &ns);
		v = strtok_r(values, " \n", &vs);
		while (n && v) {
			if (!strcmp(n, name))
				found = strtoull(v, NULL, 10);
			n = strtok_r(NULL, " \n", &ns);
			v = strtok_r(NULL, " \n", &vs);
		}
	}
	fclose(f);
	return found;
}

uint64_t net_syns_sent(const struct world *world)
{
	uint64_t syns;

	if (world_enter(world, WORLD_CLIENTS))
		return 0;
	syns = net_counter("/proc/self/net/snmp", "Tcp:", "ActiveOpens") +
	       net_counter("/proc/self/net/netstat", "TcpExt:", "TCPSynRetrans");
	if (world_enter(world, WORLD_NODE0))
		abort(); /* a runner in the wrong network would measure nonsense */
	return syns;
}
