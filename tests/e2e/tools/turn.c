// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waits until no drill and no other bench runs on this machine, then runs the command: turn COMMAND...
 *
 * In a session of its own with the scheduler's best weight, as a drill has: see world.c there.
 */
#include <fcntl.h>
#include <unistd.h>

#include "drill/turn.h"
#include "tool.h"

int main(int argc, char **argv)
{
	int turn, group;

	if (argc < 2)
		tool_die("usage: turn COMMAND...");
	turn = turn_take();
	if (turn < 0 || fcntl(turn, F_SETFD, 0)) /* it lasts as long as the command */
		tool_die("cannot wait for the others: %s", strerror(turn < 0 ? -turn : errno));
	if (setsid() > 0) {
		group = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
		if (group >= 0 && write(group, "-20", 3) < 0)
			perror("turn: the priority stays as it is");
	}
	execvp(argv[1], argv + 1);
	tool_die("%s: %s", argv[1], strerror(errno));
}
