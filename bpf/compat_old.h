/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The same sources for older kernels. COMPAT_STATIC: before 6.2, which do not take memory that a global function was
 * given as the key of a map, and before 5.13 give such functions no pointers at all. COMPAT_LOCK: before 5.12 too,
 * which have no atomic operations that give a result. Included by compat.h only.
 */
#ifndef SYNHOLD_BPF_COMPAT_OLD_H
#define SYNHOLD_BPF_COMPAT_OLD_H

#include <linux/bpf.h>

#ifdef COMPAT_STATIC
/* Verified anew for each call, then. */
#define COMPAT_GLOBAL static __noinline
#define COMPAT_HOT static __noinline
/* Numbers may be arguments of global functions: such a one is given the place of its structure in the room. */
#define COMPAT_REF(type, name) __u32 name##_place
#define COMPAT_DEREF(type, name, room) type *name = bpf_map_lookup_elem(&room, &name##_place)
#define COMPAT_GIVE(name) 0
#endif

#ifdef COMPAT_LOCK
/*
 * One lock for every word that is read, changed and written in one step: the maps that user space maps may not carry
 * locks, and no helper may be called under one. It is held for a handful of instructions.
 */
struct compat_lock {
	struct bpf_spin_lock lock;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct compat_lock);
} locks SEC(".maps");

static __always_inline struct compat_lock *compat_lock(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&locks, &zero);
}

#define COMPAT_CAS(word, old, fresh)                                \
	({                                                          \
		volatile __typeof__(*(word)) *at_ = (word);         \
		__typeof__(*(word)) old_ = (old), fresh_ = (fresh); \
		__typeof__(*(word)) was_ = ~old_;                   \
		struct compat_lock *lock_ = compat_lock();          \
                                                                    \
		if (lock_) {                                        \
			bpf_spin_lock(&lock_->lock);                \
			was_ = *at_;                                \
			if (was_ == old_)                           \
				*at_ = fresh_;                      \
			bpf_spin_unlock(&lock_->lock);              \
		}                                                   \
		was_;                                               \
	})

#define COMPAT_FETCH_ADD(word, value)                         \
	({                                                    \
		volatile __typeof__(*(word)) *at_ = (word);   \
		__typeof__(*(word)) add_ = (value), was_ = 0; \
		struct compat_lock *lock_ = compat_lock();    \
                                                              \
		if (lock_) {                                  \
			bpf_spin_lock(&lock_->lock);          \
			was_ = *at_;                          \
			*at_ = was_ + add_;                   \
			bpf_spin_unlock(&lock_->lock);        \
		}                                             \
		was_;                                         \
	})

#endif

#endif
