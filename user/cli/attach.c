// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/apply.h"
#include "cli/guard.h"
#include "cli/notice.h"
#include "cli/session.h"
#include "cli/tell.h"
#include "lib/chain.h"
#include "lib/units.h"

static json_t *attached_json(const struct instance *inst, const struct model *model, const struct attach_args *args)
{
	struct deploy_interface list[ATTACH_INTERFACES_MAX];
	unsigned int count = deploy_interfaces(inst, list, ATTACH_INTERFACES_MAX);
	json_t *interfaces = json_array(), *services = json_array();

	for (unsigned int i = 0; i < count; i++)
		json_array_append_new(interfaces,
				      json_pack("{s:s,s:i,s:s}", "name", list[i].name, "index", list[i].index, "mode",
						list[i].generic ? "generic" : "native"));
	for (int id = 0; id < SYNHOLD_SERVICES; id++)
		if (model->service[id].name[0])
			json_array_append_new(services, json_string(model->service[id].name));
	return json_pack("{s:s,s:o,s:o,s:b,s:f}", "instance", inst->name, "interfaces", interfaces, "services",
			 services, "limits", model_limits_alone(model), "confirm_seconds",
			 (double)args->confirm_ns / 1e9);
}

static void print_attached(const struct instance *inst, const struct apply *apply, const struct attach_args *args)
{
	struct deploy_interface list[ATTACH_INTERFACES_MAX];
	unsigned int count = deploy_interfaces(inst, list, ATTACH_INTERFACES_MAX);
	const struct model *model = apply->model;
	char text[1100], wait[32];

	for (unsigned int i = 0; i < count; i++)
		printf("attached to %s (%s)\n", list[i].name, chain_describe(&list[i], text, sizeof(text)));
	for (int id = 0; id < SYNHOLD_SERVICES; id++)
		if (model->service[id].name[0])
			printf("%s\n", notice_service(model, id, apply->before, text, sizeof(text)));
	if (!model_limits_alone(model))
		printf("nothing is limited yet: window=auto needs the daemon (synhold run), or set a rate or a window here\n");
	if (args->confirm_ns)
		printf("undone in %s unless confirmed: synhold confirm\n",
		       units_format_duration(wait, sizeof(wait), args->confirm_ns));
}

int cli_attach(struct cli *cli, int argc, char **argv)
{
	struct attach_args args;
	struct apply apply = {0};
	struct instance inst;
	struct deploy deploy = {0};
	struct error err = {0};
	int ret, done = 0;

	if (attach_args_parse(cli, argc, argv, 0, &args, &err))
		return cli_fail(cli, &err);
	ret = apply_check(&args, cli->instance, 0, &apply, &err);
	if (ret) {
		apply_end(&apply);
		return cli_fail(cli, &err);
	}
	ret = instance_init(&inst, cli->instance, &err);
	if (!ret)
		ret = apply_attach(&args, 0, &apply, &inst, &deploy, &err);
	done = !ret;
	if (!ret && args.confirm_ns && deploy.created) {
		ret = guard_start(&inst);
		if (ret) {
			error_set(&err, ret, "attached, but nothing will detach it unless confirmed: %s",
				  strerror(-ret));
			error_hint(&err, ret,
				   "its policy is undone in time all the same; synhold detach --all takes it off now");
		}
	}
	if (ret) {
		ret = cli_failed(cli, &err);
	} else if (cli->json) {
		ret = cli_print_json(cli, attached_json(&inst, apply.model, &args));
	} else {
		print_attached(&inst, &apply, &args);
		ret = cli_finish(cli);
	}
	if (done) {
		tell(&inst, "attach: its policy is in force");
		notice_windows(apply.model, NULL, notice_warn);
		notice_hold(&inst, apply.model, NULL, notice_warn);
		session_notice(&inst, apply.model, notice_warn);
		deploy_unload(&deploy);
		instance_close(&inst);
	}
	apply_end(&apply);
	return ret;
}
