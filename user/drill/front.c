// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/front.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "drill/kit.h"

#define FRONT_CONFIG_MAX 4096
#define FRONT_CSV_MAX 65536
#define FRONT_SOCKET "/run/haproxy.sock"
#define FRONT_ADDRESS "10.97.0.2"
#define FRONT_HEALTHY_MS 20000
#define FRONT_ANSWER_MS 2000
#define FRONT_ALLOW_RATE "2"

/*
 * A connection that is held waits in the front's kernel. "timeout connect" ends it before the SYN is sent again (1 s),
 * so that a copy always means somebody who waits; "abortonclose" passes a client's leaving on. A probe may take longer
 * than any connection waits: in a queue served in the order of arrival it then always gets its turn. No "timeout
 * check", which would bound its connecting by "timeout connect".
 */
static const char front_head[] = "global\n"
				 "\tmaxconn 9000\n"
				 "\tnbthread 1\n"
				 "\tstats socket " FRONT_SOCKET " level admin\n"
				 "defaults\n"
				 "\tmode http\n"
				 "\ttimeout client 300s\n"
				 "\ttimeout server 300s\n"
				 "\ttimeout connect 900ms\n"
				 "\toption redispatch 1\n"
				 "\toption abortonclose\n"
				 "\toption http-server-close\n";

static void front_append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Overlong is as good as truncated: the caller sees that the buffer is full. */
static void front_append(char *text, size_t size, const char *format, ...)
{
	size_t len = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + len, size - len, format, args);
	va_end(args);
}

int front_config(const struct front_plan *plan, uint16_t port, char *text, size_t size)
{
	text[0] = '\0';
	front_append(text, size, "%s\tretries %u\n", front_head, plan->retries);
	front_append(text, size, "frontend front\n\tbind :%u\n\tdefault_backend nodes\n", port);
	front_append(text, size, "backend nodes\n\tbalance roundrobin\n\toption httpchk GET /health\n");
	front_append(text, size, "\tdefault-server check inter %ums downinter 1s fall %u rise 2", plan->inter_ms,
		     plan->fall);
	front_append(text, size, " on-marked-down shutdown-sessions\n");
	for (int i = 0; i < plan->nodes; i++) {
		char addr[INET_ADDRSTRLEN];
		__be32 be = net_node_addr(i);

		inet_ntop(AF_INET, &be, addr, sizeof(addr));
		front_append(text, size, "\tserver node%d %s:%u\n", i, addr, port);
	}
	return strlen(text) == size - 1 ? -ENOSPC : 0;
}

/* The value in the named column, or NULL; the fields have no quotes where we look. */
static const char *front_field(const char *names, const char *row, const char *name)
{
	size_t len = strlen(name);

	while (*names && *names != '\n' && *row && *row != '\n') {
		if (!strncmp(names, name, len) && strchr(",\n", names[len]))
			return row;
		names += strcspn(names, ",\n");
		row += strcspn(row, ",\n");
		names += *names == ',';
		row += *row == ',';
	}
	return NULL;
}

static uint64_t front_number(const char *names, const char *row, const char *name)
{
	const char *field = front_field(names, row, name);

	return field ? strtoull(field, NULL, 10) : 0;
}

static void front_row(const char *names, const char *row, struct board_front *front)
{
	const char *proxy = front_field(names, row, "pxname"), *name = front_field(names, row, "svname"),
		   *status = front_field(names, row, "status");

	if (!proxy || !name || !status)
		return;
	if (!strncmp(name, "FRONTEND,", 9)) {
		front->errors = front_number(names, row, "hrsp_5xx");
		front->sessions = front_number(names, row, "stot");
	} else if (!strncmp(proxy, "nodes,", 6) && strncmp(name, "BACKEND,", 8)) {
		front->up += !strncmp(status, "UP", 2);
		front->marked_down += front_number(names, row, "chkdown");
		front->probes_lost += front_number(names, row, "chkfail");
		front->connects_failed += front_number(names, row, "econ");
	}
}

int front_parse(const char *csv, struct board_front *front)
{
	struct board_front sum = {.known = true, .fewest_up = front->fewest_up};
	const char *row;

	if (strncmp(csv, "# pxname,", 9))
		return -EPROTO;
	csv += 2;
	for (row = strchr(csv, '\n'); row && row[1] && row[1] != '\n'; row = strchr(row + 1, '\n'))
		front_row(csv, row + 1, &sum);
	if (!front->known || sum.up < sum.fewest_up)
		sum.fewest_up = sum.up;
	*front = sum;
	return 0;
}

