// SPDX-License-Identifier: GPL-2.0-or-later
/* Links by rtnetlink (not sysfs, which may be of another network namespace), features by the ethtool ioctl. */
#include "cli/nic.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NIC_GENL_FAMILY "netdev" /* Documentation/netlink/specs/netdev.yaml, kernel 6.3 */
#define NIC_GENL_DEV_GET 1
#define NIC_GENL_A_IFINDEX 1
#define NIC_GENL_A_XDP_FEATURES 3

struct link {
	uint32_t index, lower, master, mtu, flags;
	int elsewhere; /* `lower` is a number in another namespace */
	char name[16], kind[32];
};

struct links {
	struct link *link;
	size_t count;
	int failed;
};

static int link_info(const struct nlattr *attr, void *ctx)
{
	struct link *link = ctx;

	if (mnl_attr_get_type(attr) == IFLA_INFO_KIND)
		snprintf(link->kind, sizeof(link->kind), "%s", mnl_attr_get_str(attr));
	return MNL_CB_OK;
}

static int link_attr(const struct nlattr *attr, void *ctx)
{
	struct link *link = ctx;

	switch (mnl_attr_get_type(attr)) {
	case IFLA_IFNAME:
		snprintf(link->name, sizeof(link->name), "%s", mnl_attr_get_str(attr));
		break;
	case IFLA_MTU:
		link->mtu = mnl_attr_get_u32(attr);
		break;
	case IFLA_LINK:
		link->lower = mnl_attr_get_u32(attr);
		break;
	case IFLA_LINK_NETNSID: /* what is below has its number elsewhere */
		link->elsewhere = 1;
		break;
	case IFLA_MASTER:
		link->master = mnl_attr_get_u32(attr);
		break;
	case IFLA_LINKINFO:
		mnl_attr_parse_nested(attr, link_info, link);
		break;
	}
	return MNL_CB_OK;
}

static int link_message(const struct nlmsghdr *nlh, void *ctx)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(nlh);
	struct links *links = ctx;
	struct link *more = reallocarray(links->link, links->count + 1, sizeof(*more));

	if (!more) {
		links->failed = 1;
		return MNL_CB_STOP;
	}
	links->link = more;
	memset(&more[links->count], 0, sizeof(*more));
	more[links->count].index = (uint32_t)info->ifi_index;
	more[links->count].flags = info->ifi_flags;
	mnl_attr_parse(nlh, sizeof(*info), link_attr, &more[links->count]);
	links->count++;
	return MNL_CB_OK;
}

/* Sends a request and hands each answer to fn. 0 or -errno. */
static int exchange(int bus, struct nlmsghdr *nlh, mnl_cb_t fn, void *ctx)
{
	struct mnl_socket *nl = mnl_socket_open(bus);
	size_t size = (size_t)MNL_SOCKET_BUFFER_SIZE;
	char *buf = malloc(size);
	ssize_t n;
	int ret = nl && buf ? 0 : -ENOMEM, more = MNL_CB_OK;

	nlh->nlmsg_seq = (uint32_t)time(NULL);
	if (!ret && (mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0 || mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0))
		ret = -errno;
	while (!ret && more > MNL_CB_STOP) {
		n = mnl_socket_recvfrom(nl, buf, size);
		more = n < 0 ? MNL_CB_ERROR :
			       mnl_cb_run(buf, (size_t)n, nlh->nlmsg_seq, mnl_socket_get_portid(nl), fn, ctx);
		if (more == MNL_CB_ERROR)
			ret = -errno;
	}
	free(buf);
	if (nl)
		mnl_socket_close(nl);
	return ret;
}

static int links_read(struct links *links)
{
	char buf[512];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *info;
	int ret;

	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	info = mnl_nlmsg_put_extra_header(nlh, sizeof(*info));
	info->ifi_family = AF_UNSPEC;
	ret = exchange(NETLINK_ROUTE, nlh, link_message, links);
	return ret ? ret : links->failed ? -ENOMEM : 0;
}

struct genl_value {
	uint16_t attr;
	uint16_t family;
	uint64_t features;
};

static int family_attr(const struct nlattr *attr, void *ctx)
{
	struct genl_value *value = ctx;

	if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
		value->family = mnl_attr_get_u16(attr);
	return MNL_CB_OK;
}

static int device_attr(const struct nlattr *attr, void *ctx)
{
	struct genl_value *value = ctx;

	if (mnl_attr_get_type(attr) == NIC_GENL_A_XDP_FEATURES)
		value->features = mnl_attr_get_u64(attr);
	return MNL_CB_OK;
}

static int family_message(const struct nlmsghdr *nlh, void *ctx)
{
	mnl_attr_parse(nlh, sizeof(struct genlmsghdr), family_attr, ctx);
	return MNL_CB_STOP;
}

static int device_message(const struct nlmsghdr *nlh, void *ctx)
{
	mnl_attr_parse(nlh, sizeof(struct genlmsghdr), device_attr, ctx);
	return MNL_CB_STOP;
}

static struct nlmsghdr *genl_request(char *buf, uint16_t family, uint8_t command)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *genl;

	nlh->nlmsg_type = family;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = command;
	genl->version = 1;
	return nlh;
}

static uint64_t xdp_features(uint32_t index)
{
	struct genl_value value = {.features = NIC_XDP_UNKNOWN};
	char buf[512];
	struct nlmsghdr *nlh = genl_request(buf, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);

	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, NIC_GENL_FAMILY);
	if (exchange(NETLINK_GENERIC, nlh, family_message, &value) || !value.family)
		return NIC_XDP_UNKNOWN;
	nlh = genl_request(buf, value.family, NIC_GENL_DEV_GET);
	mnl_attr_put_u32(nlh, NIC_GENL_A_IFINDEX, index);
	return exchange(NETLINK_GENERIC, nlh, device_message, &value) ? NIC_XDP_UNKNOWN : value.features;
}

