/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every type that crosses the kernel line: what the BPF programs and user space share in maps and rings.
 *
 * Rules: fixed-width types, explicit padding, size asserts; no bool, enum fields, pointers, bitfields or #ifdef
 * inside a structure. Times are nanoseconds of CLOCK_MONOTONIC (bpf_ktime_get_ns) unless the name says otherwise.
 * Changing a layout means raising SYNHOLD_ABI_VERSION: pins of another version are never reused as they are. Older ones
 * are carried over by the names of their members (user/lib/older.c), so a member that changes its meaning gets another
 * name, and lists of names grow at their end only.
 */
#ifndef SYNHOLD_ABI_H
#define SYNHOLD_ABI_H

#include <linux/types.h>

#define SYNHOLD_ABI_VERSION 5

#define SYNHOLD_SERVICES 256 /* services of an instance; also the number of gates and counters */
#define SYNHOLD_NAME_LEN 40  /* a name has at most 32 characters */
#define SYNHOLD_SPECS 64     /* address/port ranges one service may have */
#define SYNHOLD_BANKS 2      /* policy generations: one in force, one being written (or to fall back to) */
#define SYNHOLD_PORTS 65536
#define SYNHOLD_FRAME_LEN 192  /* longest SYN frame that can be held: 14 + 8 + 40 + 60 and room for extensions */
#define SYNHOLD_BUCKETS 128    /* admission buckets of a gate; more than the longest slot life needs */
#define SYNHOLD_EPOCH_SHIFT 27 /* a bucket is 2^27 ns = 134 ms wide */
#define SYNHOLD_EXPIRE_MIN_NS 1000000000ULL
#define SYNHOLD_EXPIRE_MAX_NS 10000000000ULL
#define SYNHOLD_WINDOWS_BLIND 3 /* windows that expire unseen before the window is suspended */
#define SYNHOLD_HEARTBEAT_STALE_NS 1000000000ULL
#define SYNHOLD_MARKS 262144      /* handshakes in flight + SYNs held, of an instance */
#define SYNHOLD_ADMISSIONS 131072 /* a power of two, at most half of SYNHOLD_MARKS */
#define SYNHOLD_SOURCE_SETS 131072
#define SYNHOLD_SOURCE_WAYS 8
#define SYNHOLD_MARK_FILTER 1024   /* lines, a power of two: 64 KiB stay in a core's caches, 512 do not */
#define SYNHOLD_SOURCE_FILTER 1024 /* the same */
#define SYNHOLD_FILTER_WORDS 16    /* of a line */
#define SYNHOLD_PROOF_SETS 262144
#define SYNHOLD_PROOF_WAYS 8
#define SYNHOLD_OFFERED_LOOKS 2048 /* into the memory of first copies, in the time of a bucket */
#define SYNHOLD_OFFENDER_SETS 64
#define SYNHOLD_OFFENDER_WAYS 8
#define SYNHOLD_LIST_ENTRIES 131072 /* of each list */
#define SYNHOLD_NOTE_LEN 40
#define SYNHOLD_SETTLE_BYTES_MAX 65536
#define SYNHOLD_FOREVER (~0ULL)

/* First-byte histogram: four buckets an octave from 2^16 ns (66 us) to 2^34 ns (17 s), one below, one above. */
#define SYNHOLD_HIST_MIN_SHIFT 16
#define SYNHOLD_HIST_OCTAVES 18
#define SYNHOLD_HIST_BUCKETS (SYNHOLD_HIST_OCTAVES * 4 + 2)

/* What happens to a SYN. X(enumerator, text): the text is the JSON key and the metric label. */
#define SYNHOLD_VERDICTS(X)  \
	X(ADMIT, "admitted") \
	X(HOLD, "held")      \
	X(DROP, "dropped")   \
	X(REJECT, "rejected")

/* Why a SYN was in excess. Exactly one per excess SYN. */
#define SYNHOLD_REASONS(X)              \
	X(DENY, "deny")                 \
	X(CLOSED, "closed")             \
	X(SHARE, "share")               \
	X(SOURCE_RATE, "source_rate")   \
	X(SERVICE_RATE, "service_rate") \
	X(GLOBAL_RATE, "global_rate")   \
	X(WINDOW, "window")             \
	X(HOLD_FULL, "hold_full")       \
	X(FALLBACK, "fallback")

