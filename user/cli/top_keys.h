/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keys of `synhold top`. What a key changes, a command changes: this program again, after a confirmation. */
#ifndef SYNHOLD_CLI_TOP_KEYS_H
#define SYNHOLD_CLI_TOP_KEYS_H

#include "cli/cli.h"
#include "cli/top.h"

#define TOP_KEYS_ARGS 4

struct top_keys {
	struct cli *cli;
	int asking, quit;
	/* what is asked for */
	const char *key; /* policy key whose value is typed; NULL: only y or n */
	char text[40];
	char service[SYNHOLD_NAME_LEN];  /* its row may move while the question stands */
	const char *args[TOP_KEYS_ARGS]; /* of the command; the value is put behind the key */
};

/* A key as curses has it. */
void top_keys_press(struct top_keys *keys, struct top *top, int key);
/* The question that stands, if there is one. */
void top_keys_prompt(const struct top_keys *keys, struct top *top);

#endif
