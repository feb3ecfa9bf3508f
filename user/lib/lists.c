// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/lists.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/keys.h"
#include "lib/units.h"

const char *lists_name(enum list_kind kind)
{
	static const char *const names[] = {"allow", "deny", "prefer"};

	return names[kind];
}

static int list_fd(const struct instance *inst, enum list_kind kind)
{
	static const enum instance_map maps[] = {INSTANCE_MAP_ALLOW, INSTANCE_MAP_DENY, INSTANCE_MAP_PREFER};

	return inst->map[maps[kind]];
}

static struct synhold_list_key list_key(const uint8_t addr[16], uint8_t prefixlen)
{
	struct synhold_list_key key = {.prefixlen = prefixlen};

	memcpy(key.addr, addr, 16);
	return key;
}

/* The data plane looks into a list only while this says that there is something in it. */
static void recount(struct instance *inst, enum list_kind kind)
{
	struct synhold_list_key key, *last = NULL;
	uint32_t *const counts[] = {&inst->control->allow_entries, &inst->control->deny_entries,
				    &inst->control->prefer_entries};
	uint32_t count = 0;

	while (!bpf_map_get_next_key(list_fd(inst, kind), last, &key)) {
		count++;
		last = &key;
	}
	__atomic_store_n(counts[kind], count, __ATOMIC_RELEASE);
}

static int put(struct instance *inst, enum list_kind kind, const struct list_entry *entry, struct error *err)
{
	struct synhold_list_key key = list_key(entry->addr, entry->prefixlen);
	struct synhold_list_value value = entry->value;
	uint64_t interval, limit;
	char text[64];

	keys_compile_allow_rate(value.rate_pps, &interval, &limit);
	value.interval = interval;
	value.limit = limit;
	if (!bpf_map_update_elem(list_fd(inst, kind), &key, &value, BPF_ANY))
		return 0;
	error_set(err, -errno, "%s cannot be added to the %s list: %s",
		  units_format_cidr(text, sizeof(text), entry->addr, entry->prefixlen), lists_name(kind),
		  errno == ENOSPC ? "it is full" : strerror(errno));
	return errno == ENOSPC ? error_hint(err, -ENOSPC, "a list takes %d entries: aggregate prefixes or delete some",
					    SYNHOLD_LIST_ENTRIES) :
	       err             ? err->code :
				 -errno;
}

int lists_add(struct instance *inst, enum list_kind kind, const struct list_entry *entry, struct error *err)
{
	int ret;

	lists_prune(inst, kind);
	ret = put(inst, kind, entry, err);
	recount(inst, kind);
	return ret ? ret : instance_quiesce(inst);
}

int lists_del(struct instance *inst, enum list_kind kind, const uint8_t addr[16], uint8_t prefixlen, struct error *err)
{
	struct synhold_list_key key = list_key(addr, prefixlen), found, *last = NULL;
	int ret = -ENOENT;
	char text[64];

	/* a trie's delete takes the exact entry only, but says ENOENT alike for all that is wrong */
	while (ret && !bpf_map_get_next_key(list_fd(inst, kind), last, &found)) {
		last = &found;
		if (!memcmp(&found, &key, sizeof(key)))
			ret = bpf_map_delete_elem(list_fd(inst, kind), &key) ? -errno : 0;
	}
	recount(inst, kind);
	if (!ret)
		return instance_quiesce(inst);
	error_set(err, ret, "%s is not in the %s list", units_format_cidr(text, sizeof(text), addr, prefixlen),
		  lists_name(kind));
	return error_hint(err, ret, "synhold %s lists the entries", lists_name(kind));
}

int lists_each(const struct instance *inst, enum list_kind kind, int (*fn)(void *ctx, const struct list_entry *entry),
	       void *ctx)
{
	struct synhold_list_key key, *last = NULL;
	uint64_t now = instance_now_ns();

	while (!bpf_map_get_next_key(list_fd(inst, kind), last, &key)) {
		struct list_entry entry = {.prefixlen = (uint8_t)key.prefixlen};
		int ret;

		last = &key;
		memcpy(entry.addr, key.addr, 16);
		if (bpf_map_lookup_elem(list_fd(inst, kind), &key, &entry.value) || entry.value.until_ns <= now)
			continue;
		ret = fn(ctx, &entry);
		if (ret)
			return ret;
	}
	return 0;
}

/* Calls fn on every key of a list, with freedom to change the list. Returns the sum of what fn returns. */
static unsigned int for_keys(struct instance *inst, enum list_kind kind,
			     unsigned int (*fn)(int fd, const struct synhold_list_key *key, uint64_t now))
{
	struct synhold_list_key *keys = NULL, key, *last = NULL;
	size_t count = 0, room = 0;
	unsigned int sum = 0;
	uint64_t now = instance_now_ns();

	while (!bpf_map_get_next_key(list_fd(inst, kind), last, &key)) {
		last = &key;
		if (count == room) {
			struct synhold_list_key *more = reallocarray(keys, room = room ? room * 2 : 256, sizeof(key));

			if (!more)
				break;
			keys = more;
		}
		keys[count++] = key;
	}
	for (size_t i = 0; i < count; i++)
		sum += fn(list_fd(inst, kind), &keys[i], now);
	free(keys);
	return sum;
}

static unsigned int prune_one(int fd, const struct synhold_list_key *key, uint64_t now)
{
	struct synhold_list_value value;

	return !bpf_map_lookup_elem(fd, key, &value) && value.until_ns <= now && !bpf_map_delete_elem(fd, key);
}

unsigned int lists_prune(struct instance *inst, enum list_kind kind)
{
	unsigned int gone = for_keys(inst, kind, prune_one);

	if (gone)
		recount(inst, kind);
	return gone;
}

