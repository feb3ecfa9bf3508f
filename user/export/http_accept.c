// SPDX-License-Identifier: GPL-2.0-or-later
/* Which of the two formats a reader of metrics likes better. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "export/export.h"

#define OPENMETRICS "application/openmetrics-text"
#define TEXT "text/plain"

/* The value of a parameter of a media range; its length in *length, 0 without one. range ends at `end`. */
static const char *parameter(const char *range, const char *end, const char *name, size_t *length)
{
	size_t size = strlen(name);

	*length = 0;
	for (const char *at = memchr(range, ';', (size_t)(end - range)); at; at = memchr(at, ';', (size_t)(end - at))) {
		at++;
		while (at < end && (*at == ' ' || *at == '\t'))
			at++;
		if ((size_t)(end - at) > size && !strncasecmp(at, name, size) && at[size] == '=') {
			*length = strcspn(at + size + 1, "; \t,");
			return at + size + 1;
		}
	}
	return NULL;
}

static double quality(const char *range, const char *end)
{
	size_t length;
	const char *q = parameter(range, end, "q", &length);

	return length ? strtod(q, NULL) : 1;
}

/* 1.0.0 or no version: there has been one after the drafts, and this is it. */
static int version_is_ours(const char *range, const char *end)
{
	size_t length;
	const char *version = parameter(range, end, "version", &length);

	return !length || (length >= 2 && !strncmp(version, "1.", 2));
}

static int is_type(const char *range, const char *end, const char *type)
{
	size_t length = strcspn(range, ";, \t");

	return range + length <= end && length == strlen(type) && !strncasecmp(range, type, length);
}

enum export_format export_negotiate(const char *accept)
{
	double openmetrics = 0, text = 0;

	/* a range for anything is no wish for OpenMetrics: who knows it names it */
	for (const char *range = accept; range && *range;) {
		const char *end = range + strcspn(range, ",");
		double q;

		range += strspn(range, " \t");
		q = range < end ? quality(range, end) : 0;
		if (is_type(range, end, OPENMETRICS) && version_is_ours(range, end) && q > openmetrics)
			openmetrics = q;
		else if (is_type(range, end, TEXT) && q > text)
			text = q;
		range = *end ? end + 1 : end;
	}
	return openmetrics > 0 && openmetrics >= text ? EXPORT_OPENMETRICS : EXPORT_TEXT;
}
