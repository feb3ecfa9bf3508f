// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/world.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drill/net.h"

#define WORLD_NICE "-20"

/* The shield pins and keeps its files below these; the host's own are out of sight in here. */
static const struct {
	const char *type;
	const char *path;
} world_mounts[] = {
	{"proc", "/proc"},
	{"bpf", "/sys/fs/bpf"},
	{"tmpfs", "/run"},
	{"tmpfs", "/var/lib"},
};

/* Puts a fresh sysfs over /sys and what was mounted below it back in its place. Returns 0 or -errno. */
static int world_see_net(const char *const *below)
{
	int fd[2], ret = 0;

	for (int i = 0; i < 2; i++)
		fd[i] = open(below[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (mount("synhold-drill", "/sys", "sysfs", 0, NULL))
		ret = -errno;
	for (int i = 0; i < 2; i++) {
		char path[64];

		if (fd[i] < 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd[i]);
		/* A system without cgroups has no pressure files for the shield to read, either. */
		mount(path, below[i], NULL, MS_BIND | MS_REC, NULL);
		close(fd[i]);
	}
	return ret;
}

static const char *const world_below_sys[] = {"/sys/fs/cgroup", "/sys/fs/bpf"};

static int world_mount(struct world *world)
{
	int ret;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return board_fail(world->board, NULL, "cannot make the mounts private: %s", strerror(errno));
	/* A fresh sysfs hides the cgroups, whose pressure files the shield reads. */
	ret = world_see_net(world_below_sys);
	if (ret)
		return board_fail(world->board, NULL, "cannot mount a private sysfs on /sys: %s", strerror(-ret));
	for (size_t i = 0; i < sizeof(world_mounts) / sizeof(world_mounts[0]); i++)
		if (mount("synhold-drill", world_mounts[i].path, world_mounts[i].type, 0, NULL))
			return board_fail(world->board, NULL, "cannot mount a private %s on %s: %s",
					  world_mounts[i].type, world_mounts[i].path, strerror(errno));
	if ((mkdir("/run/synhold", 0755) || mkdir("/var/lib/synhold", 0755)) && errno != EEXIST)
		return board_fail(world->board, NULL, "cannot create private directories: %s", strerror(errno));
	return 0;
}

/*
 * With CONFIG_SCHED_AUTOGROUP each session competes as one against all others, and the nice levels inside
 * count only inside. A neighbour's build must not take half of the server that is measured.
 */
static void world_weigh(void)
{
	int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return; /* no such thing here: the nice levels count */
	if (write(fd, WORLD_NICE, strlen(WORLD_NICE)) < 0)
		fprintf(stderr, "synhold: drill: cannot raise the priority of the drill: %s\n", strerror(errno));
	close(fd);
}

static void world_settle(struct world *world)
{
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(world->cpus), &world->cpus))
		return;
	cpus = world->cpus;
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && CPU_COUNT(&cpus) > 1; cpu--) {
		if (!CPU_ISSET(cpu, &cpus))
			continue;
		CPU_CLR(cpu, &cpus);
		sched_setaffinity(0, sizeof(cpus), &cpus);
		return;
	}
}

void world_roam(const struct world *world)
{
	if (CPU_COUNT(&world->cpus))
		sched_setaffinity(0, sizeof(world->cpus), &world->cpus);
}

struct world_life {
	const struct world_plan *plan;
	int (*body)(struct world *world, void *arg);
	void *arg;
};

static void world_live(struct board *board, int parent, const struct world_life *life)
{
	struct world world = {.board = board, .plan = *life->plan, .tun = {-1, -1}};
	struct pollfd p = {.fd = parent};
	sigset_t none;

	/* Whoever dies before the prctl is seen by the pipe, later than that by the signal. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (poll(&p, 1, 0) != 0)
		_exit(1);
	setsid(); /* Ctrl-C is for the drill, which ends the world as a whole */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* The caller's handlers are for the drill itself: what runs in here ends as is usual. */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	if (world_mount(&world))
		_exit(1);
	world_weigh();
	world_settle(&world);
	if (net_build(&world) || life->body(&world, life->arg))
		_exit(1);
	_exit(0);
}

