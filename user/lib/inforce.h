/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is in force for a service now, as the data plane sees it: the operator's values, what the daemon found, and the
 * clock. Pure. */
#ifndef SYNHOLD_LIB_INFORCE_H
#define SYNHOLD_LIB_INFORCE_H

#include <stdint.h>

#include <synhold/abi.h>

/* Whether it is closed, timed changes included. */
int inforce_closed(const struct synhold_policy *pol, uint64_t now_ns);

/* The window by policy, or the daemon's for window=auto; 0 = none. A suspension is not looked at. */
uint32_t inforce_window(const struct synhold_policy *pol, const struct synhold_runtime *run);

/* Whether that window is out of force because nothing was ever seen leaving the ports. */
int inforce_suspended(const struct synhold_gate *gate, uint32_t window);

#endif
