// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/params.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/units.h"

static int params_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	char *end;
	unsigned long long v;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || *end || v < min || v > max)
		return -EINVAL;
	*value = v;
	return 0;
}

static int params_duration(const char *text, uint64_t max_ns, uint64_t *ns)
{
	uint64_t v;
	int ret = units_parse_duration(text, &v);

	if (ret || !v || v > max_ns)
		return -EINVAL;
	*ns = v;
	return 0;
}

static int parse_clients(const char *text, struct drill_params *p)
{
	uint64_t v;

	if (params_number(text, 1, DRILL_CLIENTS_MAX, &v))
		return -EINVAL;
	p->clients = v;
	return 0;
}

static int parse_drop(const char *text, struct drill_params *p)
{
	uint32_t ppm;

	if (units_parse_share(text, &ppm) || !ppm)
		return -EINVAL;
	p->drop_ppm = ppm;
	return 0;
}

static int parse_patience(const char *text, struct drill_params *p)
{
	return params_duration(text, 3600 * 1000000000ull, &p->patience_ns);
}

static int parse_retry(const char *text, struct drill_params *p)
{
	return retry_parse(text, &p->retry);
}

/* MIN-MAX, one value for both, or 0 for none at all. */
static int parse_rtt(const char *text, struct drill_params *p)
{
	char low[32];
	size_t len = strcspn(text, "-");
	uint64_t min, max;

	if (!strcmp(text, "0")) {
		p->rtt_min_ns = p->rtt_max_ns = 0;
		return 0;
	}
	if (len >= sizeof(low))
		return -EINVAL;
	memcpy(low, text, len);
	low[len] = '\0';
	if (units_parse_duration(low, &min))
		return -EINVAL;
	max = min;
	if (text[len] && units_parse_duration(text + len + 1, &max))
		return -EINVAL;
	if (!max || max < min || max > DRILL_RTT_MAX_NS)
		return -EINVAL;
	p->rtt_min_ns = min;
	p->rtt_max_ns = max;
	return 0;
}

static int parse_seconds(const char *text, struct drill_params *p)
{
	uint64_t v;

	if (params_number(text, 1, 3600, &v))
		return -EINVAL;
	p->seconds = v;
	return 0;
}

static int parse_server(const char *text, struct drill_params *p)
{
	if (strcmp(text, "lazy") && strcmp(text, "eager"))
		return -EINVAL;
	p->lazy = !strcmp(text, "lazy");
	return 0;
}

static int parse_cost(const char *text, struct drill_params *p)
{
	return params_duration(text, 1000000000, &p->cost_ns);
}

static int parse_seed(const char *text, struct drill_params *p)
{
	return params_number(text, 0, INT64_MAX, &p->seed);
}

static int parse_attach_at(const char *text, struct drill_params *p)
{
	return params_duration(text, 3600 * 1000000000ull, &p->attach_at_ns);
}

static int parse_only(const char *text, struct drill_params *p)
{
	static const char *const names[RUN_COUNT] = {"without",   "with",     "ramp",   "nftables",
						     "hashlimit", "synproxy", "haproxy"};

	for (int run = 0; run < RUN_COUNT; run++)
		if (!strcmp(text, names[run])) {
			p->runs = RUN_BIT(run);
			return 0;
		}
	return -EINVAL;
}

static int parse_svg(const char *text, struct drill_params *p)
{
	p->svg = text;
	return *text ? 0 : -EINVAL;
}

static int parse_html(const char *text, struct drill_params *p)
{
	p->html = text;
	return *text ? 0 : -EINVAL;
}

static int parse_log(const char *text, struct drill_params *p)
{
	p->log = text;
	return *text ? 0 : -EINVAL;
}

static int parse_json(const char *text, struct drill_params *p)
{
	(void)text;
	p->json = true;
	return 0;
}

static int parse_compare(const char *text, struct drill_params *p)
{
	(void)text;
	p->compare = true;
	return 0;
}

