// SPDX-License-Identifier: GPL-2.0-or-later
/* Changes of address lists: entries in memory, and an image of them in the place of the old one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/lists_parts.h"
#include "lib/units.h"

/* A change of the entries in memory. 0, or a negative error: then nothing is changed. */
typedef int (*edit_fn)(struct config_lists *lists, void *ctx, struct error *err);

/* Changes the lists in force, and those to fall back to while a change waits for confirmation: both or none. */
static int change(struct instance *inst, edit_fn edit, void *ctx, struct error *err)
{
	uint32_t bank = instance_bank(inst), banks[SYNHOLD_BANKS] = {bank, !bank};
	int count = instance_confirm_pending(inst, NULL) ? 2 : 1, fd[SYNHOLD_BANKS] = {-1, -1}, ret = 0;
	struct config_lists lists[SYNHOLD_BANKS] = {0};

	for (int i = 0; i < count && !ret; i++) {
		ret = lists_read_bank(inst, banks[i], &lists[i]);
		if (ret)
			error_set(err, ret, "the address lists cannot be read: %s", strerror(-ret));
		else
			ret = edit(&lists[i], ctx, err);
		if (i && ret == -ENOENT) /* known in what is in force, and not in what it would be undone to */
			ret = 0;
		if (!ret)
			ret = lists_prepare(&lists[i], &fd[i], err);
	}
	for (int i = 0; i < count && !ret; i++) {
		ret = lists_place_image(inst, banks[i], fd[i], lists_listed(&lists[i]));
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

static int edit_nothing(struct config_lists *lists, void *ctx, struct error *err)
{
	(void)lists;
	(void)ctx;
	(void)err;
	return 0;
}

int lists_sweep(struct instance *inst)
{
	return change(inst, edit_nothing, NULL, NULL);
}
