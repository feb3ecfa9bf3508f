// SPDX-License-Identifier: GPL-2.0-or-later
/* `prefer`: sources whose held SYNs are released first. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/list.h"
#include "cli/notice.h"
#include "cli/tell.h"
#include "cli/table.h"
#include "lib/lists.h"
#include "lib/units.h"

/* The hold queue counts weights by powers of two, and 1 is what everybody has. */
#define PREFER_LEAST 2
#define PREFER_MOST 128
#define PREFER_WEIGHT_FORM "a whole number from 2 to 128, in steps of powers of two; everybody else has 1"

static json_t *to_json(const struct list_entry *entry, unsigned int count)
{
	json_t *array = json_array();
	char cidr[64];

	for (unsigned int i = 0; i < count; i++)
		json_array_append_new(array, json_pack("{s:s,s:I,s:b}", "cidr",
						       units_format_cidr(cidr, sizeof(cidr), entry[i].addr,
									 entry[i].prefixlen),
						       "weight", (json_int_t)entry[i].value.rate_pps, "from_file",
						       entry[i].value.origin == LIST_BY_CONFIG));
	return array;
}

static int print_table(const struct list_entry *entry, unsigned int count)
{
	static const char *const columns[] = {"PREFIX", ">WEIGHT", "FROM", NULL};
	struct libscols_table *table = table_new(columns);
	char cidr[64];

	for (unsigned int i = 0; table && i < count; i++) {
		struct libscols_line *line = scols_table_new_line(table, NULL);

		table_cell(line, 0, "%s", units_format_cidr(cidr, sizeof(cidr), entry[i].addr, entry[i].prefixlen));
		table_cell(line, 1, "%llu", (unsigned long long)entry[i].value.rate_pps);
		table_cell(line, 2, "%s", entry[i].value.origin == LIST_BY_CONFIG ? "file" : "command");
	}
	return table_print(table);
}

/* The exit status, or -errno. */
static int print_list(struct cli *cli, struct error *err)
{
	struct config_lists lists = {0};
	const struct list_entry *entry;
	unsigned int count;
	struct instance inst;
	int ret = cli_open_reader(cli, &inst, err);

	if (!ret) {
		ret = lists_read(&inst, &lists);
		if (ret)
			error_set(err, ret, "the prefer list cannot be read: %s", strerror(-ret));
		instance_close(&inst);
	}
	if (ret)
		return ret;
	entry = lists.entry[LIST_PREFER];
	count = lists.count[LIST_PREFER];
	if (cli->json)
		ret = cli_print_json(cli, to_json(entry, count));
	else if (count && print_table(entry, count))
		ret = error_set(err, -ENOMEM, "the table cannot be printed");
	else
		ret = cli_finish(cli);
	config_lists_free(&lists);
	return ret;
}

static int parse(struct cli *cli, const struct cli_words *words, struct list_entry *entry, struct error *err)
{
	int adds = !strcmp(words->word[0], "add");
	uint64_t weight;

	if (!adds && strcmp(words->word[0], "del"))
		return cli_misuse(cli, err, "'%s' is neither add nor del", words->word[0]);
	if (words->count != (adds ? 3 : 2))
		return cli_misuse(cli, err, adds ? "add takes a prefix and a weight" : "del takes a prefix");
	if (list_parse_cidr(words->word[1], entry, err))
		return -EINVAL;
	if (!adds)
		return 0;
	if (units_parse_count(words->word[2], &weight) || weight < PREFER_LEAST || weight > PREFER_MOST) {
		error_set(err, -EINVAL, "weight '%s' is not accepted", words->word[2]);
		return error_hint(err, -EINVAL, "accepted: " PREFER_WEIGHT_FORM);
	}
	entry->value.rate_pps = weight;
	entry->value.until_ns = SYNHOLD_FOREVER;
	return 0;
}

static int change(struct cli *cli, const struct cli_words *words, char *note, size_t size, struct error *err)
{
	struct list_entry entry = {0};
	struct instance inst;
	int ret = parse(cli, words, &entry, err);

	if (!ret)
		ret = cli_open_writer(cli, &inst, err);
	if (ret)
		return ret;
	if (entry.value.rate_pps)
		ret = lists_add(&inst, LIST_PREFER, &entry, err);
	else
		ret = lists_del(&inst, LIST_PREFER, entry.addr, entry.prefixlen, err);
	if (!ret && entry.value.rate_pps)
		notice_monitor(&inst, NULL, note, size);
	if (!ret)
		tell(&inst, "prefer %s %s%s%s", words->word[0], words->word[1], words->count > 2 ? " " : "",
		     words->count > 2 ? words->word[2] : "");
	instance_close(&inst);
	return ret == -EINVAL ? -EIO : ret;
}

int cli_prefer(struct cli *cli, int argc, char **argv)
{
	struct cli_words words;
	struct error err = {0};
	char note[160] = "";
	int ret, adds;

	ret = cli_parse(cli, argc, argv, NULL, &words, &err);
	if (!ret && !words.count) {
		ret = print_list(cli, &err);
		return ret < 0 ? cli_fail(cli, &err) : ret;
	}
	if (!ret)
		ret = change(cli, &words, note, sizeof(note), &err);
	if (ret)
		return cli_fail(cli, &err);
	adds = !strcmp(words.word[0], "add");
	if (cli->json)
		return cli_print_json(cli, json_pack("{s:s,s:s,s:s,s:o}", "list", "prefer", "verb", words.word[0],
						     "cidr", words.word[1], "weight",
						     adds ? json_integer(atoi(words.word[2])) : json_null()));
	if (adds)
		printf("held SYNs of %s are released first, with weight %s%s\n", words.word[1], words.word[2], note);
	else
		printf("%s is removed from the prefer list\n", words.word[1]);
	return cli_finish(cli);
}
