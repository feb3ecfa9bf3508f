// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

struct libscols_table *table_new(const char *const *columns)
{
	struct libscols_table *table = scols_new_table();

	if (!table)
		return NULL;
	scols_table_set_column_separator(table, "  ");
	for (; *columns; columns++) {
		int right = **columns == '>';

		if (!scols_table_new_column(table, *columns + right, 0, right ? SCOLS_FL_RIGHT : 0)) {
			scols_unref_table(table);
			return NULL;
		}
	}
	return table;
}

void table_cell(struct libscols_line *line, size_t column, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (line)
		scols_line_set_data(line, column, text[0] ? text : "-");
}

int table_print(struct libscols_table *table)
{
	int ret = table ? scols_print_table(table) : -ENOMEM;

	scols_unref_table(table);
	return ret;
}
