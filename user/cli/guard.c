// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/origin.h"
#include "lib/deploy.h"

#define GUARD_SLACK_NS 20000000ULL /* the deadline in the maps is rounded up to a millisecond */

/* What tells this change from any other, of this instance or of one that took its name. */
struct change {
	uint64_t deadline_ns, generation, hash_key[2];
	uint32_t bank;
	char name[SYNHOLD_NAME_LEN];
};

static void sleep_until(uint64_t when_ns)
{
	struct timespec ts = {(time_t)(when_ns / 1000000000ULL), (long)(when_ns % 1000000000ULL)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* Neither confirmed (that leaves the bank in force) nor followed by another change. */
static int still_waits(const struct instance *inst, const struct change *change)
{
	return !memcmp(inst->control->hash_key, change->hash_key, sizeof(change->hash_key)) &&
	       __atomic_load_n(&inst->control->generation, __ATOMIC_ACQUIRE) == change->generation &&
	       instance_bank(inst) != change->bank;
}

static void guard(const struct change *change)
{
	struct instance inst;

	sleep_until(change->deadline_ns + GUARD_SLACK_NS);
	if (instance_init(&inst, change->name, NULL) || instance_open(&inst, NULL))
		return;
	if (still_waits(&inst, change)) {
		instance_close(&inst);
		if (instance_lock(&inst, NULL))
			return;
		if (!instance_open(&inst, NULL) && still_waits(&inst, change) && !deploy_detach(&inst, NULL, NULL))
			origin_remove(&inst);
	}
	instance_close(&inst);
}

int guard_start(const struct instance *inst)
{
	struct change change = {.generation = inst->control->generation, .bank = instance_bank(inst)};
	pid_t pid;
	int null;

	if (!instance_confirm_pending(inst, &change.deadline_ns))
		return -EINVAL;
	memcpy(change.hash_key, inst->control->hash_key, sizeof(change.hash_key));
	memcpy(change.name, inst->name, sizeof(change.name));
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid > 0)
		return waitpid(pid, NULL, 0) == pid ? 0 : -errno;
	setsid();
	pid = fork(); /* no child of anyone's who might wait, no terminal to be hung up with */
	if (pid)
		_exit(pid < 0);
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		dup2(null, fd);
	close_range(3, ~0U, 0); /* the lock above all */
	prctl(PR_SET_NAME, "synhold-guard");
	if (chdir("/"))
		_exit(1);
	guard(&change);
	_exit(0);
}
