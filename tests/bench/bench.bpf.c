// SPDX-License-Identifier: GPL-2.0-or-later
/* What the shield is measured against: programs that only parse, so that its own cost is what is above them. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

__u64 sink;

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 1 << 20);
} lru SEC(".maps");

/* `random`: a test run repeats one frame, so the source is made up, as it is in the shield that random ones are tried
 * on. */
static __always_inline int bare_parse(struct xdp_md *ctx, __u32 *source, int random)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	struct tcphdr *tcp = (void *)(ip + 1);

	if ((void *)(tcp + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP) || ip->protocol != IPPROTO_TCP ||
	    ip->ihl != 5)
		return -1;
	*source = random ? ip->saddr ^ bpf_get_prandom_u32() : ip->saddr;
	return tcp->syn && !tcp->ack;
}

/* The least that a program does: what a test run itself costs. */
SEC("xdp")
int bare_nothing(struct xdp_md *ctx)
{
	return XDP_PASS;
}

SEC("xdp")
int bare_pass(struct xdp_md *ctx)
{
	__u32 source;

	sink = (__u64)bare_parse(ctx, &source, 0);
	return XDP_PASS;
}

SEC("xdp")
int bare_drop(struct xdp_md *ctx)
{
	__u32 source;

	if (bare_parse(ctx, &source, 0) <= 0)
		return XDP_PASS;
	sink = source;
	return XDP_DROP;
}

SEC("xdp")
int bare_drop_clock(struct xdp_md *ctx)
{
	__u32 source;

	if (bare_parse(ctx, &source, 0) <= 0)
		return XDP_PASS;
	sink = source + bpf_ktime_get_ns();
	return XDP_DROP;
}

SEC("xdp")
int bare_drop_random(struct xdp_md *ctx)
{
	__u32 source;

	if (bare_parse(ctx, &source, 1) <= 0)
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

/* The same two on the way out, for figures of live traffic. */
SEC("tc")
int out_nothing(struct __sk_buff *skb)
{
	return TC_ACT_UNSPEC;
}

SEC("tc")
int out_clock(struct __sk_buff *skb)
{
	sink = bpf_ktime_get_ns();
	return TC_ACT_UNSPEC;
}

#define LRU_INTERVAL 1000000000ULL

/* Per-source GCRA as it is usually built, on an LRU hash; what conforms meets a second limit that is closed. */
SEC("xdp")
int lru_drop(struct xdp_md *ctx)
{
	__u64 now, *tat, fresh;
	__u32 source;

	if (bare_parse(ctx, &source, 0) <= 0)
		return XDP_PASS;
	now = bpf_ktime_get_ns();
	tat = bpf_map_lookup_elem(&lru, &source);
	if (!tat) {
		fresh = now + LRU_INTERVAL;
		bpf_map_update_elem(&lru, &source, &fresh, BPF_ANY);
	} else if (*tat <= now) {
		*tat = now + LRU_INTERVAL;
	}
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "GPL";
