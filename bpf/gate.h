/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The gate of a service: how many handshakes are in flight, told apart by the time they were admitted.
 *
 * A slot is counted in `inflight` and in the bucket of its epoch (134 ms). It leaves both when its handshake ends, or,
 * if it never does, when the whole bucket is retired because the slots' life is over. Whoever takes the slot out of the
 * bucket counts its outcome, so that started = settled + abandoned + expired + inflight whatever is lost on the way: a
 * mark that could not be stored, a daemon that is dead. Pure: time is an argument.
 */
#ifndef SYNHOLD_BPF_GATE_H
#define SYNHOLD_BPF_GATE_H

#include <synhold/abi.h>

#include "compat.h"

#define GATE_TRIES 8

static __always_inline __u32 gate_epoch(__u64 now_ns)
{
	return (__u32)(now_ns >> SYNHOLD_EPOCH_SHIFT);
}

static __always_inline __u64 *gate_bucket(struct synhold_gate *gate, __u32 epoch)
{
	return &gate->buckets[epoch & (SYNHOLD_BUCKETS - 1)];
}

/* Epochs below this one hold only slots older than expire_ns. */
static __always_inline __u32 gate_retire_limit(__u64 now_ns, __u64 expire_ns)
{
	return now_ns > expire_ns ? gate_epoch(now_ns - expire_ns) : 0;
}

/* Whether a slot of this epoch still counts. */
static __always_inline int gate_slot_live(const struct synhold_gate *gate, __u32 epoch)
{
	return epoch >= *(volatile const __u32 *)&gate->retired;
}

/*
 * Nothing was ever seen leaving the port, and three windows' worth of slots expired: replies take a way where we are
 * not, and a window would starve the server.
 */
static __always_inline int gate_suspended(const struct synhold_gate *gate, __u32 window)
{
	return !gate->egress_seen && gate->blind >= (__u64)SYNHOLD_WINDOWS_BLIND * window;
}

/*
 * The bucket half of a slot; -1 when other CPUs never let us. A bucket that still counts slots of a turn of the ring
 * ago was never retired: they are over, and *expired tells how many.
 */
static __always_inline int gate_bucket_add(struct synhold_gate *gate, __u32 epoch, __u32 *expired)
{
	__u64 *bucket = gate_bucket(gate, epoch);
	int i;

	for (i = 0; i < GATE_TRIES; i++) {
		__u64 old = *(volatile __u64 *)bucket;

		if ((__u32)(old >> 32) == epoch) { /* the common case cannot fail, however many CPUs add */
			old = COMPAT_FETCH_ADD(bucket, 1);
			if ((__u32)(old >> 32) == epoch)
				return 0;
			COMPAT_FETCH_ADD(bucket, -1);
			continue;
		}
		if (COMPAT_CAS(bucket, old, (__u64)epoch << 32 | 1) == old) {
			*expired = (__u32)old;
			return 0;
		}
	}
	return -1;
}

/* Takes a slot's count out of its bucket: 1, or 0 when the bucket was retired before (the slot has expired already). */
static __always_inline int gate_bucket_remove(struct synhold_gate *gate, __u32 epoch)
{
	__u64 *bucket = gate_bucket(gate, epoch);
	int i;

	if (!gate_slot_live(gate, epoch))
		return 0;
	for (i = 0; i < GATE_TRIES; i++) {
		__u64 old = *(volatile __u64 *)bucket;

		if ((__u32)(old >> 32) != epoch || (__u32)old == 0)
			return 0;
		if (COMPAT_CAS(bucket, old, old - 1) == old)
			return 1;
	}
	return 0; /* left to the bucket's end: it will count as expired */
}

/*
 * Starts a slot: 0, or -1 when the window (0 = none) is full. Read first, add only when there is room, undo if others
 * were faster. *expired: how many forgotten slots ended on the way; the caller counts them.
 */
static __always_inline int gate_start(struct synhold_gate *gate, __u32 epoch, __u32 window, __u32 *expired)
{
	__s64 before;

	if (window && *(volatile __s64 *)&gate->inflight >= (__s64)window)
		return -1;
	before = COMPAT_FETCH_ADD(&gate->inflight, 1);
	if ((window && before >= (__s64)window) || gate_bucket_add(gate, epoch, expired)) {
		COMPAT_FETCH_ADD(&gate->inflight, -1);
		return -1;
	}
	if (*expired)
		COMPAT_FETCH_ADD(&gate->inflight, -(__s64)*expired);
	return 0;
}

/* Ends a slot: 1 if it still counted (the caller counts the outcome), 0 if it had expired. */
static __always_inline int gate_end(struct synhold_gate *gate, __u32 epoch)
{
	if (!gate_bucket_remove(gate, epoch))
		return 0;
	COMPAT_FETCH_ADD(&gate->inflight, -1);
	return 1;
}

/*
 * Retires one epoch if it is the oldest not yet retired, and whatever its bucket still holds of earlier turns of the
 * ring. Returns how many slots expired with it; the caller counts them.
 */
static __always_inline __u32 gate_retire_epoch(struct synhold_gate *gate, __u32 epoch)
{
	__u64 *bucket = gate_bucket(gate, epoch);
	int i;

	if (COMPAT_CAS(&gate->retired, epoch, epoch + 1) != epoch)
		return 0;
	for (i = 0; i < GATE_TRIES; i++) {
		__u64 old = *(volatile __u64 *)bucket;

		if ((__s32)((__u32)(old >> 32) - epoch) > 0 || (__u32)old == 0)
			return 0;
		if (COMPAT_CAS(bucket, old, (__u64)epoch << 32) == old) {
			COMPAT_FETCH_ADD(&gate->inflight, -(__s64)(__u32)old);
			return (__u32)old;
		}
	}
	return 0;
}

/*
 * Brings a gate that slept for long near the present: one turn of the ring retires every bucket, however old what it
 * holds. Returns the first epoch to retire.
 */
static __always_inline __u32 gate_retire_from(struct synhold_gate *gate, __u32 limit)
{
	__u32 retired = *(volatile __u32 *)&gate->retired;

	if (limit - retired > SYNHOLD_BUCKETS && limit > retired) {
		COMPAT_CAS(&gate->retired, retired, limit - SYNHOLD_BUCKETS);
		retired = *(volatile __u32 *)&gate->retired;
	}
	return retired;
}

#endif