/* Why a held SYN left the queue without being released. */
#define SYNHOLD_DISCARDS(X)           \
	X(GONE, "gone")               \
	X(RESET, "reset")             \
	X(HOLD_TIME, "hold_time")     \
	X(EVICTED, "evicted")         \
	X(SOURCE_CAP, "source_cap")   \
	X(DETACHED, "detached")       \
	X(DAEMON_LOST, "daemon_lost") \
	X(INJECT_FAILED, "inject_failed")

/* How an admitted handshake ended. */
#define SYNHOLD_OUTCOMES(X)       \
	X(SETTLED, "settled")     \
	X(ABANDONED, "abandoned") \
	X(EXPIRED, "expired")

/* What the parser could not read; such frames pass. */
#define SYNHOLD_UNPARSED(X)               \
	X(SHORT_FRAME, "short_frame")     \
	X(VLAN_DEPTH, "vlan_depth")       \
	X(IP_HEADER, "ip_header")         \
	X(EXTENSION, "extension_headers") \
	X(TCP_HEADER, "tcp_header")

#define SYNHOLD_ENUM_VERDICT(e, t) SYNHOLD_VERDICT_##e,
#define SYNHOLD_ENUM_REASON(e, t) SYNHOLD_REASON_##e,
#define SYNHOLD_ENUM_DISCARD(e, t) SYNHOLD_DISCARD_##e,
#define SYNHOLD_ENUM_OUTCOME(e, t) SYNHOLD_OUTCOME_##e,
#define SYNHOLD_ENUM_UNPARSED(e, t) SYNHOLD_UNPARSED_##e,
enum synhold_verdict { SYNHOLD_VERDICTS(SYNHOLD_ENUM_VERDICT) SYNHOLD_VERDICT_COUNT };
enum synhold_reason { SYNHOLD_REASONS(SYNHOLD_ENUM_REASON) SYNHOLD_REASON_COUNT };
enum synhold_discard { SYNHOLD_DISCARDS(SYNHOLD_ENUM_DISCARD) SYNHOLD_DISCARD_COUNT };
enum synhold_outcome { SYNHOLD_OUTCOMES(SYNHOLD_ENUM_OUTCOME) SYNHOLD_OUTCOME_COUNT };
enum synhold_unparsed { SYNHOLD_UNPARSED(SYNHOLD_ENUM_UNPARSED) SYNHOLD_UNPARSED_COUNT };
#define SYNHOLD_REASON_NONE 255

enum synhold_mode { SYNHOLD_MODE_ENFORCE, SYNHOLD_MODE_MONITOR };
enum synhold_action { SYNHOLD_ACTION_HOLD, SYNHOLD_ACTION_DROP, SYNHOLD_ACTION_REJECT };
enum synhold_fallback { SYNHOLD_FALLBACK_STATIC, SYNHOLD_FALLBACK_OPEN };
enum synhold_order { SYNHOLD_ORDER_MIXED, SYNHOLD_ORDER_NEWEST };
enum synhold_window_mode { SYNHOLD_WINDOW_AUTO, SYNHOLD_WINDOW_NONE, SYNHOLD_WINDOW_FIXED };

/* The connection as on the wire, seen from the client: IPv4 mapped into IPv6 (RFC 4291, 2.5.5.2). */
struct synhold_tuple {
	__u8 saddr[16];
	__u8 daddr[16];
	__be16 sport;
	__be16 dport;
};

enum synhold_mark_state { SYNHOLD_MARK_HELD = 1, SYNHOLD_MARK_INFLIGHT = 2 };
/*
 * Whether the client closed unanswered; OWED: the slot is in the service's second gate, and epoch is of that one.
 * ASKED: it has not, it has sent data and waits, and the gate of map `asked` counts it.
 */
enum synhold_mark_left { SYNHOLD_LEFT_NOT, SYNHOLD_LEFT_OWED, SYNHOLD_LEFT_EXPIRED, SYNHOLD_LEFT_ASKED };
#define SYNHOLD_MARK_FRESH 1     /* re-injected in generic mode: the next pass is ours and is not counted */
#define SYNHOLD_MARK_SEQ_KNOWN 2 /* server_seq holds the first payload sequence number */
#define SYNHOLD_MARK_HEARD 4     /* counted in `heard` */

