// SPDX-License-Identifier: GPL-2.0-or-later
/* Images of address lists in the maps of an instance. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/lists_parts.h"

#define ROW sizeof(struct synhold_list_row)
#define READ_TRIES 100           /* readers have no lock */
#define SWEEP_ENTRY_NS 300000ULL /* a sweep copies all entries: the more, the more rarely; 100,000: every 30 s */

/* The image of a bank; -ENOENT: it has none. */
static int image_fd(const struct instance *inst, uint32_t bank)
{
	uint32_t id;
	int fd;

	for (int i = 0; i < READ_TRIES; i++) {
		if (bpf_map_lookup_elem(inst->map[INSTANCE_MAP_LISTS], &bank, &id))
			return -errno;
		fd = bpf_map_get_fd_by_id(id);
		if (fd >= 0)
			return fd;
		if (errno != ENOENT)
			return -errno;
		/* another has taken its place in between */
	}
	return -EAGAIN;
}

/* Maps the image of a bank for reading: 0 with *image NULL when the bank has none. */
static int map_image(const struct instance *inst, uint32_t bank, const void **image, size_t *size)
{
	struct bpf_map_info info = {0};
	uint32_t length = sizeof(info);
	int fd = image_fd(inst, bank), ret = 0;
	void *at;

	*image = NULL;
	*size = 0;
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (bpf_obj_get_info_by_fd(fd, &info, &length)) {
		ret = -errno;
	} else if (info.value_size != ROW) {
		ret = -EPROTO;
	} else {
		at = mmap(NULL, info.max_entries * ROW, PROT_READ, MAP_SHARED, fd, 0);
		if (at == MAP_FAILED) {
			ret = -errno;
		} else {
			*image = at;
			*size = info.max_entries * ROW;
		}
	}
	close(fd);
	return ret;
}

static void unmap_image(const void *image, size_t size)
{
	if (image)
		munmap((void *)image, size);
}

/* The same of the bank in force, for those who have no lock: a commit may change banks under their hands. */
static int map_in_force(const struct instance *inst, const void **image, size_t *size)
{
	uint64_t generation;
	uint32_t bank;
	int ret;

	for (int i = 0; i < READ_TRIES; i++) {
		generation = __atomic_load_n(&inst->control->generation, __ATOMIC_ACQUIRE);
		bank = instance_bank(inst);
		ret = map_image(inst, bank, image, size);
		if (ret || (instance_bank(inst) == bank &&
			    __atomic_load_n(&inst->control->generation, __ATOMIC_ACQUIRE) == generation))
			return ret;
		unmap_image(*image, *size);
	}
	return -EAGAIN;
}

static int read_image(const void *image, size_t size, struct config_lists *lists)
{
	struct config_lists found = {0};
	int ret = image ? lists_image_read(image, size, &found) : 0;

	if (ret)
		config_lists_free(&found);
	else
		*lists = found;
	return ret;
}

int lists_read_bank(const struct instance *inst, uint32_t bank, struct config_lists *lists)
{
	const void *image;
	size_t size;
	int ret = map_image(inst, bank, &image, &size);

	if (ret)
		return ret;
	ret = read_image(image, size, lists);
	unmap_image(image, size);
	return ret;
}

int lists_read(const struct instance *inst, struct config_lists *lists)
{
	const void *image;
	size_t size;
	int ret = map_in_force(inst, &image, &size);

	if (ret)
		return ret;
	ret = read_image(image, size, lists);
	unmap_image(image, size);
	if (!ret)
		lists_expire(lists, instance_now_ns());
	return ret;
}

int lists_count(const struct instance *inst, unsigned int count[LIST_KINDS])
{
	const struct synhold_list_head *head;
	const void *image;
	size_t size;
	int ret = map_in_force(inst, &image, &size);

	if (ret)
		return ret;
	head = image;
	for (int kind = 0; kind < LIST_KINDS; kind++)
		count[kind] = head ? head->entries[kind] : 0;
	unmap_image(image, size);
	return 0;
}

int lists_each(const struct instance *inst, enum list_kind kind, int (*fn)(void *ctx, const struct list_entry *entry),
	       void *ctx)
{
	struct config_lists lists = {0};
	int ret = lists_read(inst, &lists);

	for (unsigned int i = 0; i < lists.count[kind] && !ret; i++)
		ret = fn(ctx, &lists.entry[kind][i]);
	config_lists_free(&lists);
	return ret;
}

/* An image in a map of its own: the fd, or -errno. */
static int make_image(const struct config_lists *lists)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	struct synhold_list_row *rows;
	uint32_t count;
	int ret = lists_image(lists, &rows, &count), fd = -1;
	void *at = MAP_FAILED;

	if (ret)
		return ret;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "list_image", sizeof(uint32_t), ROW, count, &opts);
	if (fd >= 0)
		at = mmap(NULL, count * ROW, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) {
		ret = -errno;
	} else {
		memcpy(at, rows, count * ROW);
		munmap(at, count * ROW);
	}
	free(rows);
	if (!ret)
		return fd;
	if (fd >= 0)
		close(fd);
	return ret;
}

