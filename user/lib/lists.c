// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/lists.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/units.h"

#define ROW sizeof(struct synhold_list_row)

/* A change of the entries in memory. 0, or a negative error: then nothing is changed. */
typedef int (*edit_fn)(struct config_lists *lists, void *ctx, struct error *err);

/* The image of a bank; -ENOENT: it has none. */
static int image_fd(const struct instance *inst, uint32_t bank)
{
	uint32_t id;
	int fd;

	if (bpf_map_lookup_elem(inst->map[INSTANCE_MAP_LISTS], &bank, &id))
		return -errno;
	fd = bpf_map_get_fd_by_id(id);
	return fd < 0 ? -errno : fd;
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

static int read_bank(const struct instance *inst, uint32_t bank, struct config_lists *lists)
{
	struct config_lists found = {0};
	const void *image;
	size_t size;
	int ret = map_image(inst, bank, &image, &size);

	if (!ret && image)
		ret = lists_image_read(image, size, &found);
	unmap_image(image, size);
	if (ret)
		config_lists_free(&found);
	else
		*lists = found;
	return ret;
}

int lists_read(const struct instance *inst, struct config_lists *lists)
{
	int ret = read_bank(inst, instance_bank(inst), lists);

	if (!ret)
		lists_expire(lists, instance_now_ns());
	return ret;
}

int lists_count(const struct instance *inst, unsigned int count[LIST_KINDS])
{
	const struct synhold_list_head *head;
	const void *image;
	size_t size;
	int ret = map_image(inst, instance_bank(inst), &image, &size);

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

/*
 * Puts an image (-1: none) in the place of a bank's. The kernel returns from the update when no program runs that could
 * see the old one, but before 6.8 it may free that one at once: so it is kept until then.
 */
static int place_image(struct instance *inst, uint32_t bank, int fd, uint32_t listed)
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

/* The image of lists, -1 when there is nothing in them; ended entries are left out. 0 or -errno. */
static int prepare(struct config_lists *lists, int *fd, struct error *err)
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

static uint32_t listed(const struct config_lists *lists)
{
	return lists->count[LIST_ALLOW] + lists->count[LIST_DENY];
}

/* Changes the lists in force, and those to fall back to while a change waits for confirmation: both or none. */
static int change(struct instance *inst, edit_fn edit, void *ctx, struct error *err)
{
	uint32_t bank = instance_bank(inst), banks[SYNHOLD_BANKS] = {bank, !bank};
	int count = instance_confirm_pending(inst, NULL) ? 2 : 1, fd[SYNHOLD_BANKS] = {-1, -1}, ret = 0;
	struct config_lists lists[SYNHOLD_BANKS] = {0};

	for (int i = 0; i < count && !ret; i++) {
		ret = read_bank(inst, banks[i], &lists[i]);
		if (ret)
			error_set(err, ret, "the address lists cannot be read: %s", strerror(-ret));
		else
			ret = edit(&lists[i], ctx, err);
		if (i && ret == -ENOENT) /* known in what is in force, and not in what it would be undone to */
			ret = 0;
		if (!ret)
			ret = prepare(&lists[i], &fd[i], err);
	}
	for (int i = 0; i < count && !ret; i++) {
		ret = place_image(inst, banks[i], fd[i], listed(&lists[i]));
		if (ret)
			error_set(err, ret, "the address lists cannot be written: %s", strerror(-ret));
	}
	for (int i = 0; i < count; i++) {
		config_lists_free(&lists[i]);
		if (fd[i] >= 0)
			close(fd[i]);
	}
	return ret;
}

struct one {
	enum list_kind kind;
	const struct list_entry *entry;
};

static int edit_add(struct config_lists *lists, void *ctx, struct error *err)
{
	const struct one *one = ctx;

	return config_lists_add(lists, one->kind, one->entry) ? error_set(err, -ENOMEM, "out of memory") : 0;
}

int lists_add(struct instance *inst, enum list_kind kind, const struct list_entry *entry, struct error *err)
{
	struct one one = {kind, entry};

	return change(inst, edit_add, &one, err);
}

static int edit_del(struct config_lists *lists, void *ctx, struct error *err)
{
	const struct one *one = ctx;
	struct list_entry *entry = lists->entry[one->kind], *found = NULL;
	unsigned int *count = &lists->count[one->kind];
	char text[64];

	lists_expire(lists, instance_now_ns());
	if (*count)
		found = bsearch(one->entry, entry, *count, sizeof(*entry), lists_compare);
	if (!found) {
		error_set(err, -ENOENT, "%s is not in the %s list",
			  units_format_cidr(text, sizeof(text), one->entry->addr, one->entry->prefixlen),
			  lists_name(one->kind));
		return error_hint(err, -ENOENT, "synhold %s lists the entries", lists_name(one->kind));
	}
	memmove(found, found + 1, (size_t)(entry + *count - found - 1) * sizeof(*entry));
	--*count;
	return 0;
}

int lists_del(struct instance *inst, enum list_kind kind, const uint8_t addr[16], uint8_t prefixlen, struct error *err)
{
	struct list_entry entry = {.prefixlen = prefixlen};
	struct one one = {kind, &entry};

	memcpy(entry.addr, addr, sizeof(entry.addr));
	return change(inst, edit_del, &one, err);
}

struct loaded {
	enum list_kind kind;
	struct config_lists lists;
};

static int edit_load(struct config_lists *lists, void *ctx, struct error *err)
{
	const struct loaded *loaded = ctx;
	enum list_kind kind = loaded->kind;

	lists_expire(lists, instance_now_ns());
	return lists_merge(lists, kind, loaded->lists.entry[kind], loaded->lists.count[kind], LIST_BY_LOAD) ?
		       error_set(err, -ENOMEM, "out of memory") :
		       0;
}

int lists_load(struct instance *inst, enum list_kind kind, const char *path, struct error *err)
{
	struct lists_lines lines = {kind, LIST_BY_LOAD, instance_now_ns()};
	struct loaded loaded = {.kind = kind};
	unsigned int count;
	int ret = lists_parse_file(&loaded.lists, &lines, path, err);

	count = loaded.lists.count[kind];
	if (!ret && lists_sort(&loaded.lists, kind))
		ret = error_set(err, -ENOMEM, "out of memory");
	if (!ret)
		ret = change(inst, edit_load, &loaded, err);
	config_lists_free(&loaded.lists);
	return ret ? ret : (int)count;
}

static int edit_confirm(struct config_lists *lists, void *ctx, struct error *err)
{
	int *confirmed = ctx;

	(void)err;
	lists_expire(lists, instance_now_ns());
	for (int kind = 0; kind < LIST_KINDS; kind++)
		for (unsigned int i = 0; i < lists->count[kind]; i++) {
			struct list_value *value = &lists->entry[kind][i].value;

			if (!value->confirmed_until_ns)
				continue;
			value->until_ns = value->confirmed_until_ns;
			value->confirmed_until_ns = 0;
			++*confirmed;
		}
	return *confirmed ? 0 : -ENOENT;
}

int lists_confirm(struct instance *inst, struct error *err)
{
	int confirmed = 0, ret = change(inst, edit_confirm, &confirmed, err);

	return ret == -ENOENT ? 0 : ret ? ret : confirmed;
}

int lists_have_ended(const struct instance *inst, uint64_t now_ns)
{
	const void *image;
	size_t size;
	int ended = !map_image(inst, instance_bank(inst), &image, &size) && image &&
		    ((const struct synhold_list_head *)image)->next_end_ns <= now_ns;

	unmap_image(image, size);
	return ended;
}

static int edit_nothing(struct config_lists *lists, void *ctx, struct error *err)
{
	(void)lists;
	(void)ctx;
	(void)err;
	return 0;
}

int lists_sweep(struct instance *inst)
{
	return lists_have_ended(inst, instance_now_ns()) ? change(inst, edit_nothing, NULL, NULL) : 0;
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
		ret = ret ? error_set(err, ret, "out of memory") : prepare(&copy, &fd, err);
		count = listed(&copy);
		config_lists_free(&copy);
	} else {
		fd = image_fd(inst, !bank);
		count = inst->control->listed[!bank];
		ret = fd < 0 && fd != -ENOENT ? error_set(err, fd, "the address lists cannot be read") : 0;
	}
	if (!ret) {
		ret = place_image(inst, bank, fd, count);
		if (ret)
			error_set(err, ret, "the address lists cannot be written: %s", strerror(-ret));
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

void lists_drop(struct instance *inst, uint32_t bank)
{
	place_image(inst, bank, -1, 0);
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
