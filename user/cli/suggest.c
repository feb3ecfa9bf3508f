// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/cli.h"
#include "lib/snapshot.h"
#include "lib/suggest.h"

static uint64_t sum(const __u64 *histogram)
{
	uint64_t total = 0;

	for (unsigned int i = 0; i < SYNHOLD_HIST_BUCKETS; i++)
		total += histogram[i];
	return total;
}

static void fill_seen(struct suggest_input *in, const struct snapshot *snap, const struct snapshot_service *svc)
{
	static const double quantiles[2] = {0.5, 0.99};

	in->policy = &svc->policy;
	in->global = &snap->global;
	in->specs = &svc->specs;
	in->settled = sum(svc->delays.first_byte);
	for (int i = 0; i < 2; i++) {
		in->first_byte_seconds[i] = snapshot_quantile((const uint64_t *)svc->delays.first_byte, quantiles[i]);
		in->server_seconds[i] = snapshot_quantile((const uint64_t *)svc->delays.server, quantiles[i]);
	}
	in->offered = svc->count.offered;
	for (unsigned int i = 0; i < SYNHOLD_REASON_COUNT; i++) {
		in->over_limit[i] = svc->count.over_limit[i];
		in->would_limit[i] = svc->count.would_limit[i];
	}
	in->evicted = svc->tally.discarded[SYNHOLD_DISCARD_EVICTED];
	in->held = svc->runtime.held;
}

/* What only the daemon knows. Without one, less can be told. The answers live as long as the input. */
static void fill_learned(const struct cli *cli, const char *service, struct suggest_input *in, json_t **explain,
			 json_t **held)
{
	const json_t *first;

	if (!ask_daemon(cli, "explain", service, explain, NULL)) {
		in->settled_pps = json_number_value(json_object_get(*explain, "settled_per_second"));
		in->base_seconds = json_number_value(json_object_get(*explain, "base_delay_seconds"));
	} else {
		*explain = NULL;
	}
	if (!in->held || ask_daemon(cli, "held", service, held, NULL)) {
		*held = NULL;
		return;
	}
	first = json_array_get(json_object_get(*held, "sources"), 0); /* the one that has most */
	in->held = (uint32_t)json_integer_value(json_object_get(*held, "total"));
	in->top_held = (uint32_t)json_integer_value(json_object_get(first, "count"));
	in->top_source = json_string_value(json_object_get(first, "source"));
}

static void command_of(const struct snapshot *snap, const char *service, const struct suggest_line *line, char *buf,
		       size_t size)
{
	int other = strcmp(snap->instance, INSTANCE_DEFAULT) != 0;

	snprintf(buf, size, "synhold %s%s%sset %s %s=%s", other ? "--instance " : "", other ? snap->instance : "",
		 other ? " " : "", line->global ? "'*'" : service, line->key, line->value);
}

static int print_result(const struct cli *cli, const struct snapshot *snap, const struct suggest_input *in,
			const struct suggest_result *result)
{
	const char *service = in->policy->name;
	json_t *lines = json_array();
	char command[160];

	for (unsigned int i = 0; i < result->count; i++) {
		const struct suggest_line *line = &result->line[i];

		command_of(snap, service, line, command, sizeof(command));
		if (line->key[0])
			json_array_append_new(lines,
					      json_pack("{s:s,s:s,s:s,s:s,s:s}", "service",
							line->global ? "*" : service, "key", line->key, "value",
							line->value, "command", command, "reason", line->reason));
		else
			json_array_append_new(lines, json_pack("{s:s,s:n,s:n,s:n,s:s}", "service", service, "key",
							       "value", "command", "reason", line->reason));
	}
	return cli_print_json(cli, json_pack("{s:s,s:I,s:o}", "service", service, "settlements",
					     (json_int_t)in->settled, "suggestions", lines));
}

static const char *delay(double seconds, char *buf, size_t size)
{
	snprintf(buf, size, seconds < 1 ? "%.3g ms" : "%.3g s", seconds < 1 ? seconds * 1e3 : seconds);
	return buf;
}

/* Lines for a shell: what is no command is a comment. */
static int print_lines(const struct cli *cli, const struct snapshot *snap, const struct suggest_input *in,
		       const struct suggest_result *result)
{
	const char *service = in->policy->name;
	char command[160], p50[24], p99[24];

	printf("# %s: %llu first bytes seen, half of them within %s, 99 of 100 within %s", service,
	       (unsigned long long)in->settled, delay(in->first_byte_seconds[0], p50, sizeof(p50)),
	       delay(in->first_byte_seconds[1], p99, sizeof(p99)));
	if (in->settled_pps > 0)
		printf("; the server's pace is %.0f/s", in->settled_pps);
	printf("\n");
	for (unsigned int i = 0; i < result->count; i++) {
		command_of(snap, service, &result->line[i], command, sizeof(command));
		if (result->line[i].key[0])
			printf("%s  # %s\n", command, result->line[i].reason);
		else
			printf("# %s\n", result->line[i].reason);
	}
	if (!result->count)
		printf("# nothing to change: what was seen fits what is set\n");
	return cli_finish(cli);
}

static int suggest_for(const struct cli *cli, const struct snapshot *snap, const struct snapshot_service *svc)
{
	json_t *explain = NULL, *held = NULL;
	struct suggest_result result;
	struct suggest_input in = {0};
	struct error err = {0};
	int ret;

	fill_seen(&in, snap, svc);
	fill_learned(cli, svc->policy.name, &in, &explain, &held);
	if (!suggest(&in, &result)) {
		ret = cli->json ? print_result(cli, snap, &in, &result) : print_lines(cli, snap, &in, &result);
	} else {
		error_set(&err, -EAGAIN, "%s: %llu first bytes seen, %d are needed to suggest anything",
			  svc->policy.name, (unsigned long long)in.settled, SUGGEST_SETTLEMENTS);
		error_hint(&err, -EAGAIN, "ask again after more traffic; mode=monitor watches without limiting");
		ret = cli_fail(cli, &err);
	}
	json_decref(explain);
	json_decref(held);
	return ret;
}

int cli_suggest(struct cli *cli, int argc, char **argv)
{
	const struct snapshot_service *svc = NULL;
	struct cli_words words;
	struct snapshot snap = {0};
	struct error err = {0};
	int ret;

	ret = ask_snapshot(cli, argc, argv, &words, &snap, &svc, &err);
	ret = ret ? cli_fail(cli, &err) : suggest_for(cli, &snap, svc);
	snapshot_free(&snap);
	return ret;
}