int lists_place_image(struct instance *inst, uint32_t bank, int fd, uint32_t listed)
{
	int outer = inst->map[INSTANCE_MAP_LISTS], old = image_fd(inst, bank), ret = 0;

	if (!listed)
		__atomic_store_n(&inst->control->listed[bank], 0, __ATOMIC_RELEASE);
	if (fd >= 0)
		ret = bpf_map_update_elem(outer, &bank, &fd, BPF_ANY) ? -errno : 0;
	else if (bpf_map_delete_elem(outer, &bank) && errno != ENOENT)
		ret = -errno;
	if (!ret && listed)
		__atomic_store_n(&inst->control->listed[bank], listed, __ATOMIC_RELEASE);
	__atomic_add_fetch(&inst->control->list_changes, 1, __ATOMIC_RELEASE);
	if (old >= 0)
		close(old);
	return ret;
}

static int is_empty(const struct config_lists *lists)
{
	return !lists->count[LIST_ALLOW] && !lists->count[LIST_DENY] && !lists->count[LIST_PREFER];
}

int lists_prepare(struct config_lists *lists, int *fd, struct error *err)
{
	int ret = 0;

	*fd = -1;
	lists_expire(lists, instance_now_ns());
	for (int kind = 0; kind < LIST_KINDS && !ret; kind++)
		ret = lists_sort(lists, (enum list_kind)kind);
	if (!ret) {
		ret = lists_check_room(lists, err);
		if (ret)
			return ret;
	}
	if (!ret && !is_empty(lists)) {
		*fd = make_image(lists);
		ret = *fd < 0 ? *fd : 0;
	}
	return ret ? error_set(err, ret, "no memory for the address lists: %s", strerror(-ret)) : 0;
}

uint32_t lists_listed(const struct config_lists *lists)
{
	return lists->count[LIST_ALLOW] + lists->count[LIST_DENY];
}

int lists_have_ended(const struct instance *inst, uint64_t now_ns)
{
	const struct synhold_list_head *head;
	const void *image;
	uint64_t entries;
	size_t size;
	int ended = 0;

	if (map_in_force(inst, &image, &size) || !image)
		return 0;
	head = image;
	entries = (uint64_t)head->entries[LIST_ALLOW] + head->entries[LIST_DENY] + head->entries[LIST_PREFER];
	ended = head->next_end_ns != SYNHOLD_FOREVER && head->next_end_ns + entries * SWEEP_ENTRY_NS <= now_ns;
	unmap_image(image, size);
	return ended;
}

int lists_stage(struct instance *inst, uint32_t bank, const struct config_lists *lists, struct error *err)
{
	struct config_lists copy = {0};
	uint32_t count = 0;
	int fd = -1, ret = 0;

	if (lists) {
		for (int kind = 0; kind < LIST_KINDS && !ret; kind++)
			ret = lists_merge(&copy, (enum list_kind)kind, lists->entry[kind], lists->count[kind],
					  LIST_BY_COMMAND);
		ret = ret ? error_set(err, ret, "out of memory") : lists_prepare(&copy, &fd, err);
		count = lists_listed(&copy);
		config_lists_free(&copy);
	} else {
		fd = image_fd(inst, !bank);
		count = inst->control->listed[!bank];
		ret = fd < 0 && fd != -ENOENT ? error_set(err, fd, "the address lists cannot be read") : 0;
	}
	if (!ret) {
		ret = lists_place_image(inst, bank, fd, count);
		if (ret)
			error_set(err, ret, "the address lists cannot be written: %s", strerror(-ret));
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

void lists_drop(struct instance *inst, uint32_t bank)
{
	lists_place_image(inst, bank, -1, 0);
}

void lists_view_end(struct lists_view *view)
{
	unmap_image(view->image, view->size);
	memset(view, 0, sizeof(*view));
}

uint16_t lists_weight(struct lists_view *view, const struct instance *inst, const uint8_t addr[16])
{
	uint32_t changes = __atomic_load_n(&inst->control->list_changes, __ATOMIC_ACQUIRE), bank = instance_bank(inst);
	uint32_t weight;

	if (!view->known || view->changes != changes || view->bank != bank) {
		lists_view_end(view);
		view->known = 1;
		view->changes = changes;
		view->bank = bank;
		if (!map_image(inst, bank, &view->image, &view->size) && view->image &&
		    !((const struct synhold_list_head *)view->image)->entries[LIST_PREFER]) {
			unmap_image(view->image, view->size);
			view->image = NULL;
		}
	}
	weight = view->image ? lists_image_find(view->image, addr)->weight : 0;
	return weight ? (uint16_t)weight : 1;
}