static unsigned int confirm_one(int fd, const struct synhold_list_key *key, uint64_t now)
{
	struct synhold_list_value value;

	if (bpf_map_lookup_elem(fd, key, &value) || !value.confirmed_until_ns || value.until_ns <= now)
		return 0;
	value.until_ns = value.confirmed_until_ns;
	value.confirmed_until_ns = 0;
	return !bpf_map_update_elem(fd, key, &value, BPF_EXIST);
}

unsigned int lists_confirm(struct instance *inst)
{
	return for_keys(inst, LIST_DENY, confirm_one) + for_keys(inst, LIST_ALLOW, confirm_one) +
	       for_keys(inst, LIST_PREFER, confirm_one);
}

/* CIDR [rate N] [for DURATION] [# note] */
static int parse_line(char *line, enum list_kind kind, struct list_entry *entry)
{
	char *note = strchr(line, '#'), *save = NULL, *word;

	memset(entry, 0, sizeof(*entry));
	entry->value.until_ns = SYNHOLD_FOREVER;
	if (note) {
		*note++ = '\0';
		note += strspn(note, " \t");
		note[strcspn(note, "\r\n")] = '\0';
		snprintf(entry->value.note, sizeof(entry->value.note), "%s", note);
	}
	word = strtok_r(line, " \t\r\n", &save);
	if (!word)
		return 0;
	if (units_parse_cidr(word, entry->addr, &entry->prefixlen))
		return -EINVAL;
	while ((word = strtok_r(NULL, " \t\r\n", &save))) {
		char *value = strtok_r(NULL, " \t\r\n", &save);
		uint64_t ns, rate;

		if (value && kind == LIST_ALLOW && !strcmp(word, "rate") && !units_parse_count(value, &rate) && rate) {
			entry->value.rate_pps = rate;
			continue;
		}
		if (!value || strcmp(word, "for") || units_parse_duration(value, &ns))
			return -EINVAL;
		entry->value.until_ns = instance_now_ns() + ns;
	}
	return 1;
}

struct saved {
	struct list_entry *entry;
	size_t count, room;
};

static int save_entry(void *ctx, const struct list_entry *entry)
{
	struct saved *saved = ctx;

	if (saved->count == saved->room) {
		struct list_entry *more =
			reallocarray(saved->entry, saved->room = saved->room ? saved->room * 2 : 256, sizeof(*more));

		if (!more)
			return -ENOMEM;
		saved->entry = more;
	}
	saved->entry[saved->count++] = *entry;
	return 0;
}

/* All entries, or the list as it was. */
static int put_all(struct instance *inst, enum list_kind kind, const struct list_entry *entries, size_t count,
		   struct error *err)
{
	struct saved saved = {0};
	size_t done = 0;
	int ret = lists_each(inst, kind, save_entry, &saved);

	if (ret)
		error_set(err, ret, "out of memory");
	while (done < count && !ret)
		ret = put(inst, kind, &entries[done++], err);
	for (size_t i = 0; ret && i < done; i++) {
		struct synhold_list_key key = list_key(entries[i].addr, entries[i].prefixlen);

		bpf_map_delete_elem(list_fd(inst, kind), &key);
	}
	for (size_t i = 0; ret && i < saved.count; i++)
		put(inst, kind, &saved.entry[i], NULL);
	free(saved.entry);
	return ret;
}

int lists_load(struct instance *inst, enum list_kind kind, const char *path, struct error *err)
{
	FILE *file = fopen(path, "re");
	struct list_entry *entries = NULL;
	size_t count = 0, room = 0, size = 0;
	unsigned int number = 0;
	char *line = NULL;
	int ret = 0;

	if (!file) {
		error_set(err, errno == EINVAL ? -EIO : -errno, "%s: %s", path, strerror(errno));
		return error_hint(err, err ? err->code : -EIO, "give a file that exists and that you may read");
	}
	while (!ret && getline(&line, &size, file) >= 0) {
		number++;
		if (count == room) {
			struct list_entry *more =
				reallocarray(entries, room = room ? room * 2 : 1024, sizeof(*entries));

			if (!more) {
				ret = error_set(err, -ENOMEM, "%s: out of memory", path);
				break;
			}
			entries = more;
		}
		ret = parse_line(line, kind, &entries[count]);
		if (ret < 0) {
			error_set(err, ret, "%s:%u: not a list entry", path, number);
			error_hint(err, ret, "accepted: CIDR%s [for DURATION] [# note], such as 192.0.2.0/24",
				   kind == LIST_ALLOW ? " [rate N]" : "");
		} else {
			count += (size_t)ret;
			ret = 0;
		}
	}
	if (!ret && count > SYNHOLD_LIST_ENTRIES) {
		ret = error_set(err, -ENOSPC, "%s: %zu entries, a list takes %d", path, count, SYNHOLD_LIST_ENTRIES);
		error_hint(err, ret, "aggregate prefixes");
	}
	if (!ret)
		ret = put_all(inst, kind, entries, count, err);
	if (!ret)
		recount(inst, kind);
	free(line);
	free(entries);
	fclose(file);
	if (ret)
		return ret;
	ret = instance_quiesce(inst);
	return ret ? ret : (int)count;
}

uint16_t lists_weight(const struct instance *inst, const uint8_t addr[16], uint64_t now_ns)
{
	struct synhold_list_key key = list_key(addr, 128);
	struct synhold_list_value value;

	if (!inst->control->prefer_entries || bpf_map_lookup_elem(list_fd(inst, LIST_PREFER), &key, &value) ||
	    value.until_ns <= now_ns)
		return 1;
	return value.rate_pps > UINT16_MAX ? UINT16_MAX : (uint16_t)value.rate_pps;
}
