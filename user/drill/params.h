/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_PARAMS_H
#define DRILL_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "drill/retry.h"

/* A drill is up to three runs of the same incident; the third recovers from it by hand, with the levers. */
enum drill_run {
	RUN_WITHOUT,
	RUN_WITH,
	RUN_RAMP,
	/* what else people use, with --compare */
	RUN_NFTABLES,
	RUN_HASHLIMIT,
	RUN_SYNPROXY,
	RUN_HAPROXY,
	RUN_COUNT
};

#define RUN_BIT(run) (1u << (run))
#define RUN_ALL (RUN_BIT(RUN_COUNT) - 1)
#define RUN_RIVALS (RUN_ALL & ~(RUN_BIT(RUN_NFTABLES) - 1))
#define RIVAL_TRIES_MAX 5

/* Each client is a source address of 10.10.0.0/16, and the first and last are left out. */
#define DRILL_CLIENTS_MAX 65000
#define DRILL_RTT_MAX_NS (10 * 1000000000ull)

/* What one run of a drill is made of: its defaults, with what the command line gave on top. */
struct drill_params {
	const char *name;
	uint32_t clients;
	uint32_t drop_ppm;    /* this share of them is cut off and reconnects; the others stay connected and talk */
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
	unsigned int runs; /* bits of enum drill_run */
	bool compare;      /* with what else people use */
	bool json;
	const char *svg;  /* NULL: the drill's own name */
	const char *html; /* NULL: beside the picture */
	const char *log;  /* where the shield's own log goes; NULL: nowhere */
	char **keys;      /* key=value for `synhold run`, NULL at the end */
};

enum params_option {
	OPT_CLIENTS,
	OPT_DROP,
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
	OPT_HTML,
	OPT_LOG,
	OPT_JSON,
	OPT_PORT,
	OPT_COMPARE,
	OPT_COUNT
};

/* Reads the value of an option. Returns 0 or -EINVAL, and then params_form() says what would be right. */
int params_set(struct drill_params *params, enum params_option option, const char *text);
const char *params_form(enum params_option option);

/* Takes the options whose bits are in `set` over from `given`, and the keys. */
void params_merge(struct drill_params *params, const struct drill_params *given, unsigned int set);

/* Options that any drill has; others are refused where a drill does not name them. */
#define PARAMS_COMMON                                                                                        \
	(1u << OPT_CLIENTS | 1u << OPT_PATIENCE | 1u << OPT_RETRY | 1u << OPT_RTT | 1u << OPT_SECONDS |      \
	 1u << OPT_COST | 1u << OPT_SEED | 1u << OPT_ONLY | 1u << OPT_SVG | 1u << OPT_HTML | 1u << OPT_LOG | \
	 1u << OPT_JSON | 1u << OPT_PORT)

/* True when nothing that shapes the incident differs: only then does a drill claim that the incident happens. */
bool params_same_incident(const struct drill_params *params, const struct drill_params *defaults);

#endif
