/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The signals of a service as they stand in map `signals`: the daemon writes them, whoever reports reads them, whether
 * the daemon lives or not. Pure.
 */
#ifndef SYNHOLD_LIB_SIGNALS_H
#define SYNHOLD_LIB_SIGNALS_H

#include <stdint.h>

#include <synhold/abi.h>

/*
 * Adds one to a set that is being put together. Value and target in the unit, at least 0; target 0: it has none. A name
 * that is there already is told apart by `app.` before it; when that is there as well, or the set is full, the signal
 * is left out: names are labels of metrics, and those are unique.
 */
void signals_add(struct synhold_signals *set, const char *name, enum synhold_signal_unit unit, double value,
		 double target, uint64_t when_ns);

/* Puts the set where others read it; they never see half of it. One writer. */
void signals_publish(struct synhold_signals *shared, const struct synhold_signals *set);
/* Takes a copy of what is there. 0, or -EAGAIN with *set empty when the writer died while it wrote. */
int signals_read(const struct synhold_signals *shared, struct synhold_signals *set);

/* The signal of this name, or NULL. */
const struct synhold_signal *signals_find(const struct synhold_signals *set, const char *name);
double signals_value(const struct synhold_signal *signal);
double signals_target(const struct synhold_signal *signal); /* 0: none */
/* Seconds since it was measured. */
double signals_age(const struct synhold_signal *signal, uint64_t now_ns);
/* `count`, `seconds`, `per_second` or `ratio`. */
const char *signals_unit_name(unsigned int unit);

#endif
