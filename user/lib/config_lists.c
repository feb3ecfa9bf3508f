// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/config_lists.h"

#include <errno.h>
#include <string.h>

#include "lib/lists.h"

int config_lists_line(struct config_lists *lists, enum list_kind kind, const char *text, struct error *err)
{
	struct lists_lines lines = {.kind = kind, .origin = LIST_BY_CONFIG};

	return lists_parse(lists, &lines, text, err);
}

int config_lists_include(struct config_lists *lists, enum list_kind kind, const char *path, struct error *err)
{
	struct lists_lines lines = {.kind = kind, .origin = LIST_BY_CONFIG};

	return lists_parse_file(lists, &lines, path, err);
}

int config_lists_collect(const struct instance *inst, struct config_lists *lists)
{
	struct config_lists found = {0};
	int ret = lists_read(inst, &found);

	for (int kind = 0; kind < LIST_KINDS; kind++)
		for (unsigned int i = 0; i < found.count[kind] && !ret; i++)
			if (found.entry[kind][i].value.until_ns == SYNHOLD_FOREVER)
				ret = config_lists_add(lists, (enum list_kind)kind, &found.entry[kind][i]);
	config_lists_free(&found);
	return ret;
}

int config_lists_next(const struct instance *inst, struct config_lists *lists, struct config_lists *next,
		      struct error *err)
{
	struct config_lists result = {0};
	int ret = lists_read(inst, &result);

	for (int kind = 0; kind < LIST_KINDS && !ret; kind++) {
		ret = lists_sort(lists, (enum list_kind)kind);
		if (!ret)
			ret = lists_merge(&result, (enum list_kind)kind, lists->entry[kind], lists->count[kind],
					  LIST_BY_CONFIG);
	}
	if (ret)
		error_set(err, ret, "the address lists cannot be read: %s", strerror(-ret));
	else
		ret = lists_check_room(&result, err);
	if (ret)
		config_lists_free(&result);
	else
		*next = result;
	return ret;
}
