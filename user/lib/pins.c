// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/chain.h"
#include "lib/deploy_parts.h"

int pins_path(const struct instance *inst, const char *name, char *path, size_t size)
{
	return snprintf(path, size, "%s/%s", inst->pin_dir, name) < (int)size ? 0 : -ENAMETOOLONG;
}

void pins_link_path(const struct instance *inst, uint32_t ifindex, char *path, size_t size)
{
	snprintf(path, size, "%s/link_%u", inst->pin_dir, ifindex);
}

void pins_chain_path(const struct instance *inst, uint32_t ifindex, char *path, size_t size)
{
	snprintf(path, size, "%s/chain_%u", inst->pin_dir, ifindex);
}

/* The interface of a pinned link: 0 when it is gone, -errno when there is no link. */
int pins_link_interface(const struct instance *inst, uint32_t ifindex, int *link_fd)
{
	struct bpf_link_info info = {0};
	uint32_t length = sizeof(info);
	char path[192];
	int fd, ret;

	pins_link_path(inst, ifindex, path, sizeof(path));
	fd = bpf_obj_get(path);
	if (fd < 0)
		return -errno;
	ret = bpf_obj_get_info_by_fd(fd, &info, &length) ? -errno : (int)info.xdp.ifindex;
	if (link_fd)
		*link_fd = fd;
	else
		close(fd);
	return ret;
}

/* Interfaces of an instance whose maps may be half gone: by the names of its pins of links and chains. */
unsigned int pins_links(const struct instance *inst, uint32_t *list, unsigned int most)
{
	DIR *dir = opendir(inst->pin_dir);
	struct dirent *entry;
	unsigned int count = 0, index;

	while (dir && (entry = readdir(dir)))
		if ((sscanf(entry->d_name, "link_%u", &index) == 1 || sscanf(entry->d_name, "chain_%u", &index) == 1) &&
		    count < most)
			list[count++] = index;
	if (dir)
		closedir(dir);
	return count;
}

int pins_interfaces_map(const struct instance *inst)
{
	struct bpf_map_info info = {0};
	uint32_t length = sizeof(info);
	char path[192];
	int fd;

	pins_path(inst, "interfaces", path, sizeof(path));
	fd = bpf_obj_get(path);
	if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &length) && info.key_size == sizeof(uint32_t) &&
	    info.value_size == sizeof(struct synhold_interface))
		return fd;
	if (fd >= 0) /* of another version */
		close(fd);
	return -1;
}

/* No instance can have a name with a plus sign. */
static void beside(const struct instance *inst, const char *what, char *path, size_t size)
{
	snprintf(path, size, INSTANCE_PIN_ROOT "/%s+%s", inst->name, what);
}

void pins_staging(const struct instance *inst, struct instance *staging)
{
	instance_init(staging, inst->name, NULL);
	beside(inst, "next", staging->pin_dir, sizeof(staging->pin_dir));
}

int pins_swap(const struct instance *inst, const struct instance *staging)
{
	char old[sizeof(inst->pin_dir)];

	if (!renameat2(AT_FDCWD, staging->pin_dir, AT_FDCWD, inst->pin_dir, RENAME_EXCHANGE)) {
		pins_remove(staging);
		return 0;
	}
	/* before 5.16: two steps, and pins_recover() if we end between them */
	beside(inst, "old", old, sizeof(old));
	if (rename(inst->pin_dir, old))
		return -errno;
	if (rename(staging->pin_dir, inst->pin_dir)) {
		int ret = -errno;

		rename(old, inst->pin_dir);
		return ret;
	}
	pins_recover(inst);
	return 0;
}

int pins_unfinished(const struct instance *inst)
{
	char next[sizeof(inst->pin_dir)], old[sizeof(inst->pin_dir)];
	struct stat st;

	beside(inst, "next", next, sizeof(next));
	beside(inst, "old", old, sizeof(old));
	return !stat(next, &st) || !stat(old, &st);
}

void pins_recover(const struct instance *inst)
{
	struct instance other;
	struct stat st;

	instance_init(&other, inst->name, NULL);
	beside(inst, "old", other.pin_dir, sizeof(other.pin_dir));
	if (!stat(other.pin_dir, &st) && (!stat(inst->pin_dir, &st) || rename(other.pin_dir, inst->pin_dir)))
		pins_remove(&other);
	pins_staging(inst, &other);
	if (!stat(other.pin_dir, &st)) {
		chain_leave_all(&other);
		pins_remove(&other);
	}
}

void pins_remove(const struct instance *inst)
{
	DIR *dir = opendir(inst->pin_dir);
	struct dirent *entry;
	char path[512];

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", inst->pin_dir, entry->d_name);
		unlink(path);
	}
	if (dir)
		closedir(dir);
	rmdir(inst->pin_dir);
	rmdir(INSTANCE_PIN_ROOT); /* fails while other instances live */
}

void pins_remove_run_files(const struct instance *inst)
{
	static const char *const files[] = {"control.sock", "signal.sock", "daemon.pid", "origin", "lock"};
	char path[512];

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "%s/%s", inst->run_dir, files[i]);
		unlink(path);
	}
	rmdir(inst->run_dir);
	rmdir(INSTANCE_RUN_ROOT);
}
