/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An instance: its pinned maps under /sys/fs/bpf/synhold/NAME/, its run files under /run/synhold/NAME/, its lock. Who
 * holds the lock is the only one to change policy, lists or attachments; readers need none.
 */
#ifndef SYNHOLD_LIB_INSTANCE_H
#define SYNHOLD_LIB_INSTANCE_H

#include <stddef.h>
#include <stdint.h>

#include <synhold/abi.h>

#include "lib/error.h"
#include "lib/lists_set.h"
#include "lib/model.h"

#define INSTANCE_BPFFS "/sys/fs/bpf"
#define INSTANCE_PIN_ROOT INSTANCE_BPFFS "/synhold"
#define INSTANCE_RUN_ROOT "/run/synhold"
#define INSTANCE_STATE_ROOT "/var/lib/synhold"
#define INSTANCE_DEFAULT "default"

/* Maps by number; the text is the map's name in bpf/maps.h and of its pin. */
/* clang-format off */
#define INSTANCE_MAPS(X)                                                                                                   \
	X(CONTROL, control) X(POLICY, policy) X(GLOBALS, globals) X(SPECS, specs) X(PORTS, ports) X(ADDRS, addrs)         \
	X(LISTS, lists) X(INTERFACES, interfaces) X(RUNTIME, runtime) X(DAEMON, daemon) X(TALLY, tally) X(SIGNALS, signals) \
	X(RELEASE_IO, release_io) X(GATES, gates) X(OWED, owed) X(ASKED, asked) X(GLOBAL, global) X(SOURCES, sources) X(PROOFS, proofs)     \
	X(SOURCE_FILTER, source_filter) X(MARK_FILTER, mark_filter)                                                         \
	X(OFFENDERS, offenders) X(CAPPED, capped) X(ADMISSIONS, admissions)                                                \
	X(COUNTERS, counters) X(DELAYS, delays) X(UNPARSED, unparsed) X(MARKS, marks) X(HELD, held) X(WAKE, wake)          \
	X(TAP, tap) X(TAP_STATE, tap_state) X(EVENTS, events) X(QUIESCE, quiesce) X(BASE, base)
/* clang-format on */
#define INSTANCE_ENUM_MAP(e, n) INSTANCE_MAP_##e,
enum instance_map { INSTANCE_MAPS(INSTANCE_ENUM_MAP) INSTANCE_MAP_COUNT };

struct instance {
	char name[SYNHOLD_NAME_LEN];
	char pin_dir[128], run_dir[128], state_dir[128];
	int lock_fd;                 /* -1: not held */
	int map[INSTANCE_MAP_COUNT]; /* -1: not open */
	/* mapped; NULL while closed. One element of control, daemon, global and release_io; arrays of the others. */
	struct synhold_control *control;
	struct synhold_policy *policy;
	struct synhold_global_policy *globals;
	struct synhold_specs *specs;
	uint64_t *ports; /* the kernel lays array elements 8 bytes apart: the low half is the value (little-endian) */
	struct synhold_runtime *runtime;
	struct synhold_daemon *daemon;
	struct synhold_tally *tally;
	struct synhold_signals *signals;
	struct synhold_offender_set *capped;
	struct synhold_release_io *release_io;
	struct synhold_gate *gates, *owed, *asked;
	struct synhold_global *global;
	struct synhold_base *base;
	unsigned int cpus; /* of per-CPU values */
};

/* Sets names and paths, opens nothing. -EINVAL for a name that is none. */
int instance_init(struct instance *inst, const char *name, struct error *err);
/*
 * Opens and maps the pins. 0; -ENOENT when the instance is not attached anywhere; -EPERM; -EPROTO when a newer version
 * made it, -ESTALE when an older one did (older_open() can read it).
 */
int instance_open(struct instance *inst, struct error *err);
void instance_close(struct instance *inst); /* the lock too */

/* Waits up to five seconds for the lock. 0, or -EBUSY naming the pid that holds it. */
int instance_lock(struct instance *inst, struct error *err);
/* The same without waiting, for those who cannot: 0 or -EBUSY. */
int instance_trylock(struct instance *inst);
void instance_unlock(struct instance *inst);

/* Root, and a BPF file system at INSTANCE_BPFFS: what every command that changes something needs. 0, -EPERM or -ENODEV.
 */
int instance_require_system(struct error *err);

/* Policy in force (with a pending confirm decided by the clock) as a model. */
void instance_load_model(const struct instance *inst, struct model *model);
uint32_t instance_bank(const struct instance *inst);

/* Whether a change waits for `confirm`; deadline in ns of CLOCK_MONOTONIC. */
int instance_confirm_pending(const struct instance *inst, uint64_t *deadline_ns);

/*
 * Puts a compiled model in force, whole: packets see the old one or the new one. confirm_ns > 0: unless confirmed
 * within that time, the old one comes back, daemon or not. Returns when it is in force. Needs the lock. 0, -EBUSY
 * (another change waits for confirm), -errno.
 */
int instance_commit(struct instance *inst, const struct model *model, uint64_t confirm_ns, struct error *err);
/* The same, and the address lists become these: one generation. lists NULL: they stay. */
int instance_commit_lists(struct instance *inst, const struct model *model, const struct config_lists *lists,
			  uint64_t confirm_ns, struct error *err);
/* 0, or -ENOENT when nothing waits. Confirms list entries as well. Needs the lock. */
int instance_confirm(struct instance *inst, struct error *err);

/* until_ns: 0 = off, SYNHOLD_FOREVER = on. Needs the lock. */
void instance_bypass(struct instance *inst, uint64_t until_ns);

/* Waits until no program runs that could still see what was in a map before this call. */
int instance_quiesce(struct instance *inst);

/*
 * Adds up the per-CPU values of one element, each an array of 64-bit words of `size` bytes, and what programs of older
 * versions counted. 0 or -errno with *sum untouched.
 */
int instance_sum_percpu(const struct instance *inst, enum instance_map map, uint32_t key, void *sum, size_t size);

uint64_t instance_now_ns(void); /* CLOCK_MONOTONIC, the clock of the maps */
int instance_daemon_alive(const struct instance *inst);

#define INSTANCE_RING_NONE_BYTES 4096 /* of the ring `held` where the kernel cannot put a held SYN back */
/* Whether the programs were loaded with what holding needs; without, action=hold drops. */
int instance_holds(const struct instance *inst);

#endif
