/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of metrics as text, and whether a line stands in it: for the tests of what is exported. */
#ifndef SYNHOLD_TESTS_EXPORT_HELP_H
#define SYNHOLD_TESTS_EXPORT_HELP_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"

/* To be freed. Inlined, gcc 12 would take the text for gone: it cannot see that fclose() has forgotten where it is. */
static __attribute__((noinline)) char *export_help_page(const struct snapshot *snap, enum export_format format)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(export_prometheus(snap, 1000, format, out), 0);
	fclose(out);
	return text;
}

/* The whole line, without its end. */
static inline bool export_help_has_line(const char *text, const char *line)
{
	size_t length = strlen(line);

	for (const char *p = strstr(text, line); p; p = strstr(p + 1, line))
		if ((p == text || p[-1] == '\n') && p[length] == '\n')
			return true;
	return false;
}

#endif
