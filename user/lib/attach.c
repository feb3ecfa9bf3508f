// SPDX-License-Identifier: GPL-2.0-or-later
/* An instance's interfaces: links and filters on, updated in place, off. */
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/chain.h"
#include "lib/deploy_parts.h"
#include "lib/filters.h"
#include "synhold.skel.h"

/* Drivers where a frame sent by XDP_TX is known to leave; elsewhere, as on veth, the kernel may say so and drop it. */
static int tx_reaches_wire(const char *ifname)
{
	static const char *const drivers[] = {"ixgbe", "i40e", "ice", "mlx4_en", "mlx5_core", "bnxt_en",
					      "igb",   "igc",  "ena", "sfc",     "nfp"};
	char path[128], target[256];
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/class/net/%s/device/driver", ifname);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return 0;
	target[n] = '\0';
	for (size_t i = 0; i < sizeof(drivers) / sizeof(*drivers); i++)
		if (!strcmp(strrchr(target, '/') ? strrchr(target, '/') + 1 : target, drivers[i]))
			return 1;
	return 0;
}

/* Which instance (but `except`) has a link pinned for the interface, of this program if not 0: its name, or -ENOENT. */
static int other_instance(const char *except, uint32_t ifindex, uint32_t prog_id, char name[SYNHOLD_NAME_LEN])
{
	DIR *root = opendir(INSTANCE_PIN_ROOT);
	struct dirent *entry;
	int ret = -ENOENT;

	while (ret && root && (entry = readdir(root))) {
		struct bpf_link_info info = {0};
		uint32_t length = sizeof(info);
		struct instance other;
		char path[192];
		int fd;

		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, except) ||
		    instance_init(&other, entry->d_name, NULL))
			continue;
		pins_link_path(&other, ifindex, path, sizeof(path));
		fd = bpf_obj_get(path);
		if (fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &info, &length) &&
		    (info.prog_id == prog_id || (!prog_id && info.xdp.ifindex == ifindex))) {
			snprintf(name, SYNHOLD_NAME_LEN, "%s", other.name);
			ret = 0;
		}
		close(fd);
	}
	if (root)
		closedir(root);
	return ret;
}

static int busy(const char *ifname, struct error *err)
{
	char name[32], instance[SYNHOLD_NAME_LEN];
	struct chain_member members[CHAIN_MEMBERS];
	uint32_t id = 0;
	int generic;

	if (deploy_query(ifname, &id, name, &generic) || !id) {
		error_set(err, -EBUSY, "interface %s: another XDP program is in the way", ifname);
		return error_hint(err, -EBUSY, "ip link show %s", ifname);
	}
	error_set(err, -EBUSY, "interface %s has another XDP program: %s, id %u, %s mode", ifname, name, id,
		  generic ? "generic" : "native");
	if (!other_instance("", if_nametoindex(ifname), id, instance))
		return error_hint(err, -EBUSY,
				  "it is synhold's instance '%s': use that one, or synhold --instance %s detach %s",
				  instance, instance, ifname);
	if (chain_members(NULL, if_nametoindex(ifname), members) >= 0)
		return error_hint(err, -EBUSY, "it is libxdp's dispatcher, which runs several: --chain joins it");
	return error_hint(err, -EBUSY,
			  "synhold never replaces it; bpftool net show dev %s; ip link set dev %s %s off removes it",
			  ifname, ifname, generic ? "xdpgeneric" : "xdp");
}

static int create_link(struct deploy *deploy, struct instance *inst, const char *ifname, uint32_t ifindex,
		       enum deploy_mode mode, uint32_t *flags, struct error *err)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = XDP_FLAGS_DRV_MODE);
	int prog = bpf_program__fd(deploy->skel->progs.synhold_shield), fd = -1, ret = 0;
	char path[192];

	if (mode != DEPLOY_GENERIC) {
		fd = bpf_link_create(prog, (int)ifindex, BPF_XDP, &opts);
		ret = fd < 0 ? -errno : 0;
		if (ret == -EBUSY || ret == -EEXIST)
			return busy(ifname, err);
	}
	if (fd < 0 && mode != DEPLOY_NATIVE) {
		opts.flags = XDP_FLAGS_SKB_MODE;
		fd = bpf_link_create(prog, (int)ifindex, BPF_XDP, &opts);
		ret = fd < 0 ? -errno : 0;
		if (ret == -EBUSY || ret == -EEXIST)
			return busy(ifname, err);
		*flags |= SYNHOLD_IFACE_GENERIC;
	}
	if (ret) {
		error_set(err, ret, "interface %s: the XDP program cannot be attached: %s", ifname, strerror(-ret));
		return error_hint(err, ret, "synhold check %s%s", ifname,
				  mode == DEPLOY_NATIVE ? "; or --mode auto" : "");
	}
	pins_link_path(inst, ifindex, path, sizeof(path));
	unlink(path); /* of an interface that had this index before */
	ret = bpf_obj_pin(fd, path) ? -errno : 0;
	close(fd);
	return ret ? error_set(err, ret, "%s: %s", path, strerror(-ret)) : 0;
}

