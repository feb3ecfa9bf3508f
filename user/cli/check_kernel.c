// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cli/check.h"
#include "lib/deploy.h"

#define CAPABILITY_BPF 39 /* linux/capability.h has it since 5.8 */

static int silent(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static uint64_t effective_capabilities(void)
{
	unsigned long long caps = 0;
	char line[128];
	FILE *in = fopen("/proc/self/status", "re");

	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	if (in)
		fclose(in);
	return caps;
}

/* Whether probes of the kernel mean anything. */
static int check_rights(struct check *check)
{
	uint64_t caps = effective_capabilities(), admin = 1ULL << CAP_SYS_ADMIN;
	int bpf = !!(caps & (admin | 1ULL << CAPABILITY_BPF)), net = !!(caps & 1ULL << CAP_NET_ADMIN);

	if (geteuid() == 0 && bpf && net) {
		check_add(check, CHECK_OK, "rights", "", "root, with the capabilities for BPF and the network");
		return 1;
	}
	check_add(check, CHECK_FAIL, "rights",
		  "run it with sudo, or give the container CAP_BPF, CAP_NET_ADMIN and CAP_SYS_ADMIN", "%s%s%s",
		  geteuid() ? "not root" : "root", bpf ? "" : ", without CAP_BPF",
		  net ? "" : ", without CAP_NET_ADMIN");
	return 0;
}

static void check_bpffs(struct check *check)
{
	struct statfs fs;

	if (!statfs(INSTANCE_BPFFS, &fs) && (unsigned long)fs.f_type == BPF_FS_MAGIC)
		check_add(check, CHECK_OK, "bpffs", "", "mounted at " INSTANCE_BPFFS);
	else
		check_add(check, CHECK_FAIL, "bpffs", "mount -t bpf bpf " INSTANCE_BPFFS,
			  "no BPF file system at " INSTANCE_BPFFS ", where the state that outlives a process is kept");
}

static void check_programs(struct check *check)
{
	static const struct {
		enum bpf_prog_type type;
		const char *what;
	} types[] = {{BPF_PROG_TYPE_XDP, "XDP programs"}, {BPF_PROG_TYPE_SCHED_CLS, "tc programs"}};
	static const struct {
		enum bpf_map_type type;
		const char *what;
	} maps[] = {{BPF_MAP_TYPE_RINGBUF, "BPF ring buffers (5.8)"}, {BPF_MAP_TYPE_LPM_TRIE, "BPF prefix tries"}};
	static const char *const makes[] = {
		[DEPLOY_PROGRAMS_NEWEST] = "for this kernel",
		[DEPLOY_PROGRAMS_STATIC] = "for kernels before 6.2; it judges alike",
		[DEPLOY_PROGRAMS_LOCK] =
			"for kernels before 5.12, with a lock in place of atomic operations; it judges alike",
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		int ret = libbpf_probe_bpf_prog_type(types[i].type, NULL);

		check_add(
			check, ret == 1 ? CHECK_OK : CHECK_FAIL, types[i].what,
			ret == 1 ?
				"" :
				"a kernel with CONFIG_BPF_SYSCALL and CONFIG_NET_CLS_BPF, 5.8 or newer, not locked down",
			"%s",
			ret == 1 ? "load" :
			ret < 0  ? strerror(-ret) :
				   "the kernel does not take them");
	}
	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++) {
		int ret = libbpf_probe_bpf_map_type(maps[i].type, NULL);

		check_add(check, ret == 1 ? CHECK_OK : CHECK_FAIL, maps[i].what, ret == 1 ? "" : "a newer kernel", "%s",
			  ret == 1 ? "there" :
			  ret < 0  ? strerror(-ret) :
				     "missing");
	}
	check_add(check, CHECK_OK, "make of the programs", "", "%s", makes[deploy_programs()]);
	if (deploy_hold_supported())
		check_add(check, CHECK_OK, "holding", "", "this kernel can put a held SYN back (live frames, 5.18)");
	else
		check_add(check, CHECK_WARN, "holding", "Linux 5.18 or newer; until then action=hold drops",
			  "this kernel cannot put a held SYN back (no live frames)");
}

static void check_types(struct check *check)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		check_add(check, CHECK_FAIL, "BTF", "a kernel with CONFIG_DEBUG_INFO_BTF=y",
			  "the kernel does not describe its types");
	else
		check_add(check, CHECK_OK, "BTF", "", "the kernel describes its types");
}

/* Before 5.11 BPF memory counted as locked memory of the process. */
static void check_memlock(struct check *check)
{
	struct utsname name;
	struct rlimit limit;
	unsigned int major = 0, minor = 0;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2 || getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (major > 5 || (major == 5 && minor >= 11) || limit.rlim_cur == RLIM_INFINITY)
		check_add(check, CHECK_OK, "locked memory", "", "no limit stands in the way");
	else
		check_add(check, CHECK_FAIL, "locked memory",
			  "LimitMEMLOCK=infinity in the unit, or ulimit -l unlimited",
			  "this kernel counts BPF maps as locked memory, and the limit is %llu KiB",
			  (unsigned long long)limit.rlim_cur >> 10);
}

void check_kernel(struct check *check)
{
	libbpf_print_fn_t before = libbpf_set_print(silent);
	int may = check_rights(check);

	check_bpffs(check);
	check_types(check);
	if (may)
		check_programs(check);
	check_memlock(check);
	libbpf_set_print(before);
}
