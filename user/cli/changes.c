// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/changes.h"

#include <stdlib.h>
#include <string.h>

#include "lib/spec.h"
#include "lib/units.h"

static void add(json_t *list, const char *service, const char *key, const char *old, const char *now)
{
	json_array_append_new(list,
			      json_pack("{s:s,s:s,s:s?,s:s?}", "service", service, "key", key, "old", old, "new", now));
}

void changes_key(json_t *list, const struct key *key, const char *name, const struct synhold_policy *old,
		 const struct synhold_policy *now, const struct synhold_global_policy *old_global,
		 const struct synhold_global_policy *now_global)
{
	char before[64], after[64];

	add(list, name, key->name, keys_format(key, old, old_global, before, sizeof(before)),
	    keys_format(key, now, now_global, after, sizeof(after)));
}

static int key_differs(const struct key *key, const struct synhold_policy *old, const struct synhold_policy *now,
		       const struct synhold_global_policy *old_global, const struct synhold_global_policy *now_global)
{
	char before[64], after[64];

	return strcmp(keys_format(key, old, old_global, before, sizeof(before)),
		      keys_format(key, now, now_global, after, sizeof(after))) != 0;
}

static char *ports_text(const struct synhold_specs *specs, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; used + 1 < size; i++) {
		if (used)
			buf[used++] = ' ';
		if (spec_format(specs, i, buf + used, size - used)) {
			buf[used ? used - 1 : 0] = '\0';
			break;
		}
		used += strlen(buf + used);
	}
	return buf;
}

static int closed_for_good(const struct synhold_policy *pol)
{
	return pol->closed_flip_ns ? !pol->closed : pol->closed;
}

static void changes_service(json_t *list, const struct model *old, int a, const struct model *now, int b)
{
	const struct synhold_policy *x = &old->service[a], *y = &now->service[b];
	char before[2048], after[2048];

	ports_text(&old->specs[a], before, sizeof(before));
	ports_text(&now->specs[b], after, sizeof(after));
	if (strcmp(before, after))
		add(list, x->name, "ports", before, after);
	for (const struct key *key = keys_table; key->name; key++)
		if (!key->global && key_differs(key, x, y, NULL, NULL))
			changes_key(list, key, x->name, x, y, NULL, NULL);
	if (closed_for_good(x) != closed_for_good(y))
		add(list, x->name, "closed", closed_for_good(x) ? "yes" : "no", closed_for_good(y) ? "yes" : "no");
}

void changes_models(json_t *list, const struct model *old, const struct model *now)
{
	char ports[2048];
	int other;

	for (const struct key *key = keys_table; key->name; key++)
		if (key->global && key_differs(key, NULL, NULL, &old->global, &now->global))
			changes_key(list, key, "*", NULL, NULL, &old->global, &now->global);
	for (int id = 0; id < SYNHOLD_SERVICES; id++) {
		if (!old->service[id].name[0])
			continue;
		other = model_find(now, old->service[id].name);
		if (other >= 0)
			changes_service(list, old, id, now, other);
		else
			add(list, old->service[id].name, "service", ports_text(&old->specs[id], ports, sizeof(ports)),
			    NULL);
	}
	for (int id = 0; id < SYNHOLD_SERVICES; id++)
		if (now->service[id].name[0] && model_find(old, now->service[id].name) < 0)
			add(list, now->service[id].name, "service", NULL,
			    ports_text(&now->specs[id], ports, sizeof(ports)));
}

static const char *entry_text(enum list_kind kind, const struct list_entry *entry, char *buf, size_t size)
{
	char rate[32];

	if (!entry)
		return NULL;
	snprintf(buf, size, "%s%s%s",
		 !entry->value.rate_pps ? "listed" :
		 kind == LIST_PREFER    ? "weight " :
					  "rate ",
		 entry->value.rate_pps ? units_format_count(rate, sizeof(rate), entry->value.rate_pps) : "",
		 entry->value.note[0] ? " #" : "");
	if (entry->value.note[0])
		snprintf(buf + strlen(buf), size - strlen(buf), " %.*s", (int)sizeof(entry->value.note),
			 entry->value.note);
	return buf;
}

static void add_entry(json_t *list, enum list_kind kind, const struct list_entry *old, const struct list_entry *now)
{
	char before[128], after[128], cidr[64], key[80];
	const struct list_entry *either = old ? old : now;

	entry_text(kind, old, before, sizeof(before));
	entry_text(kind, now, after, sizeof(after));
	if (old && now && !strcmp(before, after))
		return;
	snprintf(key, sizeof(key), "%s %s", lists_name(kind),
		 units_format_cidr(cidr, sizeof(cidr), either->addr, either->prefixlen));
	add(list, "*", key, old ? before : NULL, now ? after : NULL);
	if (old && !now && old->value.origin != LIST_BY_CONFIG)
		json_object_set_new(json_array_get(list, json_array_size(list) - 1), "kept", json_true());
}

void changes_lists(json_t *list, const struct config_lists *old, const struct config_lists *now)
{
	for (int kind = 0; kind < LIST_KINDS; kind++) {
		const struct list_entry *a = old->entry[kind], *b = now->entry[kind];
		const struct list_entry *a_end = a + old->count[kind], *b_end = b + now->count[kind];

		if (a != a_end)
			qsort(old->entry[kind], old->count[kind], sizeof(*a), lists_compare);
		if (b != b_end)
			qsort(now->entry[kind], now->count[kind], sizeof(*b), lists_compare);
		while (a != a_end || b != b_end) {
			int order = a == a_end ? 1 : b == b_end ? -1 : lists_compare(a, b);

			add_entry(list, (enum list_kind)kind, order <= 0 ? a : NULL, order >= 0 ? b : NULL);
			a += order <= 0;
			b += order >= 0;
		}
	}
}

void changes_print(const json_t *list, const char *tail)
{
	size_t i;
	json_t *change;

	json_array_foreach (list, i, change) {
		const char *old = json_string_value(json_object_get(change, "old"));
		const char *now = json_string_value(json_object_get(change, "new"));

		printf("%s %s: ", json_string_value(json_object_get(change, "service")),
		       json_string_value(json_object_get(change, "key")));
		if (json_is_true(json_object_get(change, "kept")))
			printf("%s (kept: added by command)", old);
		else
			printf("%s → %s", old ? old : "absent", now ? now : "absent");
		printf("%s\n", i + 1 == json_array_size(list) ? tail : "");
	}
}
