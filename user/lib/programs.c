// SPDX-License-Identifier: GPL-2.0-or-later
/* Which of the programs this kernel takes. Asked by trying, not by the version: distributions carry features back. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <gelf.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "lib/deploy_parts.h"
#include "probe.skel.h"
#include "synhold.skel.h"
#include "synhold_lock.skel.h"
#include "synhold_static.skel.h"

int deploy_hold_supported(void)
{
	/* came with live frames for BPF_PROG_TEST_RUN, in 5.18 */
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_XDP, BPF_FUNC_xdp_load_bytes, NULL) == 1;
}

/* Whether the kernel takes that program of the probe. */
static int loads(const char *name)
{
	struct probe_bpf *probe = probe_bpf__open();
	struct bpf_program *prog;
	int ret = probe ? 0 : -1;

	if (probe)
		bpf_object__for_each_program(prog, probe->obj)
			bpf_program__set_autoload(prog, !strcmp(bpf_program__name(prog), name));
	if (!ret)
		ret = probe_bpf__load(probe);
	probe_bpf__destroy(probe);
	return !ret;
}

enum deploy_programs deploy_programs(void)
{
	libbpf_print_fn_t before = libbpf_set_print(deploy_quiet);
	enum deploy_programs which = loads("probe_global") ? DEPLOY_PROGRAMS_NEWEST :
				     loads("probe_atomic") ? DEPLOY_PROGRAMS_STATIC :
							     DEPLOY_PROGRAMS_LOCK;

	libbpf_set_print(before);
	return which;
}

/* r0 = -EOPNOTSUPP, in the place of calls of helpers that change a packet's size. elf: writable. 0 or -errno. */
static int without_resizing(void *elf, size_t size)
{
	static const struct bpf_insn instead = {.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = -EOPNOTSUPP};
	Elf *image = elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_memory(elf, size);
	Elf_Scn *section = NULL;

	if (!image)
		return -EINVAL;
	while ((section = elf_nextscn(image, section))) {
		Elf64_Shdr *header = elf64_getshdr(section);
		struct bpf_insn *insn;

		if (!header || !(header->sh_flags & SHF_EXECINSTR))
			continue;
		insn = (struct bpf_insn *)((char *)elf + header->sh_offset);
		for (size_t i = 0; i < header->sh_size / sizeof(*insn); i++)
			if (insn[i].code == (BPF_JMP | BPF_CALL) && !insn[i].src_reg &&
			    (insn[i].imm == BPF_FUNC_xdp_adjust_tail || insn[i].imm == BPF_FUNC_xdp_adjust_meta))
				insn[i] = instead;
	}
	elf_end(image);
	return 0;
}

struct synhold_bpf *programs_open(enum deploy_programs which, int resizing, const struct bpf_object_open_opts *opts)
{
	struct synhold_bpf *skel = calloc(1, sizeof(*skel));
	int ret = skel ? synhold_bpf__create_skeleton(skel) : -ENOMEM;
	const void *elf;
	void *copy = NULL;

	/* same programs, same maps and a few more: the same skeleton holds them */
	if (!ret && which == DEPLOY_PROGRAMS_STATIC)
		skel->skeleton->data = synhold_static_bpf__elf_bytes(&skel->skeleton->data_sz);
	else if (!ret && which == DEPLOY_PROGRAMS_LOCK)
		skel->skeleton->data = synhold_lock_bpf__elf_bytes(&skel->skeleton->data_sz);
	if (!ret && !resizing) {
		elf = skel->skeleton->data;
		copy = malloc(skel->skeleton->data_sz);
		ret = copy ? without_resizing(memcpy(copy, elf, skel->skeleton->data_sz), skel->skeleton->data_sz) :
			     -ENOMEM;
		skel->skeleton->data = copy;
	}
	if (!ret)
		ret = bpf_object__open_skeleton(skel->skeleton, opts);
	free(copy); /* libbpf has taken from it what it needs */
	if (!ret)
		return skel;
	synhold_bpf__destroy(skel);
	errno = -ret;
	return NULL;
}
