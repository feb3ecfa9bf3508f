/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a source has taken of its own limit: the shell around the sets of rate.h and the filter before them. */
#ifndef SYNHOLD_BPF_SOURCE_H
#define SYNHOLD_BPF_SOURCE_H

#include "filter.h"
#include "hash.h"
#include "maps.h"
#include "rate.h"
#include "request.h"

#ifndef VERDICT_SOURCES_FILTERED /* benchmarks compile this without */
#define VERDICT_SOURCES_FILTERED 1
#endif

/* Word of the filter before `sources` for those whose hash ends like this one. */
static __always_inline __u32 *verdict_source_word(__u64 source)
{
	__u32 line = ((__u32)source / SYNHOLD_FILTER_WORDS) & (SYNHOLD_SOURCE_FILTER - 1);
	struct synhold_filter *words = bpf_map_lookup_elem(&source_filter, &line);

	return words ? &words->word[(__u32)source % SYNHOLD_FILTER_WORDS] : NULL;
}

/* Takes from the limit that `lane` (a service, or SYNHOLD_SERVICES for the allow list) has on the source: 1, or 0 with
 * retry_ns. Global: verified once. */
__noinline int verdict_source_take(COMPAT_REF(struct verdict_request, rq), __u32 lane, __u64 interval, __u64 limit)
{
	COMPAT_DEREF(struct verdict_request, rq, request_room);
	__u64 wait_ticks = 0, taken = 0;
	struct synhold_source_set *set;
	__u32 index, slot = 0, *word;
	__u64 source;
	int ok;

	if (!rq)
		return 1;
	source = hash_for_service(rq->source, lane);
	index = rate_source_set(source);
	set = bpf_map_lookup_elem(&sources, &index);
	if (!set)
		return 1;
	ok = rate_source_take(set, source, rate_ticks(rq->now), interval, limit, &slot, &taken, &wait_ticks);
	rq->source_slot = (__u8)slot;
	rq->source_taken = taken;
	rq->retry_ns = ok ? 0 : rq->now + (wait_ticks << SYNHOLD_SOURCE_TICK_SHIFT);
	word = ok ? verdict_source_word(source) : NULL;
	if (word)
		filter_note_debt(word, rq->now + (((taken - rate_ticks(rq->now)) & RATE_TICK_MASK)
						  << SYNHOLD_SOURCE_TICK_SHIFT));
	return ok;
}

/* Whether the source's own limit would say no; reads only. */
static __always_inline int verdict_source_refuses(struct verdict_request *rq, const struct synhold_policy *pol)
{
	__u64 source = hash_for_service(rq->source, rq->service), wait_ticks = 0;
	__u32 index = rate_source_set(source), *word = verdict_source_word(source);
	struct synhold_source_set *set;

	if (VERDICT_SOURCES_FILTERED && word && !filter_may_owe(word, rq->now) &&
	    rate_conforms(0, pol->source_interval, pol->source_limit))
		return 0;
	set = bpf_map_lookup_elem(&sources, &index);
	if (!set ||
	    rate_source_look(set, source, rate_ticks(rq->now), pol->source_interval, pol->source_limit, &wait_ticks))
		return 0;
	rq->retry_ns = rq->now + (wait_ticks << SYNHOLD_SOURCE_TICK_SHIFT);
	return 1;
}

#endif
