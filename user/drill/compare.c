// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "drill/progress.h"
#include "drill/report.h"
#include "drill/server.h"
#include "drill/turn.h"

/* Connections of clients that have left, on top of the ones that are served: the server must hold both. */
#define COMPARE_SPARE_CONNECTIONS 2000
/* What a server of this kind is usually allowed. */
#define COMPARE_DESCRIPTORS 20000

struct compare {
	const struct drill *drill;
	const struct drill_params *params;
	struct board *board[RUN_COUNT];
	struct report report;
	int log_fd;
	char svg[256], html[256];
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

/* Beside the picture, unless it is said. */
static void compare_html_name(struct compare *c)
{
	size_t length = strlen(c->svg);

	if (length > 4 && !strcmp(c->svg + length - 4, ".svg"))
		length -= 4;
	if (c->params->html)
		snprintf(c->html, sizeof(c->html), "%s", c->params->html);
	else
		snprintf(c->html, sizeof(c->html), "%.*s.html", (int)(length < 250 ? length : 250), c->svg);
}

/* Whether the file's directory can be written to: better known now than after a minute of storm. 0 or -1 with errno. */
static int compare_writable(const char *path)
{
	char dir[256], *slash;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = '\0';
	return access(slash ? dir : ".", W_OK);
}

static off_t compare_log_end(const struct compare *c)
{
	struct stat st;

	return fstat(c->log_fd, &st) ? 0 : st.st_size;
}

/* What turns CLOCK_MONOTONIC into the clock of the log. */
static double compare_realtime_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9 - (double)board_now_ns() / 1e9;
}

/* Clients and server need a descriptor for each connection, as they would in earnest. */
static int compare_prepare(struct compare *c)
{
	const struct drill_params *p = c->params;
	struct rlimit limit;

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
	compare_html_name(c);
	if (compare_writable(c->svg))
		return compare_fail(p->json, -errno, "name a file elsewhere with --svg", "cannot write %s: %s", c->svg,
				    strerror(errno));
	if (compare_writable(c->html))
		return compare_fail(p->json, -errno, "name a file elsewhere with --html", "cannot write %s: %s",
				    c->html, strerror(errno));
	return 0;
}

/* Opened out here: the runs have a /run of their own. Several processes write to it, each at its end. */
static int compare_open_log(struct compare *c)
{
	const char *path = c->params->log;

	c->log_fd = path ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644) :
			   memfd_create("shield", MFD_CLOEXEC);
	if (c->log_fd < 0)
		return compare_fail(c->params->json, -errno, "name a file elsewhere with --log", "cannot write %s: %s",
				    path ? path : "the shield's log", strerror(errno));
	return 0;
}

static int compare_programs(struct compare *c)
{
	struct board said = {0};

	for (const char *const *name = c->drill->programs; name && *name; name++)
		if (program_installed(&said, *name))
			return compare_fail(c->params->json, -ENOENT, said.hint, "%s", said.error);
	return 0;
}

/* Makes one run, on a board that the caller gets with it, also when it fails. Returns 0, or 1 when that is said. */
static int compare_make(struct compare *c, enum drill_run which, unsigned int setting, struct report_run *out,
			struct board **made)
{
	const struct drill_params *p = c->params;
	struct board *board = board_create(p);
	int ret;

	if (!board)
		return compare_fail(p->json, -ENOMEM, NULL, "cannot map the log of %u clients: %s", p->clients,
				    strerror(errno));
	*made = board;
	board->run = which;
	board->setting = setting;
	board->log_fd = c->log_fd;
	board->measure = !c->report.capacity[0];
	memcpy(board->capacity, c->report.capacity, sizeof(board->capacity));
	out->log_from = compare_log_end(c);
	ret = run_make(c->drill, board);
	out->log_to = compare_log_end(c);
	out->realtime_s = compare_realtime_s();
	if (ret == -EINTR)
		return compare_fail(p->json, -EINTR, NULL, "interrupted, nothing is left behind");
	if (ret && board->inconclusive)
		return compare_fail(p->json, -EAGAIN, board->hint, "%s", board->error);
	if (ret && board->rival_refused)
		return 0;
	if (ret)
		return compare_fail(p->json, -EIO, board->hint, "the run %s could not be made: %s", report_name(which),
				    board->error);
	memcpy(c->report.capacity, board->capacity, sizeof(board->capacity));
	c->report.ideal_s = board_ideal_seconds(board);
	ret = c->drill->figures(board, &out->figures);
	if (ret)
		return compare_fail(p->json, ret, NULL, "cannot compute the figures: %s", strerror(-ret));
	out->ran = true;
	out->board = board;
	return 0;
}

/* Figures and verdict need the board to stay, so it goes at the very end. */
static int compare_one(struct compare *c, enum drill_run which)
{
	progress_say("%s: %s", report_name(which), c->drill->title);
	return compare_make(c, which, 0, &c->report.run[which], &c->board[which]);
}

static double compare_value(const struct figures *figures, const char *key)
{
	const struct figure *figure = figures_find(figures, key);

	return figure ? figure->value : FIGURE_NONE;
}

/* More clients back is better, and if all are, sooner. */
static bool compare_better(const struct report_try *a, const struct report_try *b)
{
	if (a->served != b->served)
		return a->served > b->served;
	return a->drain_s < b->drain_s;
}

