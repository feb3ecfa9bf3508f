// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/status.h"
#include "cli/table.h"
#include "export/export.h"
#include "lib/chain.h"
#include "lib/keys.h"
#include "lib/ramp.h"
#include "lib/spec.h"
#include "lib/units.h"

static void print_head(const struct snapshot *snap)
{
	char text[32], way[480];

	printf("instance %s: ", snap->instance);
	if (!snap->attached) {
		printf("not attached; synhold check IFACE says what stands in the way, synhold run IFACE --port PORT protects a port\n");
		return;
	}
	if (snap->daemon_alive)
		printf("daemon %u alive", snap->daemon_pid);
	else
		printf("no daemon (limits that need none are in force; nothing is held until synhold run)");
	if (snap->bypass_until_ns == SYNHOLD_FOREVER)
		printf(", BYPASS is on: everything passes");
	else if (snap->bypass_until_ns)
		printf(", BYPASS is on for %s: everything passes",
		       units_format_time(text, sizeof(text), (double)(snap->bypass_until_ns - snap->now_ns) / 1e9));
	if (snap->confirm_deadline_ns > snap->now_ns)
		printf(", a change waits %s for synhold confirm",
		       units_format_time(text, sizeof(text), (double)(snap->confirm_deadline_ns - snap->now_ns) / 1e9));
	printf("\n");
	for (unsigned int i = 0; i < snap->interface_count; i++)
		printf("interface %s (%s)\n", snap->interface[i].name,
		       chain_describe(&snap->interface[i], way, sizeof(way)));
	if (snap->global.global_rate_pps)
		printf("global rate %s SYN/s\n", units_format_count(text, sizeof(text), snap->global.global_rate_pps));
}

static const char *state_text(const struct snapshot_service *svc, char *buf, size_t size)
{
	int counts_only = svc->state == SNAPSHOT_STATIC && svc->policy.mode == SYNHOLD_MODE_MONITOR;

	snprintf(buf, size, "%s%s", snapshot_state_name(svc->state), counts_only ? ", monitor" : "");
	return buf;
}

/* `16 of 64`: handshakes in flight, of as many as may be. */
static const char *inflight_text(const struct snapshot_service *svc, char *buf, size_t size)
{
	char window[24];

	export_window_text(svc, window, sizeof(window));
	snprintf(buf, size, "%" PRIi64 "%s%s", svc->inflight, svc->window ? " of " : "", svc->window ? window : "");
	return buf;
}

/* At most 100 columns with counts of seven digits. */
static int print_services(const struct snapshot *snap, const char *service)
{
	static const char *const columns[] = {"SERVICE",    "STATE",    ">IN FLIGHT", ">SEEN",   ">LET IN", ">WAITING",
					      ">HELD SYNS", ">DROPPED", ">REJECTED",  ">SERVED", NULL};
	struct libscols_table *table = table_new(columns);
	int rows = 0;

	for (unsigned int i = 0; table && i < snap->service_count; i++) {
		const struct snapshot_service *svc = &snap->service[i];
		const __u64 *verdict = svc->count.verdict;
		struct libscols_line *line;
		char text[64];

		if (service && strcmp(svc->policy.name, service))
			continue;
		line = scols_table_new_line(table, NULL);
		table_cell(line, 0, "%s", svc->policy.name);
		table_cell(line, 1, "%s", state_text(svc, text, sizeof(text)));
		table_cell(line, 2, "%s", inflight_text(svc, text, sizeof(text)));
		table_cell(line, 3, "%llu", svc->count.seen);
		table_cell(line, 4, "%llu", verdict[SYNHOLD_VERDICT_ADMIT] + svc->tally.released);
		table_cell(line, 5, "%u", svc->runtime.held);
		table_cell(line, 6, "%llu", verdict[SYNHOLD_VERDICT_HOLD]);
		table_cell(line, 7, "%llu", verdict[SYNHOLD_VERDICT_DROP]);
		table_cell(line, 8, "%llu", verdict[SYNHOLD_VERDICT_REJECT]);
		table_cell(line, 9, "%llu", svc->count.outcome[SYNHOLD_OUTCOME_SETTLED]);
		rows++;
	}
	if (table && !rows) {
		scols_unref_table(table);
		return 0;
	}
	return table_print(table);
}

static void note_closed(const struct snapshot *snap, const struct snapshot_service *svc)
{
	const struct synhold_policy *pol = &svc->policy;
	char left[40] = "";

	if (pol->closed_flip_ns > snap->now_ns)
		units_format_time(left, sizeof(left), (double)(pol->closed_flip_ns - snap->now_ns) / 1e9);
	if (svc->state != SNAPSHOT_CLOSED && left[0])
		printf("%s: open, closes again in %s\n", pol->name, left);
	if (svc->state != SNAPSHOT_CLOSED)
		return;
	if (left[0])
		printf("%s: closed, opens again in %s\n", pol->name, left);
	else
		printf("%s: closed until synhold open %s\n", pol->name, pol->name);
}

static const char *ramp_text(const struct snapshot *snap, const struct snapshot_service *svc)
{
	const struct synhold_policy *pol = &svc->policy;

	if (!pol->ramp_over_ns)
		return "";
	if (svc->runtime.ramp_stopped_ns)
		return ", ramp stopped by pressure";
	if (pol->ramp_paused_ns)
		return ", ramp paused";
	if (ramp_in_force(pol, &svc->runtime) == pol->ramp_to_ppm)
		return ", by a ramp that has come to its end";
	return snap->daemon_alive ? ", by ramp" :
				    ", ramp stands still without a daemon; synhold run goes on from there";
}

