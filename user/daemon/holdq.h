/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hold queue of one service: SYNs that wait for their turn.
 *
 * Pure: time comes in as now_ns (CLOCK_MONOTONIC), randomness as a seed; no clock, no kernel objects, no
 * globals. Not thread safe. Every operation is O(log n) or better, amortised over the growth of the hash
 * tables.
 *
 * Invariant at every moment: entered = released + sum of discarded + entries held now.
 *
 * How a caller releases:
 *
 *	e = holdq_next(q, now, HOLDQ_PICK_WINDOW | HOLDQ_PICK_SOURCE);
 *	ticks = holdq_entry_ticks(e, now); copy e->frame, frame_prepare(), run the release program:
 *	  done                     holdq_release(q, e, now)
 *	  refused, per-source rate holdq_defer(q, e, now, retry_ns), then ask for the next one
 *	  refused, window or rate  nothing: the entry keeps its place, the next call chooses it again
 *	  lost, failed             holdq_discard(q, e, SYNHOLD_DISCARD_..., now), then ask for the next one
 *
 * Entries do not move in memory. A pointer to one is good until the entry is released or discarded, and
 * offer, next, sweep and flush discard on their own: keep none across those.
 */
#ifndef SYNHOLD_DAEMON_HOLDQ_H
#define SYNHOLD_DAEMON_HOLDQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <synhold/abi.h>

struct holdq;
struct holdq_memory;

#define HOLDQ_MEMORY_DEFAULT_BYTES (64ULL << 20)
/* Weights count by powers of two: 1, 2-3, 4-7, ..., 128 and up; served 1 : 2 : 4 : ... : 128. */
#define HOLDQ_WEIGHT_CLASSES 8
#define HOLDQ_GONE_BUCKETS 64 /* of one second, centred on whole seconds; the last one takes all above */

/* What an entry waits for. */
enum holdq_wait {
	HOLDQ_WAIT_WINDOW, /* the window, the service's or the global rate: the main queue */
	HOLDQ_WAIT_SOURCE, /* the rate of its source */
	HOLDQ_WAIT_SHARE,  /* outside the open share */
	HOLDQ_WAIT_CLOSED, /* the service is closed */
	HOLDQ_WAIT_COUNT,
};

/* Which classes holdq_next() may choose from; SHARE and CLOSED are moved first (open_share, reclass). */
#define HOLDQ_PICK_WINDOW (1u << HOLDQ_WAIT_WINDOW)
#define HOLDQ_PICK_SOURCE (1u << HOLDQ_WAIT_SOURCE)

enum holdq_order { HOLDQ_MIXED = SYNHOLD_ORDER_MIXED, HOLDQ_NEWEST = SYNHOLD_ORDER_NEWEST };

enum holdq_result {
	HOLDQ_ENTERED,
	HOLDQ_REFRESHED,
	HOLDQ_SOURCE_CAP, /* refused: its source holds source_max; counts as entered and discarded */
	HOLDQ_FULL,       /* refused: max or the memory is used up and no client has left; never entered */
};

struct holdq_config {
	uint32_t max;        /* entries of this service */
	uint32_t source_max; /* entries of one source; 0 = max / 16, at least 1 */
	enum holdq_order order;
	uint64_t hold_time_ns;    /* 0 = a SYN whose client is there is never timed out */
	uint8_t newest_percent;   /* HOLDQ_MIXED, beyond oldest_until_ns: share of newest-first, 0..100 */
	uint64_t oldest_until_ns; /* oldest first while the oldest live entry waits less than this */
};
/* For measurements: make BUILD=build/oldest CFLAGS='-O2 -g -DHOLDQ_NEWEST_PERCENT=0' (CONTRIBUTING.md). */
#ifndef HOLDQ_NEWEST_PERCENT
#define HOLDQ_NEWEST_PERCENT 85
#endif
#define HOLDQ_CONFIG_DEFAULT                                                             \
	{                                                                                \
		.max = 65536, .source_max = 0, .order = HOLDQ_MIXED, .hold_time_ns = 0,  \
		.newest_percent = HOLDQ_NEWEST_PERCENT, .oldest_until_ns = 2000000000ULL \
	}

/* One SYN as it came off the wire. */
struct holdq_syn {
	struct synhold_tuple tuple;
	uint64_t source;     /* keyed hash of the aggregated source */
	uint32_t share_hash; /* in the share while below its threshold of 2^32 */
	uint32_t ifindex;
	uint8_t wait; /* enum holdq_wait */
	uint8_t l3_offset;
	uint8_t l4_offset;
	uint16_t frame_len; /* at most SYNHOLD_FRAME_LEN */
	uint16_t weight;    /* of its priority class; 0 counts as 1, the normal one */
	uint64_t seen_ns;
	uint64_t proved_ns;   /* another copy came so long before; 0 = not known */
	const uint8_t *frame; /* copied */
};

