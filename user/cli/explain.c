// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/ask.h"
#include "lib/snapshot.h"
#include "lib/spec.h"

static void print_value(const char *name, const json_t *value)
{
	char *text;

	if (json_is_string(value)) {
		printf("%s: %s\n", name, json_string_value(value));
		return;
	}
	text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
	printf("%s: %s\n", name, text ? text : "?");
	free(text);
}

/* `text` or `lines` are sentences for people; anything else is shown as it is. */
static void print_answer(const json_t *answer)
{
	const json_t *lines = json_object_get(answer, "lines"), *line;
	const char *text = json_string_value(json_object_get(answer, "text")), *name;
	json_t *value;
	size_t i;

	if (text)
		printf("%s\n", text);
	json_array_foreach(lines, i, line)
		printf("%s\n", json_string_value(line) ? json_string_value(line) : "");
	if (text || json_array_size(lines))
		return;
	json_object_foreach((json_t *)answer, name, value)
		print_value(name, value);
}

int cli_explain(struct cli *cli, int argc, char **argv)
{
	struct cli_words words;
	struct error err = {0};
	struct snapshot snap = {0};
	json_t *answer = NULL;
	int ret, known = 0;

	ret = cli_parse(cli, argc, argv, NULL, &words, &err);
	if (!ret && words.count != 1)
		ret = cli_misuse(cli, &err, words.count ? "one service at a time" : "no service given");
	if (!ret)
		ret = snapshot_take(&snap, cli->instance, &err);
	for (unsigned int i = 0; !ret && i < snap.service_count; i++)
		known |= !strcmp(snap.service[i].policy.name, words.word[0]);
	snapshot_free(&snap);
	if (!ret && !known) {
		error_set(&err, -EINVAL, "no service '%s'", words.word[0]);
		ret = error_hint(&err, -EINVAL, "synhold status lists them");
	}
	if (!ret)
		ret = ask_daemon(cli, "explain", words.word[0], &answer, &err);
	if (ret)
		return cli_fail(cli, &err);
	if (cli->json)
		return cli_print_json(cli, answer);
	print_answer(answer);
	json_decref(answer);
	return cli_finish(cli);
}
