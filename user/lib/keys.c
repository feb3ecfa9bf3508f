// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/keys.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/units.h"

#define RATE_MAX 1000000000ULL
#define TARGET_DELAY_DEFAULT 100000000ULL
#define HOLD_MEMORY_DEFAULT (64ULL << 20)
#define SOURCE_DEBT_MAX_NS \
	((1ULL << 38) << SYNHOLD_SOURCE_TICK_SHIFT) /* what the data plane's 40-bit clock can carry */
#define ALLOW_RATE_DEFAULT 20
#define ALLOW_BURST_FACTOR 2

#define RATE_FORM "whole SYN/s from 1 (k = 1000, m = a million), or none"
#define BURST_FORM "a whole number from 1 (k = 1000, m = a million), or none for the default"

#define SERVICE(field) \
	.offset = offsetof(struct synhold_policy, field), .size = sizeof(((struct synhold_policy *)0)->field)
#define GLOBAL(field)                                                         \
	.global = 1, .offset = offsetof(struct synhold_global_policy, field), \
	.size = sizeof(((struct synhold_global_policy *)0)->field)

const struct key keys_table[] = {
	{"mode", KEY_WORD, SERVICE(mode), .words = "enforce|monitor", .form = "enforce or monitor",
	 .doc = "enforce limits, or only count what they would have done"},
	{"action", KEY_WORD, SERVICE(action), .words = "hold|drop|reject",
	 .form = "hold, drop or reject (defer is the same as hold)", .doc = "what happens to a SYN above a limit"},
	{"rate", KEY_COUNT, SERVICE(rate_pps), .none = 1, .least = 1, .most = RATE_MAX, .form = RATE_FORM,
	 .doc = "most SYN/s admitted for the service"},
	{"burst", KEY_COUNT, SERVICE(burst), .none = 1, .least = 1, .most = RATE_MAX, .form = BURST_FORM,
	 .doc = "SYNs admitted at once above rate; default max(16, rate/10)"},
	{"source-rate", KEY_COUNT, SERVICE(source_rate_pps), .none = 1, .least = 1, .most = 1000000, .form = RATE_FORM,
	 .doc = "most SYN/s admitted from one source"},
	{"source-burst", KEY_COUNT, SERVICE(source_burst), .none = 1, .least = 1, .most = RATE_MAX, .form = BURST_FORM,
	 .doc = "SYNs of one source admitted at once; default max(24, source-rate)"},
	{"source-prefix4", KEY_PREFIX, SERVICE(source_prefix4), .least = 0, .most = 32, .fallback = 32,
	 .form = "a prefix length from 0 to 32", .doc = "IPv4 addresses that share this prefix are one source"},
	{"source-prefix6", KEY_PREFIX, SERVICE(source_prefix6), .least = 0, .most = 128, .fallback = 64,
	 .form = "a prefix length from 0 to 128", .doc = "IPv6 addresses that share this prefix are one source"},
	{"window", KEY_WINDOW, SERVICE(window), .least = 1, .most = 65536,
	 .form = "auto, none, or handshakes from 1 to 65536", .doc = "handshakes that may be in flight at once"},
	{"window-min", KEY_COUNT, SERVICE(window_min), .least = 1, .most = 65536, .fallback = 8,
	 .form = "handshakes from 1 to 65536", .doc = "lowest window that auto may choose"},
	{"window-max", KEY_COUNT, SERVICE(window_max), .least = 1, .most = 65536, .fallback = 65536,
	 .form = "handshakes from 1 to 65536", .doc = "highest window that auto may choose"},
	{"share", KEY_SHARE, SERVICE(share_ppm), .most = 1000000, .fallback = 1000000, .form = UNITS_SHARE_FORM,
	 .doc = "share of the sources that is let in; the same sources at every try"},
	{"hold-max", KEY_COUNT, SERVICE(hold_max), .least = 1, .most = 65536, .fallback = 65536,
	 .form = "SYNs from 1 to 65536", .doc = "most SYNs held for the service"},
	{"hold-source-max", KEY_COUNT, SERVICE(hold_source_max), .none = 1, .least = 1, .most = 65536,
	 .form = "SYNs from 1 to 65536, or none for hold-max/16",
	 .doc = "most SYNs held of one source; default hold-max/16"},
	{"hold-order", KEY_WORD, SERVICE(hold_order), .words = "mixed|newest", .form = "mixed or newest",
	 .doc = "which held SYN is released first"},
	{"hold-time", KEY_DURATION, SERVICE(hold_time_ns), .none = 1, .least = 1000000, .most = 3600000000000ULL,
	 .form = "1ms to 1h, with a unit, or none",
	 .doc = "longest time a SYN is held; none: as long as its client is there"},
	{"hold-down", KEY_DURATION, SERVICE(hold_down_ns), .least = 0, .most = 3600000000000ULL,
	 .form = "0s (off) to 1h, with a unit", .doc = "how long SYNs are held while nothing listens"},
	{"fallback", KEY_WORD, SERVICE(fallback), .words = "static|open", .form = "static or open",
	 .doc = "what holds while the daemon is dead: the limits as they stand, or none"},
	{"target-delay", KEY_DURATION, SERVICE(target_delay_ns), .least = 1000000, .most = 60000000000ULL,
	 .fallback = TARGET_DELAY_DEFAULT, .form = "1ms to 60s, with a unit",
	 .doc = "server's own delay that window=auto steers to"},
	{"settle-bytes", KEY_COUNT, SERVICE(settle_bytes), .least = 1, .most = SYNHOLD_SETTLE_BYTES_MAX, .fallback = 1,
	 .form = "bytes from 1 to 65536", .doc = "payload bytes that count as the server having served"},
	{"global-rate", KEY_COUNT, GLOBAL(global_rate_pps), .none = 1, .least = 1, .most = RATE_MAX, .form = RATE_FORM,
	 .doc = "most SYN/s admitted for all services together"},
	{"global-burst", KEY_COUNT, GLOBAL(global_burst), .none = 1, .least = 1, .most = RATE_MAX, .form = BURST_FORM,
	 .doc = "SYNs admitted at once above global-rate; default max(16, global-rate/10)"},
	{"hold-memory", KEY_SIZE, GLOBAL(hold_memory_bytes), .least = 1 << 20, .most = 1ULL << 34,
	 .fallback = HOLD_MEMORY_DEFAULT, .form = "1MiB to 16GiB",
	 .doc = "memory for held SYNs of all services together"},
	{NULL},
};

