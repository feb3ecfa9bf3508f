// SPDX-License-Identifier: GPL-2.0-or-later
/* What is on interfaces: programs, and instances. */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/chain.h"
#include "lib/deploy_parts.h"

int deploy_query(const char *ifname, uint32_t *id, char name[32], int *generic)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, opts);
	struct bpf_prog_info info = {0};
	uint32_t length = sizeof(info);
	int ifindex = (int)if_nametoindex(ifname), fd;

	if (!ifindex)
		return -ENODEV;
	if (bpf_xdp_query(ifindex, 0, &opts))
		return -errno;
	*id = opts.drv_prog_id ? opts.drv_prog_id : opts.hw_prog_id ? opts.hw_prog_id : opts.skb_prog_id;
	*generic = opts.skb_prog_id && !opts.drv_prog_id;
	snprintf(name, 32, "unknown");
	fd = *id ? bpf_prog_get_fd_by_id(*id) : -1;
	if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &length))
		snprintf(name, 32, "%s", info.name);
	if (fd >= 0)
		close(fd);
	return 0;
}

static void read_chain(const struct instance *inst, struct deploy_interface *iface)
{
	int count = chain_members(inst, iface->index, iface->chain);

	iface->chain_count = count > 0 ? (unsigned int)count : 0;
	for (unsigned int i = 0; i < iface->chain_count; i++)
		iface->present |= iface->chain[i].ours;
}

unsigned int deploy_interfaces(const struct instance *inst, struct deploy_interface *list, unsigned int most)
{
	struct synhold_interface value;
	unsigned int count = 0;
	uint32_t key, *last = NULL;

	while (!bpf_map_get_next_key(inst->map[INSTANCE_MAP_INTERFACES], last, &key)) {
		last = &key;
		if (bpf_map_lookup_elem(inst->map[INSTANCE_MAP_INTERFACES], &key, &value))
			continue;
		if (count < most) {
			struct deploy_interface *iface = &list[count];
			char now[IF_NAMESIZE];

			memset(iface, 0, sizeof(*iface));
			iface->index = key;
			snprintf(iface->name, sizeof(iface->name), "%s", value.name);
			iface->generic = !!(value.flags & SYNHOLD_IFACE_GENERIC);
			iface->mute = !!(value.flags & SYNHOLD_IFACE_MUTE);
			iface->chained = !!(value.flags & SYNHOLD_IFACE_CHAIN);
			if (iface->chained)
				read_chain(inst, iface);
			else
				iface->present = pins_link_interface(inst, key, NULL) > 0;
			if (iface->present && if_indextoname(key, now)) /* it may have been renamed */
				snprintf(iface->name, sizeof(iface->name), "%s", now);
		}
		count++;
	}
	return count;
}
