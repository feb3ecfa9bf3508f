// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/signals.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define READ_TRIES 1000
#define MICRO_MAX 1e19 /* fits 64 bits */

static uint64_t micro(double value)
{
	value *= 1e6;
	return value > 0 ? (uint64_t)(value < MICRO_MAX ? value + 0.5 : MICRO_MAX) : 0;
}

const struct synhold_signal *signals_find(const struct synhold_signals *set, const char *name)
{
	for (unsigned int i = 0; i < SYNHOLD_SIGNALS && set->signal[i].name[0]; i++)
		if (!strncmp(set->signal[i].name, name, sizeof(set->signal[i].name)))
			return &set->signal[i];
	return NULL;
}

void signals_add(struct synhold_signals *set, const char *name, enum synhold_signal_unit unit, double value,
		 double target, uint64_t when_ns)
{
	char other[SYNHOLD_NAME_LEN];
	struct synhold_signal *to;
	unsigned int i = 0;

	while (i < SYNHOLD_SIGNALS && set->signal[i].name[0])
		i++;
	if (i == SYNHOLD_SIGNALS)
		return;
	if (signals_find(set, name)) {
		if (snprintf(other, sizeof(other), "app.%s", name) >= (int)sizeof(other) || signals_find(set, other))
			return;
		name = other;
	}
	to = &set->signal[i];
	snprintf(to->name, sizeof(to->name), "%s", name);
	to->value_micro = micro(value);
	to->target_micro = micro(target);
	to->when_ns = when_ns;
	to->unit = unit;
}

void signals_publish(struct synhold_signals *shared, const struct synhold_signals *set)
{
	uint64_t sequence = shared->sequence | 1; /* an earlier writer may have died half-way */

	__atomic_store_n(&shared->sequence, sequence, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(shared->signal, set->signal, sizeof(shared->signal));
	__atomic_store_n(&shared->sequence, sequence + 1, __ATOMIC_RELEASE);
}

int signals_read(const struct synhold_signals *shared, struct synhold_signals *set)
{
	for (int i = 0; i < READ_TRIES; i++) {
		uint64_t before = __atomic_load_n(&shared->sequence, __ATOMIC_ACQUIRE);

		memcpy(set, shared, sizeof(*set));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(before & 1) && __atomic_load_n(&shared->sequence, __ATOMIC_RELAXED) == before)
			return 0;
	}
	memset(set, 0, sizeof(*set));
	return -EAGAIN;
}

double signals_value(const struct synhold_signal *signal)
{
	return (double)signal->value_micro / 1e6;
}

double signals_target(const struct synhold_signal *signal)
{
	return (double)signal->target_micro / 1e6;
}

double signals_age(const struct synhold_signal *signal, uint64_t now_ns)
{
	return now_ns > signal->when_ns ? (double)(now_ns - signal->when_ns) / 1e9 : 0;
}

const char *signals_unit_name(unsigned int unit)
{
	static const char *const names[] = {"count", "seconds", "per_second", "ratio"};

	return unit < sizeof(names) / sizeof(*names) ? names[unit] : "unknown";
}
