/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A ramp of the share: policy as the operator gave it, and what it makes of the share at a given time. Pure. */
#ifndef SYNHOLD_LIB_RAMP_H
#define SYNHOLD_LIB_RAMP_H

#include <stddef.h>
#include <stdint.h>

#include <synhold/abi.h>

#include "lib/error.h"

/* Share in parts per million at now_ns; stopped_ns: time at which it was stopped from outside (0 = not). */
uint32_t ramp_share(const struct synhold_policy *pol, uint64_t now_ns, uint64_t stopped_ns);

/* Whether it still moves. */
int ramp_running(const struct synhold_policy *pol, uint64_t now_ns, uint64_t stopped_ns);

/* Parts per million to the data plane's threshold of 2^32. */
uint64_t ramp_threshold(uint32_t share_ppm);

/* The share that the data plane goes by, ramp or not, daemon or not; parts per million. */
uint32_t ramp_in_force(const struct synhold_policy *pol, const struct synhold_runtime *run);

/*
 * A ramp that ran while no daemon moved the share goes on from the share that is in force, and not from where its clock
 * has come to: the sources that would have come in bit by bit must not come all at once. A paused one, and one that
 * pressure has stopped, stay as they are.
 */
void ramp_continue(struct synhold_policy *pol, const struct synhold_runtime *run, uint64_t now_ns);

/* The levers. Each changes the policy only; stopped_ns as above. 0, or -EINVAL when there is no ramp to act
 * on; pause and resume also when it has come to its end. */
void ramp_start(struct synhold_policy *pol, uint32_t from_ppm, uint32_t to_ppm, uint64_t over_ns, uint64_t now_ns);
int ramp_pause(struct synhold_policy *pol, uint64_t now_ns, uint64_t stopped_ns, struct error *err);
int ramp_resume(struct synhold_policy *pol, uint64_t now_ns, uint64_t stopped_ns, struct error *err);
/* Back to where it came from, at the pace it came. */
int ramp_reverse(struct synhold_policy *pol, uint64_t now_ns, uint64_t stopped_ns, struct error *err);
/* Ends it; the share stays as it was before the ramp. */
int ramp_cancel(struct synhold_policy *pol, struct error *err);

#endif