/* Its answer to a line of commands, as a string; the number of bytes or -1. */
static ssize_t front_ask(const char *commands, char *answer, size_t size)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX, .sun_path = FRONT_SOCKET};
	struct timeval wait = {.tv_sec = FRONT_ANSWER_MS / 1000};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t len = 0;
	ssize_t got;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    send(fd, commands, strlen(commands), MSG_NOSIGNAL) < 0) {
		close(fd);
		return -1;
	}
	while (len < size - 1 && (got = recv(fd, answer + len, size - 1 - len, 0)) > 0)
		len += got;
	answer[len] = '\0';
	close(fd);
	return len;
}

void front_read(struct run *run)
{
	static char csv[FRONT_CSV_MAX];

	if (front_ask("show stat\n", csv, sizeof(csv)) >= 0)
		front_parse(csv, &run->board->front);
}

int front_tell(struct run *run, const char *commands)
{
	char answer[256];
	ssize_t len = front_ask(commands, answer, sizeof(answer));

	if (len >= 0 && !answer[strspn(answer, "\n")])
		return 0;
	return board_fail(run->board, NULL, FRONT_PROGRAM " does not take its limits: %.150s",
			  len < 0 ? "no answer" : answer);
}

/* A client that leaves while it waits takes its place in the queue with it. */
static const char front_tcp[] = "global\n"
				"\tmaxconn 9000\n"
				"\tnbthread 1\n"
				"\tstats socket " FRONT_SOCKET " level admin\n"
				"defaults\n"
				"\tmode tcp\n"
				"\ttimeout client 300s\n"
				"\ttimeout server 300s\n"
				"\ttimeout connect 5s\n"
				"\ttimeout queue %ums\n"
				"\toption abortonclose\n"
				"frontend front\n"
				"\tbind :%u backlog %u\n"
				"\tmaxconn 9000\n"
				"\tdefault_backend nodes\n"
				"backend nodes\n"
				"\tserver node0 %s:%u maxconn %u\n";

static int front_run(struct run *run, const char *config)
{
	static char path[64], *const argv[] = {FRONT_PROGRAM, "-db", "-f", path, NULL};
	static struct program_job job;

	job = (struct program_job){.name = FRONT_PROGRAM,
				   .config = config,
				   .argv = argv,
				   .net = WORLD_FRONT,
				   .addr = htonl(NET_FRONT_ADDR),
				   .port = run->params->port};
	program_config(&job, path, sizeof(path));
	return run_program(run, &job);
}

int front_start_tcp(struct run *run, unsigned int backlog)
{
	static char config[FRONT_CONFIG_MAX];
	const struct drill_params *p = run->params;
	char addr[INET_ADDRSTRLEN];
	__be32 be = net_node_addr(0);

	inet_ntop(AF_INET, &be, addr, sizeof(addr));
	snprintf(config, sizeof(config), front_tcp, (unsigned int)(p->patience_ns / 1000000), p->port, backlog, addr,
		 p->port, p->clients + 1);
	return front_run(run, config);
}

int front_start(struct run *run, const struct front_plan *plan)
{
	static char config[FRONT_CONFIG_MAX];
	uint64_t until = board_now_ns() + FRONT_HEALTHY_MS * 1000000ull;

	if (front_config(plan, run->params->port, config, sizeof(config)))
		return board_fail(run->board, NULL, "the configuration of " FRONT_PROGRAM " is too long");
	if (front_run(run, config))
		return -1;
	for (;;) {
		front_read(run);
		if (run->board->front.up == (uint32_t)plan->nodes)
			break;
		if (board_now_ns() > until)
			return board_fail(run->board, NULL, FRONT_PROGRAM " takes only %u of %d nodes for healthy",
					  run->board->front.up, plan->nodes);
		world_sleep_until(board_now_ns() + 50000000);
	}
	run->board->front.fewest_up = run->board->front.up;
	return 0;
}

int front_allow(struct run *run, int node)
{
	return shield_command(&run->shield[node], "allow", "add", FRONT_ADDRESS, "--rate", FRONT_ALLOW_RATE);
}

void front_figures(const struct board *board, struct figures *figures)
{
	const struct board_front *front = &board->front;
	uint64_t probed = 0;

	for (int i = 0; i < BOARD_NODES_MAX; i++)
		probed += board->node[i].after.probed - board->node[i].before.probed;
	figures_add(figures, "front.marked_down", "nodes marked down", FIGURE_COUNT, front->marked_down);
	figures_add(figures, "front.fewest_up", "fewest nodes up", FIGURE_COUNT, front->fewest_up);
	figures_add(figures, "front.probes_answered", NULL, FIGURE_COUNT, probed);
	figures_add(figures, "front.probes_lost", "probes lost", FIGURE_COUNT, front->probes_lost);
	figures_add(figures, "front.errors", "errors sent to clients", FIGURE_COUNT, front->errors);
	figures_add(figures, "front.connects_failed", NULL, FIGURE_COUNT, front->connects_failed);
}
