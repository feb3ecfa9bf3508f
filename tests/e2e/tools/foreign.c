// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Somebody else's BPF programs on an interface: foreign IFACE native|generic|filter|tag [TAGS]
 *
 * native, generic: an XDP program that passes everything. filter: clsact filters that pass everything. tag: the
 * interface speaks VLAN only, with 1 or 2 tags: untagged frames get them on their way out, and on the way in they are
 * taken off, while frames without them are dropped. So it needs neither VLAN devices nor their kernel module.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSNS 32
#define PREFERENCE 77

#define MOV(dst, value)                                                               \
	{                                                                             \
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (dst), .imm = (value) \
	}
#define COPY(dst, src)                                                                  \
	{                                                                               \
		.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (dst), .src_reg = (src) \
	}
#define CALL(function)                                        \
	{                                                     \
		.code = BPF_JMP | BPF_CALL, .imm = (function) \
	}
#define EXIT                               \
	{                                  \
		.code = BPF_JMP | BPF_EXIT \
	}
#define LOAD_TAGGED(dst, src)                                                          \
	{                                                                              \
		.code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = (dst), .src_reg = (src), \
		.off = offsetof(struct __sk_buff, vlan_present)                        \
	}
#define SKIP_IF(cond, reg, value, count)                                                           \
	{                                                                                          \
		.code = BPF_JMP | (cond) | BPF_K, .dst_reg = (reg), .off = (count), .imm = (value) \
	}

static struct bpf_insn program[INSNS];
static int length;

static void put(struct bpf_insn insn)
{
	program[length++] = insn;
}

#define PUT(...) put((struct bpf_insn)__VA_ARGS__)

static int load(enum bpf_prog_type type)
{
	int fd = bpf_prog_load(type, "someone_else", "GPL", program, (size_t)length, NULL);

	if (fd < 0) {
		fprintf(stderr, "load: %s\n", strerror(errno));
		exit(1);
	}
	length = 0;
	return fd;
}

static int pass(enum bpf_prog_type type, int verdict)
{
	PUT(MOV(BPF_REG_0, verdict));
	PUT(EXIT);
	return load(type);
}

/* Adds the tags to what has none. */
static int tag_out(int tags)
{
	PUT(COPY(BPF_REG_6, BPF_REG_1));
	PUT(LOAD_TAGGED(BPF_REG_2, BPF_REG_6));
	PUT(SKIP_IF(BPF_JNE, BPF_REG_2, 0, 4 * tags));
	for (int i = 0; i < tags; i++) {
		PUT(COPY(BPF_REG_1, BPF_REG_6));
		PUT(MOV(BPF_REG_2, __builtin_bswap16(i ? ETH_P_8021AD : ETH_P_8021Q)));
		PUT(MOV(BPF_REG_3, 5 + i));
		PUT(CALL(BPF_FUNC_skb_vlan_push));
	}
	PUT(MOV(BPF_REG_0, TC_ACT_UNSPEC));
	PUT(EXIT);
	return load(BPF_PROG_TYPE_SCHED_CLS);
}

/* Takes as many off, and drops what has fewer. */
static int tag_in(int tags)
{
	PUT(COPY(BPF_REG_6, BPF_REG_1));
	for (int i = 0; i < tags; i++) {
		PUT(LOAD_TAGGED(BPF_REG_2, BPF_REG_6));
		PUT(SKIP_IF(BPF_JNE, BPF_REG_2, 0, 2));
		PUT(MOV(BPF_REG_0, TC_ACT_SHOT));
		PUT(EXIT);
		PUT(COPY(BPF_REG_1, BPF_REG_6));
		PUT(CALL(BPF_FUNC_skb_vlan_pop));
	}
	PUT(MOV(BPF_REG_0, TC_ACT_UNSPEC));
	PUT(EXIT);
	return load(BPF_PROG_TYPE_SCHED_CLS);
}

static int attach_filters(int ifindex, int in, int out)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts_in, .handle = 1, .priority = PREFERENCE, .prog_fd = in);
	LIBBPF_OPTS(bpf_tc_opts, opts_out, .handle = 1, .priority = PREFERENCE, .prog_fd = out);
	int ret = bpf_tc_hook_create(&hook);

	if (ret && ret != -EEXIST)
		return ret;
	hook.attach_point = BPF_TC_INGRESS;
	ret = bpf_tc_attach(&hook, &opts_in);
	hook.attach_point = BPF_TC_EGRESS;
	return ret ? ret : bpf_tc_attach(&hook, &opts_out);
}

int main(int argc, char **argv)
{
	int ifindex, ret = -EINVAL, tags = argc > 3 ? atoi(argv[3]) : 1;
	libbpf_print_fn_t before = libbpf_set_print(NULL);

	if (argc < 3 || tags < 1 || tags > 2) {
		fprintf(stderr, "usage: foreign IFACE native|generic|filter|tag [TAGS]\n");
		return 2;
	}
	ifindex = (int)if_nametoindex(argv[1]);
	if (!strcmp(argv[2], "native") || !strcmp(argv[2], "generic"))
		ret = bpf_xdp_attach(ifindex, pass(BPF_PROG_TYPE_XDP, XDP_PASS),
				     XDP_FLAGS_UPDATE_IF_NOEXIST |
					     (argv[2][0] == 'g' ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE),
				     NULL);
	else if (!strcmp(argv[2], "filter"))
		ret = attach_filters(ifindex, pass(BPF_PROG_TYPE_SCHED_CLS, TC_ACT_UNSPEC),
				     pass(BPF_PROG_TYPE_SCHED_CLS, TC_ACT_UNSPEC));
	else if (!strcmp(argv[2], "tag"))
		ret = attach_filters(ifindex, tag_in(tags), tag_out(tags));
	libbpf_set_print(before);
	if (ret)
		fprintf(stderr, "%s %s: %s\n", argv[1], argv[2], strerror(-ret));
	return ret ? 1 : 0;
}