static int parse_port(const char *text, struct drill_params *p)
{
	uint64_t v;

	if (params_number(text, 1, 65535, &v))
		return -EINVAL;
	p->port = v;
	return 0;
}

static const struct {
	int (*parse)(const char *text, struct drill_params *params);
	const char *form;
} params_forms[OPT_COUNT] = {
	[OPT_CLIENTS] = {parse_clients, "a number from 1 to 65000"},
	[OPT_DROP] = {parse_drop, "a percentage above 0% and up to 100%, for example 33%"},
	[OPT_PATIENCE] = {parse_patience, "a duration up to 1h, for example 5s"},
	[OPT_RETRY] = {parse_retry, RETRY_FORMS},
	[OPT_RTT] = {parse_rtt, "MIN-MAX up to 10s, for example 10ms-100ms, or 0"},
	[OPT_SECONDS] = {parse_seconds, "a number from 1 to 3600"},
	[OPT_SERVER] = {parse_server, "eager or lazy"},
	[OPT_COST] = {parse_cost, "a duration up to 1s, for example 2ms"},
	[OPT_SEED] = {parse_seed, "a number from 0 to 9223372036854775807"},
	[OPT_ATTACH_AT] = {parse_attach_at, "a duration up to 1h, for example 30s"},
	[OPT_ONLY] = {parse_only, "without, with, ramp, or with --compare nftables, hashlimit, synproxy or haproxy"},
	[OPT_SVG] = {parse_svg, "a file name"},
	[OPT_HTML] = {parse_html, "a file name"},
	[OPT_LOG] = {parse_log, "a file name"},
	[OPT_JSON] = {parse_json, ""},
	[OPT_PORT] = {parse_port, "a port from 1 to 65535"},
	[OPT_COMPARE] = {parse_compare, ""},
};

int params_set(struct drill_params *params, enum params_option option, const char *text)
{
	return params_forms[option].parse(text, params);
}

const char *params_form(enum params_option option)
{
	return params_forms[option].form;
}

void params_merge(struct drill_params *p, const struct drill_params *given, unsigned int set)
{
#define PARAMS_TAKE(opt, field)                  \
	do {                                     \
		if (set & 1u << (opt))           \
			p->field = given->field; \
	} while (0)
	PARAMS_TAKE(OPT_CLIENTS, clients);
	PARAMS_TAKE(OPT_DROP, drop_ppm);
	PARAMS_TAKE(OPT_PATIENCE, patience_ns);
	PARAMS_TAKE(OPT_RETRY, retry);
	PARAMS_TAKE(OPT_RTT, rtt_min_ns);
	PARAMS_TAKE(OPT_RTT, rtt_max_ns);
	PARAMS_TAKE(OPT_SECONDS, seconds);
	PARAMS_TAKE(OPT_SERVER, lazy);
	PARAMS_TAKE(OPT_COST, cost_ns);
	PARAMS_TAKE(OPT_SEED, seed);
	PARAMS_TAKE(OPT_ATTACH_AT, attach_at_ns);
	PARAMS_TAKE(OPT_ONLY, runs);
	PARAMS_TAKE(OPT_SVG, svg);
	PARAMS_TAKE(OPT_HTML, html);
	PARAMS_TAKE(OPT_LOG, log);
	PARAMS_TAKE(OPT_JSON, json);
	PARAMS_TAKE(OPT_PORT, port);
	PARAMS_TAKE(OPT_COMPARE, compare);
#undef PARAMS_TAKE
	p->keys = given->keys;
}

bool params_same_incident(const struct drill_params *p, const struct drill_params *d)
{
	return p->clients == d->clients && p->drop_ppm == d->drop_ppm && p->patience_ns == d->patience_ns &&
	       p->retry.kind == d->retry.kind && p->retry.base_ns == d->retry.base_ns &&
	       p->rtt_min_ns == d->rtt_min_ns && p->rtt_max_ns == d->rtt_max_ns && p->cost_ns == d->cost_ns &&
	       p->lazy == d->lazy && p->seconds == d->seconds;
}