int world_run(struct board *board, const struct world_plan *plan, int (*body)(struct world *, void *), void *arg)
{
	const struct world_life life = {.plan = plan, .body = body, .arg = arg};
	int alive[2], pidfd = -1, status = 0, ret = 0;
	struct clone_args args = {
		.flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_PIDFD,
		.pidfd = (uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
	};
	sigset_t waiting;
	pid_t pid;

	if (pipe2(alive, O_CLOEXEC))
		return board_fail(board, NULL, "cannot create a pipe: %s", strerror(errno));
	fflush(NULL);
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (!pid) {
		close(alive[1]);
		world_live(board, alive[0], &life);
	}
	close(alive[0]);
	if (pid < 0) {
		close(alive[1]);
		return board_fail(board, "run it as root, on a kernel with network, mount and pid namespaces",
				  "cannot create private namespaces: %s", strerror(errno));
	}
	sigemptyset(&waiting);
	if (ppoll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1, NULL, &waiting) < 0) {
		kill(pid, SIGKILL);
		ret = -EINTR;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	close(pidfd);
	close(alive[1]);
	if (ret)
		return ret;
	if (WIFSIGNALED(status))
		return board_fail(board, NULL, "the world of the drill was killed by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status))
		return board_fail(board, NULL, "the world of the drill ended with status %d", WEXITSTATUS(status));
	return 0;
}

int world_enter(const struct world *world, enum world_net net)
{
	return setns(world->net[net], CLONE_NEWNET) ? -errno : 0;
}

int world_settle_in(const struct world *world, enum world_net net)
{
	int ret = world_enter(world, net);

	if (ret || net == WORLD_NODE0) /* the runner's own mounts show that one */
		return ret;
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -errno;
	return world_see_net(world_below_sys);
}

struct world_actor *world_spawn(struct world *world, const char *name, enum world_net net, int nice_level,
				int (*fn)(struct world *, int, const void *), const void *arg)
{
	struct world_actor *actor = &world->actor[world->actors];
	int pair[2];
	pid_t pid;

	if (world->actors == WORLD_ACTORS_MAX || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		board_fail(world->board, NULL, "cannot start the %s: out of descriptors", name);
		return NULL;
	}
	pid = fork();
	if (pid < 0) {
		board_fail(world->board, NULL, "cannot start the %s: %s", name, strerror(errno));
		return NULL;
	}
	if (!pid) {
		close(pair[0]);
		setpriority(PRIO_PROCESS, 0, nice_level);
		prctl(PR_SET_NAME, name);
		if (world_enter(world, net))
			_exit(1);
		_exit(fn(world, pair[1], arg));
	}
	close(pair[1]);
	*actor = (struct world_actor){.name = name, .pid = pid, .ctl = pair[0]};
	world->actors++;
	return actor;
}

int world_await(struct world *world, struct world_actor *actor, char sign, int timeout_ms)
{
	struct pollfd p = {.fd = actor->ctl, .events = POLLIN};
	char got = 0;

	if (poll(&p, 1, timeout_ms) != 1)
		return board_fail(world->board, NULL, "the %s did not answer in %d ms", actor->name, timeout_ms);
	if (read(actor->ctl, &got, 1) != 1 || got != sign)
		return board_fail(world->board, NULL, "the %s ended before its time", actor->name);
	return 0;
}

void world_dismiss(struct world *world, struct world_actor *actor)
{
	(void)world;
	if (actor->ended)
		return;
	kill(actor->pid, SIGKILL);
	while (waitpid(actor->pid, &actor->status, 0) < 0 && errno == EINTR)
		;
	actor->ended = true;
	actor->status = 0;
}

void world_tell(const struct world_actor *actor, char sign)
{
	/* An actor that is gone already needs no telling: world_reap() reports it. */
	if (send(actor->ctl, &sign, 1, MSG_NOSIGNAL) < 0)
		return;
}

bool world_ended(struct world *world, struct world_actor *actor)
{
	(void)world;
	if (!actor->ended && waitpid(actor->pid, &actor->status, WNOHANG) == actor->pid)
		actor->ended = true;
	return actor->ended;
}

int world_reap(struct world *world)
{
	for (int i = 0; i < world->actors; i++) {
		struct world_actor *a = &world->actor[i];

		/* One by one: other children have other parts of the runner waiting for them. */
		if (!world_ended(world, a) || (WIFEXITED(a->status) && !WEXITSTATUS(a->status)))
			continue;
		return board_fail(world->board, NULL, "the %s ended by itself with %s %d", a->name,
				  WIFEXITED(a->status) ? "status" : "signal",
				  WIFEXITED(a->status) ? WEXITSTATUS(a->status) : WTERMSIG(a->status));
	}
	return 0;
}

int world_wait(pid_t pid, int timeout_ms, int *status)
{
	int pidfd = syscall(SYS_pidfd_open, pid, 0), ready;

	if (pidfd < 0)
		return -errno;
	ready = poll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1, timeout_ms);
	close(pidfd);
	if (ready != 1)
		return -ETIMEDOUT;
	return waitpid(pid, status, 0) == pid ? 0 : -errno;
}

void world_sleep_until(uint64_t when_ns)
{
	struct timespec ts = {.tv_sec = when_ns / 1000000000, .tv_nsec = when_ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}
