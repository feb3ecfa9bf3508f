// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/latency.h"

#include <math.h>

#define LATENCY_UNIT_NS 65536.0
#define LATENCY_STEPS 8

static double latency_end_ns(uint32_t bucket)
{
	return LATENCY_UNIT_NS * exp2((double)bucket / LATENCY_STEPS);
}

static uint32_t latency_bucket(uint64_t ns)
{
	double at = ns > LATENCY_UNIT_NS ? ceil(log2(ns / LATENCY_UNIT_NS) * LATENCY_STEPS) : 0;

	return at < LATENCY_BUCKETS - 1 ? at : LATENCY_BUCKETS - 1;
}

void latency_add(struct latency *latency, uint64_t ns)
{
	uint64_t longest = __atomic_load_n(&latency->longest_ns, __ATOMIC_RELAXED);

	__atomic_fetch_add(&latency->bucket[latency_bucket(ns)], 1, __ATOMIC_RELAXED);
	while (ns > longest &&
	       !__atomic_compare_exchange_n(&latency->longest_ns, &longest, ns, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

uint64_t latency_count(const struct latency *latency)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++)
		sum += latency->bucket[i];
	return sum;
}

uint64_t latency_quantile_ns(const struct latency *latency, double part)
{
	double rank = part * latency_count(latency), seen = 0;

	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		seen += latency->bucket[i];
		if (!latency->bucket[i] || seen < rank)
			continue;
		return latency_end_ns(i) < latency->longest_ns ? latency_end_ns(i) : latency->longest_ns;
	}
	return latency->longest_ns;
}