/* map `marks`: tuple -> what we know of that handshake. */
struct synhold_mark {
	__u64 since_ns; /* admitted, released, or first held */
	__u32 epoch;    /* bucket of the gate that counts the slot (in flight only) */
	__u32 server_seq;
	__u16 service;
	__u8 state; /* enum synhold_mark_state */
	__u8 flags;
	__u8 reason; /* why it is held */
	__u8 pad[3];
	__u64 syn_seen_ns; /* last copy of the SYN */
	__u32 left;        /* enum synhold_mark_left */
	__u32 isn;         /* sequence number of the newest SYN judged, host order */
};

/* map `admissions`: ring of the tuples that were let in, so that forgotten marks are found again without a scan. */
struct synhold_admission {
	struct synhold_tuple tuple;
	__u32 pad;
	__u64 since_ns; /* equals the mark's, or the mark is not this one any more */
};

/*
 * map `gates`, mappable, one per service: the only place where handshakes in flight are counted. map `owed`, of the
 * same make: requests whose clients closed before they were answered. Their handshakes are over, but the server has
 * still to work on them, so they count for the window. map `asked`, of the same make: those of `gates` whose clients
 * have been seen to send something, in the bucket of their admission. What a bucket of `gates` counts more are clients
 * that said nothing yet.
 */
struct synhold_gate {
	__s64 inflight;
	__u64 rate_tat_ns;    /* GCRA theoretical arrival time of the service rate */
	__u64 ceiling_tat_ns; /* the same for the daemon's rate ceiling */
	__u32 retired;        /* epochs below this one count no more */
	__u32 egress_seen;    /* something has left the port: settlements can be observed */
	__u64 blind;          /* slots expired while nothing was ever seen leaving */
	__u64 excess_ns;      /* when a SYN was in excess last, up to a second late; 0 = never */
	__u64 offered_looks;  /* epoch << 32 | SYNs looked for in map `proofs` in it, outside of proof mode */
	__u64 pad;
	__u64 buckets[SYNHOLD_BUCKETS]; /* epoch << 32 | slots started in it and not ended */
};

/* map `runtime`, mappable, one per service; written by the daemon only. */
struct synhold_runtime {
	__u32 window;              /* window in force for window=auto; 0 = none found yet */
	__u32 queued;              /* entries that wait for the window or a service-wide rate */
	__u32 held;                /* all entries */
	__u32 hold_full;           /* no new entry is taken */
	__u64 expire_ns;           /* life of a slot; 0 = SYNHOLD_EXPIRE_MIN_NS */
	__u64 ceiling_interval_ns; /* controller's rate ceiling; 0 = none */
	__u64 ceiling_limit_ns;
	__u64 limiting_since_ns; /* 0 = not limiting */
	__u32 state_flags;       /* enum synhold_state_flag */
	__u32 listener_seen;     /* a listener was there at least once since the service exists */
	__u64 share_threshold;   /* in force while the policy has a ramp: the threshold + 1; 0 = none computed yet */
	__u64 ramp_stopped_ns;   /* the ramp of that start was stopped by pressure at this time; 0 = it was not */
	__u64 down_since_ns;     /* nothing has listened since; 0 = something does, or never did */
	__u32 accept_guard;      /* the listener's queue has been seen filling: look at it before a SYN is let in */
	__u32 pad;
};
enum synhold_state_flag {
	SYNHOLD_FLAG_COLD = 1,
	SYNHOLD_FLAG_PROOF = 2,
	SYNHOLD_FLAG_DOWN = 4,
	SYNHOLD_FLAG_STALLED = 8 /* the server answers nobody */
};

/* map `daemon`, mappable, one; written by the daemon only. */
struct synhold_daemon {
	__u64 heartbeat_ns;
	__u64 started_ns;
	__u32 pid;
	__u32 hold_ready;           /* this kernel can release what it holds */
	__u32 pressure_permille[3]; /* share of the last second that something waited for cpu, memory, io, + 1; 0 = not
				       known */
	__u32 watch_acks;           /* some service wants to know whether handshakes are completed */
	__u64 pad[3];
};