/* By what is known of the interface, or else by its pin. */
static int is_chained(const struct instance *inst, uint32_t ifindex, const struct synhold_interface *value)
{
	char path[192];
	struct stat st;

	pins_chain_path(inst, ifindex, path, sizeof(path));
	return value->flags & SYNHOLD_IFACE_CHAIN || !stat(path, &st);
}

void deploy_drop(struct instance *inst, uint32_t ifindex)
{
	struct synhold_interface value = {0};
	int fd = -1, at = pins_link_interface(inst, ifindex, &fd);
	char path[192], other[SYNHOLD_NAME_LEN];
	int known = inst->map[INSTANCE_MAP_INTERFACES] >= 0 &&
		    !bpf_map_lookup_elem(inst->map[INSTANCE_MAP_INTERFACES], &ifindex, &value);

	if (is_chained(inst, ifindex, &value)) {
		if (chain_present(inst, ifindex))
			filters_detach((int)ifindex, !known || value.flags & SYNHOLD_IFACE_QDISC);
		chain_leave(inst, ifindex, 0);
	} else if (at > 0) /* a qdisc of which nothing is known any more goes when nobody uses it */
		filters_detach(at, !known || value.flags & SYNHOLD_IFACE_QDISC);
	else if (at < 0 && known && other_instance(inst->name, ifindex, 0, other)) /* its link's pin has been removed */
		filters_detach((int)ifindex, !!(value.flags & SYNHOLD_IFACE_QDISC));
	if (fd >= 0) {
		bpf_link_detach(fd);
		close(fd);
	}
	pins_link_path(inst, ifindex, path, sizeof(path));
	unlink(path);
	if (inst->map[INSTANCE_MAP_INTERFACES] >= 0)
		bpf_map_delete_elem(inst->map[INSTANCE_MAP_INTERFACES], &ifindex);
}

void deploy_leave(const struct instance *inst, uint32_t ifindex)
{
	struct synhold_interface value = {0};
	int fd;

	bpf_map_lookup_elem(inst->map[INSTANCE_MAP_INTERFACES], &ifindex, &value);
	if (is_chained(inst, ifindex, &value))
		chain_leave(inst, ifindex, 0);
	if (pins_link_interface(inst, ifindex, &fd) < 0)
		return;
	bpf_link_detach(fd); /* its filters went with its qdiscs when it left */
	close(fd);
}

void deploy_rename(struct instance *inst, uint32_t ifindex, const char *name)
{
	struct synhold_interface value;

	if (bpf_map_lookup_elem(inst->map[INSTANCE_MAP_INTERFACES], &ifindex, &value))
		return;
	snprintf(value.name, sizeof(value.name), "%s", name);
	bpf_map_update_elem(inst->map[INSTANCE_MAP_INTERFACES], &ifindex, &value, BPF_EXIST);
}

/* Attaches to one interface, or updates it in place. *fresh: it was not ours before. */
static int attach_one(struct deploy *deploy, struct instance *inst, const char *ifname, enum deploy_mode mode,
		      int *fresh, struct error *err)
{
	uint32_t ifindex = if_nametoindex(ifname);
	struct synhold_interface value = {0};
	int fd = -1, ret, created = 0, known, linked;

	*fresh = 0;
	if (!ifindex) {
		error_set(err, -ENODEV, "no interface '%s' in this network namespace", ifname);
		return error_hint(err, -ENODEV, "ip -br link lists them");
	}
	known = !bpf_map_lookup_elem(inst->map[INSTANCE_MAP_INTERFACES], &ifindex, &value);
	linked = pins_link_interface(inst, ifindex, &fd) == (int)ifindex;
	if (linked && deploy->chain) {
		ret = error_set(err, -EBUSY, "interface %s has the shield without a dispatcher", ifname);
		error_hint(err, ret, "synhold detach %s, then attach it with --chain", ifname);
	} else if (linked) {
		ret = bpf_link_update(fd, bpf_program__fd(deploy->skel->progs.synhold_shield), NULL) ? -errno : 0;
		if (ret)
			error_set(err, ret, "interface %s: the program cannot be updated: %s", ifname, strerror(-ret));
	} else if (deploy->chain || (known && value.flags & SYNHOLD_IFACE_CHAIN)) {
		*fresh = !chain_present(inst, ifindex);
		ret = chain_join(inst, ifname, mode, &value.flags, err);
	} else {
		value.flags = 0; /* of an interface that had this index before */
		ret = create_link(deploy, inst, ifname, ifindex, mode, &value.flags, err);
		*fresh = 1;
	}
	if (fd >= 0)
		close(fd);
	if (ret)
		return ret;
	ret = filters_attach((int)ifindex, bpf_program__fd(deploy->skel->progs.synhold_egress),
			     bpf_program__fd(deploy->skel->progs.synhold_reject), &created, err);
	if (!ret) {
		if (created)
			value.flags |= SYNHOLD_IFACE_QDISC;
		/* in generic mode the stack itself sends what XDP_TX gives back, veth or not */
		if (value.flags & SYNHOLD_IFACE_GENERIC || tx_reaches_wire(ifname)) {
			value.flags |= SYNHOLD_IFACE_TX;
			value.flags &= ~(uint32_t)SYNHOLD_IFACE_MUTE; /* RSTs need no way by tc */
		}
		snprintf(value.name, sizeof(value.name), "%s", ifname);
		if (bpf_map_update_elem(inst->map[INSTANCE_MAP_INTERFACES], &ifindex, &value, BPF_ANY))
			ret = error_set(err, -errno, "interface %s: %s", ifname,
					errno == E2BIG ? "an instance takes 64 interfaces" : strerror(errno));
	}
	if (ret && *fresh)
		deploy_drop(inst, ifindex);
	return ret;
}

