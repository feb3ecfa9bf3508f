// SPDX-License-Identifier: GPL-2.0-or-later
/* `ramp`: letting a growing share of the sources in. A ramp is policy, with a clock; the daemon turns it into the share
 * in force. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/notice.h"
#include "cli/tell.h"
#include "lib/inforce.h"
#include "lib/model.h"
#include "lib/ramp.h"
#include "lib/spec.h"
#include "lib/units.h"

#define RAMP_TICKS 2 /* the daemon's first one after a change may have begun before it */
#define RAMP_WAIT_NS 1000000000ULL
#define RAMP_POLL_NS 10000000L

enum lever { LEVER_START, LEVER_PAUSE, LEVER_RESUME, LEVER_REVERSE, LEVER_CANCEL, LEVER_COUNT };

static const char *const levers[LEVER_COUNT] = {"start", "pause", "resume", "reverse", "cancel"};

struct order {
	const char *service;
	enum lever lever;
	uint32_t from_ppm, to_ppm;
	uint64_t over_ns;
};

/* How things stand once it is done. */
struct outcome {
	struct synhold_policy policy;
	uint32_t was_ppm, share_ppm; /* in force, before and after */
	uint64_t now_ns;
	uint64_t stopped_ns; /* by pressure */
	int daemon;
	char note[160]; /* that it only counts; may be empty */
};

static int parse_share(const char *option, const char *text, uint32_t *ppm, struct error *err)
{
	if (!units_parse_share(text, ppm))
		return 0;
	error_set(err, -EINVAL, "%s '%s' is not accepted", option, text);
	return error_hint(err, -EINVAL, "accepted: %s", UNITS_SHARE_FORM);
}

static int parse_lever(struct cli *cli, const char *word, enum lever *lever, struct error *err)
{
	for (int i = LEVER_PAUSE; i < LEVER_COUNT; i++)
		if (!strcmp(word, levers[i])) {
			*lever = (enum lever)i;
			return 0;
		}
	return cli_misuse(cli, err, "'%s' is none of pause, resume, reverse and cancel", word);
}

static int parse(struct cli *cli, int argc, char **argv, struct order *order, struct error *err)
{
	const char *from = NULL, *to = NULL;
	const struct cli_option options[] = {{"from", 0, CLI_TEXT, &from},
					     {"to", 0, CLI_TEXT, &to},
					     {"over", 0, CLI_DURATION, &order->over_ns},
					     {0}};
	struct cli_words words;
	int ret = cli_parse(cli, argc, argv, options, &words, err);

	if (ret)
		return ret;
	if (!words.count || words.count > 2)
		return cli_misuse(cli, err, words.count ? "one service at a time" : "no service given");
	order->service = words.word[0];
	if (!spec_name_valid(order->service)) {
		error_set(err, -EINVAL, "'%s' is no service name", order->service);
		return error_hint(err, -EINVAL, "accepted: " SPEC_NAME_FORM);
	}
	if (words.count == 2) {
		if (from || to || order->over_ns)
			return cli_misuse(cli, err, "--from, --to and --over begin a ramp: they do not go with '%s'",
					  words.word[1]);
		return parse_lever(cli, words.word[1], &order->lever, err);
	}
	if (!from || !to || !order->over_ns)
		return cli_misuse(cli, err, "%s is missing", !from ? "--from" : !to ? "--to" : "--over");
	ret = parse_share("--from", from, &order->from_ppm, err);
	if (!ret)
		ret = parse_share("--to", to, &order->to_ppm, err);
	if (ret || order->from_ppm != order->to_ppm)
		return ret;
	error_set(err, -EINVAL, "from %s to %s nothing would move", from, to);
	return error_hint(err, -EINVAL, "synhold set %s share=%s keeps a share without a ramp", order->service, from);
}

static int pull(struct synhold_policy *pol, const struct order *order, uint64_t now_ns, uint64_t stopped_ns,
		struct error *err)
{
	switch (order->lever) {
	case LEVER_PAUSE:
		return ramp_pause(pol, now_ns, stopped_ns, err);
	case LEVER_RESUME:
		return ramp_resume(pol, now_ns, stopped_ns, err);
	case LEVER_REVERSE:
		return ramp_reverse(pol, now_ns, stopped_ns, err);
	case LEVER_CANCEL:
		return ramp_cancel(pol, err);
	default:
		ramp_start(pol, order->from_ppm, order->to_ppm, order->over_ns, now_ns);
		return 0;
	}
}

/* The daemon moves the share ten times a second: what the next command does is to find this one in force. */
static void wait_for_daemon(const struct instance *inst)
{
	const struct timespec pause = {.tv_nsec = RAMP_POLL_NS};
	uint64_t end_ns = instance_now_ns() + RAMP_WAIT_NS, beat = inst->daemon->heartbeat_ns;

	for (int ticks = 0; ticks < RAMP_TICKS && instance_daemon_alive(inst) && instance_now_ns() < end_ns;) {
		uint64_t now = __atomic_load_n(&inst->daemon->heartbeat_ns, __ATOMIC_ACQUIRE);

		if (now == beat) {
			nanosleep(&pause, NULL);
			continue;
		}
		beat = now;
		ticks++;
	}
}

