// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/shield.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "drill/net.h"

#define SHIELD_READY_MS 30000
#define SHIELD_END_MS 15000
#define SHIELD_STATUS_MS 5000
#define SHIELD_COMMAND_MS 20000
#define SHIELD_ARGS_MAX 64

/* Starts this program again with the given arguments; its stdout goes to out, its stderr to the log. */
static pid_t shield_exec(const struct shield *shield, char *const args[], int out)
{
	pid_t pid = fork();
	char name[32];

	if (pid)
		return pid;
	dup2(out, 1);
	dup2(shield->log, 2);
	if (world_settle_in(shield->world, world_node(shield->node)))
		_exit(126);
	world_roam(shield->world);
	unsetenv("SYNHOLD_INSTANCE");
	if (shield->world->plan.nodes > 1) { /* their lines stand in one log */
		snprintf(name, sizeof(name), "node %d", shield->node + 1);
		setenv("SYNHOLD_LOG_NAME", name, 1);
	}
	unsetenv("JOURNAL_STREAM"); /* its log is a file here, whose lines need their times */
	execv("/proc/self/exe", args);
	_exit(127);
}

/* The last line it has said, for an error message. */
static const char *shield_last_words(const struct shield *shield)
{
	static char said[2048];
	ssize_t len;
	off_t end = lseek(shield->log, 0, SEEK_END);
	char *line;

	len = pread(shield->log, said, sizeof(said) - 1, end > (off_t)sizeof(said) - 1 ? end - sizeof(said) + 1 : 0);
	said[len > 0 ? len : 0] = '\0';
	while (len > 0 && said[len - 1] == '\n')
		said[--len] = '\0';
	line = strrchr(said, '\n');
	return line ? line + 1 : said;
}

static int shield_ended(struct shield *shield, int status)
{
	shield->pid = 0;
	return board_fail(shield->world->board, NULL, "`synhold run` ended with %s %d: %s",
			  WIFEXITED(status) ? "status" : "signal",
			  WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), shield_last_words(shield));
}

/* Waits for READY=1, as systemd would. */
static int shield_await_ready(struct shield *shield)
{
	uint64_t until = board_now_ns() + SHIELD_READY_MS * 1000000ull;
	int pidfd = syscall(SYS_pidfd_open, shield->pid, 0), status = 0;
	char message[512];

	for (;;) {
		struct pollfd p[2] = {{.fd = shield->notify, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
		uint64_t now = board_now_ns();

		if (now >= until || poll(p, 2, (until - now) / 1000000 + 1) <= 0)
			break;
		if (p[0].revents) {
			ssize_t len = recv(shield->notify, message, sizeof(message) - 1, MSG_DONTWAIT);

			message[len > 0 ? len : 0] = '\0';
			if (strstr(message, "READY=1")) {
				close(pidfd);
				return 0;
			}
		} else if (p[1].revents) {
			close(pidfd);
			waitpid(shield->pid, &status, 0);
			return shield_ended(shield, status);
		}
	}
	close(pidfd);
	return board_fail(shield->world->board, NULL, "`synhold run` was not ready after %d s: %s",
			  SHIELD_READY_MS / 1000, shield_last_words(shield));
}

int shield_start(struct world *world, int node, struct shield *shield)
{
	const struct drill_params *params = world->board->params;
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	char port[16], *args[SHIELD_ARGS_MAX] = {"synhold", "--instance", shield->instance, "run", NET_SHIELD_IFACE,
						 "--port",  port};
	int n = 7;

	snprintf(port, sizeof(port), SHIELD_SERVICE "=%u", params->port);
	for (char **key = params->keys; key && *key && n < SHIELD_ARGS_MAX - 1; key++)
		args[n++] = *key;
	*shield = (struct shield){.world = world, .node = node, .log = world->board->log_fd};
	snprintf(shield->instance, sizeof(shield->instance), world->plan.nodes > 1 ? "drill%d" : "drill", node);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/run/synhold-%s-notify", shield->instance);
	shield->notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (shield->notify < 0 || bind(shield->notify, (struct sockaddr *)&addr, sizeof(addr)))
		return board_fail(world->board, NULL, "cannot create the socket for READY=1: %s", strerror(errno));
	setenv("NOTIFY_SOCKET", addr.sun_path, 1);
	shield->pid = shield_exec(shield, args, shield->log);
	unsetenv("NOTIFY_SOCKET");
	if (shield->pid < 0)
		return board_fail(world->board, NULL, "cannot start `synhold run`: %s", strerror(errno));
	return shield_await_ready(shield);
}

int shield_alive(struct shield *shield)
{
	char message[512];
	int status;

	/* What nobody reads would fill the socket and block the daemon in its next report. */
	while (recv(shield->notify, message, sizeof(message), MSG_DONTWAIT) >= 0)
		;
	if (waitpid(shield->pid, &status, WNOHANG) == shield->pid)
		return shield_ended(shield, status);
	return 0;
}

static uint64_t shield_number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static uint64_t shield_sum(const json_t *object)
{
	uint64_t sum = 0;
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)object, key, value)
		sum += json_integer_value(value);
	return sum;
}

