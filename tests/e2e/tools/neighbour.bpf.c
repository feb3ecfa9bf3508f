// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Somebody else's XDP program that shares its interface through libxdp's dispatcher: counts TCP SYNs over IPv4 in
 * `seen`, and drops those to port 7777, as a filter would. `late` is a second one, which comes after everybody.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/tcp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <xdp/xdp_helpers.h>

#define DROPPED_PORT 7777

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps");

struct {
	__uint(priority, 10);
	__uint(XDP_PASS, 1);
} XDP_RUN_CONFIG(early);

struct {
	__uint(priority, 200);
	__uint(XDP_PASS, 1);
} XDP_RUN_CONFIG(late);

static __always_inline int judge(struct xdp_md *ctx, __u32 place)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	struct tcphdr *tcp = (void *)(ip + 1);
	__u64 *count = bpf_map_lookup_elem(&seen, &place);

	if (!count || (void *)(tcp + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP) || ip->protocol != IPPROTO_TCP ||
	    !tcp->syn || tcp->ack)
		return XDP_PASS;
	__sync_fetch_and_add(count, 1);
	return tcp->dest == bpf_htons(DROPPED_PORT) ? XDP_DROP : XDP_PASS;
}

SEC("xdp/early")
int early(struct xdp_md *ctx)
{
	return judge(ctx, 0);
}

SEC("xdp/late")
int late(struct xdp_md *ctx)
{
	return judge(ctx, 1);
}

char _license[] SEC("license") = "GPL";