/* What stands beside the window, and what the table has no room for. */
static void print_notes(const struct snapshot *snap, const struct snapshot_service *svc)
{
	const struct synhold_policy *pol = &svc->policy;
	double p50 = snapshot_quantile((const uint64_t *)svc->delays.first_byte, 0.5);
	double p99 = snapshot_quantile((const uint64_t *)svc->delays.first_byte, 0.99);
	char text[64];

	note_closed(snap, svc);
	if (svc->stalled)
		printf("%s: the server answers nobody, though handshakes wait; synhold explain %s\n", pol->name,
		       pol->name);
	if (svc->count.late)
		printf("%s: %llu answers came late, beside SERVED: after their slot had expired, so their clients may have left\n",
		       pol->name, svc->count.late);
	if (svc->no_hold)
		printf("%s: action=hold drops: this kernel cannot put a held SYN back (Linux 5.18 can)\n", pol->name);
	if (pol->ramp_over_ns || ramp_in_force(pol, &svc->runtime) < 1000000)
		printf("%s: share in force %.1f%% of the sources%s\n", pol->name,
		       (double)ramp_in_force(pol, &svc->runtime) / 1e4, ramp_text(snap, svc));
	if (svc->runtime.state_flags & SYNHOLD_FLAG_PROOF)
		printf("%s: proof mode: a SYN is let in when it comes again, as most of what was let in was never completed\n",
		       pol->name);
	if (svc->runtime.ceiling_interval_ns) /* the data plane goes by it, daemon or not */
		printf("%s: pressure has set a ceiling of %.0f/s; %s\n", pol->name,
		       1e9 / (double)svc->runtime.ceiling_interval_ns,
		       snap->daemon_alive ? "it recovers by itself" : "it stays as it is until a daemon runs");
	if (pol->rate_pps)
		printf("%s: rate %s SYN/s\n", pol->name, units_format_count(text, sizeof(text), pol->rate_pps));
	if (p50 >= 0)
		printf("%s: first byte p50 %.1f ms, p99 %.1f ms\n", pol->name, p50 * 1e3, p99 * 1e3);
}

static void print_counts(const char *title, const __u64 *values, unsigned int count, const char *(*name)(unsigned int))
{
	int any = 0;

	for (unsigned int i = 0; i < count; i++) {
		if (!values[i])
			continue;
		printf("%s%s %llu", any++ ? ", " : title, name(i), values[i]);
	}
	if (any)
		printf("\n");
}

/* What the table has no room for, of one service. */
static int print_detail(const struct snapshot *snap, const struct snapshot_service *svc)
{
	const struct synhold_policy *pol = &svc->policy;
	char text[1024];

	printf("\n");
	printf("window: %s\n", export_window_text(svc, text, sizeof(text)));
	for (unsigned int i = 0; !spec_format(&svc->specs, i, text, sizeof(text)); i++)
		printf("%s %s\n", i ? "      " : "ports:", text);
	for (const struct key *key = keys_table; key->name; key++)
		if (!key->global && !keys_is_default(key, pol, NULL))
			printf("set: %s=%s\n", key->name, keys_format(key, pol, NULL, text, sizeof(text)));
	print_counts("over a limit: ", svc->count.over_limit, SYNHOLD_REASON_COUNT, snapshot_reason_name);
	print_counts("would be over: ", svc->count.would_limit, SYNHOLD_REASON_COUNT, snapshot_reason_name);
	printf("held: entered %llu, released %llu, waiting %u\n", svc->tally.entered, svc->tally.released,
	       svc->runtime.held);
	print_counts("discarded: ", svc->tally.discarded, SYNHOLD_DISCARD_COUNT, snapshot_discard_name);
	printf("handshakes: started %llu", svc->count.started);
	for (unsigned int i = 0; i < SYNHOLD_OUTCOME_COUNT; i++)
		printf(", %s %llu", snapshot_outcome_name(i), svc->count.outcome[i]);
	if (svc->count.late)
		printf("; answered late %llu", svc->count.late);
	printf("\n");
	if (svc->listeners > 0)
		printf("accept queue: %u of %u (%d listeners)\n", svc->accept_queue, svc->accept_queue_max,
		       svc->listeners);
	if (svc->suspended)
		printf("window suspended: nothing was ever seen leaving the port, so settlements cannot be seen\n");
	return status_signals(snap, svc);
}

/* Sources over their own limit. */
static void print_offenders(const struct snapshot *snap, const struct snapshot_service *svc)
{
	char text[64], ago[32];

	for (size_t i = 0; i < svc->offender_count; i++) {
		const struct offender *o = &svc->offender[i];

		printf("%s %-24s refused %" PRIu64 ", last %s ago\n",
		       i ? "          " : "offenders:", units_format_cidr(text, sizeof(text), o->addr, o->prefixlen),
		       o->refused,
		       units_format_time(ago, sizeof(ago),
					 snap->now_ns > o->last_ns ? (double)(snap->now_ns - o->last_ns) / 1e9 : 0));
	}
}

int status_print(const struct snapshot *snap, const char *service)
{
	int ret;

	print_head(snap);
	ret = print_services(snap, service);
	for (unsigned int i = 0; i < snap->service_count && !ret; i++)
		if (!service || !strcmp(snap->service[i].policy.name, service))
			print_notes(snap, &snap->service[i]);
	for (unsigned int i = 0; i < snap->service_count && service && !ret; i++)
		if (!strcmp(snap->service[i].policy.name, service)) {
			ret = print_detail(snap, &snap->service[i]);
			print_offenders(snap, &snap->service[i]);
		}
	return ret;
}