static int shield_parse(struct board_shield *out, const char *text, size_t len)
{
	json_t *root = json_loadb(text, len, 0, NULL);
	const json_t *service = json_array_get(json_object_get(root, "services"), 0);
	const json_t *syn = json_object_get(service, "syn");
	const json_t *hold = json_object_get(service, "hold");
	const json_t *handshakes = json_object_get(service, "handshakes");
	uint64_t peak = out->held_peak;

	if (!service || !syn || !hold || !handshakes) {
		json_decref(root);
		return -EPROTO;
	}
	*out = (struct board_shield){
		.known = true,
		.seen = shield_number(syn, "seen"),
		.admitted = shield_number(syn, "admitted"),
		.held_syns = shield_number(syn, "held"),
		.dropped = shield_number(syn, "dropped"),
		.rejected = shield_number(syn, "rejected"),
		.entered = shield_number(hold, "entered"),
		.released = shield_number(hold, "released"),
		.discarded = shield_sum(json_object_get(hold, "discarded")),
		.started = shield_number(handshakes, "started"),
		.settled = shield_number(handshakes, "settled"),
		.abandoned = shield_number(handshakes, "abandoned"),
		.expired = shield_number(handshakes, "expired"),
		.held = shield_number(service, "held"),
		.inflight = shield_number(service, "inflight"),
		.window = shield_number(service, "window"),
	};
	out->held_peak = peak > (uint64_t)out->held ? peak : (uint64_t)out->held;
	json_decref(root);
	return 0;
}

static uint64_t shield_cpu_ns(const struct shield *shield)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(shield->pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int shield_read(struct shield *shield)
{
	char *args[] = {"synhold", "--instance", shield->instance, "status", "--json", NULL}, text[65536];
	struct board_shield *seen = &shield->world->board->node[shield->node].shield;
	int out = memfd_create("status", MFD_CLOEXEC), status, ret;
	ssize_t len;
	pid_t pid;

	if (out < 0)
		return -errno;
	pid = shield_exec(shield, args, out);
	ret = pid < 0 ? -errno : world_wait(pid, SHIELD_STATUS_MS, &status);
	if (ret == -ETIMEDOUT)
		kill(pid, SIGKILL);
	len = pread(out, text, sizeof(text), 0);
	close(out);
	if (!ret)
		ret = status || len < 0 ? -EIO : shield_parse(seen, text, len);
	if (!ret)
		seen->cpu_ns = shield_cpu_ns(shield);
	return ret;
}

int shield_run(struct shield *shield, const char *const command[])
{
	char *args[SHIELD_ARGS_MAX] = {"synhold", "--instance", shield->instance};
	struct board *board = shield->world->board;
	int n = 3, status = 0, ret;
	pid_t pid;

	while (n < SHIELD_ARGS_MAX - 1 && command[n - 3]) {
		args[n] = (char *)command[n - 3];
		n++;
	}
	pid = shield_exec(shield, args, shield->log);
	ret = pid < 0 ? -errno : world_wait(pid, SHIELD_COMMAND_MS, &status);
	if (ret)
		return board_fail(board, NULL, "`synhold %s` did not end: %s", command[0], strerror(-ret));
	if (status)
		return board_fail(board, NULL, "`synhold %s` ended with %s %d: %s", command[0],
				  WIFEXITED(status) ? "status" : "signal",
				  WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
				  shield_last_words(shield));
	return 0;
}

static void shield_complain(struct shield *shield, const char *what, int ret, int status)
{
	struct board *board = shield->world->board;

	if (ret)
		snprintf(board->shield_note, sizeof(board->shield_note), "%s did not end: %s", what, strerror(-ret));
	else if (status)
		snprintf(board->shield_note, sizeof(board->shield_note), "%s ended with %s %d: %.160s", what,
			 WIFEXITED(status) ? "status" : "signal",
			 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), shield_last_words(shield));
}

void shield_stop(struct shield *shield)
{
	char *args[] = {"synhold", "--instance", shield->instance, "detach", "--all", NULL};
	int status = 0, ret;
	pid_t pid;

	if (shield->pid <= 0)
		return;
	kill(shield->pid, SIGTERM);
	ret = world_wait(shield->pid, SHIELD_END_MS, &status);
	shield_complain(shield, "`synhold run`, told to stop,", ret, status);
	shield->pid = 0;
	pid = shield_exec(shield, args, shield->log);
	ret = pid < 0 ? -errno : world_wait(pid, SHIELD_END_MS, &status);
	shield_complain(shield, "`synhold detach --all`", ret, status);
}
