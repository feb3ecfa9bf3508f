// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `synhold events`: verdicts as they are given, states as they change, offenders as they appear. A capture on the card
 * shows no held, dropped or rejected SYN; this does.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/events_watch.h"
#include "lib/events.h"
#include "lib/units.h"

#define WAIT_MS 200
#define LOOK_NS 1000000000ULL

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

struct asked {
	const char *service, *follow;
	uint8_t addr[16], prefixlen; /* of follow */
	uint64_t for_ns, rate_pps;
};

struct reader {
	struct cli *cli;
	struct asked asked;
	struct instance inst;
	struct events *ev;
	struct events_watch watch;
	uint64_t suppressed;
	int journal; /* it stamps the lines itself */
	int failed;  /* stdout takes no more */
};

/* UTC, RFC 3339 with milliseconds, of a time of the maps' clock. */
static const char *wall_text(uint64_t when_ns, char *buf, size_t size)
{
	struct timespec now;
	struct tm utc;
	uint64_t ns;
	time_t seconds;
	size_t used;

	clock_gettime(CLOCK_REALTIME, &now);
	ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - (instance_now_ns() - when_ns);
	seconds = (time_t)(ns / 1000000000);
	gmtime_r(&seconds, &utc);
	used = strftime(buf, size, "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(buf + used, size - used, ".%03uZ", (unsigned int)(ns / 1000000 % 1000));
	return buf;
}

/* Takes the fields; one line out. */
static void say(struct reader *r, uint64_t when_ns, const char *kind, json_t *fields, const char *text)
{
	char wall[40];

	wall_text(when_ns, wall, sizeof(wall));
	if (r->cli->json) {
		json_t *line = json_pack("{s:s,s:s}", "time", wall, "event", kind);

		json_object_update(line, fields);
		json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
		putchar('\n');
		json_decref(line);
	} else {
		printf("%s%s%s\n", r->journal ? "" : wall, r->journal ? "" : " ", text);
	}
	json_decref(fields);
	if (fflush(stdout))
		r->failed = 1;
}

static const char *end_text(const uint8_t addr[16], __be16 port, char *buf, size_t size)
{
	char host[64];
	int v6;

	units_format_cidr(host, sizeof(host), addr, 128);
	v6 = strchr(host, ':') != NULL;
	snprintf(buf, size, "%s%s%s:%u", v6 ? "[" : "", host, v6 ? "]" : "", ntohs(port));
	return buf;
}

static void on_event(void *ctx, const struct synhold_event *event)
{
	struct reader *r = ctx;
	const char *verdict = snapshot_verdict_name(event->verdict), *reason = "", *service;
	char from[96], to[96], text[320], iface[IF_NAMESIZE] = "";
	json_t *fields;

	if (event->reason != SYNHOLD_REASON_NONE)
		reason = snapshot_reason_name(event->reason);
	else if (!r->asked.follow)
		return; /* nothing in its way: only of interest for one who follows it */
	service = r->inst.policy[instance_bank(&r->inst) * SYNHOLD_SERVICES + event->service % SYNHOLD_SERVICES].name;
	end_text(event->tuple.saddr, event->tuple.sport, from, sizeof(from));
	end_text(event->tuple.daddr, event->tuple.dport, to, sizeof(to));
	if (!if_indextoname(event->ifindex, iface))
		iface[0] = '\0';
	fields = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s}", "service", service, "verdict", verdict, "reason", reason,
			   "from", from, "to", to, "interface", iface);
	if (event->verdict == SYNHOLD_VERDICT_ADMIT && *reason)
		verdict = "would limit";
	snprintf(text, sizeof(text), "%s: %s -> %s %s%s%s", service, from, to, verdict, *reason ? ", " : "", reason);
	say(r, event->when_ns, "syn", fields, text);
}

static void on_change(void *ctx, const struct events_change *change)
{
	struct reader *r = ctx;
	char text[200];

	if (change->kind == EVENTS_STATE)
		snprintf(text, sizeof(text), "%s: state %s -> %s", change->service, change->from, change->to);
	else
		snprintf(text, sizeof(text), "%s: source %s was refused %" PRIu64 " times for itself", change->service,
			 change->source, change->refused);
	say(r, instance_now_ns(), change->kind == EVENTS_STATE ? "state" : "offender",
	    change->kind == EVENTS_STATE ?
		    json_pack("{s:s,s:s,s:s}", "service", change->service, "from", change->from, "to", change->to) :
		    json_pack("{s:s,s:s,s:I}", "service", change->service, "source", change->source, "refused",
			      (json_int_t)change->refused),
	    text);
}

static void tell_suppressed(struct reader *r)
{
	uint64_t now = events_suppressed(r->ev), more = now - r->suppressed;
	char text[64];

	if (!more)
		return;
	r->suppressed = now;
	snprintf(text, sizeof(text), "%" PRIu64 " more that are not shown", more);
	say(r, instance_now_ns(), "suppressed", json_pack("{s:I}", "count", (json_int_t)more), text);
}

