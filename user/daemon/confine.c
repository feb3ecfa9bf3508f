// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * After the start: memory stays in, capabilities and system calls that are not needed any more go. A shield is worth
 * more than its walls: where a kernel or a container does not allow them, that is said, and it runs without.
 */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "daemon/state.h"
#include "lib/log.h"
#include "lib/sandbox.h"

static void lock_memory(void)
{
	int ret = sandbox_lock_memory();
	struct rlimit limit = {0};

	if (!ret)
		return;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	log_line(LOG_LEVEL_WARNING,
		 "memory %s (%s): RLIMIT_MEMLOCK is %llu KiB; LimitMEMLOCK=infinity in the unit, or CAP_IPC_LOCK",
		 ret > 0 ? "is locked as far as it is in use now" : "is not locked, and may be swapped out",
		 ret > 0 ? "later memory would fail" : strerror(-ret), (unsigned long long)limit.rlim_cur >> 10);
}

/* Whoever is in a dispatcher leaves it by making another, and so does who joins it again. */
static enum sandbox_profile profile_of(const struct daemon *d)
{
	struct deploy_interface list[64];
	unsigned int count = deploy_interfaces(d->inst, list, 64);

	for (unsigned int i = 0; i < count && i < 64; i++)
		if (list[i].chained)
			return SANDBOX_LOADER;
	return SANDBOX_DAEMON;
}

void confine(const struct daemon *d)
{
	enum sandbox_profile profile = profile_of(d);
	int ret;

	lock_memory();
	if (d->options->no_sandbox) {
		log_line(LOG_LEVEL_WARNING, "--no-sandbox: every capability and system call is kept");
		return;
	}
	ret = sandbox_drop(profile);
	if (ret)
		log_line(LOG_LEVEL_WARNING, "capabilities cannot be dropped: %s", strerror(-ret));
	ret = sandbox_filter(profile);
	if (ret)
		log_line(LOG_LEVEL_WARNING, "system calls cannot be filtered: %s", strerror(-ret));
}

void confine_report(void)
{
	const char *name = sandbox_refused();

	if (name)
		log_line(LOG_LEVEL_ERROR,
			 "the sandbox refused the system call %s: please report it; run --no-sandbox goes without",
			 name);
}
