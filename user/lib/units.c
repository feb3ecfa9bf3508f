// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/units.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <synhold/addr.h>

#define UNITS_COUNT_MAX 1000000000000000ULL
#define UNITS_DURATION_MAX (10ULL * 365 * 24 * 3600 * 1000000000ULL)

struct unit {
	const char *name;
	uint64_t scale;
};

static const struct unit duration_units[] = {{"ns", 1},
					     {"us", 1000},
					     {"ms", 1000000},
					     {"s", 1000000000ULL},
					     {"m", 60000000000ULL},
					     {"h", 3600000000000ULL},
					     {"d", 86400000000000ULL},
					     {NULL, 0}};
static const struct unit size_units[] = {{"", 1},          {"B", 1},         {"KiB", 1 << 10},
					 {"MiB", 1 << 20}, {"GiB", 1 << 30}, {NULL, 0}};
static const struct unit count_units[] = {{"", 1}, {"k", 1000}, {"m", 1000000}, {NULL, 0}};

/* Digits, an optional fraction of at most nine, and one of the units; exact, or -EINVAL when the fraction does not come
 * out even. */
static int parse_scaled(const char *text, const struct unit *units, int fraction_allowed, uint64_t max, uint64_t *value)
{
	uint64_t whole = 0, fraction = 0, divisor = 1;
	const char *p = text;
	const struct unit *u;

	if (!isdigit((unsigned char)*p))
		return -EINVAL;
	for (; isdigit((unsigned char)*p); p++) {
		whole = whole * 10 + (uint64_t)(*p - '0');
		if (whole > max)
			return -ERANGE;
	}
	if (*p == '.' && fraction_allowed) {
		if (!isdigit((unsigned char)*++p))
			return -EINVAL;
		for (; isdigit((unsigned char)*p); p++) {
			if (divisor >= 1000000000ULL)
				return -EINVAL;
			fraction = fraction * 10 + (uint64_t)(*p - '0');
			divisor *= 10;
		}
	}
	for (u = units; u->name; u++)
		if (!strcmp(p, u->name))
			break;
	if (!u->name)
		return -EINVAL;
	if (whole > max / u->scale)
		return -ERANGE;
	if (fraction && (fraction * (__uint128_t)u->scale) % divisor)
		return -EINVAL;
	whole = whole * u->scale + (uint64_t)(fraction * (__uint128_t)u->scale / divisor);
	if (whole > max)
		return -ERANGE;
	*value = whole;
	return 0;
}

int units_parse_count(const char *text, uint64_t *value)
{
	return parse_scaled(text, count_units, 0, UNITS_COUNT_MAX, value);
}

int units_parse_duration(const char *text, uint64_t *ns)
{
	return parse_scaled(text, duration_units, 1, UNITS_DURATION_MAX, ns);
}

int units_parse_size(const char *text, uint64_t *bytes)
{
	return parse_scaled(text, size_units, 0, UNITS_COUNT_MAX, bytes);
}

int units_parse_share(const char *text, uint32_t *ppm)
{
	static const struct unit percent[] = {{"%", 10000}, {NULL, 0}};
	uint64_t value;
	int ret = parse_scaled(text, percent, 1, 1000000, &value);

	if (!ret)
		*ppm = (uint32_t)value;
	return ret;
}

static int cidr_host_bits(const uint8_t addr[16], unsigned int prefixlen)
{
	for (unsigned int bit = prefixlen; bit < 128; bit++)
		if (addr[bit / 8] & (0x80 >> bit % 8))
			return 1;
	return 0;
}

/* The same with bits beyond the prefix. */
static int parse_loose_cidr(const char *text, uint8_t addr[16], uint8_t *prefixlen)
{
	uint8_t parsed[16] = {0};
	const char *slash = strchr(text, '/');
	size_t length = slash ? (size_t)(slash - text) : strlen(text);
	char host[INET6_ADDRSTRLEN];
	unsigned int most = 128, base = 0, bits;
	char *end;

	if (length == 0 || length >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, length);
	host[length] = '\0';
	if (inet_pton(AF_INET, host, parsed + 12) == 1) {
		parsed[10] = parsed[11] = 0xff;
		most = 32;
		base = 96;
	} else if (inet_pton(AF_INET6, host, parsed) != 1) {
		return -EINVAL;
	}
	bits = most;
	if (slash) {
		if (!isdigit((unsigned char)slash[1]) || strlen(slash + 1) > 3)
			return -EINVAL;
		bits = (unsigned int)strtoul(slash + 1, &end, 10);
		if (*end || bits > most)
			return -EINVAL;
	}
	memcpy(addr, parsed, 16);
	*prefixlen = (uint8_t)(base + bits);
	return 0;
}

