// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/apply.h"

#include <errno.h>
#include <net/if.h>
#include <signal.h>
#include <string.h>

#include "cli/nic.h"
#include "cli/origin.h"
#include "cli/session.h"
#include "lib/config_lists.h"
#include "lib/lists.h"
#include "lib/older.h"
#include "lib/ramp.h"

void apply_end(struct apply *apply)
{
	model_free(apply->model);
	model_free(apply->before);
	apply->before = NULL;
	config_lists_free(&apply->lists);
	apply->model = NULL;
}

static int model_holds(const struct model *model)
{
	for (int id = 0; id < SYNHOLD_SERVICES; id++)
		if (model->service[id].name[0] && model->service[id].action == SYNHOLD_ACTION_HOLD)
			return 1;
	return 0;
}

/* inst: open, or NULL when nobody knows what is attached. */
static int check_interfaces(const struct attach_args *args, const struct instance *inst, const struct model *model,
			    struct error *err)
{
	struct deploy_interface list[ATTACH_INTERFACES_MAX];
	unsigned int count = inst ? deploy_interfaces(inst, list, ATTACH_INTERFACES_MAX) : 0;
	int ret = 0;

	for (unsigned int i = 0; i < args->interfaces.count && !ret; i++) {
		const char *name = args->interfaces.word[i];

		if (!if_nametoindex(name)) {
			error_set(err, -ENODEV, "no interface '%s' in this network namespace", name);
			return error_hint(err, -ENODEV, "ip -br link lists them");
		}
		ret = model_holds(model) ? nic_check_vlan(name, err) : 0;
	}
	for (unsigned int i = 0; i < count && !ret; i++)
		ret = list[i].present && model_holds(model) ? nic_check_vlan(list[i].name, err) : 0;
	return ret;
}

static int check_given(const struct attach_args *args, const struct apply *apply, const struct instance *inst,
		       int is_run, struct error *err)
{
	struct deploy_interface list[1];

	if (is_run && !args->interfaces.count && (!apply->exists || !deploy_interfaces(inst, list, 1))) {
		error_set(err, -EINVAL, "no interface given, and instance '%s' is attached to none", inst->name);
		return error_hint(err, -EINVAL, "such as: synhold run eth0 --port 443");
	}
	if (!model_count(apply->model)) {
		error_set(err, -EINVAL, args->config ? "no service in the config file" : "no port to protect");
		return error_hint(err, -EINVAL,
				  "such as: --port 443, --port web=443,8443, or -c FILE with a [service NAME]");
	}
	return 0;
}

int apply_check(const struct attach_args *args, const char *instance, int is_run, struct apply *apply,
		struct error *err)
{
	__attribute__((cleanup(model_cleanup))) struct model *running = NULL;
	struct error blind = {0};
	struct instance inst;
	int ret = instance_init(&inst, instance, err), opened;

	memset(apply, 0, sizeof(*apply));
	apply->model = model_new();
	if (ret || !apply->model)
		return ret ? ret : error_set(err, -ENOMEM, "out of memory");
	deploy_recover(&inst);
	opened = instance_open(&inst, &blind);
	if (opened == -ESTALE) /* judged by what it says; nothing is changed yet */
		opened = older_open(&inst, &blind);
	apply->exists = !opened;
	if (!opened) {
		running = model_new();
		if (running)
			instance_load_model(&inst, running);
		else
			ret = error_set(err, -ENOMEM, "out of memory");
	}
	if (!ret)
		ret = attach_args_model(args, running, apply->model, &apply->lists, err);
	if (!ret && opened && opened != -ENOENT) { /* what is there cannot be read: no more can be judged */
		*err = blind;
		ret = opened;
	}
	if (!ret)
		ret = check_given(args, apply, &inst, is_run, err);
	if (!ret)
		ret = check_interfaces(args, opened ? NULL : &inst, apply->model, err);
	instance_close(&inst);
	if (!ret && !args->config) {
		apply->before = running;
		running = NULL;
	}
	return ret;
}

/* What to go back to. */
struct before {
	struct model *model;
	struct config_lists lists;
	int committed;
};

static void undo(const struct before *before, struct instance *inst, const struct deploy *deploy)
{
	if (deploy->created) {
		deploy_detach(inst, NULL, NULL);
		return;
	}
	if (!before->committed)
		return;
	if (instance_confirm_pending(inst, NULL)) /* it would refuse another change */
		instance_confirm(inst, NULL);
	instance_commit_lists(inst, before->model, &before->lists, 0, NULL);
}

/* Policy, ports and lists as one generation. */
static int commit(const struct attach_args *args, struct apply *apply, struct instance *inst, struct before *before,
		  struct error *err)
{
	struct config_lists next = {0};
	int ret;

