// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/check.h"
#include "lib/chain.h"
#include "lib/filters.h"

#define MTU_ONE_PAGE                                                                                                   \
	3498                /* what fits one 4 KiB page beside XDP's headroom and the skb's tail; 3506 on some drivers \
			     */
#define CHECK_TCX_EGRESS 47 /* BPF_TCX_EGRESS of linux/bpf.h, since 6.6 */

/* Is it us already, of this instance? And how: "native, in a dispatcher with ...". */
static int is_ours(const struct check *check, uint32_t index, char *way, size_t size)
{
	struct deploy_interface list[64];
	struct instance inst;
	unsigned int count;
	int ours = 0;

	if (instance_init(&inst, check->instance, NULL) || instance_open(&inst, NULL))
		return 0;
	count = deploy_interfaces(&inst, list, 64);
	for (unsigned int i = 0; i < count && i < 64; i++)
		if (list[i].index == index && list[i].present) {
			ours = 1;
			chain_describe(&list[i], way, size);
		}
	instance_close(&inst);
	return ours;
}

/* Somebody else's dispatcher is no obstacle, where it can be joined. Whether there is one. */
static int check_dispatcher(struct check *check, const struct nic *nic)
{
	struct deploy_interface there = {.index = nic->index, .chained = 1, .present = 1};
	int count = chain_members(NULL, nic->index, there.chain), generic = 0;
	char name[32], text[480], fix[160];
	struct error err = {0};
	uint32_t id = 0;

	if (count < 0)
		return 0;
	there.chain_count = (unsigned int)count;
	there.generic = !deploy_query(nic->name, &id, name, &generic) && generic;
	chain_describe(&there, text, sizeof(text));
	snprintf(fix, sizeof(fix), "synhold attach %s --chain joins it", nic->name);
	if (chain_supported(&err))
		check_add(check, CHECK_FAIL, "XDP program", err.hint, "%s is shared by libxdp (%s), and %s", nic->name,
			  text, err.message);
	else if (count >= CHAIN_MEMBERS)
		check_add(check, CHECK_FAIL, "XDP program", "xdp-loader unload takes one out",
			  "%s is shared by libxdp (%s), which has no place left", nic->name, text);
	else
		check_add(check, CHECK_WARN, "XDP program", fix, "%s is shared by libxdp: %s", nic->name, text);
	return 1;
}

static void check_program(struct check *check, const struct nic *nic)
{
	char name[32], fix[160], owner[96], way[480];
	uint32_t id = 0;
	int generic = 0, ret = deploy_query(nic->name, &id, name, &generic);

	if (ret)
		check_add(check, CHECK_WARN, "XDP program", "", "what is attached cannot be read: %s", strerror(-ret));
	else if (!id)
		check_add(check, CHECK_OK, "XDP program", "", "none on %s", nic->name);
	else if (is_ours(check, nic->index, way, sizeof(way)))
		check_add(check, CHECK_OK, "XDP program", "",
			  "%s is shielded already (%s, id %u, %s); attaching again updates it in place", nic->name,
			  name, id, way);
	else if (!check_dispatcher(check, nic)) {
		snprintf(fix, sizeof(fix), "bpftool net show dev %s; ip link set dev %s %s off removes it", nic->name,
			 nic->name, generic ? "xdpgeneric" : "xdp");
		check_add(check, CHECK_FAIL, "XDP program", fix, "%s carries another program: %s, id %u, %s mode; %s",
			  nic->name, name, id, generic ? "generic" : "native", check_owner(id, owner, sizeof(owner)));
	}
}

static void check_mode(struct check *check, const struct nic *nic)
{
	const char *driver = nic->driver[0] ? nic->driver : nic->kind[0] ? nic->kind : "unknown";
	char fix[160];

	if (nic->xdp_features == NIC_XDP_UNKNOWN)
		check_add(check, CHECK_OK, "driver", "",
			  "%s; whether it runs XDP natively shows when attaching (--mode auto falls back)", driver);
	else if (nic->xdp_features & NIC_XDP_BASIC)
		check_add(check, CHECK_OK, "driver", "", "%s runs XDP natively%s", driver,
			  nic->xdp_features & NIC_XDP_RX_SG ? ", with frames of several pages" : "");
	else if (!strcmp(nic->kind, "veth") && nic->queues && nic->queues < nic->queues_max) {
		snprintf(fix, sizeof(fix), "ethtool -L %s %s %u", nic->name, nic->queues_word, nic->queues_max);
		check_add(check, CHECK_WARN, "driver", fix,
			  "veth runs XDP natively only with as many receive queues as its peer sends by; %s has %u",
			  nic->name, nic->queues);
	} else
		check_add(
			check, CHECK_WARN, "driver",
			"--mode generic says that you know; another card or driver if the load is high",
			"%s does not run XDP natively here: generic mode works, and costs several times more a packet",
			driver);
	if (nic->mtu > MTU_ONE_PAGE && nic->xdp_features != NIC_XDP_UNKNOWN && !(nic->xdp_features & NIC_XDP_RX_SG)) {
		snprintf(fix, sizeof(fix), "ip link set dev %s mtu %d, or --mode generic", nic->name, MTU_ONE_PAGE);
		check_add(check, CHECK_WARN, "MTU", fix, "%u: above about %d many drivers refuse native XDP", nic->mtu,
			  MTU_ONE_PAGE);
	} else {
		check_add(check, CHECK_OK, "MTU", "", "%u", nic->mtu);
	}
	if (!nic->up) {
		snprintf(fix, sizeof(fix), "ip link set dev %s up", nic->name);
		check_add(check, CHECK_WARN, "link", fix, "%s is down", nic->name);
	}
}

