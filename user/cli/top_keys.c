// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/top_keys.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEY_ESCAPE 27

/* Runs this program with the words of the question; its first line of output becomes the message. */
static void run_command(const struct top_keys *keys, struct top *top)
{
	const char *args[TOP_KEYS_ARGS + 5] = {"synhold"};
	char assignment[80];
	int out[2], n = 1, status = 0;
	char said[256] = "", rest[256];
	size_t length = 0;
	ssize_t got;
	pid_t pid;

	if (keys->cli->instance) {
		args[n++] = "--instance";
		args[n++] = keys->cli->instance;
	}
	for (int i = 0; i < TOP_KEYS_ARGS && keys->args[i]; i++)
		args[n++] = keys->args[i];
	if (keys->key) {
		snprintf(assignment, sizeof(assignment), "%s=%s", keys->key, keys->text);
		args[n++] = assignment;
	}
	if (pipe2(out, O_CLOEXEC))
		return;
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDONLY);

		dup2(null, 0);
		dup2(out[1], 1);
		dup2(out[1], 2);
		execv("/proc/self/exe", (char *const *)args);
		_exit(127);
	}
	close(out[1]);
	/* to the end, though the first line is enough: a command that cannot write would fail */
	while ((got = read(out[0], rest, sizeof(rest))) > 0 || (got < 0 && errno == EINTR))
		for (ssize_t i = 0; i < got && length + 1 < sizeof(said); i++)
			said[length++] = rest[i];
	said[strcspn(said, "\n")] = '\0';
	close(out[0]);
	if (pid > 0)
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	snprintf(top->message, sizeof(top->message), "%.150s", said[0] ? said : status ? "it failed" : "done");
}

void top_keys_prompt(const struct top_keys *keys, struct top *top)
{
	char words[120] = "";
	size_t used = 0;

	for (int i = 0; i < TOP_KEYS_ARGS && keys->args[i] && used < sizeof(words); i++)
		used += (size_t)snprintf(words + used, sizeof(words) - used, " %s", keys->args[i]);
	if (keys->asking && keys->key)
		snprintf(top->prompt, sizeof(top->prompt), "synhold%.60s %s=%s_  (Enter does it, Esc does not)", words,
			 keys->key, keys->text);
	else if (keys->asking)
		snprintf(top->prompt, sizeof(top->prompt), "synhold%.60s ?  (y does it, any other key does not)",
			 words);
	else
		top->prompt[0] = '\0';
}

static void ask(struct top_keys *keys, struct top *top, const char *key, const char *a, const char *b)
{
	keys->key = key;
	keys->text[0] = '\0';
	keys->args[0] = a;
	keys->args[1] = b;
	keys->asking = 1;
	top->message[0] = '\0';
}

static void on_answer(struct top_keys *keys, struct top *top, int key)
{
	size_t length = strlen(keys->text);

	if (!keys->key) {
		keys->asking = 0;
		if (key == 'y' || key == 'Y')
			run_command(keys, top);
	} else if (key == KEY_ESCAPE) {
		keys->asking = 0;
	} else if ((key == '\n' || key == KEY_ENTER || key == '\r') && length) {
		keys->asking = 0;
		run_command(keys, top);
	} else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && length) {
		keys->text[length - 1] = '\0';
	} else if (key > ' ' && key < 127 && length + 1 < sizeof(keys->text)) {
		keys->text[length] = (char)key;
		keys->text[length + 1] = '\0';
	}
}

static void on_service_key(struct top_keys *keys, struct top *top, int key)
{
	if (top->selected >= top->rows)
		return;
	memcpy(keys->service, top->row[top->selected].name, sizeof(keys->service));
	switch (key) {
	case 'o':
		ask(keys, top, NULL, "open", keys->service);
		return;
	case 'c':
		ask(keys, top, NULL, "close", keys->service);
		return;
	case 'r':
		ask(keys, top, "rate", "set", keys->service);
		return;
	case 'w':
		ask(keys, top, "window", "set", keys->service);
		return;
	case 's':
		ask(keys, top, "share", "set", keys->service);
		return;
	default:
		return;
	}
}

void top_keys_press(struct top_keys *keys, struct top *top, int key)
{
	if (keys->asking) {
		on_answer(keys, top, key);
		return;
	}
	switch (key) {
	case 'q':
		keys->quit = 1;
		return;
	case '?':
	case 'h':
		top->help = !top->help;
		return;
	case KEY_UP:
	case 'k':
		top->selected -= top->selected > 0;
		return;
	case KEY_DOWN:
	case 'j':
		top->selected += top->selected + 1 < top->rows;
		return;
	case 'b':
		ask(keys, top, NULL, "bypass", top->bypass ? "off" : "on");
		return;
	default:
		on_service_key(keys, top, key);
	}
}
