// SPDX-License-Identifier: GPL-2.0-or-later
/* The options of a command, by its table. */
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "cli/cli.h"
#include "lib/units.h"

#define OPTIONS_MAX 16
#define OPTIONS_LONG 256 /* value of the first long option; below it are the letters */

static int add_word(struct cli_words *words, const char *word, struct error *err)
{
	if (words->count == CLI_WORDS_MAX)
		return error_set(err, -EINVAL, "more than %d words of a kind", CLI_WORDS_MAX);
	words->word[words->count++] = word;
	return 0;
}

static int take_value(const struct cli_option *option, const char *text, struct error *err)
{
	uint64_t value;
	int ret;

	switch (option->take) {
	case CLI_FLAG:
		*(int *)option->into = 1;
		return 0;
	case CLI_TEXT:
		if (!*text)
			return error_set(err, -EINVAL, "--%s needs a value that is not empty", option->name);
		*(const char **)option->into = text;
		return 0;
	case CLI_WORDS:
		return add_word(option->into, text, err);
	case CLI_DURATION:
		ret = units_parse_duration(text, &value);
		break;
	default:
		ret = units_parse_count(text, &value);
	}
	if (ret || !value) {
		error_set(err, -EINVAL, "--%s '%s' is not accepted", option->name, text);
		return error_hint(err, -EINVAL, "accepted: %s%s",
				  option->take == CLI_DURATION ? UNITS_DURATION_FORM : UNITS_COUNT_FORM,
				  ret ? "" : "; above zero");
	}
	*(uint64_t *)option->into = value;
	return 0;
}

static const struct cli_option *find_option(const struct cli_option *options, int value)
{
	if (value >= OPTIONS_LONG)
		return &options[value - OPTIONS_LONG];
	for (const struct cli_option *o = options; o->name; o++)
		if (o->letter == value)
			return o;
	return NULL;
}

int cli_parse(struct cli *cli, int argc, char **argv, const struct cli_option *options, struct cli_words *words,
	      struct error *err)
{
	struct option longs[OPTIONS_MAX] = {0};
	char letters[2 * OPTIONS_MAX + 3] =
		"-:"; /* words come in order, whatever POSIXLY_CORRECT says; nothing is printed */
	struct cli_option all[OPTIONS_MAX] = {{"json", 0, CLI_FLAG, &cli->json},
					      {"instance", 0, CLI_TEXT, &cli->instance}};
	unsigned int count = 2;
	size_t used = 2;
	int value, ret = 0;

	for (; options && options->name; options++)
		all[count++] = *options;
	for (unsigned int i = 0; i < count; i++) {
		longs[i] = (struct option){all[i].name, all[i].take == CLI_FLAG ? no_argument : required_argument, NULL,
					   OPTIONS_LONG + (int)i};
		if (!all[i].letter)
			continue;
		letters[used++] = all[i].letter;
		if (all[i].take != CLI_FLAG)
			letters[used++] = ':';
	}
	words->count = 0;
	optind = 0; /* starts anew */
	while (!ret && (value = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (value == 1)
			ret = add_word(words, optarg, err);
		else if (value == ':')
			ret = cli_misuse(cli, err, "option '%s' needs a value", argv[optind - 1]);
		else if (value == '?' && optopt > 0 && optopt < OPTIONS_LONG)
			ret = cli_misuse(cli, err, "unknown option '-%c'", optopt);
		else if (value == '?')
			ret = cli_misuse(cli, err, "option '%s' is not accepted here", argv[optind - 1]);
		else
			ret = take_value(find_option(all, value), optarg, err);
	}
	for (; !ret && optind < argc; optind++)
		ret = add_word(words, argv[optind], err);
	return ret;
}

int cli_check_twice(const char *const *assignment, unsigned int count, struct error *err)
{
	for (unsigned int i = 1; i < count; i++)
		for (unsigned int j = 0; j < i; j++) {
			size_t length = strcspn(assignment[i], "=");

			if (length != strcspn(assignment[j], "=") || strncmp(assignment[i], assignment[j], length))
				continue;
			error_set(err, -EINVAL, "key '%.*s' is given twice: %.40s and %.40s", (int)length,
				  assignment[i], assignment[j], assignment[i]);
			return error_hint(err, -EINVAL, "accepted: each key once");
		}
	return 0;
}
