// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/config_lists.h"

#include <bpf/bpf.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/keys.h"
#include "lib/units.h"

#define WEIGHT_LEAST 2  /* everybody has 1 */
#define WEIGHT_MOST 128 /* what the hold queue takes */

int config_lists_add(struct config_lists *lists, enum list_kind kind, const struct list_entry *entry)
{
	unsigned int count = lists->count[kind];

	if (!(count & (count - 1))) { /* full at each power of two */
		struct list_entry *more =
			reallocarray(lists->entry[kind], count ? 2 * (size_t)count : 1, sizeof(*more));

		if (!more)
			return -ENOMEM;
		lists->entry[kind] = more;
	}
	lists->entry[kind][lists->count[kind]++] = *entry;
	return 0;
}

void config_lists_free(struct config_lists *lists)
{
	for (int kind = 0; kind < CONFIG_LISTS; kind++) {
		free(lists->entry[kind]);
		lists->entry[kind] = NULL;
		lists->count[kind] = 0;
	}
}

/* The note of a line: what follows its first '#', without blanks around. Cut to what an entry can carry. */
static void copy_note(char *note, size_t size, const char *hash)
{
	size_t length;

	hash += 1 + strspn(hash + 1, " \t");
	length = strlen(hash);
	while (length && isspace((unsigned char)hash[length - 1]))
		length--;
	if (length >= size)
		length = size - 1;
	memcpy(note, hash, length);
	note[length] = '\0';
}

/* What may stand behind the address: of allow `rate N`, of prefer a weight. */
static int parse_rest(enum list_kind kind, char **save, uint64_t *value)
{
	char *word = strtok_r(NULL, " \t\r\n", save);

	if (!word)
		return kind == LIST_PREFER ? -EINVAL : 0;
	if (kind == LIST_ALLOW && !strcmp(word, "rate"))
		word = strtok_r(NULL, " \t\r\n", save);
	else if (kind != LIST_PREFER)
		return -EINVAL;
	if (!word || units_parse_count(word, value) || !*value || strtok_r(NULL, " \t\r\n", save))
		return -EINVAL;
	return kind == LIST_PREFER && (*value < WEIGHT_LEAST || *value > WEIGHT_MOST) ? -EINVAL : 0;
}

int config_lists_line(struct config_lists *lists, enum list_kind kind, const char *text, struct error *err)
{
	static const char *const forms[] = {CONFIG_ALLOW_FORM, CONFIG_DENY_FORM, CONFIG_PREFER_FORM};
	struct list_entry entry = {.value = {.until_ns = SYNHOLD_FOREVER, .from_file = 1}};
	const char *hash = strchr(text, '#');
	char words[160], *save = NULL, *word = NULL;
	size_t length = hash ? (size_t)(hash - text) : strlen(text);
	uint64_t value = 0;
	int ret = -EINVAL;

	if (length < sizeof(words)) {
		memcpy(words, text, length);
		words[length] = '\0';
		word = strtok_r(words, " \t\r\n", &save);
	}
	if (word && !units_parse_cidr(word, entry.addr, &entry.prefixlen))
		ret = parse_rest(kind, &save, &value);
	if (ret) {
		error_set(err, ret, "'%.80s' is not a list entry", text);
		return error_hint(err, ret, "accepted: %s", forms[kind]);
	}
	entry.value.rate_pps = value;
	if (hash)
		copy_note(entry.value.note, sizeof(entry.value.note), hash);
	ret = config_lists_add(lists, kind, &entry);
	return ret ? error_set(err, ret, "out of memory") : 0;
}

int config_lists_include(struct config_lists *lists, enum list_kind kind, const char *path, struct error *err)
{
	FILE *file = fopen(path, "re");
	unsigned int number = 0;
	char *line = NULL;
	size_t size = 0;
	int ret = 0;

	if (!file)
		return error_set(err, errno == EINVAL ? -EIO : -errno, "%s: %s", path, strerror(errno));
	while (!ret && getline(&line, &size, file) >= 0) {
		struct error why = {0};

		number++;
		line[strcspn(line, "\r\n")] = '\0';
		if (strchr("#;", line[strspn(line, " \t")])) /* an empty one too */
			continue;
		ret = config_lists_line(lists, kind, line, &why);
		if (ret) {
			error_set(err, ret, "%s:%u: %s", path, number, why.message);
			error_hint(err, ret, "%s", why.hint);
		}
	}
	if (!ret && ferror(file))
		ret = error_set(err, -EIO, "%s: cannot be read", path);
	free(line);
	fclose(file);
	return ret;
}

struct collecting {
	struct config_lists *lists;
	enum list_kind kind;
	int file_only;
};

static int collect_one(void *ctx, const struct list_entry *entry)
{
	const struct collecting *c = ctx;

	if (entry->value.until_ns != SYNHOLD_FOREVER || (c->file_only && !entry->value.from_file))
		return 0;
	return config_lists_add(c->lists, c->kind, entry);
}

int config_lists_collect(const struct instance *inst, int file_only, struct config_lists *lists)
{
	int ret = 0;

	for (int kind = LIST_ALLOW; kind < CONFIG_LISTS && !ret; kind++) {
		struct collecting c = {lists, (enum list_kind)kind, file_only};

		ret = lists_each(inst, (enum list_kind)kind, collect_one, &c);
	}
	return ret;
}