/* map `control`, mappable, one; written by operators under the instance lock. Each word is read whole. */
struct synhold_control {
	__u64 active;          /* bit 0: bank in force; bit 1: unless confirmed by bits 2.. (ms), the other bank */
	__u64 bypass_until_ns; /* 0 = off, SYNHOLD_FOREVER = on */
	__u64 generation;      /* counts commits */
	__u32 listed[SYNHOLD_BANKS]; /* allow and deny entries of the bank: 0 = nothing to look up */
	__u64 hash_key[2];           /* secret of this instance, SipHash */
	__u64 netns_inode;
	__u32 abi_version;  /* stays where it is: every version looks for it here */
	__u32 list_changes; /* counts images that took their place */
};
#define SYNHOLD_ACTIVE_BANK(word) ((__u32)((word)&1))
#define SYNHOLD_ACTIVE_PENDING(word) (((word) >> 1) & 1)
#define SYNHOLD_ACTIVE_DEADLINE_NS(word) (((word) >> 2) * 1000000ULL)

/* map `global`, mappable, one; written by BPF. */
struct synhold_global {
	__u64 rate_tat_ns;
	__u64 admission_head; /* next slot of `admissions` to write */
	__u64 admission_tail; /* next one to look at for marks to forget */
	__u64 pad[5];
};

/* map `globals`, one per bank: keys that belong to the instance. Values as the operator gave them; 0 = unset. */
struct synhold_global_policy {
	__u64 global_rate_pps;
	__u64 global_burst;
	__u64 hold_memory_bytes;
	__u64 rate_interval_ns; /* compiled: 0 = no limit */
	__u64 rate_limit_ns;
	__u64 settle_bytes_most; /* compiled: highest settle-bytes of a service */
	__u64 pad[2];
};

/* map `policy`, bank * SYNHOLD_SERVICES + id. First the operator's values, then what the data plane reads. */
struct synhold_policy {
	char name[SYNHOLD_NAME_LEN]; /* empty: no such service */
	__u64 rate_pps;              /* 0 = none; so is each value here whose default is none */
	__u64 burst;                 /* 0 = from the rate */
	__u64 source_rate_pps;
	__u64 source_burst;
	__u64 hold_time_ns;
	__u64 hold_down_ns;
	__u64 target_delay_ns;
	__u32 window; /* window_mode fixed: the window */
	__u32 window_min;
	__u32 window_max;
	__u32 share_ppm; /* 1000000 = all */
	__u32 hold_max;
	__u32 hold_source_max; /* 0 = hold_max / 16 */
	__u32 settle_bytes;
	__u8 source_prefix4;
	__u8 source_prefix6;
	__u8 window_mode;
	__u8 hold_order;
	__u8 mode;
	__u8 action;
	__u8 fallback;
	__u8 closed;
	__u32 pad0;
	__u64 closed_flip_ns; /* at this time closed turns into its opposite; 0 = never */
	/* compiled */
	__u64 rate_interval_ns; /* 1 / rate, rounded up; 0 = no limit */
	__u64 rate_limit_ns;    /* burst * interval */
	__u64 source_interval;  /* units of SYNHOLD_SOURCE_TICK_SHIFT; 0 = no limit */
	__u64 source_limit;
	__u64 share_threshold; /* of 2^32: hash below it is in; 2^32 = all */
	/* a ramp of the share: from start on, over over_ns, from from_ppm to to_ppm; over_ns 0 = no ramp */
	__u64 ramp_start_ns;
	__u64 ramp_over_ns;
	__u64 ramp_paused_ns; /* when it was paused; 0 = it runs */
	__u32 ramp_from_ppm;
	__u32 ramp_to_ppm;
};
#define SYNHOLD_SOURCE_TICK_SHIFT 8 /* per-source times count 256 ns, 40 bits: 78 hours round */

/* map `specs`, bank * SYNHOLD_SERVICES + id; for user space, which rebuilds the port tables from it. */
struct synhold_spec {
	__u8 addr[16];  /* mapped; all zero with any = 1 */
	__u8 prefixlen; /* of the mapped address: 0..128 */
	__u8 any;
	__u16 port_lo; /* host order */
	__u16 port_hi;
	__u16 pad;
};
struct synhold_specs {
	__u32 count;
	__u32 pad;
	struct synhold_spec spec[SYNHOLD_SPECS];
};

