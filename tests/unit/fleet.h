/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A reconnect storm in simulated time, through the real hold queue, the real gate and the real controller: what an
 * order of release is judged on. Simulated are the clients (their kernels' SYN schedules, patience, retries, distance)
 * and a server that accepts at once and answers first come, first served, whether the client is still there or not.
 * Discrete events, one seed, same result each time. Left out: loss on the way, the daemon's own delay (under a
 * millisecond).
 */
#ifndef SYNHOLD_TESTS_FLEET_H
#define SYNHOLD_TESTS_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/holdq.h"
#include "drill/retry.h"

#define FLEET_PATIENCES 4

enum fleet_schedule {
	FLEET_NEW,  /* copies after 1, 1, 1, 1, 1, 2, 4, 8 s: Linux since 6.5, macOS, iOS */
	FLEET_OLD,  /* 1, 2, 4, 8 s */
	FLEET_BOTH, /* half of the clients each */
};

struct fleet_config {
	const char *name;
	uint64_t seed;
	uint32_t clients;
	double spread_s;                    /* the herd's first SYNs come within this time */
	double patience_s[FLEET_PATIENCES]; /* from first SYN to answer; as many clients of each; 0 = none of these */
	struct retry_policy retry;          /* where retry_mixed is false */
	bool retry_mixed;                   /* a quarter each: now, 1 s, exponential without and with jitter */
	double rtt_min_s, rtt_max_s;        /* uniform in the logarithm */
	enum fleet_schedule schedule;
	double timer_late_s; /* clients' timers are late by this in the mean, exponential, beside the timer wheel's
				share */
	/* server */
	double capacity; /* answers a second */
	uint32_t workers;
	/* shield */
	struct holdq_config queue;
	/*
	 * An order that the queue does not have: once it is known at which age clients give up, the oldest of those
	 * younger than this share of the age of the least patient tenth, the queue's choice when there is none. 0 =
	 * off.
	 */
	unsigned int young_percent;
	uint32_t window;  /* fixed; 0 = the controller's */
	double horizon_s; /* the end, served or not */
};

struct fleet_result {
	uint32_t served;
	double ideal_s;    /* clients / capacity */
	double drain_s;    /* until the last client was served, or the horizon */
	double wait_p50_s; /* from a client's first SYN ever to its answer; the unserved ones count to the end */
	double wait_p99_s;
	double failures;      /* attempts given up, per client */
	uint64_t wasted;      /* answers to clients that had left */
	uint64_t stale;       /* releases answered by RST */
	uint64_t gone;        /* held SYNs discarded since their client seemed to have left */
	uint64_t gone_wrong;  /* of these, with the client still there */
	uint64_t patience_ns; /* learned, with young_percent */
};

/* Runs one storm. -ENOMEM, -EINVAL (no clients, no capacity, no workers). */
int fleet_run(const struct fleet_config *config, struct fleet_result *result);

#endif
