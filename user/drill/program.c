// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/program.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROGRAM_READY_MS 10000
#define PROGRAM_NICE (-15) /* it stands for a machine of its own */
#define PROGRAM_PATHS "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

void program_config(const struct program_job *job, char *path, size_t size)
{
	snprintf(path, size, "/run/%s.conf", job->name);
}

static void program_log(const struct program_job *job, char *path, size_t size)
{
	snprintf(path, size, "/run/%s.log", job->name);
}

int program_installed(struct board *board, const char *name)
{
	char paths[] = PROGRAM_PATHS, path[128], hint[64], *save, *dir;

	for (dir = strtok_r(paths, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		if (!access(path, X_OK))
			return 0;
	}
	snprintf(hint, sizeof(hint), "install %s", name);
	return board_fail(board, hint, "%s is not installed", name);
}

static int program_exec(struct world *world, int ctl, const void *arg)
{
	const struct program_job *job = arg;
	char log[64];
	int out;

	(void)ctl;
	program_log(job, log, sizeof(log));
	out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (world_settle_in(world, job->net) || out < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		return 1;
	world_roam(world);
	execvpe(job->argv[0], job->argv, (char *[]){"PATH=" PROGRAM_PATHS, NULL});
	return 127;
}

/* The last line it has said, for an error message. */
static void program_last_words(const struct program_job *job, char *said, size_t size)
{
	char log[64], line[256];
	FILE *f;

	program_log(job, log, sizeof(log));
	snprintf(said, size, "it said nothing");
	f = fopen(log, "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		snprintf(said, size, "%.150s", line);
	}
	fclose(f);
}

static bool program_takes_connections(const struct program_job *job)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = job->addr, .sin_port = htons(job->port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool taken = fd >= 0 && !connect(fd, (struct sockaddr *)&to, sizeof(to));

	if (fd >= 0)
		close(fd);
	return taken;
}

struct world_actor *program_start(struct world *world, const struct program_job *job)
{
	uint64_t until = board_now_ns() + PROGRAM_READY_MS * 1000000ull;
	struct world_actor *actor;
	char path[64], said[160];
	FILE *f;

	if (program_installed(world->board, job->name))
		return NULL;
	program_config(job, path, sizeof(path));
	f = fopen(path, "we");
	if (!f || fputs(job->config, f) < 0 || fclose(f)) {
		board_fail(world->board, NULL, "cannot write %s: %s", path, strerror(errno));
		return NULL;
	}
	actor = world_spawn(world, job->name, job->net, PROGRAM_NICE, program_exec, job);
	while (actor && !program_takes_connections(job)) {
		world_sleep_until(board_now_ns() + 20000000);
		if (!world_ended(world, actor) && board_now_ns() < until)
			continue;
		program_last_words(job, said, sizeof(said));
		board_fail(world->board, NULL, "%s did not start: %s", job->name, said);
		return NULL;
	}
	return actor;
}