/* map `ports`, bank * SYNHOLD_PORTS + port (host order). */
#define SYNHOLD_PORT_SERVICE 0xffffu   /* service id + 1 on any address; 0 = none */
#define SYNHOLD_PORT_ADDRS 0x80000000u /* `addrs` has entries for this port */

/* map `addrs` (LPM): local address of a port -> service id. prefixlen = 32 + length of the address prefix. */
struct synhold_addr_key {
	__u32 prefixlen;
	__u16 bank; /* in network order, as all that a trie compares */
	__be16 port;
	__u8 addr[16];
};

/* map `lists`, one image a bank, an array of rows: synhold/lists.h. */

/* map `sources`: sets of keyed-hash tag << 40 | GCRA time; an entry whose time has passed equals an absent one. */
struct synhold_source_set {
	__u64 entry[SYNHOLD_SOURCE_WAYS];
};

/* maps `mark_filter` and `source_filter`: whether there is anything to look up in `marks` and in `sources`, see
 * bpf/filter.h; written by BPF only. */
struct synhold_filter {
	__u32 word[SYNHOLD_FILTER_WORDS];
};

/* map `proofs`: sets of keyed-hash tag of tuple and sequence number << 24 | shown << 23 | coarse time of the first
 * copy. */
struct synhold_proof_set {
	__u64 entry[SYNHOLD_PROOF_WAYS];
};

/*
 * maps `offenders`, per CPU, written by BPF, and `capped`, mappable, written by the daemon: sources that were refused
 * because of themselves (source_rate; source_cap), the heaviest by name.
 */
struct synhold_offender {
	__u64 source;  /* keyed hash of the aggregated source; 0 = nobody */
	__u8 addr[16]; /* of one of its hosts, mapped */
	__u64 refused; /* since it has this place */
	__u64 weight;  /* that and what it has inherited: decides who goes */
	__u64 last_ns;
	__u32 service;
	__u32 pad;
};
struct synhold_offender_set {
	struct synhold_offender place[SYNHOLD_OFFENDER_WAYS];
};

/* map `counters`, per CPU, one per service; written by BPF only. */
struct synhold_counters {
	__u64 seen;
	__u64 verdict[SYNHOLD_VERDICT_COUNT];
	__u64 over_limit[SYNHOLD_REASON_COUNT];
	__u64 would_limit[SYNHOLD_REASON_COUNT];
	__u64 started;
	__u64 outcome[SYNHOLD_OUTCOME_COUNT];
	__u64 late;        /* first byte seen after the slot had expired */
	__u64 left;        /* abandoned ones whose client closed (FIN) and whose request the server still had */
	__u64 answered;    /* of those, how many it has dealt with since: work in vain */
	__u64 offered;     /* SYNs not known from an earlier copy, but for denied, allowed and bypassed ones */
	__u64 bypassed;    /* admitted because of bypass */
	__u64 allowed;     /* admitted because of the allow list */
	__u64 retransmits; /* copies of a SYN already in flight */
	__u64 first_byte_sum_ns;
	__u64 rtt_sum_ns; /* handshake round trips the kernel measured, of rtt_count settlements */
	__u64 rtt_count;
	__u64 delay_sum_ns;  /* first byte less that round trip, of the same */
	__u64 bites;         /* SYNs in excess because of a window or a service-wide rate */
	__u64 heard;         /* handshakes whose client was heard again, or that settled; ACKs only under watch_acks */
	__u64 unproved;      /* SYNs in excess because proof mode wants to see them again */
	__u64 proved;        /* of those, how many came again in due time, each counted once */
	__u64 asked;         /* handshakes whose client was seen to send data before the server did */
	__u64 asked_settled; /* of those, settled in time by data */
	__u64 asked_expired; /* of those, expired: the rest of what expired had said nothing */
	__u64 greeted;       /* settled in time by data of a server that was not seen to have been asked */
};

/* map `delays`, per CPU, one per service; written by BPF only. */
struct synhold_delays {
	__u64 first_byte[SYNHOLD_HIST_BUCKETS];
	__u64 server[SYNHOLD_HIST_BUCKETS]; /* first byte less the handshake's round trip, where known */
};

