/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_PARAMS_H
#define DRILL_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "drill/retry.h"

enum drill_only { DRILL_BOTH, DRILL_ONLY_WITHOUT, DRILL_ONLY_WITH };

/* Each client is a source address of 10.10.0.0/16, and the first and last are left out. */
#define DRILL_CLIENTS_MAX 65000
#define DRILL_RTT_MAX_NS (10 * 1000000000ull)

/* What one run of a drill is made of: its defaults, with what the command line gave on top. */
struct drill_params {
	const char *name;
	uint32_t clients;
	uint64_t patience_ns; /* from connect() to the first byte of the reply */
	struct retry_policy retry;
	uint64_t rtt_min_ns;
	uint64_t rtt_max_ns;   /* 0: no delay */
	uint64_t cost_ns;      /* CPU time the server spends on each connection */
	bool lazy;             /* server: accept only when done with the last */
	uint32_t seconds;      /* longest storm of a half; 0: from the ideal */
	uint64_t attach_at_ns; /* the shield comes this long after the storm began; 0: before it */
	uint64_t seed;
	uint16_t port;
	enum drill_only only;
	bool json;
	const char *svg; /* NULL: the drill's own name */
	const char *log; /* where the shield's own log goes; NULL: nowhere */
	char **keys;     /* key=value for `synhold run`, NULL at the end */
};

enum params_option {
	OPT_CLIENTS,
	OPT_PATIENCE,
	OPT_RETRY,
	OPT_RTT,
	OPT_SECONDS,
	OPT_SERVER,
	OPT_COST,
	OPT_SEED,
	OPT_ATTACH_AT,
	OPT_ONLY,
	OPT_SVG,
	OPT_LOG,
	OPT_JSON,
	OPT_PORT,
	OPT_COUNT
};

/* Reads the value of an option. Returns 0 or -EINVAL, and then params_form() says what would be right. */
int params_set(struct drill_params *params, enum params_option option, const char *text);
const char *params_form(enum params_option option);

/* Takes the options whose bits are in `set` over from `given`, and the keys. */
void params_merge(struct drill_params *params, const struct drill_params *given, unsigned int set);

struct drill {
	const char *name;
	const char *doc;
	const struct drill_params *defaults;
	/* Runs the drill and prints the report. Returns the exit status. */
	int (*run)(const struct drill_params *params);
};

extern const struct drill drill_trello;

#endif