const struct key *keys_find(const char *name)
{
	for (const struct key *key = keys_table; key->name; key++)
		if (!strcmp(key->name, name))
			return key;
	return NULL;
}

static uint64_t field_get(const struct key *key, const void *base)
{
	const uint8_t *at = (const uint8_t *)base + key->offset;
	uint64_t v64;
	uint32_t v32;

	switch (key->size) {
	case 1:
		return *at;
	case 4:
		memcpy(&v32, at, sizeof(v32));
		return v32;
	default:
		memcpy(&v64, at, sizeof(v64));
		return v64;
	}
}

static void field_set(const struct key *key, void *base, uint64_t value)
{
	uint8_t *at = (uint8_t *)base + key->offset;
	uint32_t v32 = (uint32_t)value;

	switch (key->size) {
	case 1:
		*at = (uint8_t)value;
		break;
	case 4:
		memcpy(at, &v32, sizeof(v32));
		break;
	default:
		memcpy(at, &value, sizeof(value));
	}
}

/* Place of a word in "one|two|three", or -1. */
static int word_index(const char *words, const char *word)
{
	size_t length = strlen(word);
	int index = 0;

	for (const char *p = words; *p; index++) {
		size_t n = strcspn(p, "|");

		if (n == length && !memcmp(p, word, n))
			return index;
		p += n + (p[n] == '|');
	}
	return -1;
}