/*
 * map `base`, mappable, one per service; for user space. What the programs of older versions counted: readers add it to
 * what the present ones do.
 */
struct synhold_base {
	struct synhold_counters counters;
	struct synhold_delays delays;
	__u64 unparsed[SYNHOLD_UNPARSED_COUNT]; /* place 0 only: it belongs to no service */
};

/* map `tally`, mappable, one per service; written by the daemon only, but for the owner. */
struct synhold_tally {
	char owner[SYNHOLD_NAME_LEN]; /* service whose numbers the place holds, here and in the other maps; written with
					 a commit */
	__u64 entered;
	__u64 released;
	__u64 listen_overflows; /* connections that the listeners of the service could not queue */
	__u64 discarded[SYNHOLD_DISCARD_COUNT];
	__u64 window_up[8]; /* by signal, enum control_signal of the daemon */
	__u64 window_down[8];
	__u64 wait_sum_ns;
	__u64 wait[SYNHOLD_HIST_BUCKETS];          /* time in the queue of the released ones */
	__u64 release_delay[SYNHOLD_HIST_BUCKETS]; /* settlement -> next release, ring wake-ups only */
};

/* map `signals`, mappable, one per service; written by the daemon only. What the controller goes by, and since when. */
#define SYNHOLD_SIGNALS 32
enum synhold_signal_unit { SYNHOLD_UNIT_COUNT, SYNHOLD_UNIT_SECONDS, SYNHOLD_UNIT_PER_SECOND, SYNHOLD_UNIT_RATIO };
struct synhold_signal {
	char name[SYNHOLD_NAME_LEN]; /* empty: the end */
	__u64 value_micro;           /* millionths of the unit */
	__u64 target_micro;          /* 0 = none */
	__u64 when_ns;               /* when it was measured or reported */
	__u32 unit;                  /* enum synhold_signal_unit */
	__u32 pad;
};
struct synhold_signals {
	__u64 sequence; /* odd while it is being written */
	struct synhold_signal signal[SYNHOLD_SIGNALS];
};

/* ring `held`: one frame taken off the wire. */
struct synhold_held {
	__u64 seen_ns;
	__u64 source; /* keyed hash of the aggregated source */
	__u32 share_hash;
	__u32 ifindex;
	struct synhold_tuple tuple;
	__u16 service;
	__u16 frame_len;
	__u8 l3_offset;
	__u8 l4_offset;
	__u8 reason;
	__u8 retransmit; /* the tuple was held already */
	__u32 first_ms;  /* proof mode: since the first copy; 0 = not asked */
	__u8 frame[SYNHOLD_FRAME_LEN];
};

/* ring `wake`: a slot became free, or a held client reset, while something is held. */
enum synhold_wake_kind { SYNHOLD_WAKE_SLOT = 1, SYNHOLD_WAKE_RESET = 2 };
struct synhold_wake {
	__u64 when_ns;
	__u16 service;
	__u8 kind;
	__u8 pad;
	struct synhold_tuple tuple; /* of a reset */
};

/* ring `events`: a judged SYN, while a reader wants to know. */
struct synhold_event {
	__u64 when_ns;
	struct synhold_tuple tuple;
	__u32 ifindex;
	__u16 service;
	__u8 verdict; /* enum synhold_verdict */
	__u8 reason;  /* enum synhold_reason, also of what only would have been in excess; or SYNHOLD_REASON_NONE */
	__u8 tcp_flags;
	__u8 pad[3];
};

/* map `tap`, mappable, one: what the reader of `events` wants; written by him only. */
struct synhold_tap {
	__u64 until_ns;    /* his lease: nothing is recorded when it is over */
	__u64 interval_ns; /* of a CPU: between two records */
	__u64 limit_ns;    /* burst * interval */
	__u64 addr[2];     /* sources, as they lie in memory: address & mask == addr */
	__u64 mask[2];
	__u32 verdicts; /* 1 << enum synhold_verdict, or-ed */
	__u32 service;  /* only this one + 1; 0 = all */
	__u32 owner;    /* pid */
	__u32 pad;
};

/* map `tap_state`, per CPU, one; written by BPF only. */
struct synhold_tap_state {
	__u64 tat_ns;
	__u64 suppressed; /* events that the rate, or a full ring, did not let through */
};

