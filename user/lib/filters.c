// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/filters.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <time.h>

struct count {
	uint32_t parent;
	int foreign;
};

static int count_filter(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
	struct count *count = data;

	/* a message with handle 0 is the head of a chain, not a filter */
	if (nlh->nlmsg_type == RTM_NEWTFILTER && tcm->tcm_parent == count->parent && tcm->tcm_handle &&
	    tcm->tcm_handle != FILTERS_HANDLE)
		count->foreign++;
	return MNL_CB_OK;
}

static int count_hook(struct mnl_socket *nl, int ifindex, uint32_t parent)
{
	char buf[16384];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct count count = {.parent = parent};
	uint32_t seq = (uint32_t)time(NULL), port = mnl_socket_get_portid(nl);
	struct tcmsg *tcm;
	ssize_t n;
	int ret;

	nlh->nlmsg_type = RTM_GETTFILTER;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nlh->nlmsg_seq = seq;
	tcm = mnl_nlmsg_put_extra_header(nlh, sizeof(*tcm));
	tcm->tcm_ifindex = ifindex;
	tcm->tcm_parent = parent;
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	while ((n = mnl_socket_recvfrom(nl, buf, sizeof(buf))) > 0) {
		ret = mnl_cb_run(buf, (size_t)n, seq, port, count_filter, &count);
		if (ret <= MNL_CB_STOP)
			return ret < 0 ? -errno : count.foreign;
	}
	return -errno;
}

int filters_foreign(int ifindex)
{
	struct mnl_socket *nl = mnl_socket_open(NETLINK_ROUTE);
	int in, out;

	if (!nl || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID)) {
		if (nl)
			mnl_socket_close(nl);
		return -errno;
	}
	in = count_hook(nl, ifindex, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS));
	out = count_hook(nl, ifindex, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS));
	mnl_socket_close(nl);
	return in < 0 ? in : out < 0 ? out : in + out;
}

static int attach_one(int ifindex, enum bpf_tc_attach_point point, int fd)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = point);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = FILTERS_HANDLE, .priority = FILTERS_PRIORITY, .prog_fd = fd,
		    .flags = BPF_TC_F_REPLACE);

	return bpf_tc_attach(&hook, &opts);
}

static int program_of(int ifindex, enum bpf_tc_attach_point point)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = point);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = FILTERS_HANDLE, .priority = FILTERS_PRIORITY);

	return bpf_tc_query(&hook, &opts) ? -1 : bpf_prog_get_fd_by_id(opts.prog_id);
}

void filters_programs(int ifindex, int *egress_fd, int *ingress_fd)
{
	*egress_fd = program_of(ifindex, BPF_TC_EGRESS);
	*ingress_fd = program_of(ifindex, BPF_TC_INGRESS);
}

int filters_attach(int ifindex, int egress_fd, int ingress_fd, int *created, struct error *err)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);
	int ret = bpf_tc_hook_create(&hook);

	*created = ret == 0;
	if (ret && ret != -EEXIST) {
		error_set(err, ret, "interface index %d: the clsact qdisc cannot be added: %s", ifindex,
			  strerror(-ret));
		return error_hint(err, ret, "the kernel needs sch_ingress (CONFIG_NET_SCH_INGRESS)");
	}
	ret = attach_one(ifindex, BPF_TC_EGRESS, egress_fd);
	if (!ret)
		ret = attach_one(ifindex, BPF_TC_INGRESS, ingress_fd);
	if (!ret)
		return 0;
	filters_detach(ifindex, *created);
	error_set(err, ret, "interface index %d: the tc filter cannot be added: %s", ifindex, strerror(-ret));
	return error_hint(err, ret, "the kernel needs cls_bpf (CONFIG_NET_CLS_BPF)");
}

void filters_detach(int ifindex, int remove_qdisc)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = BPF_TC_EGRESS);

	for (int i = 0; i < 2; i++) {
		LIBBPF_OPTS(bpf_tc_opts, opts, .handle = FILTERS_HANDLE, .priority = FILTERS_PRIORITY);

		hook.attach_point = i ? BPF_TC_INGRESS : BPF_TC_EGRESS;
		bpf_tc_detach(&hook, &opts);
	}
	if (!remove_qdisc || filters_foreign(ifindex) != 0)
		return;
	hook.attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS;
	bpf_tc_hook_destroy(&hook);
}
