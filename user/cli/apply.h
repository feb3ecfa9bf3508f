/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bringing a policy into force as one step: all of it, or nothing has changed. */
#ifndef SYNHOLD_CLI_APPLY_H
#define SYNHOLD_CLI_APPLY_H

#include "cli/attach_args.h"

struct apply {
	struct model *model;  /* in force; NULL until then. apply_end() frees it */
	struct model *before; /* what was in force and is carried on; NULL: nothing, or a file replaces it */
	struct config_lists lists;
	int exists; /* the instance was there before */
};

/*
 * Judges the whole of a command against the system as it is, and changes nothing. model and lists are filled. 0;
 * -EINVAL for what the user must write otherwise; -ENODEV; -EPERM and others.
 */
int apply_check(const struct attach_args *args, const char *instance, int is_run, struct apply *apply,
		struct error *err);

/*
 * Loads, commits and attaches. inst: named by instance_init(); open and locked on success. On failure everything is as
 * it was. 0 or -errno.
 */
int apply_attach(const struct attach_args *args, int is_run, struct apply *apply, struct instance *inst,
		 struct deploy *deploy, struct error *err);

/* Reads the config file again into an open and locked instance. before: the policy until now, may be NULL. 0 or -errno.
 */
int apply_reload(const struct attach_args *args, struct apply *apply, struct instance *inst, struct model *before,
		 struct error *err);

void apply_end(struct apply *apply);

#endif