static int commit(struct instance *inst, const struct order *order, struct outcome *out, struct error *err)
{
	__attribute__((cleanup(model_cleanup))) struct model *model = model_new();
	int id, ret;

	if (!model)
		return error_set(err, -ENOMEM, "out of memory");
	instance_load_model(inst, model);
	id = model_require(model, order->service, err);
	if (id < 0)
		return id;
	out->was_ppm = ramp_in_force(&model->service[id], &inst->runtime[id]);
	if (!instance_daemon_alive(inst))
		ramp_continue(&model->service[id], &inst->runtime[id], instance_now_ns());
	ret = pull(&model->service[id], order, instance_now_ns(), inst->runtime[id].ramp_stopped_ns, err);
	if (ret) /* the service is in another state than the words would need; the words are right */
		return ret == -EINVAL && err ? (err->code = -ENOENT) : ret;
	ret = model_compile(model, err);
	if (!ret)
		ret = instance_commit(inst, model, 0, err);
	if (ret)
		return ret == -EINVAL ? -EIO : ret;
	instance_unlock(inst); /* nobody else has to wait for the daemon */
	wait_for_daemon(inst);
	out->policy = model->service[id];
	out->share_ppm = ramp_in_force(&out->policy, &inst->runtime[id]);
	out->stopped_ns = out->policy.ramp_over_ns ? inst->runtime[id].ramp_stopped_ns : 0;
	out->daemon = instance_daemon_alive(inst);
	out->now_ns = instance_now_ns();
	if (order->lever != LEVER_CANCEL || out->share_ppm < 1000000)
		notice_monitor(inst, order->service, out->note, sizeof(out->note));
	return 0;
}

static uint64_t left_ns(const struct outcome *out)
{
	const struct synhold_policy *pol = &out->policy;
	uint64_t end = pol->ramp_start_ns + pol->ramp_over_ns, now = out->now_ns;

	if (out->stopped_ns && out->stopped_ns < now)
		now = out->stopped_ns;
	if (pol->ramp_paused_ns && pol->ramp_paused_ns < now)
		now = pol->ramp_paused_ns;
	return end > now ? end - now : 0;
}

static int print_result(const struct cli *cli, const struct order *order, const struct outcome *out)
{
	const struct synhold_policy *pol = &out->policy;
	int runs = ramp_running(pol, out->now_ns, out->stopped_ns);

	return cli_print_json(cli,
			      json_pack("{s:s,s:s,s:f,s:b,s:b,s:b,s:b,s:f,s:f,s:f,s:f,s:b}", "service", order->service,
					"ramp", levers[order->lever], "share_percent", (double)out->share_ppm / 1e4,
					"running", runs && out->daemon, "paused", pol->ramp_paused_ns != 0, "stopped",
					out->stopped_ns != 0, "closed", inforce_closed(pol, out->now_ns),
					"from_percent", (double)pol->ramp_from_ppm / 1e4, "to_percent",
					(double)pol->ramp_to_ppm / 1e4, "over_seconds", (double)pol->ramp_over_ns / 1e9,
					"left_seconds", pol->ramp_over_ns ? (double)left_ns(out) / 1e9 : 0.0, "daemon",
					out->daemon));
}

static void print_words(const struct order *order, const struct outcome *out)
{
	const struct synhold_policy *pol = &out->policy;
	char from[24], to[24], over[32];
	double share = (double)out->share_ppm / 1e4, left = (double)left_ns(out) / 1e9;

	units_format_share(to, sizeof(to), pol->ramp_to_ppm);
	printf("%s: ", order->service);
	switch (order->lever) {
	case LEVER_START:
		printf("from %s to %s of the sources over %s",
		       units_format_share(from, sizeof(from), pol->ramp_from_ppm), to,
		       units_format_duration(over, sizeof(over), pol->ramp_over_ns));
		break;
	case LEVER_PAUSE:
		printf("the ramp is paused at %.1f%%; synhold ramp %s resume goes on", share, order->service);
		break;
	case LEVER_CANCEL:
		printf("the ramp has ended; the share is %.1f%%, as set", share);
		break;
	default:
		printf("the ramp goes from %.1f%% to %s in %s", share, to, units_format_time(over, sizeof(over), left));
	}
	if (!out->daemon && order->lever != LEVER_CANCEL)
		printf("; there is no daemon: the share stands still at %.1f%% until one runs", share);
	else if (out->stopped_ns && order->lever != LEVER_PAUSE)
		printf("; pressure has stopped it again at %.1f%%: synhold explain %s", share, order->service);
	/* The lever that comes before a ramp, and the one that is easily forgotten. */
	if (order->lever != LEVER_CANCEL && inforce_closed(pol, out->now_ns))
		printf("; it is closed, and nobody comes in before synhold open %s", order->service);
	printf("%s\n", out->note);
}

static void tell_ramp(struct instance *inst, const struct order *order, const struct outcome *out)
{
	char from[24], to[24], over[32];

	if (order->lever == LEVER_START)
		tell(inst, "%s: ramp from %s to %s over %s, share %.1f%% -> %.1f%%", order->service,
		     units_format_share(from, sizeof(from), order->from_ppm),
		     units_format_share(to, sizeof(to), order->to_ppm),
		     units_format_duration(over, sizeof(over), order->over_ns), (double)out->was_ppm / 1e4,
		     (double)out->share_ppm / 1e4);
	else
		tell(inst, "%s: ramp %s, share %.1f%% -> %.1f%%", order->service, levers[order->lever],
		     (double)out->was_ppm / 1e4, (double)out->share_ppm / 1e4);
}

int cli_ramp(struct cli *cli, int argc, char **argv)
{
	struct order order = {0};
	struct outcome out = {0};
	struct instance inst;
	struct error err = {0};
	int ret = parse(cli, argc, argv, &order, &err);

	if (!ret)
		ret = cli_open_writer(cli, &inst, &err);
	if (!ret) {
		ret = commit(&inst, &order, &out, &err);
		if (!ret)
			tell_ramp(&inst, &order, &out);
		instance_close(&inst);
	}
	if (ret)
		return cli_fail(cli, &err);
	if (cli->json)
		return print_result(cli, &order, &out);
	print_words(&order, &out);
	return cli_finish(cli);
}
