/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the pure headers of this folder need to compile for BPF and natively alike. */
#ifndef SYNHOLD_BPF_COMPAT_H
#define SYNHOLD_BPF_COMPAT_H

#include <linux/types.h>

#ifdef __bpf__
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include <linux/in.h>
/* Keeps clang from turning arithmetic back into the branches that it was written to avoid. */
#define COMPAT_OPAQUE(x) asm volatile("" : "+r"(x))
#define COMPAT_UNROLL _Pragma("unroll")
#define COMPAT_NO_UNROLL _Pragma("nounroll")
#include "compat_old.h"
/*
 * What a packet is to all functions lies in a map: the stack of a whole chain of calls is 512 bytes, and the verifiers
 * of older kernels would follow every value that may stand there. One place a CPU is enough: each is used by one hook,
 * which nothing of its kind interrupts.
 */
#define COMPAT_DEFINE_ROOM(name_, value_)                \
	struct {                                         \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); \
		__uint(max_entries, 1);                  \
		__type(key, __u32);                      \
		__type(value, value_);                   \
	} name_ SEC(".maps")
#define COMPAT_ROOM(room)                           \
	({                                          \
		__u32 zero_ = 0;                    \
                                                    \
		bpf_map_lookup_elem(&room, &zero_); \
	})
#ifndef COMPAT_STATIC
/* A function that the verifier looks at once, whatever it is called with. */
#define COMPAT_GLOBAL __noinline
/* One that every refused SYN goes through: in line where the stack of the chain of calls has room for it. */
#define COMPAT_HOT static __always_inline
/* An argument of a function that must be verified once on every kernel: declared, found, given. */
#define COMPAT_REF(type, name) type *name
#define COMPAT_DEREF(type, name, room) ((void)0)
#define COMPAT_GIVE(name) (name)
#endif
#else
#include <arpa/inet.h> /* with the protocol numbers; the kernel's header would define them twice */
#include <string.h>
#define COMPAT_OPAQUE(x) ((void)0)
#define COMPAT_UNROLL
#define COMPAT_NO_UNROLL
#define bpf_htons(x) htons(x)
#define bpf_ntohs(x) ntohs(x)
#define bpf_htonl(x) htonl(x)
#define bpf_ntohl(x) ntohl(x)
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#endif

/* Read, change and write in one step; both give what was there before. */
#ifndef COMPAT_CAS
#define COMPAT_CAS(word, old, fresh) __sync_val_compare_and_swap(word, old, fresh)
#define COMPAT_FETCH_ADD(word, value) __sync_fetch_and_add(word, value)
#endif

#endif
