/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables for people. */
#ifndef SYNHOLD_CLI_TABLE_H
#define SYNHOLD_CLI_TABLE_H

#include <libsmartcols/libsmartcols.h>

/* A table with these columns, NULL at the end; a name that begins with '>' is aligned right. NULL when out of memory.
 */
struct libscols_table *table_new(const char *const *columns);

/* Sets a cell from a format; an empty cell prints as '-'. */
void table_cell(struct libscols_line *line, size_t column, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Prints and frees it. 0 or -errno. */
int table_print(struct libscols_table *table);

#endif
