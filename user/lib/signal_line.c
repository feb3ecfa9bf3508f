// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/signal_line.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/spec.h"
#include "lib/units.h"

#define WORDS_MAX 8

static int refuse(struct error *err, const char *what, const char *word)
{
	error_set(err, -EINVAL, "signal: %s '%s' is not accepted", what, word);
	return error_hint(err, -EINVAL, "accepted: %s", SIGNAL_LINE_FORM);
}

static int parse_number(const char *word, double *value)
{
	char *end;

	*value = strtod(word, &end);
	return end == word || *end || !isfinite(*value) || *value < 0 ? -EINVAL : 0;
}

int signal_line_parse(int count, char *const *words, struct signal_line *out, struct error *err)
{
	struct signal_line line = {.target = 1, .for_ns = SIGNAL_FOR_DEFAULT_NS};
	int positional = 0;

	for (int i = 0; i < count; i++) {
		const char *word = words[i], *next = i + 1 < count ? words[i + 1] : "";

		if (!strcmp(word, "--target")) {
			if (parse_number(next, &line.target) || line.target <= 0)
				return refuse(err, "target", next);
			i++;
		} else if (!strcmp(word, "--for")) {
			if (units_parse_duration(next, &line.for_ns) || !line.for_ns)
				return refuse(err, "duration", next);
			i++;
		} else if (positional == 0) {
			if (!spec_name_valid(word))
				return refuse(err, "service", word);
			snprintf(line.service, sizeof(line.service), "%s", word);
			positional++;
		} else if (positional == 1) {
			if (!spec_name_valid(word) || strlen(word) >= sizeof(line.name))
				return refuse(err, "name", word);
			snprintf(line.name, sizeof(line.name), "%s", word);
			positional++;
		} else if (positional == 2) {
			if (parse_number(word, &line.value))
				return refuse(err, "value", word);
			positional++;
		} else {
			return refuse(err, "word", word);
		}
	}
	if (positional < 3)
		return refuse(err, "line", positional ? line.service : "");
	*out = line;
	return 0;
}

int signal_line_parse_text(char *text, struct signal_line *line, struct error *err)
{
	char *words[WORDS_MAX], *save = NULL, *word;
	int count = 0;

	for (word = strtok_r(text, " \t\r\n", &save); word; word = strtok_r(NULL, " \t\r\n", &save)) {
		if (count == WORDS_MAX)
			return refuse(err, "word", word);
		words[count++] = word;
	}
	return signal_line_parse(count, words, line, err);
}

char *signal_line_format(const struct signal_line *line, char *buf, size_t size)
{
	char duration[32];

	snprintf(buf, size, "%s %s %.17g --target %.17g --for %s", line->service, line->name, line->value, line->target,
		 units_format_duration(duration, sizeof(duration), line->for_ns));
	return buf;
}
