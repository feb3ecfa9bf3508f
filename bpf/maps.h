/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The maps of an instance. All are pinned by the loader under /sys/fs/bpf/synhold/INSTANCE/. Writers: see
 * docs/design.md. */
#ifndef SYNHOLD_BPF_MAPS_H
#define SYNHOLD_BPF_MAPS_H

#include <linux/bpf.h>
#include <linux/errno.h>

#include <synhold/abi.h>
#include <synhold/lists.h>

#include "compat.h"

#define MAP_ARRAY(name_, value_, entries_, flags_) \
	struct {                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);  \
		__type(key, __u32);                \
		__type(value, value_);             \
		__uint(max_entries, entries_);     \
		__uint(map_flags, flags_);         \
	} name_ SEC(".maps")

#define MAP_PERCPU(name_, value_, entries_)              \
	struct {                                         \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); \
		__type(key, __u32);                      \
		__type(value, value_);                   \
		__uint(max_entries, entries_);           \
	} name_ SEC(".maps")

#define MAP_TRIE(name_, key_, value_, entries_)       \
	struct {                                      \
		__uint(type, BPF_MAP_TYPE_LPM_TRIE);  \
		__type(key, key_);                    \
		__type(value, value_);                \
		__uint(max_entries, entries_);        \
		__uint(map_flags, BPF_F_NO_PREALLOC); \
	} name_ SEC(".maps")

/* policy: written by operators */
MAP_ARRAY(control, struct synhold_control, 1, BPF_F_MMAPABLE);
MAP_ARRAY(policy, struct synhold_policy, SYNHOLD_BANKS *SYNHOLD_SERVICES, BPF_F_MMAPABLE);
MAP_ARRAY(globals, struct synhold_global_policy, SYNHOLD_BANKS, BPF_F_MMAPABLE);
MAP_ARRAY(specs, struct synhold_specs, SYNHOLD_BANKS *SYNHOLD_SERVICES, BPF_F_MMAPABLE);
MAP_ARRAY(ports, __u32, SYNHOLD_BANKS *SYNHOLD_PORTS, BPF_F_MMAPABLE);
MAP_TRIE(addrs, struct synhold_addr_key, __u32, 65536);
/* Each bank's address lists: an array as long as the lists need. Dynamic inner arrays came in 5.10. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, SYNHOLD_BANKS);
	__type(key, __u32);
	/* clang-format off */
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_ARRAY);
		__type(key, __u32);
		__type(value, __u64[sizeof(struct synhold_list_row) / sizeof(__u64)]); /* a struct is not in BTF here */
		__uint(max_entries, 1);
		__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	});
	/* clang-format on */
} lists SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32);
	__type(value, struct synhold_interface);
	__uint(max_entries, 64);
} interfaces SEC(".maps");

/* runtime: written by the daemon */
MAP_ARRAY(runtime, struct synhold_runtime, SYNHOLD_SERVICES, BPF_F_MMAPABLE);
MAP_ARRAY(daemon, struct synhold_daemon, 1, BPF_F_MMAPABLE);
MAP_ARRAY(tally, struct synhold_tally, SYNHOLD_SERVICES, BPF_F_MMAPABLE);
MAP_ARRAY(signals, struct synhold_signals, SYNHOLD_SERVICES, BPF_F_MMAPABLE); /* not read here */
MAP_ARRAY(capped, struct synhold_offender_set, SYNHOLD_OFFENDER_SETS, BPF_F_MMAPABLE);
MAP_ARRAY(release_io, struct synhold_release_io, 1, BPF_F_MMAPABLE);

/* written by an upgrade */
MAP_ARRAY(base, struct synhold_base, SYNHOLD_SERVICES, BPF_F_MMAPABLE);

/* state and counters: written by the programs here */
MAP_ARRAY(gates, struct synhold_gate, SYNHOLD_SERVICES, BPF_F_MMAPABLE);
MAP_ARRAY(owed, struct synhold_gate, SYNHOLD_SERVICES, BPF_F_MMAPABLE);
MAP_ARRAY(asked, struct synhold_gate, SYNHOLD_SERVICES, BPF_F_MMAPABLE);
MAP_ARRAY(global, struct synhold_global, 1, BPF_F_MMAPABLE);
MAP_ARRAY(sources, struct synhold_source_set, SYNHOLD_SOURCE_SETS, 0);
MAP_ARRAY(source_filter, struct synhold_filter, SYNHOLD_SOURCE_FILTER, 0);
MAP_ARRAY(proofs, struct synhold_proof_set, SYNHOLD_PROOF_SETS, 0);
MAP_ARRAY(admissions, struct synhold_admission, SYNHOLD_ADMISSIONS, 0);
MAP_PERCPU(counters, struct synhold_counters, SYNHOLD_SERVICES);
MAP_PERCPU(delays, struct synhold_delays, SYNHOLD_SERVICES);
MAP_PERCPU(offenders, struct synhold_offender_set, SYNHOLD_OFFENDER_SETS);
MAP_PERCPU(unparsed, __u64, SYNHOLD_UNPARSED_COUNT);
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct synhold_tuple);
	__type(value, struct synhold_mark);
	__uint(max_entries, SYNHOLD_MARKS);
} marks SEC(".maps");
MAP_ARRAY(mark_filter, struct synhold_filter, SYNHOLD_MARK_FILTER, 0);
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} held SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 << 10);
} wake SEC(".maps");

/* events: asked for by a reader */
MAP_ARRAY(tap, struct synhold_tap, 1, BPF_F_MMAPABLE);
MAP_PERCPU(tap_state, struct synhold_tap_state, 1);
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 << 10);
} events SEC(".maps");

/* An update of this map makes the kernel wait until no program runs that read what was there before: a grace period on
 * demand. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	/* clang-format off */
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_ARRAY);
		__type(key, __u32);
		__type(value, __u32);
		__uint(max_entries, 1);
	});
	/* clang-format on */
} quiesce SEC(".maps");

#endif
