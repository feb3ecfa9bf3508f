// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/units.h"

#define SPEC_NAME_MAX 32

int spec_name_valid(const char *name)
{
	size_t length = strlen(name);

	if (length == 0 || length > SPEC_NAME_MAX ||
	    !(islower((unsigned char)name[0]) || isdigit((unsigned char)name[0])))
		return 0;
	for (const char *p = name; *p; p++)
		if (!islower((unsigned char)*p) && !isdigit((unsigned char)*p) && !strchr("._-", *p))
			return 0;
	return 1;
}

static int refuse(struct error *err, const char *text, const char *why)
{
	error_set(err, -EINVAL, "port specification '%s': %s", text, why);
	return error_hint(err, -EINVAL, "accepted: %s", SPEC_FORM);
}

/* One port number, the whole of [text, end). */
static int parse_port(const char *text, const char *end, uint16_t *port)
{
	unsigned long value = 0;

	if (text == end || end - text > 5)
		return -EINVAL;
	for (; text < end; text++) {
		if (!isdigit((unsigned char)*text))
			return -EINVAL;
		value = value * 10 + (unsigned long)(*text - '0');
	}
	if (value < 1 || value > 65535)
		return -EINVAL;
	*port = (uint16_t)value;
	return 0;
}

/* Splits off ADDR[/LEN]: in front of the ports. Returns where the ports begin, or NULL. */
static const char *parse_address(const char *text, struct synhold_spec *spec)
{
	char addr[64];
	const char *from = text, *end, *ports;

	if (*text == '[') {
		from = text + 1;
		end = strchr(text, ']');
		if (!end || end[1] != ':')
			return NULL;
		ports = end + 2;
	} else {
		end = strrchr(text, ':');
		if (!end) {
			spec->any = 1;
			return text;
		}
		ports = end + 1;
	}
	if ((size_t)(end - from) >= sizeof(addr))
		return NULL;
	memcpy(addr, from, (size_t)(end - from));
	addr[end - from] = '\0';
	if (*text != '[' && strchr(addr, ':'))
		return NULL;
	return units_parse_cidr(addr, spec->addr, &spec->prefixlen) ? NULL : ports;
}

int spec_parse(const char *text, char name[SYNHOLD_NAME_LEN], struct synhold_specs *specs, struct error *err)
{
	struct synhold_specs fresh = *specs;
	struct synhold_spec base = {0};
	const char *equals = strchr(text, '='), *rest = equals ? equals + 1 : text, *p;
	char chosen[SYNHOLD_NAME_LEN] = "";

	if (equals) {
		if ((size_t)(equals - text) < sizeof(chosen)) {
			memcpy(chosen, text, (size_t)(equals - text));
			chosen[equals - text] = '\0';
		}
		if (!spec_name_valid(chosen)) {
			error_set(err, -EINVAL, "service name in '%s' is not valid", text);
			return error_hint(err, -EINVAL, "accepted: %s", SPEC_NAME_FORM);
		}
	}
	p = parse_address(rest, &base);
	if (!p)
		return refuse(err, text, "the address is not valid");
	do {
		struct synhold_spec spec = base;
		const char *end = p + strcspn(p, ","), *dash = memchr(p, '-', (size_t)(end - p));

		if (parse_port(p, dash ? dash : end, &spec.port_lo))
			return refuse(err, text, "not a port from 1 to 65535");
		spec.port_hi = spec.port_lo;
		if (dash && parse_port(dash + 1, end, &spec.port_hi))
			return refuse(err, text, "not a port range");
		if (spec.port_hi < spec.port_lo)
			return refuse(err, text, "the range ends before it begins");
		if (fresh.count == SYNHOLD_SPECS) {
			error_set(err, -EINVAL, "port specification '%s': more than %d ranges in one service", text,
				  SYNHOLD_SPECS);
			return error_hint(err, -EINVAL, "use wider ranges or a second service");
		}
		fresh.spec[fresh.count++] = spec;
		p = *end ? end + 1 : NULL;
	} while (p);
	if (!chosen[0])
		snprintf(chosen, sizeof(chosen), "tcp-%u", fresh.spec[specs->count].port_lo);
	snprintf(name, SYNHOLD_NAME_LEN, "%s", chosen);
	*specs = fresh;
	return 0;
}

static int same_address(const struct synhold_spec *a, const struct synhold_spec *b)
{
	return a->any == b->any && (a->any || (a->prefixlen == b->prefixlen && !memcmp(a->addr, b->addr, 16)));
}

int spec_format(const struct synhold_specs *specs, unsigned int index, char *buf, size_t size)
{
	const struct synhold_spec *first = NULL;
	size_t used = 0;
	int n;

	for (unsigned int i = 0, group = 0; i < specs->count && !first; i++) {
		int seen = 0;

		for (unsigned int j = 0; j < i && !seen; j++)
			seen = same_address(&specs->spec[i], &specs->spec[j]);
		if (!seen && group++ == index)
			first = &specs->spec[i];
	}
	if (!first)
		return -ENOENT;
	buf[0] = '\0';
	if (!first->any) {
		char addr[64];

		units_format_cidr(addr, sizeof(addr), first->addr, first->prefixlen);
		n = snprintf(buf, size, strchr(addr, ':') ? "[%s]:" : "%s:", addr);
		used = n > 0 ? (size_t)n : 0;
	}
	for (const struct synhold_spec *spec = first; spec < specs->spec + specs->count; spec++) {
		if (!same_address(first, spec) || used >= size)
			continue;
		n = snprintf(buf + used, size - used, spec->port_lo == spec->port_hi ? "%s%u" : "%s%u-%u",
			     spec == first ? "" : ",", spec->port_lo, spec->port_hi);
		used += n > 0 ? (size_t)n : 0;
	}
	return used < size ? 0 : -ENOSPC;
}
