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
#else
#include <arpa/inet.h> /* with the protocol numbers; the kernel's header would define them twice */
#include <string.h>
#define COMPAT_OPAQUE(x) ((void)0)
#define COMPAT_UNROLL
#define bpf_htons(x) htons(x)
#define bpf_ntohs(x) ntohs(x)
#define bpf_htonl(x) htonl(x)
#define bpf_ntohl(x) ntohl(x)
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#endif

#endif
