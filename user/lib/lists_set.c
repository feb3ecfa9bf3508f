// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/lists_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *lists_name(enum list_kind kind)
{
	static const char *const names[] = {"allow", "deny", "prefer"};

	return names[kind];
}

int lists_compare(const void *a, const void *b)
{
	const struct list_entry *x = a, *y = b;
	int order = memcmp(x->addr, y->addr, sizeof(x->addr));

	return order ? order : (int)x->prefixlen - (int)y->prefixlen;
}

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
	for (int kind = 0; kind < LIST_KINDS; kind++) {
		free(lists->entry[kind]);
		lists->entry[kind] = NULL;
		lists->count[kind] = 0;
	}
}

static int sorted(const struct list_entry *entry, unsigned int count)
{
	for (unsigned int i = 1; i < count; i++)
		if (lists_compare(&entry[i - 1], &entry[i]) >= 0)
			return 0;
	return 1;
}

/* Puts two sorted runs into `out`, the second one after the first where they are equal. */
static void merge_runs(struct list_entry *out, const struct list_entry *a, unsigned int a_count,
		       const struct list_entry *b, unsigned int b_count)
{
	while (a_count || b_count) {
		if (a_count && (!b_count || lists_compare(a, b) <= 0)) {
			*out++ = *a++;
			a_count--;
		} else {
			*out++ = *b++;
			b_count--;
		}
	}
}

/* qsort() keeps no order among equals, and may need as much memory as this. */
static int merge_sort(struct list_entry *entry, unsigned int count)
{
	struct list_entry *other = count ? malloc(count * sizeof(*other)) : NULL, *from = entry, *to = other;

	if (!other)
		return count ? -ENOMEM : 0;
	for (unsigned int run = 1; run < count; run *= 2) {
		struct list_entry *swap = from;

		for (unsigned int i = 0; i < count; i += 2 * run) {
			unsigned int a = count - i < run ? count - i : run, rest = count - i - a;

			merge_runs(to + i, from + i, a, from + i + a, rest < run ? rest : run);
		}
		from = to;
		to = swap;
	}
	if (from != entry)
		memcpy(entry, from, count * sizeof(*entry));
	free(other);
	return 0;
}

int lists_sort(struct config_lists *lists, enum list_kind kind)
{
	struct list_entry *entry = lists->entry[kind];
	unsigned int count = lists->count[kind], kept = 0;
	int ret;

	if (sorted(entry, count))
		return 0;
	ret = merge_sort(entry, count);
	for (unsigned int i = 0; i < count && !ret; i++) {
		if (kept && !lists_compare(&entry[kept - 1], &entry[i]))
			kept--;
		entry[kept++] = entry[i];
	}
	if (!ret)
		lists->count[kind] = kept;
	return ret;
}

unsigned int lists_expire(struct config_lists *lists, uint64_t now_ns)
{
	unsigned int gone = 0;

	for (int kind = 0; kind < LIST_KINDS; kind++) {
		struct list_entry *entry = lists->entry[kind];
		unsigned int kept = 0;

		for (unsigned int i = 0; i < lists->count[kind]; i++)
			if (entry[i].value.until_ns > now_ns)
				entry[kept++] = entry[i];
		gone += lists->count[kind] - kept;
		lists->count[kind] = kept;
	}
	return gone;
}

int lists_merge(struct config_lists *lists, enum list_kind kind, const struct list_entry *fresh, unsigned int count,
		enum list_origin origin)
{
	const struct list_entry *old = lists->entry[kind], *end = old + lists->count[kind];
	struct config_lists merged = {0};
	int ret = 0;

	while ((old != end || count) && !ret) {
		int order = old == end ? 1 : !count ? -1 : lists_compare(old, fresh);

		if (order >= 0)
			ret = config_lists_add(&merged, kind, fresh);
		else if (old->value.origin != origin)
			ret = config_lists_add(&merged, kind, old);
		old += order <= 0;
		fresh += order >= 0;
		count -= order >= 0;
	}
	if (ret) {
		config_lists_free(&merged);
		return ret;
	}
	free(lists->entry[kind]);
	lists->entry[kind] = merged.entry[kind];
	lists->count[kind] = merged.count[kind];
	return 0;
}

int lists_check_room(const struct config_lists *lists, struct error *err)
{
	for (int kind = 0; kind < LIST_KINDS; kind++) {
		if (lists->count[kind] <= SYNHOLD_LIST_ENTRIES)
			continue;
		error_set(err, -ENOSPC, "the %s list would have %u entries, and takes %d", lists_name(kind),
			  lists->count[kind], SYNHOLD_LIST_ENTRIES);
		return error_hint(err, -ENOSPC, "nothing was changed: aggregate prefixes or delete some");
	}
	return 0;
}