static void check_offloads(struct check *check, const struct nic *nic)
{
	char fix[160];

	if (nic->lro == 1) {
		snprintf(fix, sizeof(fix), "ethtool -K %s lro off", nic->name);
		check_add(check, CHECK_WARN, "LRO", fix, "on: many drivers refuse native XDP with it");
	} else if (nic->lro == 0) {
		check_add(check, CHECK_OK, "LRO", "", "off");
	}
	if (nic->gro_hw == 1) {
		snprintf(fix, sizeof(fix), "ethtool -K %s rx-gro-hw off", nic->name);
		check_add(check, CHECK_WARN, "hardware GRO", fix, "on: some drivers refuse native XDP with it");
	}
	/* these keep one queue for XDP for each CPU or queue, so half of them must be free */
	if ((!strcmp(nic->driver, "ena") || !strcmp(nic->driver, "virtio_net")) && nic->queues_max > 1 &&
	    nic->queues > nic->queues_max / 2) {
		snprintf(fix, sizeof(fix), "ethtool -L %s %s %u", nic->name, nic->queues_word, nic->queues_max / 2);
		check_add(check, CHECK_WARN, "queues", fix, "%u of %u in use: native XDP on %s wants half of them free",
			  nic->queues, nic->queues_max, nic->driver);
	}
}

static void check_vlan(struct check *check, const struct nic *nic)
{
	char fix[160];

	if (!nic->vlan[0])
		return;
	if (!strcmp(nic->kind, "veth")) {
		check_add(check, CHECK_WARN, "VLAN tags",
			  "ethtool -K PEER txvlan off, on the other end of the veth pair",
			  "%s is on top of %s: a held SYN loses its tag unless the peer writes tags into the frame",
			  nic->vlan, nic->name);
	} else if (nic->rxvlan == 1) {
		snprintf(fix, sizeof(fix), "ethtool -K %s rxvlan off", nic->name);
		check_add(check, CHECK_FAIL, "VLAN tags", fix,
			  "%s is on top of %s, which strips tags in hardware: a held SYN would lose its own", nic->vlan,
			  nic->name);
	} else {
		check_add(check, CHECK_OK, "VLAN tags", "", "stay in the frame");
	}
}

/* Programs on the egress hook of tcx (6.6) come before any tc filter, ours too. 0 where there is no such hook. */
static unsigned int tcx_programs(uint32_t index)
{
	uint32_t ids[16], count = sizeof(ids) / sizeof(*ids);

	if (bpf_prog_query((int)index, (enum bpf_attach_type)CHECK_TCX_EGRESS, 0, NULL, ids, &count))
		return 0;
	return count;
}

/* What leaves the server is seen by our filter on the way out; what somebody ends before it is never seen. */
static void check_filters(struct check *check, const struct nic *nic)
{
	unsigned int tcx = tcx_programs(nic->index);
	int foreign = filters_foreign((int)nic->index);
	char fix[160];

	if (tcx) {
		snprintf(fix, sizeof(fix), "see bpftool net show dev %s; they must return TC_ACT_UNSPEC (next) for TCP",
			 nic->name);
		check_add(
			check, CHECK_WARN, "tc egress", fix,
			"%u programs on %s's tcx hook run before the shield's: if they end processing, no settlement is seen, and "
			"the window is suspended",
			tcx, nic->name);
	} else if (foreign > 0) {
		check_add(check, CHECK_OK, "tc egress", "",
			  "%d other filters on %s; the shield's runs first and passes on to them", foreign, nic->name);
	} else if (!foreign) {
		check_add(check, CHECK_OK, "tc egress", "", "no other filters");
	}
}

static void check_place(struct check *check, const struct nic *nic)
{
	int member = nic->master[0] && !strcmp(nic->master_kind, "bond");
	char fix[200];

	snprintf(fix, sizeof(fix), "synhold attach %s%s", nic->below[0] ? nic->below : "CARD",
		 nic->below[0] ? "" : ", the card below it");
	if (!strcmp(nic->kind, "bond") || !strcmp(nic->kind, "team"))
		check_add(check, CHECK_WARN, "place", fix, "%s is a %s: native XDP depends on its mode and members",
			  nic->name, nic->kind);
	else if (!strcmp(nic->kind, "bridge") || !strcmp(nic->kind, "macvlan") || !strcmp(nic->kind, "ipvlan") ||
		 !strcmp(nic->kind, "vlan"))
		check_add(check, CHECK_WARN, "place", fix, "%s is a %s: XDP runs there in generic mode only", nic->name,
			  nic->kind);
	else if (member)
		check_add(check, CHECK_OK, "place", "", "%s is a member of %s: attach to every member", nic->name,
			  nic->master);
	else if (nic->macvlan[0])
		check_add(check, CHECK_WARN, "place", "synhold set '*' action=drop, unless held connections arrive",
			  "%s is on top of %s: what is let in late goes through the card again", nic->macvlan,
			  nic->name);
	else
		check_add(check, CHECK_OK, "place", "", "nothing above or below %s that matters", nic->name);
}

void check_nic(struct check *check, const struct nic *nic)
{
	check_mode(check, nic);
	check_offloads(check, nic);
	check_spread(check, nic);
	check_vlan(check, nic);
	check_place(check, nic);
}

void check_interface(struct check *check, const char *name)
{
	struct nic nic;
	int ret = nic_read(name, &nic);

	if (ret) {
		check_add(check, CHECK_FAIL, "interface", "ip -br link lists them",
			  "no interface '%.32s' in this network namespace", name);
		return;
	}
	check_program(check, &nic);
	check_filters(check, &nic);
	check_nic(check, &nic);
}
