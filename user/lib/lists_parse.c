// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines of address lists: of a config file, of the files that it includes, of `load`. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/lists_set.h"
#include "lib/units.h"

#define BLANKS " \t\r\n"
#define WEIGHT_LEAST 2  /* everybody has 1 */
#define WEIGHT_MOST 128 /* what the hold queue takes */

/* The note of a line: what follows its first '#', without blanks around. Cut to what an entry can carry. */
static void copy_note(char *note, size_t size, const char *hash)
{
	size_t length;

	hash += 1 + strspn(hash + 1, " \t");
	length = strlen(hash);
	while (length && isspace((unsigned char)hash[length - 1]))
		length--;
	if (length >= size)
		length = size - 1;
	memcpy(note, hash, length);
	note[length] = '\0';
}

static int parse_weight(char *word, char **save, uint64_t *weight)
{
	if (!word || units_parse_count(word, weight) || strtok_r(NULL, BLANKS, save))
		return -EINVAL;
	return *weight < WEIGHT_LEAST || *weight > WEIGHT_MOST ? -EINVAL : 0;
}

/* What may stand behind the address: of prefer a weight, else words with a value, each once. */
static int parse_rest(const struct lists_lines *lines, char **save, struct list_value *value)
{
	char *word = strtok_r(NULL, BLANKS, save);
	uint64_t ns = 0;

	if (lines->kind == LIST_PREFER)
		return parse_weight(word, save, &value->rate_pps);
	for (; word; word = strtok_r(NULL, BLANKS, save)) {
		const char *what = strtok_r(NULL, BLANKS, save);

		if (!what)
			return -EINVAL;
		if (lines->kind == LIST_ALLOW && !value->rate_pps && !strcmp(word, "rate")) {
			if (units_parse_count(what, &value->rate_pps) || !value->rate_pps)
				return -EINVAL;
		} else if (lines->now_ns && !ns && !strcmp(word, "for")) {
			if (units_parse_duration(what, &ns) || !ns)
				return -EINVAL;
			value->until_ns = lines->now_ns + ns;
		} else {
			return -EINVAL;
		}
	}
	return 0;
}

int lists_parse(struct config_lists *lists, const struct lists_lines *lines, const char *text, struct error *err)
{
	static const char *const forms[2][LIST_KINDS] = {
		{LISTS_ALLOW_FORM, LISTS_DENY_FORM, LISTS_PREFER_FORM},
		{LISTS_ALLOW_LOAD_FORM, LISTS_DENY_LOAD_FORM, LISTS_PREFER_FORM},
	};
	struct list_entry entry = {.value = {.until_ns = SYNHOLD_FOREVER, .origin = (uint8_t)lines->origin}};
	const char *hash = strchr(text, '#');
	char words[160], *save = NULL, *word = NULL;
	size_t length = hash ? (size_t)(hash - text) : strlen(text);
	int ret = -EINVAL;

	if (length < sizeof(words)) {
		memcpy(words, text, length);
		words[length] = '\0';
		word = strtok_r(words, BLANKS, &save);
	}
	if (word && !units_parse_cidr(word, entry.addr, &entry.prefixlen))
		ret = parse_rest(lines, &save, &entry.value);
	if (ret) {
		error_set(err, ret, "'%.80s' is not a list entry", text);
		return error_hint(err, ret, "accepted: %s", forms[lines->now_ns != 0][lines->kind]);
	}
	if (hash)
		copy_note(entry.value.note, sizeof(entry.value.note), hash);
	ret = config_lists_add(lists, lines->kind, &entry);
	return ret ? error_set(err, ret, "out of memory") : 0;
}

int lists_parse_file(struct config_lists *lists, const struct lists_lines *lines, const char *path, struct error *err)
{
	FILE *file = fopen(path, "re");
	unsigned int number = 0;
	char *line = NULL;
	size_t size = 0;
	ssize_t length;
	int ret = 0;

	if (!file) {
		error_set(err, errno == EINVAL ? -EIO : -errno, "%s: %s", path, strerror(errno));
		return error_hint(err, err ? err->code : -EIO, "give a file that exists and that you may read");
	}
	while (!ret && (length = getline(&line, &size, file)) >= 0) {
		struct error why = {0};

		number++;
		if (memchr(line, '\0', (size_t)length)) { /* all behind it would be overlooked */
			ret = error_set(err, -EINVAL, "%s:%u: a zero byte", path, number);
			error_hint(err, ret, "accepted: lines of text");
			break;
		}
		line[strcspn(line, "\r\n")] = '\0';
		if (strchr("#;", line[strspn(line, " \t")])) /* an empty one too */
			continue;
		ret = lists_parse(lists, lines, line, &why);
		if (ret) {
			error_set(err, ret, "%s:%u: %s", path, number, why.message);
			error_hint(err, ret, "%s", why.hint);
		}
	}
	if (!ret && ferror(file))
		ret = error_set(err, -EIO, "%s: cannot be read", path);
	free(line);
	fclose(file);
	return ret;
}
