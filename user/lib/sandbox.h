/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process may still do once it has started: capabilities and system calls. What is dropped here does not come
 * back: it binds the calling process, all of its threads, and what it starts.
 */
#ifndef SYNHOLD_LIB_SANDBOX_H
#define SYNHOLD_LIB_SANDBOX_H

enum sandbox_profile {
	SANDBOX_DAEMON, /* a call beside the list fails with EPERM, and sandbox_refused() names it */
	SANDBOX_LOADER, /* the same for a daemon that may have to join or leave a dispatcher: it may load programs */
	SANDBOX_READER, /* of metrics. Capabilities only: it starts the one below */
	SANDBOX_HTTP,   /* no capability, no file; a call beside the list ends the process */
};

/*
 * No new privileges, and of the capabilities only those of the profile, as far as the process has them. 0 or -errno.
 */
int sandbox_drop(enum sandbox_profile profile);

/*
 * From now on only the system calls of the profile. Needs no new privileges, or CAP_SYS_ADMIN. 0; -ENOSYS where the
 * kernel has no seccomp filters, -errno.
 */
int sandbox_filter(enum sandbox_profile profile);

/* Name of a system call that was refused since it was last asked for, each once in a process's life; NULL: none. */
const char *sandbox_refused(void);

/*
 * Keeps the memory of this process out of swap, page by page as it is first used (mlock2(2), Linux 4.4). 0: all of it,
 * now and later. 1: only what is there now, as RLIMIT_MEMLOCK would turn later allocations into failures. -errno: none.
 */
int sandbox_lock_memory(void);

#endif
