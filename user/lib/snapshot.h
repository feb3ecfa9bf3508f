/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Everything that can be read of an instance, at one moment, summed over CPUs: what status, top and metrics print. */
#ifndef SYNHOLD_LIB_SNAPSHOT_H
#define SYNHOLD_LIB_SNAPSHOT_H

#include "lib/deploy.h"
#include "lib/instance.h"
#include "lib/offenders.h"

/* State of a service, first match; text by snapshot_state_name(). */
enum snapshot_state {
	SNAPSHOT_CLOSED,
	SNAPSHOT_STATIC,
	SNAPSHOT_DOWN,
	SNAPSHOT_MONITOR,
	SNAPSHOT_RAMPING,
	SNAPSHOT_LIMITING,
	SNAPSHOT_OPEN
};

struct snapshot_service {
	unsigned int id;
	struct synhold_policy policy;
	struct synhold_specs specs;
	struct synhold_runtime runtime;
	struct synhold_counters count; /* summed over CPUs */
	struct synhold_delays delays;  /* summed over CPUs */
	struct synhold_tally tally;
	struct synhold_signals signals; /* each with its age; see lib/signals.h */
	int64_t inflight;
	uint32_t window; /* in force; 0 = none */
	int suspended;   /* the window, because settlements cannot be seen */
	int stalled;     /* the server answers nobody, though handshakes wait; only a live daemon knows */
	int confirm_pending, bypass;
	int no_hold; /* its action is hold, and this kernel cannot: what is in excess is dropped */
	enum snapshot_state state;
	int listeners; /* sockets that listen for it in this namespace; 0 = none found, then the next two mean nothing
			*/
	uint32_t accept_queue, accept_queue_max; /* summed over listeners */
	size_t offender_count;                   /* sources over their own limit, the most refused first */
	struct offender offender[OFFENDERS_SHOWN];
};

#define SNAPSHOT_INTERFACES 64
struct snapshot {
	char instance[SYNHOLD_NAME_LEN];
	int attached; /* 0: the instance does not exist; everything else is empty then */
	int daemon_alive;
	uint32_t daemon_pid;
	double heartbeat_age_seconds; /* < 0: never */
	double pressure[3];           /* share of a second that something waited for cpu, memory, io; < 0: not known */
	unsigned int interface_count;
	struct deploy_interface interface[SNAPSHOT_INTERFACES];
	struct synhold_global_policy global;
	uint64_t bypass_until_ns, confirm_deadline_ns; /* 0 = none */
	uint64_t unparsed[SYNHOLD_UNPARSED_COUNT];
	uint64_t map_entries[INSTANCE_MAP_COUNT]; /* of marks; 0 for others */
	unsigned int list_entries[LIST_KINDS];    /* by enum list_kind */
	uint64_t now_ns;
	unsigned int service_count;
	struct snapshot_service *service; /* service_count of them, by id */
};

/* Opens the instance by itself. An instance that is not attached is no error. 0, -EPERM, -EPROTO, -ENOMEM. */
int snapshot_take(struct snapshot *snap, const char *instance, struct error *err);
void snapshot_free(struct snapshot *snap);
/* A service by name, or NULL. */
const struct snapshot_service *snapshot_find(const struct snapshot *snap, const char *name);

const char *snapshot_state_name(enum snapshot_state state);
/* The ceiling that pressure has set on the rate of the service, per second; 0: none. */
uint64_t snapshot_ceiling_pps(const struct snapshot_service *svc);

/* Quantile (0..1) of a histogram of abi.h, seconds; < 0 when it is empty. */
double snapshot_quantile(const uint64_t histogram[SYNHOLD_HIST_BUCKETS], double q);
/* Upper bound of a bucket in seconds; the last one is infinite. */
double snapshot_bucket_bound(unsigned int bucket);

/* Texts of the X-macro lists. */
const char *snapshot_verdict_name(unsigned int verdict);
const char *snapshot_reason_name(unsigned int reason);
const char *snapshot_discard_name(unsigned int discard);
const char *snapshot_outcome_name(unsigned int outcome);
const char *snapshot_unparsed_name(unsigned int unparsed);

#endif
