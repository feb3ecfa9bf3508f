// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/list.h"
#include "cli/table.h"
#include "lib/units.h"

static const char *origin_text(const struct list_value *value)
{
	static const char *const texts[] = {"command", "file", "load"};

	return value->origin < sizeof(texts) / sizeof(*texts) ? texts[value->origin] : "?";
}

/* Wall time only here: inside, everything is CLOCK_MONOTONIC. */
static char *until_text(uint64_t until_ns, uint64_t now_ns, char *buf, size_t size)
{
	struct timespec wall;
	struct tm tm;
	time_t when;

	clock_gettime(CLOCK_REALTIME, &wall);
	when = wall.tv_sec + (time_t)((until_ns - now_ns + (uint64_t)wall.tv_nsec) / 1000000000ULL);

	if (until_ns == SYNHOLD_FOREVER || !gmtime_r(&when, &tm))
		return NULL;
	strftime(buf, size, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return buf;
}

static json_t *entry_json(const struct list_entry *entry, uint64_t now_ns)
{
	const struct list_value *value = &entry->value;
	char cidr[64], until[32], note[SYNHOLD_NOTE_LEN];
	json_t *text, *object;

	snprintf(note, sizeof(note), "%.*s", (int)sizeof(value->note), value->note);
	text = json_string(note);
	object = json_pack("{s:s,s:s?,s:b,s:o,s:b,s:s}", "cidr",
			   units_format_cidr(cidr, sizeof(cidr), entry->addr, entry->prefixlen), "until",
			   until_text(value->until_ns, now_ns, until, sizeof(until)), "confirm_pending",
			   value->confirmed_until_ns != 0, "note", text ? text : json_string(""), "from_file",
			   value->origin == LIST_BY_CONFIG, "origin", origin_text(value));
	json_object_set_new(object, "remaining_seconds",
			    value->until_ns == SYNHOLD_FOREVER ? json_null() :
								 json_real((double)(value->until_ns - now_ns) / 1e9));
	json_object_set_new(object, "rate", value->rate_pps ? json_integer((json_int_t)value->rate_pps) : json_null());
	return object;
}

static int print_table(const struct list_entry *entries, unsigned int count, uint64_t now_ns)
{
	static const char *const columns[] = {"PREFIX", "UNTIL", ">RATE", "FROM", "NOTE", NULL};
	struct libscols_table *table = table_new(columns);

	for (unsigned int i = 0; table && i < count; i++) {
		const struct list_entry *entry = &entries[i];
		struct libscols_line *line = scols_table_new_line(table, NULL);
		char text[64];

		table_cell(line, 0, "%s", units_format_cidr(text, sizeof(text), entry->addr, entry->prefixlen));
		table_cell(line, 1, "%s%s",
			   until_text(entry->value.until_ns, now_ns, text, sizeof(text)) ? text : "for good",
			   entry->value.confirmed_until_ns ? " (unconfirmed)" : "");
		table_cell(line, 2, "%s",
			   !entry->value.rate_pps ? "" : units_format_count(text, sizeof(text), entry->value.rate_pps));
		table_cell(line, 3, "%s", origin_text(&entry->value));
		table_cell(line, 4, "%.*s", (int)sizeof(entry->value.note), entry->value.note);
	}
	return table_print(table);
}

int list_print(struct cli *cli, enum list_kind kind, struct error *err)
{
	struct config_lists lists = {0};
	uint64_t now_ns = instance_now_ns();
	struct instance inst;
	int ret = cli_open_reader(cli, &inst, err);

	if (!ret) {
		ret = lists_read(&inst, &lists);
		if (ret)
			error_set(err, ret, "the %s list cannot be read: %s", lists_name(kind), strerror(-ret));
		instance_close(&inst);
	}
	if (ret)
		return ret;
	if (cli->json) {
		json_t *array = json_array();

		for (unsigned int i = 0; i < lists.count[kind]; i++)
			json_array_append_new(array, entry_json(&lists.entry[kind][i], now_ns));
		ret = cli_print_json(cli, array);
	} else {
		ret = lists.count[kind] ? print_table(lists.entry[kind], lists.count[kind], now_ns) : 0;
		ret = ret ? error_set(err, -ENOMEM, "the table cannot be printed") : cli_finish(cli);
	}
	config_lists_free(&lists);
	return ret;
}