/* map `release_io`, mappable, one: the daemon's request to the release program and its answer. */
enum synhold_release_result {
	SYNHOLD_RELEASE_NONE,
	SYNHOLD_RELEASE_DONE,
	SYNHOLD_RELEASE_REFUSED, /* a limit: reason, and retry_ns when the time is known */
	SYNHOLD_RELEASE_LOST,    /* no mark: the client reset, or it was admitted by fallback */
};
#define SYNHOLD_RELEASE_GENERIC 1 /* the frame will meet the shield again */
#define SYNHOLD_RELEASE_IPV6 2
struct synhold_release_io {
	struct synhold_tuple tuple;
	__u16 service;
	__u8 flags;
	__u8 pad0;
	__u64 retry_ns; /* not before this time; 0 = unknown */
	__u32 result;   /* enum synhold_release_result */
	__u32 reason;
	__u64 pad1;
};

/* map `interfaces`: ifindex -> what the data plane must know of it. */
#define SYNHOLD_IFACE_TX 1    /* XDP_TX reaches the wire */
#define SYNHOLD_IFACE_QDISC 2 /* the clsact qdisc is ours to remove */
#define SYNHOLD_IFACE_GENERIC 4
#define SYNHOLD_IFACE_CHAIN 8 /* in a dispatcher of libxdp, without a link of our own */
#define SYNHOLD_IFACE_MUTE 16 /* and there it may not send RSTs by way of tc */
struct synhold_interface {
	__u32 flags;
	char name[16];
	__u32 pad;
};

#define SYNHOLD_REJECT_MAGIC 0x53594e52u /* metadata of a frame that the tc ingress program sends back */

#define SYNHOLD_ASSERT_SIZE(type, size) _Static_assert(sizeof(type) == (size), #type " has changed size")
SYNHOLD_ASSERT_SIZE(struct synhold_tuple, 36);
SYNHOLD_ASSERT_SIZE(struct synhold_mark, 40);
SYNHOLD_ASSERT_SIZE(struct synhold_admission, 48);
SYNHOLD_ASSERT_SIZE(struct synhold_gate, 64 + 8 * SYNHOLD_BUCKETS);
SYNHOLD_ASSERT_SIZE(struct synhold_runtime, 88);
SYNHOLD_ASSERT_SIZE(struct synhold_daemon, 64);
SYNHOLD_ASSERT_SIZE(struct synhold_control, 64);
_Static_assert(__builtin_offsetof(struct synhold_control, abi_version) == 56, "abi_version has moved");
SYNHOLD_ASSERT_SIZE(struct synhold_global, 64);
SYNHOLD_ASSERT_SIZE(struct synhold_global_policy, 64);
SYNHOLD_ASSERT_SIZE(struct synhold_policy, 216);
SYNHOLD_ASSERT_SIZE(struct synhold_spec, 24);
SYNHOLD_ASSERT_SIZE(struct synhold_specs, 8 + 24 * SYNHOLD_SPECS);
SYNHOLD_ASSERT_SIZE(struct synhold_addr_key, 24);
SYNHOLD_ASSERT_SIZE(struct synhold_source_set, 64);
SYNHOLD_ASSERT_SIZE(struct synhold_filter, 64);
SYNHOLD_ASSERT_SIZE(struct synhold_signals, 8 + 72 * SYNHOLD_SIGNALS);
SYNHOLD_ASSERT_SIZE(struct synhold_proof_set, 64);
SYNHOLD_ASSERT_SIZE(struct synhold_offender_set, 56 * SYNHOLD_OFFENDER_WAYS);
SYNHOLD_ASSERT_SIZE(struct synhold_held, 72 + SYNHOLD_FRAME_LEN);
SYNHOLD_ASSERT_SIZE(struct synhold_wake, 48);
SYNHOLD_ASSERT_SIZE(struct synhold_event, 56);
SYNHOLD_ASSERT_SIZE(struct synhold_tap, 72);
SYNHOLD_ASSERT_SIZE(struct synhold_tap_state, 16);
SYNHOLD_ASSERT_SIZE(struct synhold_release_io, 64);
SYNHOLD_ASSERT_SIZE(struct synhold_interface, 24);

#endif
