/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The policy of an instance as a whole, apart from any kernel: services with their ports and keys. Pure. */
#ifndef SYNHOLD_LIB_MODEL_H
#define SYNHOLD_LIB_MODEL_H

#include <synhold/abi.h>

#include "lib/error.h"

struct model {
	struct synhold_global_policy global;
	struct synhold_policy service[SYNHOLD_SERVICES]; /* the id is the place; an empty name is a free one */
	struct synhold_specs specs[SYNHOLD_SERVICES];
};

/* With defaults and no service; NULL when out of memory. */
struct model *model_new(void);
void model_free(struct model *model);
void model_cleanup(struct model **model); /* for __attribute__((cleanup)) */

/* Id of a service, or -ENOENT. */
int model_find(const struct model *model, const char *name);
/* The same, with the message and the names that exist: a missing object, exit status 1. */
int model_require(const struct model *model, const char *name, struct error *err);
unsigned int model_count(const struct model *model);

/*
 * `--port SPEC`: adds the service, or replaces its ports if `fresh` has no mark for it yet and extends them afterwards
 * (fresh: 256 bytes of zero at the start of a command, so that several --port of one name add up). New services get the
 * defaults. Returns the id or -EINVAL.
 */
int model_add_port(struct model *model, const char *spec, unsigned char *fresh, struct error *err);
int model_remove(struct model *model, const char *name, struct error *err);

/*
 * `key=value` for a service; name '*' (or NULL): a global key goes to the instance, any other to every service. 0, or
 * -EINVAL with nothing changed (-ENOENT: no such service; 2 is its exit status as well).
 */
int model_set(struct model *model, const char *name, const char *assignment, struct error *err);

/* Whether the word is KEY=VALUE with a known key or at least looks like it: a letter first and an equals sign. */
int model_is_assignment(const char *word);

/* Checks everything that needs the whole (the same port and prefix twice) and fills the compiled fields. 0 or -EINVAL.
 */
int model_compile(struct model *model, struct error *err);

/* Whether any service limits anything without a daemon: a fixed window, a rate, a share, closed. */
int model_limits_alone(const struct model *model);

#endif
