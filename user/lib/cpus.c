// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/cpus.h"

#include <ctype.h>
#include <errno.h>

#define DIGITS_MAX 6

static int parse_number(const char **text, unsigned int *value)
{
	const char *p = *text;

	for (*value = 0; isdigit((unsigned char)*p); p++) {
		if (p - *text == DIGITS_MAX)
			return -EINVAL;
		*value = *value * 10 + (unsigned int)(*p - '0');
	}
	if (p == *text)
		return -EINVAL;
	*text = p;
	return 0;
}

int cpus_parse(const char *text, unsigned int count, cpu_set_t *set)
{
	unsigned int first, last;
	cpu_set_t found;
	int ret = 0;

	CPU_ZERO(&found);
	for (;; text++) {
		if (parse_number(&text, &first))
			return -EINVAL;
		last = first;
		if (*text == '-') {
			text++;
			if (parse_number(&text, &last) || last < first)
				return -EINVAL;
		}
		if (last >= count || last >= CPU_SETSIZE)
			ret = -ERANGE; /* the form of the rest still counts */
		for (unsigned int cpu = first; cpu <= last && !ret; cpu++)
			CPU_SET(cpu, &found);
		if (*text != ',')
			break;
	}
	if (*text)
		return -EINVAL;
	if (!ret)
		*set = found;
	return ret;
}
