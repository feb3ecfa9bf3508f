// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is in a dispatcher, by libxdp's protocol: dispatch-IFINDEX-ID/progN-prog and progN-link for each of its places.
 * A place without link is empty, and the dispatcher passes on.
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/chain_parts.h"
#include "lib/deploy_parts.h"
#include "probe.skel.h"

#define MAPS_MAX 128

static uint32_t map_id(int fd)
{
	struct bpf_map_info info = {0};
	uint32_t length = sizeof(info);

	return fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &length) ? 0 : info.id;
}

/* The map that only programs of this instance work on: by its pin, as an instance need not be open. */
static uint32_t control_map(const struct instance *inst)
{
	char path[192];
	uint32_t id;
	int fd;

	pins_path(inst, "control", path, sizeof(path));
	fd = bpf_obj_get(path);
	id = map_id(fd);
	if (fd >= 0)
		close(fd);
	return id ? id : map_id(inst->map[INSTANCE_MAP_CONTROL]);
}

/* Ids of the maps that a program works on. Returns how many, 0 on failure. */
static uint32_t maps_of(int prog_fd, uint32_t ids[MAPS_MAX])
{
	uint32_t length = sizeof(struct bpf_prog_info);
	struct bpf_prog_info info = {.nr_map_ids = MAPS_MAX, .map_ids = (uintptr_t)ids};

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &length))
		return 0;
	return info.nr_map_ids < MAPS_MAX ? info.nr_map_ids : MAPS_MAX;
}

static int works_on(int prog_fd, uint32_t map)
{
	uint32_t ids[MAPS_MAX], count = maps_of(prog_fd, ids);

	for (uint32_t i = 0; i < count; i++)
		if (map && ids[i] == map)
			return 1;
	return 0;
}

/* From now on it lets everything pass. */
static void fall_asleep(uint32_t prog_id)
{
	int prog = bpf_prog_get_fd_by_id(prog_id);
	uint32_t ids[MAPS_MAX], count = prog < 0 ? 0 : maps_of(prog, ids), zero = 0;

	for (uint32_t i = 0; i < count; i++) {
		int map = bpf_map_get_fd_by_id(ids[i]);
		uint32_t length = sizeof(struct bpf_map_info);
		struct bpf_map_info info = {0};
		struct synhold_control control;

		if (map >= 0 && !bpf_obj_get_info_by_fd(map, &info, &length) && !strcmp(info.name, "control") &&
		    info.value_size == sizeof(control) && !bpf_map_lookup_elem(map, &zero, &control)) {
			control.bypass_until_ns = SYNHOLD_FOREVER;
			bpf_map_update_elem(map, &zero, &control, BPF_EXIST);
		}
		if (map >= 0)
			close(map);
	}
	if (prog >= 0)
		close(prog);
}

static int prog_info(int fd, struct bpf_prog_info *info)
{
	uint32_t length = sizeof(*info);

	memset(info, 0, sizeof(*info));
	return fd < 0 || bpf_obj_get_info_by_fd(fd, info, &length) ? -ENOENT : 0;
}

static uint32_t pinned_id(const char *path)
{
	struct bpf_prog_info info;
	int fd = bpf_obj_get(path), ret = prog_info(fd, &info);

	if (fd >= 0)
		close(fd);
	return ret ? 0 : info.id;
}

int chain_is_ours(const struct instance *inst, uint32_t ifindex, uint32_t prog_id)
{
	char path[192];
	int fd = bpf_prog_get_fd_by_id(prog_id), ours;

	if (fd < 0)
		return 0;
	pins_chain_path(inst, ifindex, path, sizeof(path));
	ours = works_on(fd, control_map(inst)) || pinned_id(path) == prog_id;
	close(fd);
	return ours;
}

int chain_is_orphan(uint32_t prog_id)
{
	int fd = bpf_prog_get_fd_by_id(prog_id), orphan;
	DIR *root = opendir(INSTANCE_PIN_ROOT);
	struct bpf_prog_info info;
	struct dirent *entry;

	orphan = !prog_info(fd, &info) && !strcmp(info.name, "synhold_shield");
	while (root && orphan && (entry = readdir(root))) {
		struct instance other = {0};

		if (entry->d_name[0] == '.')
			continue;
		other.map[INSTANCE_MAP_CONTROL] = -1;
		snprintf(other.pin_dir, sizeof(other.pin_dir), INSTANCE_PIN_ROOT "/%.64s", entry->d_name);
		orphan = !works_on(fd, control_map(&other));
	}
	if (root)
		closedir(root);
	if (fd >= 0)
		close(fd);
	return orphan;
}

int chain_members(const struct instance *inst, uint32_t ifindex, struct chain_member list[CHAIN_MEMBERS])
{
	char ifname[IF_NAMESIZE], name[32], dir[96], path[128];
	uint32_t id = 0;
	int generic, count = 0;
	struct stat st;

	if (!if_indextoname(ifindex, ifname) || deploy_query(ifname, &id, name, &generic) || !id)
		return -ENOENT;
	snprintf(dir, sizeof(dir), CHAIN_PINS "/dispatch-%u-%u", ifindex, id);
	if (stat(dir, &st))
		return -ENOENT;
	for (int i = 0; i < CHAIN_MEMBERS; i++) {
		struct chain_member *member = &list[count];
		struct bpf_prog_info info;
		int fd;

		snprintf(path, sizeof(path), "%s/prog%d-link", dir, i);
		if (stat(path, &st)) /* an empty place */
			continue;
		snprintf(path, sizeof(path), "%s/prog%d-prog", dir, i);
		fd = bpf_obj_get(path);
		if (!prog_info(fd, &info)) {
			member->id = info.id;
			snprintf(member->name, sizeof(member->name), "%s", info.name);
			member->ours = inst && chain_is_ours(inst, ifindex, info.id);
			count++;
		}
		if (fd >= 0)
			close(fd);
	}
	return count;
}

