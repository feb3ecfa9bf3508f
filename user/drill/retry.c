// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/retry.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/units.h"

static const struct {
	const char *name;
	enum retry_kind kind;
	int fields;
} retry_kinds[] = {
	{"now", RETRY_NOW, 0},
	{"fixed", RETRY_FIXED, 1},
	{"exp", RETRY_EXP, 2},
	{"expj", RETRY_EXP_JITTER, 2},
};

/* Plain seconds are accepted here, and only here: `fixed:1` is how everybody writes a retry interval. */
static int retry_parse_time(const char *text, size_t len, uint64_t *ns)
{
	char buf[32];

	if (!len || len + 2 > sizeof(buf))
		return -EINVAL;
	memcpy(buf, text, len);
	buf[len] = '\0';
	if (isdigit((unsigned char)buf[len - 1]))
		memcpy(buf + len, "s", 2);
	return units_parse_duration(buf, ns);
}

int retry_parse(const char *text, struct retry_policy *policy)
{
	size_t name_len = strcspn(text, ":");

	for (size_t i = 0; i < sizeof(retry_kinds) / sizeof(retry_kinds[0]); i++) {
		struct retry_policy p = {.kind = retry_kinds[i].kind};
		uint64_t *field[2] = {&p.base_ns, &p.max_ns};
		const char *at = text + name_len;

		if (strlen(retry_kinds[i].name) != name_len || strncmp(text, retry_kinds[i].name, name_len))
			continue;
		for (int f = 0; f < retry_kinds[i].fields; f++) {
			size_t len;

			if (*at++ != ':')
				return -EINVAL;
			len = strcspn(at, ":");
			if (retry_parse_time(at, len, field[f]))
				return -EINVAL;
			at += len;
		}
		/* An exponential of nothing never grows, and a maximum below the base is a slip. */
		if (*at || (p.kind >= RETRY_EXP && (!p.base_ns || p.max_ns < p.base_ns)))
			return -EINVAL;
		*policy = p;
		return 0;
	}
	return -EINVAL;
}

static void retry_format_time(uint64_t ns, char *text, size_t size)
{
	if (ns % 1000000000)
		snprintf(text, size, "%" PRIu64 "ms", ns / 1000000);
	else
		snprintf(text, size, "%" PRIu64 "s", ns / 1000000000);
}

void retry_format(const struct retry_policy *policy, char *text, size_t size)
{
	char base[32], max[32];

	retry_format_time(policy->base_ns, base, sizeof(base));
	retry_format_time(policy->max_ns, max, sizeof(max));
	if (policy->kind == RETRY_NOW)
		snprintf(text, size, "now");
	else if (policy->kind == RETRY_FIXED)
		snprintf(text, size, "fixed:%s", base);
	else
		snprintf(text, size, "%s:%s:%s", policy->kind == RETRY_EXP ? "exp" : "expj", base, max);
}

uint64_t retry_delay_ns(const struct retry_policy *policy, uint32_t failures, uint64_t random)
{
	uint64_t delay = policy->base_ns;

	if (policy->kind == RETRY_NOW)
		return 0;
	if (policy->kind == RETRY_FIXED)
		return delay;
	for (uint32_t i = 1; i < failures && delay < policy->max_ns; i++)
		delay = delay > policy->max_ns / 2 ? policy->max_ns : delay * 2;
	if (policy->kind == RETRY_EXP_JITTER)
		delay = (uint64_t)(((__uint128_t)random * (delay + 1)) >> 64);
	return delay;
}