/* A held SYN. Read only for everybody but the queue. */
struct holdq_entry {
	struct synhold_tuple tuple;
	uint32_t attempts; /* copies seen */
	uint64_t source;
	uint64_t first_ns; /* first copy: its place in the line */
	uint64_t last_ns;  /* newest copy: the one in frame */
	uint64_t gap_ns;   /* longest gap between copies of this SYN so far; 0 with one copy */
	uint64_t ts_ns;    /* when the copy with ts_first came in; 0 = no timestamps */
	uint32_t ts_first; /* TSval of the first copy, host order */
	uint32_t ts_last;  /* TSval of the newest one */
	uint32_t seq;      /* initial sequence number, host order */
	uint32_t share_hash;
	uint32_t ifindex;
	uint16_t weight;
	uint16_t frame_len;
	uint8_t wait;
	uint8_t l3_offset;
	uint8_t l4_offset;
	uint8_t frame[SYNHOLD_FRAME_LEN];
};

struct holdq_counters {
	uint64_t entered;
	uint64_t released;
	uint64_t discarded[SYNHOLD_DISCARD_COUNT];
	uint64_t refreshed;    /* retransmissions of held SYNs */
	uint64_t refused_full; /* HOLDQ_FULL: outside the invariant */
	uint32_t held;
	uint32_t held_class[HOLDQ_WAIT_COUNT];
	uint32_t sources;
};

/* One source with entries held, for listings. */
struct holdq_source_info {
	uint64_t source;
	uint32_t count;
	uint64_t attempts;      /* copies seen of all its entries */
	uint64_t oldest_ns;     /* first copy of the entry it has held longest */
	uint64_t not_before_ns; /* of its HOLDQ_WAIT_SOURCE entries; 0 = none or at once */
	const struct holdq_entry *oldest;
};

struct holdq_ops {
	/*
	 * An entry leaves unreleased; called before its memory goes, once for each. reason: enum
	 * synhold_discard. Must not call back into the queue. May be NULL.
	 */
	void (*discarded)(void *ctx, const struct holdq_entry *e, unsigned int reason, uint64_t now_ns);
};

/*
 * The memory budget that the queues of an instance share. Counted are real bytes: whole slabs and hash
 * tables. Every queue must be gone before holdq_memory_free(). NULL when out of memory.
 */
struct holdq_memory *holdq_memory_new(uint64_t limit_bytes);
void holdq_memory_free(struct holdq_memory *mem);
/* A lower limit than what is in use takes nothing away; nothing is added until use has fallen below it. */
void holdq_memory_set_limit(struct holdq_memory *mem, uint64_t limit_bytes);
uint64_t holdq_memory_used(const struct holdq_memory *mem);

/*
 * seed: 128 secret bits; it keys the hash of tuples, which attackers choose. ops may be NULL. NULL: no
 * memory.
 */
struct holdq *holdq_new(struct holdq_memory *mem, const struct holdq_config *cfg, const uint64_t seed[2],
			const struct holdq_ops *ops, void *ctx);
/* Entries still held are discarded as SYNHOLD_DISCARD_DETACHED, with time 0. */
void holdq_free(struct holdq *q);
/*
 * In force at once; a lower max or source_max takes nothing out. O(n) when hold_time_ns changes. Returns 0,
 * or -EINVAL for newest_percent above 100.
 */
int holdq_configure(struct holdq *q, const struct holdq_config *cfg);

/*
 * Until until_ns nobody counts as gone: after a time in which copies were not seen (a restart, a daemon that was
 * stopped) a client may be between two that are far apart. O(n) in entries held.
 */
void holdq_grace(struct holdq *q, uint64_t until_ns);

/*
 * A SYN came in. A new tuple enters; a known one is a retransmission and refreshes its entry: it keeps
 * first_ns, gets the newer frame and the class and weight of this judgement. Another initial sequence number
 * on the same tuple is a new attempt of the same client: it keeps the place, and forgets what was learned of
 * gaps and timestamps. When full, an entry whose client has left is evicted first (SYNHOLD_DISCARD_EVICTED).
 * entry: set for HOLDQ_ENTERED and HOLDQ_REFRESHED, may be NULL. Returns enum holdq_result, or -EINVAL (frame
 * too long, offsets outside it, wait unknown).
 */
