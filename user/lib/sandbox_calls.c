// SPDX-License-Identifier: GPL-2.0-or-later
/* The system calls that are left, by name: one that an architecture does not have is none there. */
#include "lib/sandbox.h"

#include <errno.h>
#include <linux/bpf.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <ucontext.h>

/* A refused call can be made to fail like any other only where we know the register of its result. */
#if defined(__x86_64__) || defined(__aarch64__)
#define CALLS_TRAP 1
#endif
#define CALLS_MAX 1024

static const char *const calls_both =
	"read write readv writev close poll ppoll "
	"recvfrom sendto recvmsg sendmsg accept accept4 shutdown getsockopt setsockopt getsockname getpeername "
	"munmap mremap madvise brk futex sched_yield set_robust_list rseq "
	"rt_sigreturn rt_sigprocmask rt_sigaction restart_syscall "
	"clock_gettime clock_getres gettimeofday time nanosleep clock_nanosleep "
	"fcntl getrandom getpid gettid exit exit_group";

static const char *const calls_daemon =
	"pread64 pwrite64 open openat stat lstat fstat newfstatat statx statfs fstatfs lseek access faccessat faccessat2 "
	"readlink readlinkat getdents getdents64 getcwd fsync fdatasync ftruncate flock umask chmod fchmod fchmodat chown "
	"fchown fchownat mkdir mkdirat unlink unlinkat rmdir rename renameat renameat2 "
	"epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 timerfd_create timerfd_settime eventfd2 pipe2 "
	"dup dup3 select pselect6 bind connect listen socketpair ioctl "
	"sigaltstack tgkill wait4 waitid sched_getaffinity sched_setaffinity "
	"getuid geteuid getgid getegid getppid uname sysinfo getrlimit prlimit64 getrusage times";

#ifdef CALLS_TRAP
static volatile sig_atomic_t refused_now[CALLS_MAX];

/* Nothing that may be in the middle of malloc() happens here: the loop tells of it. */
static void on_refused(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	if (info->si_syscall >= 0 && info->si_syscall < CALLS_MAX && !refused_now[info->si_syscall])
		refused_now[info->si_syscall] = 1;
#ifdef __x86_64__
	uc->uc_mcontext.gregs[REG_RAX] = -EPERM;
#else
	uc->uc_mcontext.regs[0] = (unsigned long long)-EPERM;
#endif
}

const char *sandbox_refused(void)
{
	static char name[64];

	for (int i = 0; i < CALLS_MAX; i++) {
		char *found;

		if (refused_now[i] != 1)
			continue;
		refused_now[i] = 2;
		found = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, i);
		snprintf(name, sizeof(name), "%s", found ? found : "unknown");
		free(found);
		return name;
	}
	return NULL;
}

static uint32_t refusal(void)
{
	struct sigaction action = {.sa_sigaction = on_refused, .sa_flags = SA_SIGINFO | SA_NODEFER};

	return sigaction(SIGSYS, &action, NULL) ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_TRAP;
}
#else
const char *sandbox_refused(void)
{
	return NULL; /* the kernel's log has them */
}

static uint32_t refusal(void)
{
	return SCMP_ACT_ERRNO(EPERM);
}
#endif

static int allow(scmp_filter_ctx filter, const char *names)
{
	char list[1024], *save = NULL;
	int ret = 0;

	if ((size_t)snprintf(list, sizeof(list), "%s", names) >= sizeof(list))
		return -E2BIG;
	for (char *name = strtok_r(list, " ", &save); name && !ret; name = strtok_r(NULL, " ", &save)) {
		int number = seccomp_syscall_resolve_name(name);

		if (number >= 0)
			ret = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
	}
	return ret;
}

/* Memory to keep data in, never code. */
static int allow_memory(scmp_filter_ctx filter)
{
	const struct scmp_arg_cmp no_code = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	int ret = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, no_code);

	return ret ? ret : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, no_code);
}

/* Maps, links, runs of programs that are loaded already: no new program unless it `loads`, and no socket that sees what
 * others send. */
static int allow_daemon(scmp_filter_ctx filter, int loads)
{
	static const unsigned int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
	int ret = allow(filter, calls_daemon);

	for (size_t i = 0; i < sizeof(families) / sizeof(*families) && !ret; i++)
		ret = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
				       SCMP_A0_32(SCMP_CMP_EQ, families[i]));
	if (!ret)
		ret = loads ? seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(bpf), 0) :
			      seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(bpf), 1,
					       SCMP_A0_32(SCMP_CMP_NE, BPF_PROG_LOAD));
	return ret;
}

int sandbox_filter(enum sandbox_profile profile)
{
	scmp_filter_ctx filter = seccomp_init(profile == SANDBOX_HTTP ? SCMP_ACT_KILL_PROCESS : refusal());
	int ret;

	if (!filter)
		return -ENOMEM;
	/* older libraries and kernels do without: in the kernel's log too, found by a tree, all threads at once */
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	ret = allow(filter, calls_both);
	if (!ret) /* a thread that has just been started may be about to take its name */
		ret = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
				       SCMP_A0_32(SCMP_CMP_EQ, PR_SET_NAME));
	if (!ret)
		ret = allow_memory(filter);
	if (!ret && (profile == SANDBOX_DAEMON || profile == SANDBOX_LOADER))
		ret = allow_daemon(filter, profile == SANDBOX_LOADER);
	if (!ret)
		ret = seccomp_load(filter);
	seccomp_release(filter);
	return ret;
}
