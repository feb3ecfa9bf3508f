// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The shield with the state of sources in an LRU hash instead of its own table of sets, everything else the same: what
 * the table is measured against. As many entries as the table has.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include "hash.h"
#include "maps.h"
#include "rate.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, __u64); /* the keyed hash of the source, as one service sees it */
	__type(value, __u64);
	__uint(max_entries, SYNHOLD_SOURCE_SETS *SYNHOLD_SOURCE_WAYS);
} lru_sources SEC(".maps");

static __always_inline int lru_take(__u64 source, __u64 now, __u64 interval, __u64 limit, __u64 *wait)
{
	__u64 *tat = bpf_map_lookup_elem(&lru_sources, &source), fresh;

	if (!tat) {
		fresh = now + interval;
		bpf_map_update_elem(&lru_sources, &source, &fresh, BPF_ANY);
		return 1;
	}
	return rate_take(tat, now, interval, limit, wait);
}

static __always_inline void lru_return(__u64 source, __u64 interval)
{
	__u64 *tat = bpf_map_lookup_elem(&lru_sources, &source);

	if (tat)
		rate_return(tat, interval);
}

static __always_inline int lru_look(__u64 source, __u64 now, __u64 interval, __u64 limit, __u64 *wait)
{
#ifdef LRU_CHARGES /* as it is usually built: only an entry tells, so each source gets one */
	int ok = lru_take(source, now, interval, limit, wait);

	if (ok)
		lru_return(source, interval);
	return ok;
#else
	__u64 *tat = bpf_map_lookup_elem(&lru_sources, &source);

	return !tat || !rate_refuses(tat, now, interval, limit, wait);
#endif
}

#define rate_source_look(set, source, now, interval, limit, wait) lru_look(source, now, interval, limit, wait)
#define rate_source_take(set, source, now, interval, limit, slot, taken, wait) \
	lru_take(source, now, interval, limit, wait)
#define rate_source_return(set, slot, taken, interval) lru_return(hash_for_service(rq->source, service), interval)

#define VERDICT_SOURCES_FILTERED 0
#include "synhold.bpf.c"