static int parse_value(const struct key *key, const char *text, uint64_t *value)
{
	uint32_t ppm;
	int ret;

	if (key->none && !strcmp(text, "none")) {
		*value = 0;
		return 0;
	}
	switch (key->type) {
	case KEY_DURATION:
		ret = units_parse_duration(text, value);
		break;
	case KEY_SIZE:
		ret = units_parse_size(text, value);
		break;
	case KEY_SHARE:
		ret = units_parse_share(text, &ppm);
		*value = ret ? 0 : ppm;
		break;
	case KEY_WORD:
		ret = word_index(key->words, !strcmp(text, "defer") && !strcmp(key->name, "action") ? "hold" : text);
		if (ret < 0)
			return -EINVAL;
		*value = (uint64_t)ret;
		return 0;
	default:
		ret = units_parse_count(text, value);
	}
	if (ret)
		return ret;
	return *value < key->least || *value > key->most ? -ERANGE : 0;
}

static int set_window(const struct key *key, struct synhold_policy *service, const char *text)
{
	uint64_t value;

	if (!strcmp(text, "auto")) {
		service->window_mode = SYNHOLD_WINDOW_AUTO;
		service->window = 0;
		return 0;
	}
	if (!strcmp(text, "none")) {
		service->window_mode = SYNHOLD_WINDOW_NONE;
		service->window = 0;
		return 0;
	}
	if (units_parse_count(text, &value) || value < key->least || value > key->most)
		return -EINVAL;
	service->window_mode = SYNHOLD_WINDOW_FIXED;
	service->window = (uint32_t)value;
	return 0;
}

/* What was meant by a key that is none. */
static int hint_unknown(const char *name, const char *text, struct error *err)
{
	char dashed[32];

	snprintf(dashed, sizeof(dashed), "%s", name);
	for (char *p = dashed; *p; p++)
		*p = *p == '_' ? '-' : *p;
	if (keys_find(dashed))
		return error_hint(err, -EINVAL, "accepted: %s=%s", dashed, text);
	if (!strcmp(name, "port") || !strcmp(name, "ports"))
		return error_hint(err, -EINVAL,
				  "ports are an option of run and attach: --port NAME=%s; in a file, a line port = %s",
				  text, text);
	if (!strncmp(name, "close", 5) || !strcmp(name, "open"))
		return error_hint(err, -EINVAL, "synhold close SERVICE and synhold open SERVICE do that");
	if (isdigit((unsigned char)text[0]) && !text[strspn(text, "0123456789,-")])
		return error_hint(err, -EINVAL, "synhold help keys lists them; a service and its ports: --port %s=%s",
				  name, text);
	return error_hint(err, -EINVAL, "synhold help keys lists them");
}

int keys_set(struct synhold_policy *service, struct synhold_global_policy *global, const char *name, const char *text,
	     struct error *err)
{
	const struct key *key = keys_find(name);
	uint64_t value = 0;
	int ret;

	if (!key || (key->global ? !global : !service)) {
		error_set(err, -EINVAL, key ? "key '%s' does not belong here" : "unknown key '%s'", name);
		return key ? error_hint(err, -EINVAL,
					key->global ? "global keys: synhold set '*' %s=VALUE" :
						      "it belongs to a service",
					name) :
			     hint_unknown(name, text, err);
	}
	ret = key->type == KEY_WINDOW ? set_window(key, service, text) : parse_value(key, text, &value);
	if (ret) {
		error_set(err, -EINVAL, "%s='%s' is not accepted", name, text);
		return error_hint(err, -EINVAL, "accepted: %s", key->form);
	}
	if (key->type != KEY_WINDOW)
		field_set(key, key->global ? (void *)global : (void *)service, value);
	return 0;
}

char *keys_format(const struct key *key, const struct synhold_policy *service,
		  const struct synhold_global_policy *global, char *buf, size_t size)
{
	uint64_t value = field_get(key, key->global ? (const void *)global : (const void *)service);
	const char *p = key->words;

	if (key->type == KEY_WINDOW && service->window_mode != SYNHOLD_WINDOW_FIXED) {
		snprintf(buf, size, "%s", service->window_mode == SYNHOLD_WINDOW_AUTO ? "auto" : "none");
		return buf;
	}
	if (key->none && value == 0) {
		snprintf(buf, size, "none");
		return buf;
	}
	switch (key->type) {
	case KEY_DURATION:
		return units_format_duration(buf, size, value);
	case KEY_SIZE:
		return units_format_size(buf, size, value);
	case KEY_SHARE:
		return units_format_share(buf, size, (uint32_t)value);
	case KEY_WORD:
		for (; value && *p; value--)
			p += strcspn(p, "|") + 1;
		snprintf(buf, size, "%.*s", (int)strcspn(p, "|"), p);
		return buf;
	default:
		return units_format_count(buf, size, value);
	}
}