int chain_present(const struct instance *inst, uint32_t ifindex)
{
	struct chain_member list[CHAIN_MEMBERS];
	int count = chain_members(inst, ifindex, list);

	for (int i = 0; i < count; i++)
		if (list[i].ours)
			return 1;
	return 0;
}

char *chain_describe(const struct deploy_interface *iface, char *buf, size_t size)
{
	int others = 0;
	size_t used;

	snprintf(buf, size, "%s%s", iface->generic ? "generic" : "native",
		 iface->chained && iface->present ? ", in a dispatcher" : "");
	for (unsigned int i = 0; i < iface->chain_count; i++) {
		if (iface->chain[i].ours)
			continue;
		used = strlen(buf);
		snprintf(buf + used, size - used, "%s%s (id %u)", others++ ? ", " : " with ", iface->chain[i].name,
			 iface->chain[i].id);
	}
	used = strlen(buf);
	snprintf(buf + used, size - used, "%s",
		 !iface->present ? ", gone" :
		 iface->mute     ? "; action=reject drops" :
				   "");
	return buf;
}

/* Every place of the instance's programs, but that of the program `but`, in dispatchers made for that index. */
static void each_place(const struct instance *inst, uint32_t ifindex, uint32_t but,
		       void (*fn)(uint32_t prog_id, const char *link_path))
{
	DIR *root = opendir(CHAIN_PINS);
	struct dirent *entry;
	unsigned int index, id;
	char path[128];

	while (root && (entry = readdir(root))) {
		if (sscanf(entry->d_name, "dispatch-%u-%u", &index, &id) != 2 || index != ifindex)
			continue;
		for (int i = 0; i < CHAIN_MEMBERS; i++) {
			uint32_t prog;

			snprintf(path, sizeof(path), CHAIN_PINS "/dispatch-%u-%u/prog%d-prog", index, id, i);
			prog = pinned_id(path);
			if (!prog || prog == but || !chain_is_ours(inst, ifindex, prog))
				continue;
			snprintf(path, sizeof(path), CHAIN_PINS "/dispatch-%u-%u/prog%d-link", index, id, i);
			fn(prog, path);
		}
	}
	if (root)
		closedir(root);
}

static void unhook(uint32_t prog_id, const char *link_path)
{
	(void)prog_id;
	unlink(link_path);
}

static void sleep_in(uint32_t prog_id, const char *link_path)
{
	(void)link_path;
	fall_asleep(prog_id);
}

void chain_sleep(const struct instance *inst, uint32_t ifindex)
{
	each_place(inst, ifindex, 0, sleep_in);
}

void chain_leave(const struct instance *inst, uint32_t ifindex, uint32_t but)
{
	char path[192];

	if (chain_detach(inst, ifindex, but))
		each_place(inst, ifindex, but, unhook);
	if (but)
		return;
	pins_chain_path(inst, ifindex, path, sizeof(path));
	unlink(path);
}

void chain_leave_all(const struct instance *inst)
{
	DIR *root = opendir(CHAIN_PINS);
	struct dirent *entry;
	uint32_t list[SYNHOLD_SERVICES];
	unsigned int count = 0, index, id;

	while (root && (entry = readdir(root))) /* leaving makes and removes directories: not while reading */
		if (sscanf(entry->d_name, "dispatch-%u-%u", &index, &id) == 2 && count < SYNHOLD_SERVICES)
			list[count++] = index;
	if (root)
		closedir(root);
	for (unsigned int i = 0; i < count; i++)
		chain_leave(inst, list[i], 0);
}

int chain_probe(void)
{
	libbpf_print_fn_t before = libbpf_set_print(deploy_quiet);
	struct probe_bpf *host = probe_bpf__open(), *guest = probe_bpf__open();
	struct bpf_link *link = NULL;
	struct bpf_program *prog;
	int ret = host && guest ? 0 : -ENOMEM;

	if (!ret) {
		bpf_object__for_each_program(prog, host->obj)
			bpf_program__set_autoload(prog, prog == host->progs.probe_host);
		bpf_object__for_each_program(prog, guest->obj)
			bpf_program__set_autoload(prog, prog == guest->progs.probe_guest);
		ret = probe_bpf__load(host);
	}
	if (!ret)
		ret = bpf_program__set_attach_target(guest->progs.probe_guest, bpf_program__fd(host->progs.probe_host),
						     "probe_slot");
	if (!ret)
		ret = probe_bpf__load(guest);
	if (!ret) {
		link = bpf_program__attach_freplace(guest->progs.probe_guest, 0, NULL);
		ret = link ? 0 : -errno;
	}
	bpf_link__destroy(link);
	probe_bpf__destroy(guest);
	probe_bpf__destroy(host);
	libbpf_set_print(before);
	return ret;
}