static int look(struct reader *r, struct error *err)
{
	struct snapshot snap;
	int ret = snapshot_take(&snap, r->cli->instance, err);

	if (ret)
		return ret;
	if (!snap.attached) {
		ret = error_set(err, -ENOENT, "instance '%s' was detached", snap.instance);
	} else {
		if (!r->asked.follow)
			events_watch(&r->watch, &snap, r->asked.service, on_change, r);
		tell_suppressed(r);
	}
	snapshot_free(&snap);
	return ret;
}

static int follow(struct reader *r, struct error *err)
{
	uint64_t until_ns = r->asked.for_ns ? instance_now_ns() + r->asked.for_ns : UINT64_MAX, next_ns = 0;
	struct sigaction act = {.sa_handler = on_signal};
	int ret = 0;

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	while (!ret && !interrupted && !r->failed && instance_now_ns() < until_ns) {
		ret = events_poll(r->ev, WAIT_MS, on_event, r);
		if (ret < 0 && ret != -EINTR)
			return error_set(err, ret, "the feed of events cannot be read: %s", strerror(-ret));
		ret = 0;
		if (instance_now_ns() < next_ns)
			continue;
		next_ns = instance_now_ns() + LOOK_NS;
		ret = look(r, err);
	}
	if (!ret)
		tell_suppressed(r);
	return ret;
}

static int options_of(struct reader *r, struct events_options *options, struct error *err)
{
	const struct synhold_policy *policy = r->inst.policy + instance_bank(&r->inst) * SYNHOLD_SERVICES;
	int monitors = 0;

	*options = (struct events_options){.service = -1, .rate_pps = (uint32_t)r->asked.rate_pps};
	for (int id = 0; id < SYNHOLD_SERVICES; id++) {
		if (!policy[id].name[0])
			continue;
		if (r->asked.service && !strcmp(policy[id].name, r->asked.service))
			options->service = id;
		monitors |= policy[id].mode == SYNHOLD_MODE_MONITOR;
	}
	if (r->asked.service && options->service < 0) {
		error_set(err, -ENOENT, "no service '%s'", r->asked.service);
		return error_hint(err, -ENOENT, "synhold status lists them");
	}
	memcpy(options->addr, r->asked.addr, sizeof(options->addr));
	options->prefixlen = r->asked.prefixlen;
	/* what is admitted is told only where somebody asked for it, or where that is how excess looks */
	if (!r->asked.follow && !monitors)
		options->verdicts =
			1U << SYNHOLD_VERDICT_HOLD | 1U << SYNHOLD_VERDICT_DROP | 1U << SYNHOLD_VERDICT_REJECT;
	return 0;
}

static int parse(struct reader *r, int argc, char **argv, struct error *err)
{
	struct asked *asked = &r->asked;
	const struct cli_option options[] = {{"follow", 'f', CLI_TEXT, &asked->follow},
					     {"service", 's', CLI_TEXT, &asked->service},
					     {"for", 0, CLI_DURATION, &asked->for_ns},
					     {"rate", 0, CLI_COUNT, &asked->rate_pps},
					     {0}};
	struct cli_words words;
	int ret = cli_parse(r->cli, argc, argv, options, &words, err);

	if (!ret && words.count)
		ret = cli_misuse(r->cli, err, "'%s' is not accepted here", words.word[0]);
	if (!ret && asked->rate_pps > 100000)
		ret = cli_misuse(r->cli, err, "--rate is at most 100k");
	if (!ret && asked->follow && units_parse_cidr(asked->follow, asked->addr, &asked->prefixlen)) {
		error_set(err, -EINVAL, "--follow '%s' is not accepted", asked->follow);
		ret = error_hint(err, -EINVAL, "accepted: an address, or a prefix such as 10.0.0.0/8 or 2001:db8::/64");
	}
	return ret;
}

int cli_events(struct cli *cli, int argc, char **argv)
{
	struct reader r = {.cli = cli, .journal = getenv("JOURNAL_STREAM") != NULL};
	struct events_options options;
	struct events_maps maps;
	struct error err = {0};
	int ret = parse(&r, argc, argv, &err);

	if (ret)
		return cli_fail(cli, &err);
	ret = cli_open_reader(cli, &r.inst, &err);
	if (ret)
		return cli_fail(cli, &err);
	ret = options_of(&r, &options, &err);
	if (!ret) {
		maps = events_maps_of(&r.inst);
		ret = events_open(&r.ev, &maps, &options, &err);
	}
	if (!ret) {
		ret = follow(&r, &err);
		events_close(r.ev);
	}
	instance_close(&r.inst);
	return ret ? cli_fail(cli, &err) : cli_finish(cli);
}