/* All settings of a rival; only the board of the best so far is kept. One that is not there gets a row that says so. */
static int compare_rival(struct compare *c, enum drill_run which)
{
	struct report_run *out = &c->report.run[which];
	struct board said = {0};
	unsigned int best = 0;

	if (program_installed(&said, rival_program(which))) {
		snprintf(out->absent, sizeof(out->absent), "%s is not installed; install %s", rival_program(which),
			 rival_package(which));
		progress_say("%s: %s", report_name(which), out->absent);
		return 0;
	}
	for (unsigned int i = 0; i < rival_settings(which); i++) {
		struct report_run now = {.ran = false};
		struct report_try *try = &out->tried[i];
		struct board *board = NULL;
		int ret;

		progress_say("%s, setting %u of %u: %s", report_name(which), i + 1, rival_settings(which),
			     c->drill->title);
		ret = compare_make(c, which, i, &now, &board);
		if (ret || !now.ran) {
			if (!ret)
				snprintf(out->absent, sizeof(out->absent), "%s", board->error);
			board_destroy(board);
			return ret;
		}
		snprintf(try->setting, sizeof(try->setting), "%s", board->setting_text);
		try->hits = board->rival_hits;
		try->served = compare_value(&now.figures, "served");
		try->drain_s = compare_value(&now.figures, "drain_seconds");
		if (i && !compare_better(try, &out->tried[best])) {
			board_destroy(board);
			continue;
		}
		best = i;
		board_destroy(c->board[which]);
		c->board[which] = board;
		memcpy(now.tried, out->tried, sizeof(now.tried));
		*out = now;
		out->tries = i + 1;
	}
	out->tries = rival_settings(which);
	return 0;
}

static void compare_judge(struct report *report)
{
	struct figures_run runs[RUN_COUNT];

	for (int r = 0; r < RUN_COUNT; r++)
		runs[r] = (struct figures_run){.name = report_name(r),
					       .figures = report_is_column(report, r) ? &report->run[r].figures : NULL};
	report->passed = figures_judge(runs, RUN_COUNT, report->reason);
}

static int compare_print(const struct report *report, const char *svg, const char *html)
{
	bool unicode = !strcmp(nl_langinfo(CODESET), "UTF-8");
	bool colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	int ret = report_table(report, stdout);

	if (ret)
		return compare_fail(false, ret, NULL, "cannot print the table: %s", strerror(-ret));
	report_shield(report, stdout);
	ret = report_compared(report, stdout);
	if (ret)
		return compare_fail(false, ret, NULL, "cannot print the table: %s", strerror(-ret));
	report_plot(report, stdout, unicode, colour);
	printf("picture: %s\nreport: %s\n%s: %s\n", svg, html, report->passed ? "PASS" : "FAIL", report->reason);
	for (int r = 0; r < RUN_COUNT; r++)
		if (report->run[r].ran && report->run[r].board->shield_note[0])
			printf("note: %s\n", report->run[r].board->shield_note);
	return 0;
}

static int compare_report(struct compare *c)
{
	const struct drill_params *p = c->params;
	struct report *report = &c->report;
	const char *absent = "nothing was run";
	bool ran = false;
	int ret;

	for (int r = 0; r < RUN_COUNT; r++) {
		ran |= report->run[r].ran;
		if (report->run[r].absent[0])
			absent = report->run[r].absent;
	}
	if (!ran)
		return compare_fail(p->json, -ENOENT, NULL, "%s", absent);
	compare_judge(report);
	ret = report_svg(report, c->svg);
	if (ret)
		return compare_fail(p->json, ret, NULL, "cannot write %s: %s", c->svg, strerror(-ret));
	ret = report_html(report, c->log_fd, c->html);
	if (ret)
		return compare_fail(p->json, ret, NULL, "cannot write %s: %s", c->html, strerror(-ret));
	if (p->json) {
		json_t *root = report_json(report, c->svg, c->html);

		if (!root)
			return compare_fail(true, -ENOMEM, NULL, "out of memory");
		json_dumpf(root, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
		putchar('\n');
		json_decref(root);
	} else if (compare_print(report, c->svg, c->html)) {
		return 1;
	}
	fflush(stdout);
	return !report->passed;
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

int compare_run(const struct drill *drill, const struct drill_params *params)
{
	struct compare *c = calloc(1, sizeof(*c));
	int ret, turn = -1;
	sigset_t before;

	if (!c)
		return compare_fail(params->json, -ENOMEM, NULL, "out of memory");
	*c = (struct compare){.drill = drill,
			      .log_fd = -1,
			      .params = params,
			      .report = {.drill = drill, .params = params}};
	ret = compare_prepare(c) || compare_programs(c) || compare_open_log(c);
	if (!ret) {
		turn = turn_take();
		if (turn < 0)
			ret = compare_fail(params->json, turn, NULL, "cannot wait for other drills to end: %s",
					   strerror(-turn));
	}
	setlocale(LC_CTYPE, "");
	compare_block(&before);
	for (int run = 0; !ret && run < RUN_COUNT; run++)
		if (params->runs & RUN_BIT(run))
			ret = rival_is(run) ? compare_rival(c, run) : compare_one(c, run);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (!ret)
		ret = compare_report(c);
	for (int run = 0; run < RUN_COUNT; run++)
		board_destroy(c->board[run]);
	if (c->log_fd >= 0)
		close(c->log_fd);
	free(c);
	if (turn >= 0)
		close(turn);
	return ret;
}
