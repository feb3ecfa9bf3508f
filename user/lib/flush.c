// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/flush.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include <synhold/addr.h>

#include "lib/sockets.h"

#define FLUSH_STATES (1U << TCP_ESTABLISHED | 1U << TCP_CLOSE_WAIT)
#define FLUSH_BUFFER_BYTES 32768

struct waiting {
	uint8_t family;
	struct inet_diag_sockid id;
};

struct collection {
	const struct synhold_specs *specs;
	struct waiting *waiting;
	size_t count, room;
};

int flush_waits(const struct inet_diag_msg *diag)
{
	return !diag->idiag_inode && (diag->idiag_state == TCP_ESTABLISHED || diag->idiag_state == TCP_CLOSE_WAIT);
}

int flush_matches(const struct inet_diag_msg *diag, const struct synhold_specs *specs)
{
	struct sockets_listener local = {.port = ntohs(diag->id.idiag_sport)};

	if (diag->idiag_family == AF_INET) {
		synhold_addr_map(diag->id.idiag_src[0], local.addr);
	} else {
		memcpy(local.addr, diag->id.idiag_src, 16);
	}
	return sockets_serves(&local, specs);
}

static int collect(const struct nlmsghdr *nlh, void *data)
{
	const struct inet_diag_msg *diag = mnl_nlmsg_get_payload(nlh);
	struct collection *c = data;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*diag) || !flush_waits(diag) || !flush_matches(diag, c->specs))
		return MNL_CB_OK;
	if (c->count == c->room) {
		size_t room = c->room ? c->room * 2 : 256;
		struct waiting *more = reallocarray(c->waiting, room, sizeof(*more));

		if (!more) {
			errno = ENOMEM;
			return MNL_CB_ERROR;
		}
		c->waiting = more;
		c->room = room;
	}
	c->waiting[c->count].family = diag->idiag_family;
	c->waiting[c->count++].id = diag->id;
	return MNL_CB_OK;
}

static int still_waits(const struct nlmsghdr *nlh, void *data)
{
	const struct inet_diag_msg *diag = mnl_nlmsg_get_payload(nlh);

	*(int *)data = mnl_nlmsg_get_payload_len(nlh) >= sizeof(*diag) && flush_waits(diag);
	return MNL_CB_STOP;
}

/* Sends a request and gives what comes back to fn until the answer ends. 0 or -errno. */
static int ask(struct mnl_socket *nl, uint16_t type, uint16_t flags, const struct inet_diag_req_v2 *what, mnl_cb_t fn,
	       void *data)
{
	static unsigned int seq;
	char buf[FLUSH_BUFFER_BYTES];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	ssize_t n;
	int ret;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = ++seq;
	memcpy(mnl_nlmsg_put_extra_header(nlh, sizeof(*what)), what, sizeof(*what));
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	while ((n = mnl_socket_recvfrom(nl, buf, sizeof(buf))) > 0) {
		ret = mnl_cb_run(buf, (size_t)n, seq, mnl_socket_get_portid(nl), fn, data);
		if (ret < 0)
			return -errno;
		if (ret == MNL_CB_STOP)
			return 0;
	}
	return n < 0 ? -errno : -EPROTO;
}

static int read_family(struct mnl_socket *nl, uint8_t family, struct collection *c)
{
	struct inet_diag_req_v2 req = {.sdiag_family = family,
				       .sdiag_protocol = IPPROTO_TCP,
				       .idiag_states = FLUSH_STATES};

	/* the kernel skips other ports by itself, if there is one port only */
	if (c->specs->count == 1 && c->specs->spec[0].port_lo == c->specs->spec[0].port_hi)
		req.id.idiag_sport = htons(c->specs->spec[0].port_lo);
	return ask(nl, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, &req, collect, c);
}

/* The cookie in the id makes sure that it is this socket and no later one with the same addresses. 1: reset, 0: left
 * alone, or -errno. */
static int reset_one(struct mnl_socket *nl, const struct waiting *w)
{
	struct inet_diag_req_v2 req = {.sdiag_family = w->family,
				       .sdiag_protocol = IPPROTO_TCP,
				       .idiag_states = ~0U,
				       .id = w->id};
	int waits = 0, ret;

	/* reading the queue takes a while, in which the server goes on accepting */
	ret = ask(nl, SOCK_DIAG_BY_FAMILY, 0, &req, still_waits, &waits);
	if (!ret && !waits)
		return 0;
	if (!ret)
		ret = ask(nl, SOCK_DESTROY, NLM_F_ACK, &req, NULL, NULL);
	return ret == -ENOENT || ret == -ESTALE ? 0 : ret ? ret : 1;
}

static int fail(struct error *err, int ret)
{
	if (ret == -EOPNOTSUPP) {
		error_set(err, ret, "this kernel cannot reset connections of others");
		return error_hint(err, ret, "it was built without CONFIG_INET_DIAG_DESTROY");
	}
	error_set(err, ret, "the accept queue cannot be flushed: %s", strerror(-ret));
	return ret == -EPERM ? error_hint(err, ret, "it takes root (CAP_NET_ADMIN)") : ret;
}

int flush_service(const struct synhold_specs *specs, struct flush_result *result, struct error *err)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC);
	struct collection c = {.specs = specs};
	int ret;

	memset(result, 0, sizeof(*result));
	if (!nl)
		return fail(err, -errno);
	ret = mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) ? -errno : read_family(nl, AF_INET, &c);
	if (!ret)
		ret = read_family(nl, AF_INET6, &c);
	result->waiting = (unsigned int)c.count;
	for (size_t i = 0; i < c.count && ret >= 0; i++) {
		ret = reset_one(nl, &c.waiting[i]);
		result->reset += ret > 0;
		result->gone += !ret;
	}
	free(c.waiting);
	mnl_socket_close(nl);
	return ret < 0 ? fail(err, ret) : 0;
}
