// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/compare.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "drill/half.h"
#include "drill/progress.h"
#include "drill/report.h"
#include "drill/server.h"
#include "drill/turn.h"

/* Connections of clients that have left, on top of the ones that are served: the server must hold both. */
#define COMPARE_SPARE_CONNECTIONS 2000
/* What a server of this kind is usually allowed. */
#define COMPARE_DESCRIPTORS 20000

struct compare {
	const struct drill_params *params;
	struct board *board[2]; /* without, with */
	struct result result[2];
	bool ran[2];
	double capacity[2];
	char svg[256];
};

int compare_fail(bool json, int code, const char *hint, const char *format, ...)
{
	const char *name = strerrorname_np(-code);
	char message[512];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	fprintf(stderr, "synhold: drill: %s%s%s\n", message, hint && *hint ? "; " : "", hint ? hint : "");
	if (json) {
		json_t *root = json_pack("{s{ss ss+ ss}}", "error", "code", name ? name : "EIO", "message",
					 "drill: ", message, "hint", hint ? hint : "");

		json_dumpf(root, stdout, JSON_COMPACT);
		putchar('\n');
		json_decref(root);
	}
	return 1;
}

/* Clients and server need a descriptor for each connection, as they would in earnest. */
static int compare_prepare(struct compare *c)
{
	const struct drill_params *p = c->params;
	struct rlimit limit;
	char dir[256], *slash;

	if (geteuid())
		return compare_fail(p->json, -EPERM, "run it as root", "private networks and the shield need root");
	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		struct rlimit more = {.rlim_cur = COMPARE_DESCRIPTORS, .rlim_max = COMPARE_DESCRIPTORS};

		limit.rlim_cur = limit.rlim_max;
		/* Root may raise the hard limit, too, unless it lacks CAP_SYS_RESOURCE. */
		if (limit.rlim_max >= more.rlim_max || setrlimit(RLIMIT_NOFILE, &more))
			setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (p->clients + COMPARE_SPARE_CONNECTIONS > server_connections_max())
		return compare_fail(p->json, -EMFILE, "raise it (ulimit -Hn) or use fewer --clients",
				    "%u clients need %u descriptors, the limit is %u", p->clients,
				    p->clients + COMPARE_SPARE_CONNECTIONS, server_connections_max());
	snprintf(c->svg, sizeof(c->svg), "synhold-drill-%s.svg", p->name);
	if (p->svg)
		snprintf(c->svg, sizeof(c->svg), "%s", p->svg);
	snprintf(dir, sizeof(dir), "%s", c->svg);
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = '\0';
	/* Better now than after a minute of storm. */
	if (access(slash ? dir : ".", W_OK))
		return compare_fail(p->json, -errno, "name a file elsewhere with --svg", "cannot write %s: %s", c->svg,
				    strerror(errno));
	return 0;
}

static int compare_half(struct compare *c, int which)
{
	const struct drill_params *p = c->params;
	struct board *board = board_create(p);
	int ret;

	if (!board)
		return compare_fail(p->json, -ENOMEM, NULL, "cannot map the log of %u clients: %s", p->clients,
				    strerror(errno));
	c->board[which] = board;
	board->with_shield = which;
	board->measure = !c->capacity[0];
	memcpy(board->capacity, c->capacity, sizeof(board->capacity));
	progress_say("%s the shield: %u clients reconnect at once", which ? "with" : "without", p->clients);
	ret = half_run(board);
	if (ret == -EINTR)
		return compare_fail(p->json, -EINTR, NULL, "interrupted, nothing is left behind");
	if (ret)
		return compare_fail(p->json, -EIO, board->hint, "the half %s the shield could not be run: %s",
				    which ? "with" : "without", board->error);
	memcpy(c->capacity, board->capacity, sizeof(c->capacity));
	if (!board_capacity_agrees(board))
		return compare_fail(p->json, -EAGAIN, "run it again on a quieter machine",
				    "inconclusive: two measurements of the server's capacity differ by more "
				    "than 5 %%: %.1f and %.1f connections/s",
				    c->capacity[0], c->capacity[1]);
	if (result_compute(board, &c->result[which]))
		return compare_fail(p->json, -ENOMEM, NULL, "out of memory");
	c->ran[which] = true;
	return 0;
}

static int compare_report(struct compare *c, bool must_collapse)
{
	const struct drill_params *p = c->params;
	char reason[RESULT_REASON_MAX];
	struct report report = {
		.params = p,
		.capacity = {c->capacity[0], c->capacity[1]},
		.without = c->ran[0] ? &c->result[0] : NULL,
		.with = c->ran[1] ? &c->result[1] : NULL,
		.shield = c->ran[1] ? &c->board[1]->shield : NULL,
		.shield_note = c->ran[1] ? c->board[1]->shield_note : NULL,
		.reason = reason,
	};
	int ret;

	report.passed = result_judge(report.without, report.with, must_collapse, reason);
	ret = report_svg(&report, c->svg);
	if (ret)
		return compare_fail(p->json, ret, NULL, "cannot write %s: %s", c->svg, strerror(-ret));
	if (p->json) {
		json_t *root = report_json(&report, c->svg);

		if (!root)
			return compare_fail(true, -ENOMEM, NULL, "out of memory");
		json_dumpf(root, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
		putchar('\n');
		json_decref(root);
	} else {
		bool unicode = !strcmp(nl_langinfo(CODESET), "UTF-8");
		bool colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");

		ret = report_table(&report, stdout);
		if (ret)
			return compare_fail(false, ret, NULL, "cannot print the table: %s", strerror(-ret));
		report_shield(&report, stdout);
		report_plot(&report, stdout, unicode, colour);
		printf("picture: %s\n%s: %s\n", c->svg, report.passed ? "PASS" : "FAIL", reason);
		if (report.shield_note && report.shield_note[0])
			printf("note: %s\n", report.shield_note);
	}
	fflush(stdout);
	return !report.passed;
}

static void compare_interrupted(int signal)
{
	(void)signal; /* world_run() sees its wait interrupted */
}

/* Blocked except while a world runs, so that none is lost in between. An ignored one (nohup) stays so. */
static void compare_block(sigset_t *before)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction act = {.sa_handler = compare_interrupted}, old;
	sigset_t block;

	sigemptyset(&block);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaddset(&block, signals[i]);
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &act, NULL);
	}
	sigprocmask(SIG_BLOCK, &block, before);
}

int compare_run(const struct drill_params *params, bool must_collapse)
{
	struct compare c = {.params = params};
	sigset_t before;
	int ret = compare_prepare(&c), turn = -1;

	if (!ret) {
		turn = turn_take();
		if (turn < 0)
			ret = compare_fail(params->json, turn, NULL, "cannot wait for other drills to end: %s",
					   strerror(-turn));
	}
	setlocale(LC_CTYPE, "");
	compare_block(&before);
	if (!ret && params->only != DRILL_ONLY_WITH)
		ret = compare_half(&c, 0);
	if (!ret && params->only != DRILL_ONLY_WITHOUT)
		ret = compare_half(&c, 1);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (!ret)
		ret = compare_report(&c, must_collapse);
	for (int i = 0; i < 2; i++) {
		result_free(&c.result[i]);
		board_destroy(c.board[i]);
	}
	if (turn >= 0)
		close(turn);
	return ret;
}