int units_parse_cidr(const char *text, uint8_t addr[16], uint8_t *prefixlen)
{
	uint8_t parsed[16], length;

	if (parse_loose_cidr(text, parsed, &length) || cidr_host_bits(parsed, length))
		return -EINVAL;
	memcpy(addr, parsed, sizeof(parsed));
	*prefixlen = length;
	return 0;
}

int units_mask_cidr(const char *text, char *buf, size_t size)
{
	uint8_t addr[16], length;

	if (parse_loose_cidr(text, addr, &length) || !cidr_host_bits(addr, length))
		return -EINVAL;
	for (unsigned int bit = length; bit < 128; bit++)
		addr[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
	units_format_cidr(buf, size, addr, length);
	return 0;
}

char *units_format_count(char *buf, size_t size, uint64_t value)
{
	if (value && value % 1000000 == 0)
		snprintf(buf, size, "%" PRIu64 "m", value / 1000000);
	else if (value && value % 1000 == 0)
		snprintf(buf, size, "%" PRIu64 "k", value / 1000);
	else
		snprintf(buf, size, "%" PRIu64, value);
	return buf;
}

char *units_format_duration(char *buf, size_t size, uint64_t ns)
{
	const struct unit *best = duration_units;

	for (const struct unit *u = duration_units; u->name; u++)
		if (ns && ns % u->scale == 0)
			best = u;
	if (!ns)
		best = &duration_units[3];
	snprintf(buf, size, "%" PRIu64 "%s", ns / best->scale, best->name);
	return buf;
}

char *units_format_time(char *buf, size_t size, double seconds)
{
	uint64_t minutes = seconds > 0 ? (uint64_t)(seconds / 60 + 0.5) : 0, hours = (minutes + 30) / 60;

	if (seconds < 9.95)
		snprintf(buf, size, "%.1f s", seconds > 0 ? seconds : 0);
	else if (seconds < 119.5)
		snprintf(buf, size, "%.0f s", seconds);
	else if (minutes < 120)
		snprintf(buf, size, "%" PRIu64 " min", minutes);
	else if (hours < 48)
		snprintf(buf, size, "%" PRIu64 " h %" PRIu64 " min", minutes / 60, minutes % 60);
	else
		snprintf(buf, size, "%" PRIu64 " d %" PRIu64 " h", hours / 24, hours % 24);
	return buf;
}

char *units_format_share(char *buf, size_t size, uint32_t ppm)
{
	int n = snprintf(buf, size, "%u.%04u", ppm / 10000, ppm % 10000);

	if (n < 0 || (size_t)n + 2 > size)
		return buf;
	while (n > 0 && buf[n - 1] == '0')
		n--;
	if (n > 0 && buf[n - 1] == '.')
		n--;
	buf[n++] = '%';
	buf[n] = '\0';
	return buf;
}

char *units_format_size(char *buf, size_t size, uint64_t bytes)
{
	const struct unit *best = size_units;

	for (const struct unit *u = size_units; u->name; u++)
		if (bytes && bytes % u->scale == 0 && u->scale > best->scale)
			best = u;
	snprintf(buf, size, "%" PRIu64 "%s", bytes / best->scale, best->name);
	return buf;
}

char *units_format_cidr(char *buf, size_t size, const uint8_t addr[16], uint8_t prefixlen)
{
	char host[INET6_ADDRSTRLEN];
	int ipv4 = prefixlen >= SYNHOLD_ADDR_MAPPED_BITS && synhold_addr_is_ipv4(addr);
	unsigned int bits = ipv4 ? prefixlen - 96U : prefixlen, most = ipv4 ? 32 : 128;

	if (ipv4)
		inet_ntop(AF_INET, addr + 12, host, sizeof(host));
	else
		inet_ntop(AF_INET6, addr, host, sizeof(host));
	if (bits == most)
		snprintf(buf, size, "%s", host);
	else
		snprintf(buf, size, "%s/%u", host, bits);
	return buf;
}
