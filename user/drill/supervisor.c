// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t supervisor_start(struct world *world, const struct supervisor_job *job, int ready)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "server");
	_exit(server_run(world, &job->server, ready));
}

static void supervisor_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Orders that came while it was down are about the server that is gone. */
static void supervisor_forget_orders(int orders)
{
	char sign[64];

	while (poll(&(struct pollfd){.fd = orders, .events = POLLIN}, 1, 0) == 1)
		if (read(orders, sign, sizeof(sign)) <= 0)
			return;
}

int supervisor_actor(struct world *world, int ctl, const void *arg)
{
	const struct supervisor_job *job = arg;
	pid_t pid = supervisor_start(world, job, ctl);

	while (pid > 0) {
		int pidfd = syscall(SYS_pidfd_open, pid, 0);
		struct pollfd p[2] = {{.fd = job->orders, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
		struct board_server *out = &world->board->node[job->server.node].server;

		if (poll(p, 2, -1) < 0 || p[1].revents)
			return 1; /* a server that ends by itself is a fault of the drill */
		close(pidfd);
		supervisor_kill(pid);
		BOARD_SET(out->open, 0);
		BOARD_SET(out->queue, 0);
		world_sleep_until(board_now_ns() + job->down_ns);
		supervisor_forget_orders(job->orders);
		pid = supervisor_start(world, job, -1);
	}
	return 1;
}
