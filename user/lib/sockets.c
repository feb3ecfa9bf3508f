// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <string.h>

#include <synhold/addr.h>

struct dump {
	uint32_t states; /* 1 << TCP_LISTEN or TCP_SYN_RECV */
	void (*fn)(void *ctx, const struct sockets_listener *listener);
	void *ctx;
};

static int on_attribute(const struct nlattr *attr, void *data)
{
	struct sockets_listener *listener = data;

	if (mnl_attr_get_type(attr) == INET_DIAG_SKMEMINFO &&
	    mnl_attr_get_payload_len(attr) >= (SK_MEMINFO_DROPS + 1) * sizeof(uint32_t))
		listener->drops = ((const uint32_t *)mnl_attr_get_payload(attr))[SK_MEMINFO_DROPS];
	return MNL_CB_OK;
}

static int on_message(const struct nlmsghdr *nlh, void *data)
{
	const struct inet_diag_msg *diag = mnl_nlmsg_get_payload(nlh);
	struct sockets_listener listener = {0};
	struct dump *dump = data;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*diag) || !(dump->states >> diag->idiag_state & 1))
		return MNL_CB_OK;
	if (diag->idiag_family == AF_INET && diag->id.idiag_src[0]) {
		synhold_addr_map(diag->id.idiag_src[0], listener.addr);
	} else if (diag->idiag_family == AF_INET6) {
		memcpy(listener.addr, diag->id.idiag_src, 16);
	}
	listener.port = ntohs(diag->id.idiag_sport);
	if (diag->idiag_state != TCP_LISTEN) {
		dump->fn(dump->ctx, &listener);
		return MNL_CB_OK;
	}
	listener.queue = diag->idiag_rqueue;
	listener.limit = diag->idiag_wqueue;
	listener.inode = diag->idiag_inode;
	mnl_attr_parse(nlh, sizeof(*diag), on_attribute, &listener);
	dump->fn(dump->ctx, &listener);
	return MNL_CB_OK;
}

static int dump_family(struct mnl_socket *nl, uint8_t family, struct dump *dump)
{
	struct inet_diag_req_v2 *req;
	struct nlmsghdr *nlh;
	char buf[32768];
	ssize_t n;
	int ret;

	nlh = mnl_nlmsg_put_header(buf);
	nlh->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nlh->nlmsg_seq = family;
	req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));
	req->sdiag_family = family;
	req->sdiag_protocol = IPPROTO_TCP;
	req->idiag_states = dump->states;
	req->idiag_ext = dump->states & 1U << TCP_LISTEN ? 1U << (INET_DIAG_SKMEMINFO - 1) : 0;
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	while ((n = mnl_socket_recvfrom(nl, buf, sizeof(buf))) > 0) {
		ret = mnl_cb_run(buf, (size_t)n, family, mnl_socket_get_portid(nl), on_message, dump);
		if (ret <= MNL_CB_STOP)
			return ret < 0 ? -errno : 0;
	}
	return -errno;
}

static int dump_all(struct dump *dump)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC);
	int ret;

	if (!nl)
		return -errno;
	ret = mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) ? -errno : dump_family(nl, AF_INET, dump);
	if (!ret)
		ret = dump_family(nl, AF_INET6, dump);
	mnl_socket_close(nl);
	return ret;
}

int sockets_listeners(void (*fn)(void *ctx, const struct sockets_listener *listener), void *ctx)
{
	struct dump dump = {.states = 1U << TCP_LISTEN, .fn = fn, .ctx = ctx};

	return dump_all(&dump);
}

int sockets_handshakes(void (*fn)(void *ctx, const struct sockets_listener *local), void *ctx)
{
	struct dump dump = {.states = 1U << TCP_SYN_RECV, .fn = fn, .ctx = ctx};

	return dump_all(&dump);
}

static int covers(const struct synhold_spec *spec, const uint8_t addr[16])
{
	static const uint8_t any[16];
	unsigned int bytes = spec->prefixlen / 8, bits = spec->prefixlen % 8;

	if (spec->any || !memcmp(addr, any, 16))
		return 1;
	if (memcmp(addr, spec->addr, bytes))
		return 0;
	return !bits || ((addr[bytes] ^ spec->addr[bytes]) & (0xff << (8 - bits)) & 0xff) == 0;
}

int sockets_serves(const struct sockets_listener *listener, const struct synhold_specs *specs)
{
	for (uint32_t i = 0; i < specs->count; i++)
		if (listener->port >= specs->spec[i].port_lo && listener->port <= specs->spec[i].port_hi &&
		    covers(&specs->spec[i], listener->addr))
			return 1;
	return 0;
}
