// SPDX-License-Identifier: GPL-2.0-or-later
/* The terminal of `synhold top`: looks once an interval, draws, reads keys. */
#include "cli/top.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/top_keys.h"
#include "export/export.h"

#define KEY_WAIT_MS 100
#define ONCE_LINES 24
#define ONCE_COLUMNS 80

struct terminal {
	struct cli *cli;
	struct top top;
	struct top_screen screen;
	struct top_keys keys;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

static void read_sources(struct terminal *t)
{
	struct top *top = &t->top;
	struct error ignored = {0};
	json_t *answer = NULL, *source;
	size_t i;

	top->sources = 0;
	if (!top->daemon_alive || top->selected >= top->rows || !top->row[top->selected].held ||
	    ask_daemon(t->cli, "held", top->row[top->selected].name, &answer, &ignored))
		return;
	json_array_foreach (json_object_get(answer, "sources"), i, source) {
		const char *name = json_string_value(json_object_get(source, "source"));

		if (i == TOP_SOURCES)
			break;
		snprintf(top->source[i].name, sizeof(top->source[i].name), "%s", name ? name : "");
		top->source[i].held = json_integer_value(json_object_get(source, "count"));
		top->source[i].oldest_s = json_number_value(json_object_get(source, "oldest_seconds"));
		top->sources = (unsigned int)i + 1;
	}
	json_decref(answer);
}

static int look(struct terminal *t, struct error *err)
{
	struct snapshot snap;
	int ret = snapshot_take(&snap, t->cli->instance, err);

	if (ret)
		return ret;
	ret = top_look(&t->top, &snap);
	snapshot_free(&snap);
	if (ret)
		return error_set(err, ret, "out of memory");
	read_sources(t);
	return 0;
}

/* How a style looks; the colour pairs are numbered as their colours. */
static attr_t paint(enum top_style style, short *pair)
{
	*pair = 0;
	if (has_colors() && !getenv("NO_COLOR"))
		*pair = style == TOP_GOOD ? COLOR_GREEN :
			style == TOP_WARN ? COLOR_YELLOW :
			style == TOP_BAD  ? COLOR_RED :
					    0;
	switch (style) {
	case TOP_BOLD:
	case TOP_HEAD:
	case TOP_BAD:
		return A_BOLD;
	case TOP_DIM:
		return A_DIM;
	case TOP_SELECTED:
		return A_REVERSE;
	default:
		return A_NORMAL;
	}
}

static void show(struct terminal *t)
{
	struct top_screen *s = &t->screen;

	s->lines = LINES < 1 ? 1 : LINES > TOP_LINES_MAX ? TOP_LINES_MAX : (unsigned int)LINES;
	s->columns = COLS < 1 ? 1 : COLS > TOP_COLUMNS_MAX ? TOP_COLUMNS_MAX : (unsigned int)COLS;
	top_keys_prompt(&t->keys, &t->top);
	top_draw(&t->top, s);
	for (unsigned int i = 0; i < s->lines; i++)
		for (unsigned int j = 0; j < s->columns; j++) {
			wchar_t glyph[2] = {(wchar_t)s->cell[i][j], 0};
			cchar_t cell;
			attr_t attributes;
			short pair;

			attributes = paint(s->style[i][j], &pair);
			setcchar(&cell, glyph, attributes, pair, NULL);
			mvadd_wch((int)i, (int)j, &cell);
		}
	refresh();
}

static void start_terminal(struct terminal *t)
{
	t->screen.unicode = !strcmp(nl_langinfo(CODESET), "UTF-8");
	initscr();
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	timeout(KEY_WAIT_MS);
	if (!has_colors())
		return;
	start_color();
	use_default_colors();
	init_pair(COLOR_GREEN, COLOR_GREEN, -1);
	init_pair(COLOR_YELLOW, COLOR_YELLOW, -1);
	init_pair(COLOR_RED, COLOR_RED, -1);
}

static int terminal_gone(void)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&in, 1, 0) > 0 && in.revents & (POLLHUP | POLLERR | POLLNVAL);
}

static int run_terminal(struct terminal *t, uint64_t interval_ns, struct error *err)
{
	struct sigaction act = {.sa_handler = on_signal};
	uint64_t next_ns = 0;
	int ret = 0;

	start_terminal(t);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	while (!ret && !t->keys.quit && !interrupted) {
		int key;

		if (instance_now_ns() >= next_ns) {
			ret = look(t, err);
			next_ns = instance_now_ns() + interval_ns;
		}
		show(t);
		key = getch();
		if (key == ERR && terminal_gone())
			break;
		if (key == ERR || key == KEY_RESIZE)
			continue;
		top_keys_press(&t->keys, &t->top, key);
		if (!t->keys.asking && t->top.message[0])
			next_ns = 0; /* what was done is to be seen at once */
	}
	endwin();
	return ret;
}

/* One picture of two looks, as text. */
static int print_once(struct terminal *t, uint64_t interval_ns, struct error *err)
{
	struct top_screen *s = &t->screen;
	struct timespec pause = {.tv_sec = (time_t)(interval_ns / 1000000000),
				 .tv_nsec = (long)(interval_ns % 1000000000)};
	int ret = look(t, err);

	if (ret)
		return ret;
	while (nanosleep(&pause, &pause) && errno == EINTR)
		;
	ret = look(t, err);
	if (ret)
		return ret;
	s->lines = ONCE_LINES;
	s->columns = ONCE_COLUMNS;
	top_draw(&t->top, s);
	for (unsigned int i = 0; i + 1 < s->lines; i++) { /* without the line of keys */
		unsigned int end = s->columns;

		while (end && s->cell[i][end - 1] == ' ')
			end--;
		for (unsigned int j = 0; j < end; j++)
			putchar((int)s->cell[i][j]);
		putchar('\n');
	}
	return 0;
}

int cli_top(struct cli *cli, int argc, char **argv)
{
	static struct terminal terminal;
	uint64_t interval_ns = 1000000000;
	int once = 0, ret;
	const struct cli_option options[] = {{"interval", 'n', CLI_DURATION, &interval_ns},
					     {"once", 0, CLI_FLAG, &once},
					     {0}};
	struct cli_words words;
	struct error err = {0};

	terminal.cli = terminal.keys.cli = cli;
	ret = cli_parse(cli, argc, argv, options, &words, &err);
	if (!ret && words.count)
		ret = cli_misuse(cli, &err, "'%s' is not accepted here", words.word[0]);
	if (ret)
		return cli_fail(cli, &err);
	if (cli->json) {
		struct snapshot snap;

		if (snapshot_take(&snap, cli->instance, &err))
			return cli_fail(cli, &err);
		ret = cli_print_json(cli, export_status(&snap, NULL));
		snapshot_free(&snap);
		return ret;
	}
	setlocale(LC_CTYPE, "");
	if (once) {
		ret = print_once(&terminal, interval_ns, &err);
	} else if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		ret = error_set(&err, -ENOTTY, "top needs a terminal");
		error_hint(&err, ret, "synhold top --once, synhold status --json");
	} else {
		ret = run_terminal(&terminal, interval_ns, &err);
	}
	top_free(&terminal.top);
	return ret ? cli_failed(cli, &err) : cli_finish(cli);
}
