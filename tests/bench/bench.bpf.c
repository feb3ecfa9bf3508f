// SPDX-License-Identifier: GPL-2.0-or-later
/* What the shield is measured against: programs that only parse, so that its own cost is what is above them. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/tcp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

const volatile __u32 source_mask = 0; /* bits of the source address that vary */
__u64 sink;

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 1 << 20);
} lru SEC(".maps");

static __always_inline int bare_parse(struct xdp_md *ctx, __u32 *source)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	struct tcphdr *tcp = (void *)(ip + 1);

	if ((void *)(tcp + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP) || ip->protocol != IPPROTO_TCP ||
	    ip->ihl != 5)
		return -1;
	*source = ip->saddr ^ (bpf_get_prandom_u32() & source_mask);
	return tcp->syn && !tcp->ack;
}

SEC("xdp")
int bare_pass(struct xdp_md *ctx)
{
	__u32 source;

	sink = (__u64)bare_parse(ctx, &source);
	return XDP_PASS;
}

SEC("xdp")
int bare_drop(struct xdp_md *ctx)
{
	__u32 source;

	if (bare_parse(ctx, &source) <= 0)
		return XDP_PASS;
	sink = source;
	return XDP_DROP;
}

SEC("xdp")
int bare_drop_clock(struct xdp_md *ctx)
{
	__u32 source;

	if (bare_parse(ctx, &source) <= 0)
		return XDP_PASS;
	sink = source + bpf_ktime_get_ns();
	return XDP_DROP;
}

SEC("xdp")
int clock_only(struct xdp_md *ctx)
{
	sink = bpf_ktime_get_ns();
	return XDP_PASS;
}

#define LRU_INTERVAL 50000000ULL

/* Per-source GCRA as it is usually built: an LRU hash. */
SEC("xdp")
int lru_source(struct xdp_md *ctx)
{
	__u64 now, *tat, fresh;
	__u32 source;

	if (bare_parse(ctx, &source) <= 0)
		return XDP_PASS;
	now = bpf_ktime_get_ns();
	tat = bpf_map_lookup_elem(&lru, &source);
	if (!tat) {
		fresh = now + LRU_INTERVAL;
		bpf_map_update_elem(&lru, &source, &fresh, BPF_ANY);
		return XDP_PASS;
	}
	if (*tat > now + 20 * LRU_INTERVAL)
		return XDP_DROP;
	*tat = (*tat > now ? *tat : now) + LRU_INTERVAL;
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