int keys_is_default(const struct key *key, const struct synhold_policy *service,
		    const struct synhold_global_policy *global)
{
	if (key->type == KEY_WINDOW)
		return service->window_mode == SYNHOLD_WINDOW_AUTO;
	return field_get(key, key->global ? (const void *)global : (const void *)service) == key->fallback;
}

void keys_defaults(struct synhold_policy *service)
{
	for (const struct key *key = keys_table; key->name; key++)
		if (!key->global)
			field_set(key, service, key->fallback);
	service->window_mode = SYNHOLD_WINDOW_AUTO;
	service->closed = 0;
	service->closed_flip_ns = 0;
}

void keys_global_defaults(struct synhold_global_policy *global)
{
	for (const struct key *key = keys_table; key->name; key++)
		if (key->global)
			field_set(key, global, key->fallback);
}

uint64_t keys_burst(uint64_t rate_pps, uint64_t burst)
{
	if (burst)
		return burst;
	return rate_pps / 10 > 16 ? rate_pps / 10 : 16;
}

uint64_t keys_source_burst(uint64_t rate_pps, uint64_t burst)
{
	if (burst)
		return burst;
	return rate_pps > 24 ? rate_pps : 24;
}

uint32_t keys_hold_source_max(const struct synhold_policy *service)
{
	if (service->hold_source_max)
		return service->hold_source_max;
	return service->hold_max / 16 ? service->hold_max / 16 : 1;
}

/* Rounded up: at a rate that does not divide a second evenly, a little less is admitted, never more. */
static uint64_t interval_ns(uint64_t rate_pps)
{
	return (1000000000ULL + rate_pps - 1) / rate_pps;
}

static uint64_t interval_ticks(uint64_t rate_pps)
{
	const uint64_t ticks_per_second = 1000000000ULL >> SYNHOLD_SOURCE_TICK_SHIFT;

	return (ticks_per_second + rate_pps - 1) / rate_pps;
}

int keys_compile(struct synhold_policy *service, struct error *err)
{
	uint64_t burst = keys_source_burst(service->source_rate_pps, service->source_burst);

	if (service->window_min > service->window_max) {
		error_set(err, -EINVAL, "service '%s': window-min %u is above window-max %u", service->name,
			  service->window_min, service->window_max);
		return error_hint(err, -EINVAL, "set both in one command");
	}
	if (service->source_rate_pps && burst > SOURCE_DEBT_MAX_NS / 1000000000ULL * service->source_rate_pps) {
		error_set(err, -EINVAL, "service '%s': source-burst is more than 19 hours of source-rate",
			  service->name);
		return error_hint(err, -EINVAL, "accepted: at most source-rate x %llu",
				  SOURCE_DEBT_MAX_NS / 1000000000ULL);
	}
	service->rate_interval_ns = service->rate_pps ? interval_ns(service->rate_pps) : 0;
	service->rate_limit_ns = service->rate_interval_ns * keys_burst(service->rate_pps, service->burst);
	service->source_interval = service->source_rate_pps ? interval_ticks(service->source_rate_pps) : 0;
	service->source_limit = service->source_interval * burst;
	service->share_threshold = ((uint64_t)service->share_ppm << 32) / 1000000;
	return 0;
}

void keys_compile_global(struct synhold_global_policy *global)
{
	global->rate_interval_ns = global->global_rate_pps ? interval_ns(global->global_rate_pps) : 0;
	global->rate_limit_ns = global->rate_interval_ns * keys_burst(global->global_rate_pps, global->global_burst);
}

void keys_compile_allow_rate(uint64_t rate_pps, uint64_t *interval, uint64_t *limit)
{
	uint64_t rate = rate_pps ? rate_pps : ALLOW_RATE_DEFAULT;

	*interval = interval_ticks(rate);
	*limit = *interval * rate * ALLOW_BURST_FACTOR;
}