	if (instance_confirm_pending(inst, NULL)) /* says what waits, before anything is touched */
		return instance_commit(inst, apply->model, 0, err);
	ret = lists_read(inst, &before->lists);
	if (ret)
		return error_set(err, ret, "the address lists cannot be read: %s", strerror(-ret));
	if (args->config)
		ret = config_lists_next(inst, &apply->lists, &next, err);
	else if (args->allow_me)
		ret = lists_read(inst, &next);
	if (!ret && args->allow_me) {
		ret = session_allow(&next);
		if (ret == -ENOENT) {
			error_set(err, ret, "--allow-me: this is no SSH session, as far as can be seen");
			error_hint(err, ret, "synhold allow add ADDRESS names it, or go without --allow-me");
		} else if (ret) {
			error_set(err, ret, "--allow-me: %s", strerror(-ret));
		}
	}
	if (!ret)
		ret = instance_commit_lists(inst, apply->model, args->config || args->allow_me ? &next : NULL,
					    args->confirm_ns, err);
	before->committed = !ret;
	config_lists_free(&next);
	return ret;
}

/* Until now nobody moved the share. */
static void continue_ramps(const struct instance *inst, const struct model *was, struct model *now)
{
	for (int id = 0; id < SYNHOLD_SERVICES; id++) {
		int old = now->service[id].name[0] ? model_find(was, now->service[id].name) : -1;

		if (old >= 0)
			ramp_continue(&now->service[id], &inst->runtime[old], instance_now_ns());
	}
}

static int load_and_attach(const struct attach_args *args, int is_run, struct apply *apply, struct instance *inst,
			   struct deploy *deploy, struct error *err)
{
	__attribute__((cleanup(model_cleanup))) struct model *was = model_new();
	struct before before = {.model = was};
	int ret = was ? deploy_load(deploy, inst, err) : error_set(err, -ENOMEM, "out of memory");

	if (ret)
		return ret;
	deploy->chain = args->chain;
	instance_load_model(inst, was);
	if (is_run)
		continue_ramps(inst, was, apply->model);
	ret = commit(args, apply, inst, &before, err);
	if (!ret && is_run && !deploy->created)
		ret = deploy_refresh(deploy, inst, err);
	if (!ret) /* last, as it takes all interfaces or none */
		ret = deploy_attach(deploy, inst, args->interfaces.word, args->interfaces.count, args->mode, err);
	if (ret) {
		undo(&before, inst, deploy);
		deploy_unload(deploy);
	}
	config_lists_free(&before.lists);
	return ret;
}

static int attach_locked(const struct attach_args *args, int is_run, struct apply *apply, struct instance *inst,
			 struct deploy *deploy, struct error *err)
{
	int ret = instance_lock(inst, err);

	if (ret)
		return ret;
	apply_end(apply); /* judged again: until here somebody else may have changed what it was judged against */
	ret = apply_check(args, inst->name, is_run, apply, err);
	if (!ret)
		ret = deploy_upgrade(inst, is_run, err);
	if (!ret)
		ret = load_and_attach(args, is_run, apply, inst, deploy, err);
	if (ret) {
		origin_remove(inst); /* nothing, unless there is no instance now */
		instance_close(inst);
		return ret;
	}
	if (args->config)
		origin_write(inst, args);
	return 0;
}

int apply_attach(const struct attach_args *args, int is_run, struct apply *apply, struct instance *inst,
		 struct deploy *deploy, struct error *err)
{
	sigset_t all, before;
	int ret = instance_require_system(err);

	if (ret)
		return ret;
	sigfillset(&all); /* Ctrl-C comes before or after, not in the middle */
	sigprocmask(SIG_BLOCK, &all, &before);
	ret = attach_locked(args, is_run, apply, inst, deploy, err);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return ret;
}

int apply_reload(const struct attach_args *args, struct apply *apply, struct instance *inst, struct model *before,
		 struct error *err)
{
	__attribute__((cleanup(model_cleanup))) struct model *running = model_new();
	struct before old = {.model = running};
	struct deploy none = {0};
	int ret;

	memset(apply, 0, sizeof(*apply));
	apply->model = model_new();
	if (!running || !apply->model)
		return error_set(err, -ENOMEM, "out of memory");
	instance_load_model(inst, running);
	if (before)
		*before = *running;
	ret = attach_args_model(args, running, apply->model, &apply->lists, err);
	if (!ret && !model_count(apply->model)) {
		error_set(err, -EINVAL, "%s: no service in it", args->config);
		ret = error_hint(err, -EINVAL, "to take the shield off: synhold detach --all");
	}
	if (!ret)
		ret = check_interfaces(args, inst, apply->model, err);
	if (!ret) {
		ret = commit(args, apply, inst, &old, err);
		if (ret)
			undo(&old, inst, &none);
	}
	config_lists_free(&old.lists);
	return ret;
}
