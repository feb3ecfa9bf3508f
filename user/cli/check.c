// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const level_names[] = {"ok", "warn", "fail"};

void check_add(struct check *check, enum check_level level, const char *what, const char *fix, const char *why, ...)
{
	char text[512];
	va_list args;

	va_start(args, why);
	vsnprintf(text, sizeof(text), why, args);
	va_end(args);
	json_array_append_new(check->findings, json_pack("{s:s,s:s,s:s,s:s}", "level", level_names[level], "what", what,
							 "why", text, "fix", fix));
	if (level > check->worst)
		check->worst = level;
}

static void print_findings(const struct check *check)
{
	static const char *const verdicts[] = {"nothing stands in the way", "it will work; see the warnings",
					       "it will not work like this"};
	size_t i;
	json_t *finding;

	json_array_foreach (check->findings, i, finding) {
		const char *fix = json_string_value(json_object_get(finding, "fix"));

		printf("%-4s  %s: %s\n", json_string_value(json_object_get(finding, "level")),
		       json_string_value(json_object_get(finding, "what")),
		       json_string_value(json_object_get(finding, "why")));
		if (*fix)
			printf("      do: %s\n", fix);
	}
	printf("%s\n", verdicts[check->worst]);
}

int cli_check(struct cli *cli, int argc, char **argv)
{
	static const int status[] = {[CHECK_OK] = 0, [CHECK_WARN] = 3, [CHECK_FAIL] = 1};
	struct check check = {.instance = cli->instance ? cli->instance : INSTANCE_DEFAULT};
	struct cli_words words;
	struct error err = {0};
	int ret;

	ret = cli_parse(cli, argc, argv, NULL, &words, &err);
	if (!ret && words.count > 1)
		ret = cli_misuse(cli, &err, "one interface at a time");
	if (ret)
		return cli_fail(cli, &err);
	check.findings = json_array();
	check_version(&check);
	check_kernel(&check);
	check_host(&check);
	check_listeners(&check);
	if (words.count)
		check_interface(&check, words.word[0]);
	if (cli->json)
		ret = cli_print_json(cli, json_pack("{s:s,s:O}", "level", level_names[check.worst], "findings",
						    check.findings));
	else
		print_findings(&check);
	json_decref(check.findings);
	return ret || cli_finish(cli) ? 1 : status[check.worst];
}
