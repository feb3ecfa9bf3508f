/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The policy keys: one table that the command line, the config file, `set`, `save`, completion and the manual read. To
 * add a key, add a row in keys.c, a field in struct synhold_policy, and its use.
 */
#ifndef SYNHOLD_LIB_KEYS_H
#define SYNHOLD_LIB_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include <synhold/abi.h>

#include "lib/error.h"

enum key_type { KEY_COUNT, KEY_DURATION, KEY_SHARE, KEY_SIZE, KEY_PREFIX, KEY_WORD, KEY_WINDOW };

struct key {
	const char *name;
	enum key_type type;
	uint8_t global; /* belongs to the instance, not to a service */
	uint8_t size;   /* bytes of the field: 1, 4 or 8 */
	uint8_t none;   /* accepts `none`, stored as 0 */
	uint16_t offset;
	uint64_t least, most, fallback; /* fallback: the default */
	const char *words;              /* KEY_WORD: "enforce|monitor", in the order of the enum */
	const char *form;               /* what is accepted, for messages and the manual */
	const char *doc;
};

/* The table; ends with a row whose name is NULL. */
extern const struct key keys_table[];

const struct key *keys_find(const char *name);

/*
 * Sets `key=value` in the policy that the key belongs to. service may be NULL where only global keys are allowed. 0, or
 * -EINVAL with a message that names the accepted form; nothing is changed then.
 */
int keys_set(struct synhold_policy *service, struct synhold_global_policy *global, const char *name, const char *value,
	     struct error *err);

/* Text of a key's value as keys_set() accepts it; `none` for what is unset. Returns buf. */
char *keys_format(const struct key *key, const struct synhold_policy *service,
		  const struct synhold_global_policy *global, char *buf, size_t size);
int keys_is_default(const struct key *key, const struct synhold_policy *service,
		    const struct synhold_global_policy *global);

void keys_defaults(struct synhold_policy *service);
void keys_global_defaults(struct synhold_global_policy *global);

/* Fills the compiled fields from the operator's. 0, or -EINVAL when keys contradict each other (window-min above
 * window-max). */
int keys_compile(struct synhold_policy *service, struct error *err);
void keys_compile_global(struct synhold_global_policy *global);

/* GCRA numbers of a list entry's rate in SYN/s (0 = the default, 20/s, burst 40). */
void keys_compile_allow_rate(uint64_t rate_pps, uint64_t *interval_ticks, uint64_t *limit_ticks);

/* Derived defaults. */
uint64_t keys_burst(uint64_t rate_pps, uint64_t burst);              /* max(16, rate / 10) */
uint64_t keys_source_burst(uint64_t rate_pps, uint64_t burst);       /* max(24, rate) */
uint32_t keys_hold_source_max(const struct synhold_policy *service); /* hold-max / 16, at least 1 */

#endif