int deploy_attach(struct deploy *deploy, struct instance *inst, const char *const *names, unsigned int count,
		  enum deploy_mode mode, struct error *err)
{
	unsigned char *fresh = calloc(count ? count : 1, 1);
	libbpf_print_fn_t before = libbpf_set_print(deploy_quiet);
	int ret = fresh ? 0 : -ENOMEM;

	for (unsigned int i = 0; i < count && !ret; i++) {
		int is_fresh;

		ret = attach_one(deploy, inst, names[i], mode, &is_fresh, err);
		if (!ret)
			fresh[i] = (unsigned char)is_fresh;
		for (unsigned int j = 0; ret && j < i; j++)
			if (fresh[j])
				deploy_drop(inst, if_nametoindex(names[j]));
	}
	libbpf_set_print(before);
	free(fresh);
	return ret;
}

int deploy_refresh(struct deploy *deploy, struct instance *inst, struct error *err)
{
	struct deploy_interface list[SYNHOLD_SERVICES];
	unsigned int count = deploy_interfaces(inst, list, SYNHOLD_SERVICES);
	const char *name;
	int ret = 0, chain = deploy->chain;

	deploy->chain = 0; /* each stays as it is */
	for (unsigned int i = 0; i < count && i < SYNHOLD_SERVICES && !ret; i++) {
		name = list[i].name;
		if (list[i].present)
			ret = deploy_attach(deploy, inst, &name, 1, list[i].generic ? DEPLOY_GENERIC : DEPLOY_NATIVE,
					    err);
	}
	deploy->chain = chain;
	return ret;
}

/* Where the instance is: by its pins, and by the map if a pin is missing. */
static unsigned int attached_to(const struct instance *inst, uint32_t *list, unsigned int most)
{
	unsigned int count = pins_links(inst, list, most), i;
	uint32_t key, *last = NULL;

	while (inst->map[INSTANCE_MAP_INTERFACES] >= 0 &&
	       !bpf_map_get_next_key(inst->map[INSTANCE_MAP_INTERFACES], last, &key)) {
		last = &key;
		for (i = 0; i < count && list[i] != key; i++)
			;
		if (i == count && count < most)
			list[count++] = key;
	}
	return count;
}

int deploy_detach(struct instance *inst, const char *name, struct error *err)
{
	uint32_t links[SYNHOLD_SERVICES], wanted = 0;
	unsigned int count, left;
	struct synhold_interface value;
	libbpf_print_fn_t before;
	struct stat st;

	pins_recover(inst);
	if (stat(inst->pin_dir, &st)) {
		error_set(err, -ENOENT, "instance '%s' is not attached", inst->name);
		return error_hint(err, -ENOENT, "synhold status --instance NAME shows another");
	}
	if (inst->map[INSTANCE_MAP_INTERFACES] < 0) /* the one map that is needed; without it we go by the pins */
		inst->map[INSTANCE_MAP_INTERFACES] = pins_interfaces_map(inst);
	count = attached_to(inst, links, SYNHOLD_SERVICES);
	if (name) {
		wanted = if_nametoindex(name);
		for (unsigned int i = 0; i < count; i++) /* renamed or gone: the name it had counts too */
			if (!bpf_map_lookup_elem(inst->map[INSTANCE_MAP_INTERFACES], &links[i], &value) &&
			    !strcmp(value.name, name))
				wanted = wanted ? wanted : links[i];
		for (left = 0; left < count && links[left] != wanted; left++)
			;
		if (left == count) {
			error_set(err, -ENOENT, "instance '%s' is not attached to '%s'", inst->name, name);
			return error_hint(err, -ENOENT, "synhold status shows where it is");
		}
	}
	before = libbpf_set_print(deploy_quiet);
	left = 0;
	for (unsigned int i = 0; i < count; i++)
		left += name && links[i] != wanted;
	for (unsigned int i = 0; i < count; i++) {
		if (name && links[i] != wanted)
			continue;
		if (!left)
			chain_sleep(inst, links[i]);
		deploy_drop(inst, links[i]);
	}
	libbpf_set_print(before);
	if (!left) { /* the daemon sees that its pins are gone, discards what it holds, and ends */
		pins_remove(inst);
		pins_remove_run_files(inst);
	}
	return 0;
}
