// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes a process do a system call that it would not do by itself: inject PID call=NUMBER [first=ARGUMENT]
 *
 * The first argument is a number or 0, the others are 0. The process is stopped where it waits in a call of its own,
 * the instruction of that call is run once more with the other number, and then all is as it was. Prints `result=N`,
 * which is what the process got, or `ended=SIGNAL` when it did not survive. x86_64 only; others print `unsupported`.
 */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool.h"

#ifdef __x86_64__
/* Until it stops again, passing `sig` on. Returns the signal that stopped it, or -1 when it has ended (*ended: by
 * what). */
static int step(pid_t pid, int request, int sig, int *ended)
{
	int status;

	if (ptrace(request, pid, NULL, (long)sig) || waitpid(pid, &status, __WALL) != pid)
		tool_die("ptrace: %s", strerror(errno));
	if (WIFSTOPPED(status))
		return WSTOPSIG(status);
	*ended = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	return -1;
}

int main(int argc, char **argv)
{
	static const char *const keys[] = {"call", "first", NULL};
	struct user_regs_struct before, now;
	unsigned long long number;
	int status, sig, ended = 0, handled = 0;
	pid_t pid;

	if (argc < 3)
		tool_die("usage: inject PID call=NUMBER [first=ARGUMENT]");
	pid = (pid_t)atoi(argv[1]);
	tool_check_keys(argc, argv, 2, keys);
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) ||
	    waitpid(pid, &status, __WALL) != pid || ptrace(PTRACE_GETREGS, pid, NULL, &before))
		tool_die("ptrace: %s", strerror(errno));
	if ((long long)before.orig_rax < 0)
		tool_die("it does not wait in a system call now");
	now = before;
	now.rip -= 2; /* the length of `syscall`, which it has just run */
	number = (unsigned long long)tool_number(argc, argv, 2, "call", 0);
	now.rax = number;
	now.rdi = (unsigned long long)tool_number(argc, argv, 2, "first", 0);
	now.rsi = now.rdx = now.r10 = now.r8 = now.r9 = 0;
	now.orig_rax = (unsigned long long)-1; /* or the kernel would start its own call again */
	if (ptrace(PTRACE_SETREGS, pid, NULL, &now))
		tool_die("ptrace: %s", strerror(errno));
	/* in, where the result stands at -ENOSYS, and out; a call that a filter refused comes out with its number, and
	 * a signal
	 */
	do {
		sig = step(pid, PTRACE_SYSCALL, 0, &ended);
	} while (sig == SIGTRAP && !ptrace(PTRACE_GETREGS, pid, NULL, &now) &&
		 (now.orig_rax != number || (long long)now.rax == -ENOSYS || now.rax == number));
	for (int i = 0; sig == SIGSYS || (handled && i < 100 && sig > 0); i++) {
		/* the handler's own calls, down to the one that goes back */
		handled = 1;
		ptrace(PTRACE_GETREGS, pid, NULL, &now);
		if (sig == SIGTRAP && now.orig_rax == SYS_rt_sigreturn) {
			sig = step(pid, PTRACE_SYSCALL, 0, &ended);
			break;
		}
		sig = step(pid, PTRACE_SYSCALL, sig == SIGTRAP ? 0 : sig, &ended);
	}
	if (sig < 0) {
		printf("ended=%d\n", ended);
		return 0;
	}
	if (ptrace(PTRACE_GETREGS, pid, NULL, &now) || ptrace(PTRACE_SETREGS, pid, NULL, &before) ||
	    ptrace(PTRACE_DETACH, pid, NULL, NULL))
		tool_die("ptrace: %s", strerror(errno));
	printf("result=%lld\n", (long long)now.rax);
	return 0;
}
#else
int main(void)
{
	printf("unsupported\n");
	return 0;
}
#endif
