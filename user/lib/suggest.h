/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits worth setting, from what was observed of a service. Pure. */
#ifndef SYNHOLD_LIB_SUGGEST_H
#define SYNHOLD_LIB_SUGGEST_H

#include <stdint.h>

#include <synhold/abi.h>

#define SUGGEST_SETTLEMENTS 200 /* fewer say too little about quantiles */
#define SUGGEST_HELD_MIN 32     /* SYNs that must wait before one source can be said to dominate */
#define SUGGEST_HELD_BYTES 640  /* memory of a held SYN, with its source and the tables around it */
#define SUGGEST_LINES 12

struct suggest_input {
	const struct synhold_policy *policy;
	const struct synhold_global_policy *global;
	const struct synhold_specs *specs;
	uint64_t settled;             /* with a first byte, in all */
	double settled_pps;           /* while the window was limiting; 0 = never seen */
	double first_byte_seconds[2]; /* p50, p99; < 0 = not known, here and below */
	double server_seconds[2];     /* the same less the round trip */
	double base_seconds;          /* the server's own need without a queue; 0 = not known */
	uint64_t offered;
	uint64_t over_limit[SYNHOLD_REASON_COUNT], would_limit[SYNHOLD_REASON_COUNT];
	uint64_t evicted;       /* held SYNs that made place for others */
	uint32_t held;          /* now */
	uint32_t top_held;      /* of the source that has most of them */
	const char *top_source; /* NULL = not known */
};

struct suggest_line {
	char key[24]; /* empty: the reason stands alone */
	char value[24];
	int global; /* the key is the instance's */
	char reason[240];
};

struct suggest_result {
	unsigned int count;
	struct suggest_line line[SUGGEST_LINES];
};

/* 0, possibly with no line when all is well as it is; -EAGAIN with fewer than SUGGEST_SETTLEMENTS settlements. */
int suggest(const struct suggest_input *in, struct suggest_result *result);

#endif