static int ethtool(int fd, const char *name, void *data)
{
	struct ifreq ifr = {0};

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	ifr.ifr_data = data;
	return ioctl(fd, SIOCETHTOOL, &ifr) ? -errno : 0;
}

static void feature_bits(const char *text, unsigned int i, const struct ethtool_gfeatures *features, struct nic *nic)
{
	int on = !!(features->features[i / 32].active & (1U << i % 32));

	if (!strcmp(text, "rx-lro"))
		nic->lro = on;
	else if (!strcmp(text, "rx-gro-hw"))
		nic->gro_hw = on;
	else if (!strcmp(text, "rx-vlan-hw-parse"))
		nic->rxvlan = on;
}

static void read_features(int fd, struct nic *nic)
{
	struct {
		struct ethtool_sset_info head;
		uint32_t count;
	} set = {.head = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_FEATURES}};
	struct ethtool_gstrings *strings = NULL;
	struct ethtool_gfeatures *features = NULL;
	uint32_t count, blocks;

	if (ethtool(fd, nic->name, &set) || !set.head.sset_mask)
		return;
	count = set.count;
	blocks = (count + 31) / 32;
	strings = calloc(1, sizeof(*strings) + (size_t)count * ETH_GSTRING_LEN);
	features = calloc(1, sizeof(*features) + blocks * sizeof(features->features[0]));
	if (strings && features) {
		strings->cmd = ETHTOOL_GSTRINGS;
		strings->string_set = ETH_SS_FEATURES;
		strings->len = count;
		features->cmd = ETHTOOL_GFEATURES;
		features->size = blocks;
		if (!ethtool(fd, nic->name, strings) && !ethtool(fd, nic->name, features))
			for (uint32_t i = 0; i < count; i++) {
				char text[ETH_GSTRING_LEN + 1];

				snprintf(text, sizeof(text), "%.*s", ETH_GSTRING_LEN,
					 (const char *)strings->data + (size_t)i * ETH_GSTRING_LEN);
				feature_bits(text, i, features, nic);
			}
	}
	free(strings);
	free(features);
}

static void read_card(struct nic *nic)
{
	struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (!ethtool(fd, nic->name, &driver))
		snprintf(nic->driver, sizeof(nic->driver), "%.31s", driver.driver);
	if (!ethtool(fd, nic->name, &channels)) {
		snprintf(nic->queues_word, sizeof(nic->queues_word), "%s", channels.max_combined ? "combined" : "rx");
		nic->queues = channels.combined_count ? channels.combined_count : channels.rx_count;
		nic->queues_max = channels.max_combined ? channels.max_combined : channels.max_rx;
	}
	read_features(fd, nic);
	close(fd);
}

static void add_below(struct nic *nic, const char *name)
{
	size_t used = strlen(nic->below);

	snprintf(nic->below + used, sizeof(nic->below) - used, "%s%s", used ? " " : "", name);
}

static void look_around(const struct links *links, struct nic *nic, const struct link *self)
{
	uint32_t master = self->master;

	for (size_t i = 0; i < links->count; i++) {
		const struct link *link = &links->link[i];

		if (master && link->index == master) {
			memcpy(nic->master, link->name, sizeof(nic->master));
			memcpy(nic->master_kind, link->kind, sizeof(nic->master_kind));
		}
		if (link->master == nic->index || (link->index == self->lower && !self->elsewhere && link != self))
			add_below(nic, link->name);
		if (link->lower != nic->index || link->elsewhere || link->index == nic->index)
			continue;
		if (!strcmp(link->kind, "vlan"))
			memcpy(nic->vlan, link->name, sizeof(nic->vlan));
		else if (!strcmp(link->kind, "macvlan") || !strcmp(link->kind, "macvtap") ||
			 !strcmp(link->kind, "ipvlan"))
			memcpy(nic->macvlan, link->name, sizeof(nic->macvlan));
	}
}

int nic_read(const char *name, struct nic *nic)
{
	struct links links = {0};
	int ret = -ENODEV;

	memset(nic, 0, sizeof(*nic));
	nic->lro = nic->gro_hw = nic->rxvlan = -1;
	nic->index = if_nametoindex(name);
	if (!nic->index)
		return -ENODEV;
	snprintf(nic->name, sizeof(nic->name), "%s", name);
	if (!links_read(&links))
		for (size_t i = 0; i < links.count; i++)
			if (links.link[i].index == nic->index) {
				nic->mtu = links.link[i].mtu;
				nic->up = !!(links.link[i].flags & IFF_UP);
				memcpy(nic->kind, links.link[i].kind, sizeof(nic->kind));
				look_around(&links, nic, &links.link[i]);
				ret = 0;
			}
	free(links.link);
	if (ret)
		return ret;
	read_card(nic);
	nic->xdp_features = xdp_features(nic->index);
	return 0;
}

int nic_check_vlan(const char *name, struct error *err)
{
	struct nic nic;

	if (nic_read(name, &nic) || !nic.vlan[0] || nic.rxvlan != 1 || !strcmp(nic.kind, "veth"))
		return 0;
	error_set(err, -EOPNOTSUPP,
		  "%s strips VLAN tags in hardware and carries %s: a SYN that is held would lose its tag", name,
		  nic.vlan);
	return error_hint(err, -EOPNOTSUPP, "ethtool -K %s rxvlan off, or action=drop", name);
}
