// SPDX-License-Identifier: GPL-2.0-or-later
/* Capabilities and locked memory; the system calls are in sandbox_calls.c. */
#include "lib/sandbox.h"

#include <cap-ng.h>
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define CAPABILITIES_MAX 10

/*
 * NET_ADMIN: links, filters, releases. BPF: maps, where unprivileged users may have none. SYS_ADMIN: a map inside a
 * map, a list's image, is opened by its id. SYS_PTRACE and DAC_READ_SEARCH: whose the listening socket is, for its
 * cgroup's pressure, and a config file that somebody else owns. SETUID, SETGID, SETPCAP: what the HTTP half drops.
 */
static const int kept[][CAPABILITIES_MAX] = {
	[SANDBOX_DAEMON] = {CAP_NET_ADMIN, CAP_BPF, CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, -1},
	[SANDBOX_LOADER] = {CAP_NET_ADMIN, CAP_BPF, CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, -1},
	[SANDBOX_READER] = {CAP_NET_ADMIN, CAP_BPF, CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID, CAP_SETPCAP, -1},
	[SANDBOX_HTTP] = {-1},
};

static int memory_limited(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur != RLIM_INFINITY;
}

int sandbox_drop(enum sandbox_profile profile)
{
	int keep[CAPABILITIES_MAX + 1], count = 0, bounds;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	if (capng_get_caps_process())
		return -EPERM;
	for (const int *cap = kept[profile]; *cap >= 0; cap++)
		if (capng_have_capability(CAPNG_PERMITTED, (unsigned int)*cap))
			keep[count++] = *cap;
	/* without a limit that binds, locked memory needs no capability to grow */
	if ((profile == SANDBOX_DAEMON || profile == SANDBOX_LOADER) && memory_limited() &&
	    capng_have_capability(CAPNG_PERMITTED, CAP_IPC_LOCK))
		keep[count++] = CAP_IPC_LOCK;
	bounds = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP);
	capng_clear(CAPNG_SELECT_ALL);
	for (int i = 0; i < count; i++)
		if (capng_update(CAPNG_ADD, (capng_type_t)(CAPNG_EFFECTIVE | CAPNG_PERMITTED), (unsigned int)keep[i]))
			return -EINVAL;
	/* the bounding set matters to what is executed, and nothing is: without SETPCAP it stays as it is */
	return capng_apply(bounds ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS) ? -EPERM : 0;
}

int sandbox_lock_memory(void)
{
	const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	int later;

	setrlimit(RLIMIT_MEMLOCK, &unlimited); /* as far as the hard limit or CAP_SYS_RESOURCE allows */
	later = !memory_limited() ||
		(!capng_get_caps_process() && capng_have_capability(CAPNG_EFFECTIVE, CAP_IPC_LOCK));
	if (mlockall(MCL_CURRENT | MCL_ONFAULT | (later ? MCL_FUTURE : 0)))
		return -errno;
	return !later;
}
