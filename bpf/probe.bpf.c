// SPDX-License-Identifier: GPL-2.0-or-later
/* What the programs need that not every kernel has (compat_old.h): whether one of these loads says which to take. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u64);
} words SEC(".maps");

/* Verified once, whatever the pointer: 5.13; and as the key of a map: 6.2. */
__noinline int probe_find(__u64 *key)
{
	return key && bpf_map_lookup_elem(&words, key) ? 1 : 0;
}

SEC("xdp")
int probe_global(struct xdp_md *ctx)
{
	__u64 key = ctx->data_end - ctx->data;

	return probe_find(&key) ? XDP_PASS : XDP_DROP;
}

/* An atomic operation that gives what was there before: 5.12. */
SEC("xdp")
int probe_atomic(struct xdp_md *ctx)
{
	__u64 key = 0, *word = bpf_map_lookup_elem(&words, &key);

	return word && __sync_fetch_and_add(word, 1) ? XDP_PASS : XDP_DROP;
}

/* A dispatcher of libxdp in small: a function of a loaded program, and what is to stand in its place. */
__noinline int probe_slot(struct xdp_md *ctx)
{
	volatile int ret = XDP_PASS;

	return ctx ? ret : XDP_ABORTED;
}

SEC("xdp")
int probe_host(struct xdp_md *ctx)
{
	return probe_slot(ctx);
}

SEC("freplace/probe_slot")
int probe_guest(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
