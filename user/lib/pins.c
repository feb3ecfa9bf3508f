// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/deploy_parts.h"

int pins_path(const struct instance *inst, const char *name, char *path, size_t size)
{
	return snprintf(path, size, "%s/%s", inst->pin_dir, name) < (int)size ? 0 : -ENAMETOOLONG;
}

void pins_link_path(const struct instance *inst, uint32_t ifindex, char *path, size_t size)
{
	snprintf(path, size, "%s/link_%u", inst->pin_dir, ifindex);
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

/* Interfaces of an instance whose maps may be half gone: by the names of its link pins. */
unsigned int pins_links(const struct instance *inst, uint32_t *list, unsigned int most)
{
	DIR *dir = opendir(inst->pin_dir);
	struct dirent *entry;
	unsigned int count = 0, index;

	while (dir && (entry = readdir(dir)))
		if (sscanf(entry->d_name, "link_%u", &index) == 1 && count < most)
			list[count++] = index;
	if (dir)
		closedir(dir);
	return count;
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