int holdq_offer(struct holdq *q, const struct holdq_syn *syn, uint64_t now_ns, struct holdq_entry **entry);

/*
 * The entry to release next, or NULL when there is none in these classes. It stays in the queue, and as long
 * as it is neither released nor discarded the choice repeats, so refusals do not disturb the shares below.
 * Entries found whose clients have left are discarded on the way (SYNHOLD_DISCARD_GONE).
 *
 * Main queue: weight classes share by weight; within one, oldest first while its oldest live entry waits less
 * than oldest_until_ns, else newest_percent newest. No turns by source: turns make each client behind a large
 * NAT wait longer than others; source_max is what bounds a single source.
 *
 * WAIT_SOURCE: only sources whose not-before time has passed, the one that is due longest first, its oldest
 * entry first.
 *
 * Both: in proportion to the entries held in each, so neither kind of client waits longer for being of that
 * kind.
 */
struct holdq_entry *holdq_next(struct holdq *q, uint64_t now_ns, unsigned int classes);

/* Released: takes it out. Returns how long it waited, ns. */
uint64_t holdq_release(struct holdq *q, struct holdq_entry *e, uint64_t now_ns);
void holdq_discard(struct holdq *q, struct holdq_entry *e, unsigned int reason, uint64_t now_ns);
/*
 * Its source's rate refused it: no WAIT_SOURCE entry of that source is returned before until_ns (0 = unknown:
 * a millisecond from now). An entry of another class becomes a WAIT_SOURCE one.
 */
void holdq_defer(struct holdq *q, struct holdq_entry *e, uint64_t now_ns, uint64_t until_ns);

struct holdq_entry *holdq_find(struct holdq *q, const struct synhold_tuple *tuple);

/* Ticks to give frame_prepare() when e is released at now_ns. */
uint32_t holdq_entry_ticks(const struct holdq_entry *e, uint64_t now_ns);

/* When its client counts as gone unless another copy comes. */
uint64_t holdq_overdue_ns(const struct holdq_entry *e);

/*
 * Move up to budget entries whose share_hash is below threshold (of 2^32) from WAIT_SHARE to the main queue,
 * each to the place its age gives it. Cheap when there is none, so call it before each round of releases.
 * Returns the number.
 */
uint32_t holdq_open_share(struct holdq *q, uint64_t threshold, uint32_t budget);
/* Move up to budget entries, oldest first, to another class. Returns the number moved; below budget = all. */
uint32_t holdq_reclass(struct holdq *q, enum holdq_wait from, enum holdq_wait to, uint32_t budget);

/*
 * Discard up to budget entries whose client has left or whose hold time is over, longest overdue first; each
 * costs O(log n) and nothing else is looked at. On an empty queue, gives its memory back. Returns the number
 * discarded.
 */
uint32_t holdq_sweep(struct holdq *q, uint64_t now_ns, uint32_t budget);
/* When the next entry will be due for holdq_sweep() if nothing comes in; UINT64_MAX when empty. */
uint64_t holdq_next_deadline(const struct holdq *q);
/* When the next WAIT_SOURCE entry may go; 0 or a time passed = now; UINT64_MAX when there is none. */
uint64_t holdq_next_source_ns(const struct holdq *q);

/* Discard all, and give the memory back. Returns the number. */
uint32_t holdq_flush(struct holdq *q, unsigned int reason, uint64_t now_ns);

const struct holdq_counters *holdq_counters(const struct holdq *q);
/* Entries that wait in this class: HOLDQ_WAIT_WINDOW is what the data plane must know as `queued`. */
uint32_t holdq_held(const struct holdq *q, enum holdq_wait wait);
/* True while a new tuple would probably be refused: max reached, or no room in the budget. */
bool holdq_full(const struct holdq *q);
/*
 * First copy of the entry that has waited longest in the main queue, its client there or not; 0 when empty.
 */
uint64_t holdq_oldest_ns(const struct holdq *q);

/*
 * How long clients stayed before they left: entries gone by last copy - first copy, HOLDQ_GONE_BUCKETS
 * counts. The real patience lies between bucket and the next copy that did not come.
 */
const uint64_t *holdq_gone_ages(const struct holdq *q);

/*
 * Call fn for each source with entries, in no order, until it returns non-zero, which is then returned. fn
 * must not change the queue.
 */
int holdq_each_source(const struct holdq *q, int (*fn)(void *ctx, const struct holdq_source_info *info), void *ctx);
/* The same for each entry of a source, in order of arrival. */
int holdq_each_entry(const struct holdq *q, uint64_t source, int (*fn)(void *ctx, const struct holdq_entry *e),
		     void *ctx);

#endif