static int compare_entries(const void *a, const void *b)
{
	const struct list_entry *x = a, *y = b;
	int order = memcmp(x->addr, y->addr, 16);

	return order ? order : (int)x->prefixlen - (int)y->prefixlen;
}

static int list_fd(const struct instance *inst, enum list_kind kind)
{
	static const enum instance_map maps[] = {INSTANCE_MAP_ALLOW, INSTANCE_MAP_DENY, INSTANCE_MAP_PREFER};

	return inst->map[maps[kind]];
}

static struct synhold_list_key entry_key(const struct list_entry *entry)
{
	struct synhold_list_key key = {.prefixlen = entry->prefixlen};

	memcpy(key.addr, entry->addr, 16);
	return key;
}

/* Without lists_add()'s wait for each: a file may have as many entries as the list takes. */
static int put_all(struct instance *inst, enum list_kind kind, const struct list_entry *entries, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		struct synhold_list_key key = entry_key(&entries[i]);
		struct synhold_list_value value = entries[i].value;
		uint64_t interval, limit;

		keys_compile_allow_rate(value.rate_pps, &interval, &limit);
		value.interval = interval;
		value.limit = limit;
		if (bpf_map_update_elem(list_fd(inst, kind), &key, &value, BPF_ANY))
			return -errno;
	}
	return 0;
}

/* Deletes the entries of `old` that are not in `kept`, which is sorted. */
static void delete_others(struct instance *inst, enum list_kind kind, const struct list_entry *old, unsigned int count,
			  const struct list_entry *kept, unsigned int kept_count)
{
	for (unsigned int i = 0; i < count; i++) {
		struct synhold_list_key key = entry_key(&old[i]);

		if (!kept_count || !bsearch(&old[i], kept, kept_count, sizeof(*kept), compare_entries))
			bpf_map_delete_elem(list_fd(inst, kind), &key);
	}
}

static int count_one(void *ctx, const struct list_entry *entry)
{
	(void)entry;
	++*(uint32_t *)ctx;
	return 0;
}

/* The data plane looks into a list only while this says that there is something in it. */
static void recount(struct instance *inst, enum list_kind kind)
{
	__u32 *const counts[] = {&inst->control->allow_entries, &inst->control->deny_entries,
				 &inst->control->prefer_entries};
	uint32_t count = 0;

	lists_each(inst, kind, count_one, &count);
	__atomic_store_n(counts[kind], count, __ATOMIC_RELEASE);
}

/* Everything of one list as it stands, timed and by command too: what to go back to. */
struct before {
	struct config_lists all, file;
	enum list_kind kind;
};

static int remember_one(void *ctx, const struct list_entry *entry)
{
	struct before *before = ctx;
	int ret = config_lists_add(&before->all, before->kind, entry);

	return !ret && entry->value.from_file ? config_lists_add(&before->file, before->kind, entry) : ret;
}

/* What came goes, and what was there is written again. `was` and `came` are sorted. */
static void restore(struct instance *inst, enum list_kind kind, struct before *before, const struct list_entry *came,
		    unsigned int count)
{
	struct list_entry *was = before->all.entry[kind];

	if (before->all.count[kind])
		qsort(was, before->all.count[kind], sizeof(*was), compare_entries);
	delete_others(inst, kind, came, count, was, before->all.count[kind]);
	put_all(inst, kind, was, before->all.count[kind]);
	recount(inst, kind);
}

static int apply_one(struct instance *inst, enum list_kind kind, struct list_entry *entries, unsigned int count,
		     struct before *before)
{
	const struct list_entry *old = before->file.entry[kind];
	int crowded = count + before->all.count[kind] > SYNHOLD_LIST_ENTRIES, ret;

	if (count)
		qsort(entries, count, sizeof(*entries), compare_entries);
	if (crowded) /* no room for both: what goes makes place first */
		delete_others(inst, kind, old, before->file.count[kind], entries, count);
	ret = put_all(inst, kind, entries, count);
	if (!ret && !crowded)
		delete_others(inst, kind, old, before->file.count[kind], entries, count);
	if (ret)
		restore(inst, kind, before, entries, count);
	recount(inst, kind);
	return ret;
}

int config_lists_apply(struct instance *inst, const struct config_lists *lists, struct error *err)
{
	struct before before = {0};
	int ret = 0;

	for (int kind = LIST_ALLOW; kind < CONFIG_LISTS && !ret; kind++) {
		lists_prune(inst, (enum list_kind)kind);
		before.kind = (enum list_kind)kind;
		ret = lists_each(inst, before.kind, remember_one, &before);
	}
	for (int kind = 0; kind < CONFIG_LISTS && !ret; kind++) {
		ret = apply_one(inst, (enum list_kind)kind, lists->entry[kind], lists->count[kind], &before);
		for (int done = 0; ret && done < kind; done++)
			restore(inst, (enum list_kind)done, &before, lists->entry[done], lists->count[done]);
	}
	config_lists_free(&before.all);
	config_lists_free(&before.file);
	if (ret == -ENOSPC) {
		error_set(err, ret, "the address lists of the config file do not fit");
		return error_hint(err, ret, "a list takes %d entries: aggregate prefixes", SYNHOLD_LIST_ENTRIES);
	}
	if (ret)
		return error_set(err, ret, "the address lists cannot be written: %s", strerror(-ret));
	ret = instance_quiesce(inst);
	return ret ? error_set(err, ret, "the address lists are in force, but waiting for it failed: %s",
			       strerror(-ret)) :
		     0;
}
