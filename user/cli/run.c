// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/apply.h"
#include "cli/notice.h"
#include "cli/origin.h"
#include "cli/session.h"
#include "daemon/daemon.h"
#include "export/export.h"
#include "lib/chain.h"
#include "lib/log.h"

struct running {
	struct attach_args args;
	struct apply apply;
	struct instance inst;
	struct deploy deploy;
	struct export_http http;
	int claim;
};

/* SIGHUP: the file with the words of this command on top, as at the start. */
static int reload(void *ctx, struct error *err)
{
	struct running *run = ctx;
	struct instance inst;
	struct apply apply = {0};
	int ret;

	if (!run->args.config) {
		error_set(err, -ENOENT, "no config file was given");
		return error_hint(err, -ENOENT, "synhold run -c FILE");
	}
	ret = instance_init(&inst, run->inst.name, err);
	if (!ret)
		ret = instance_lock(&inst, err);
	if (ret)
		return ret;
	ret = instance_open(&inst, err);
	if (!ret)
		ret = apply_reload(&run->args, &apply, &inst, NULL, err);
	apply_end(&apply);
	instance_close(&inst);
	return ret;
}

/* After a start that failed: the pid file too, unless there is an instance that somebody else may serve. */
static void forget(const struct running *run)
{
	struct stat st;
	char path[192];

	if (run->claim < 0 || !stat(run->inst.pin_dir, &st))
		return;
	snprintf(path, sizeof(path), "%s/daemon.pid", run->inst.run_dir);
	unlink(path);
	origin_remove(&run->inst);
}

/* Everything up to the daemon. The order: what can be refused comes before what changes something. */
static int start(struct running *run, struct error *err)
{
	int ret = instance_require_system(err);

	if (!ret && run->args.cpus && sched_setaffinity(0, sizeof(run->args.cpu_set), &run->args.cpu_set)) {
		ret = error_set(err, -errno, "--cpus %s: %s", run->args.cpus, strerror(errno));
		error_hint(err, ret, "the cpuset of this process does not have them");
	}
	if (!ret && run->args.metrics)
		ret = export_http_listen(&run->http, run->args.metrics, err);
	if (!ret)
		ret = daemon_claim(&run->inst, &run->claim, err);
	if (!ret && run->args.metrics) /* before any map is open, so that the children have none */
		ret = export_http_start(&run->http, run->inst.name, err);
	if (!ret)
		ret = apply_attach(&run->args, 1, &run->apply, &run->inst, &run->deploy, err);
	if (!ret)
		instance_unlock(&run->inst);
	return ret;
}

static int detach(struct instance *inst, struct error *err)
{
	int ret = instance_lock(inst, err);

	if (!ret)
		ret = deploy_detach(inst, NULL, err);
	origin_remove(inst);
	instance_unlock(inst);
	return ret == -ENOENT ? 0 : ret; /* somebody else has done it */
}

/* What is in force from now on: a policy that outlived the last run must not go unnoticed. */
static void tell(const struct running *run)
{
	struct deploy_interface list[ATTACH_INTERFACES_MAX];
	unsigned int count = deploy_interfaces(&run->inst, list, ATTACH_INTERFACES_MAX);
	const struct model *model = run->apply.model;
	char text[1100];

	for (unsigned int i = 0; i < count; i++)
		log_line(LOG_LEVEL_INFO, "interface %s (%s)", list[i].name,
			 chain_describe(&list[i], text, sizeof(text)));
	for (int id = 0; id < SYNHOLD_SERVICES; id++)
		if (model->service[id].name[0])
			log_line(LOG_LEVEL_INFO, "%s",
				 notice_service(model, id, run->apply.before, text, sizeof(text)));
	if (run->args.metrics)
		log_line(LOG_LEVEL_INFO, "metrics at %s (/metrics, /status.json, /healthz, /readyz)",
			 run->args.metrics);
	notice_windows(model, NULL, notice_log);
	notice_hold(&run->inst, model, NULL, notice_log);
	notice_listeners(model, notice_log);
	session_notice(&run->inst, model, notice_log);
}

/* Who may ask the daemon, beside root: the group named, or else `synhold` where there is one. */
static int find_group(const char *name, unsigned int *group, struct error *err)
{
	const struct group *entry = getgrnam(name ? name : "synhold");

	if (name && !entry) {
		error_set(err, -EINVAL, "--group '%s' is no group here", name);
		return error_hint(err, -EINVAL, "accepted: the name of a group; getent group lists them");
	}
	*group = entry ? entry->gr_gid : 0;
	return 0;
}

int cli_run(struct cli *cli, int argc, char **argv)
{
	static struct running run;
	struct daemon_options options = {.inst = &run.inst,
					 .deploy = &run.deploy,
					 .reload = reload,
					 .reload_ctx = &run};
	struct error err = {0};
	int ret;

	run.claim = run.http.fd = run.http.life = -1;
	if (attach_args_parse(cli, argc, argv, 1, &run.args, &err) ||
	    (run.args.metrics && export_http_check(run.args.metrics, &err)) ||
	    find_group(run.args.group, &options.group, &err))
		return cli_fail(cli, &err);
	if (instance_init(&run.inst, cli->instance, &err) ||
	    apply_check(&run.args, cli->instance, 1, &run.apply, &err)) {
		apply_end(&run.apply);
		return cli_fail(cli, &err);
	}
	ret = start(&run, &err);
	if (ret) {
		forget(&run);
		ret = cli_failed(cli, &err);
	} else {
		tell(&run);
		apply_end(&run.apply);
		options.config_path = run.args.config;
		options.detach_on_exit = run.args.detach_on_exit;
		options.mode = run.args.mode;
		options.no_sandbox = run.args.no_sandbox;
		ret = daemon_run(&options, &err);
		if (ret)
			ret = cli_failed(cli, &err);
		if (run.args.detach_on_exit && detach(&run.inst, &err))
			ret = cli_failed(cli, &err);
	}
	export_http_stop(&run.http);
	apply_end(&run.apply);
	if (run.claim >= 0)
		close(run.claim);
	return ret;
}
