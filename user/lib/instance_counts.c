// SPDX-License-Identifier: GPL-2.0-or-later
/* What the programs have counted: those that run now, on each CPU, and those of older versions. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/instance.h"

/* NULL: nothing of the map outlives an upgrade. */
static const void *base_of(const struct instance *inst, enum instance_map map, uint32_t key)
{
	switch (map) {
	case INSTANCE_MAP_COUNTERS:
		return &inst->base[key].counters;
	case INSTANCE_MAP_DELAYS:
		return &inst->base[key].delays;
	case INSTANCE_MAP_UNPARSED:
		return &inst->base->unparsed[key];
	default:
		return NULL;
	}
}

int instance_sum_percpu(const struct instance *inst, enum instance_map map, uint32_t key, void *sum, size_t size)
{
	size_t words = size / sizeof(uint64_t);
	uint64_t *values = calloc(inst->cpus, size), *total = sum;
	const uint64_t *base = base_of(inst, map, key);
	int ret = 0;

	if (!values)
		return -ENOMEM;
	if (bpf_map_lookup_elem(inst->map[map], &key, values))
		ret = -errno;
	else
		memset(sum, 0, size);
	for (unsigned int cpu = 0; cpu < inst->cpus && !ret; cpu++)
		for (size_t i = 0; i < words; i++)
			total[i] += values[cpu * words + i];
	for (size_t i = 0; i < words && base && !ret; i++)
		total[i] += base[i];
	free(values);
	return ret;
}
