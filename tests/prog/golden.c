// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/prog/golden.h"

#include <ctype.h>

static unsigned int line_number;

static void misread(const char *what, const char *text)
{
	fail_msg("line %u: %s '%s'", line_number, what, text);
}

static uint8_t hex_byte(const char *at)
{
	unsigned int value;

	if (!isxdigit(at[0]) || !isxdigit(at[1]) || sscanf(at, "%2x", &value) != 1)
		misread("no hexadecimal byte:", at);
	return (uint8_t)value;
}

/* Bytes in hexadecimal, blanks between them allowed. Returns how many. */
static size_t hex_bytes(const char *text, uint8_t *to, size_t most)
{
	size_t count = 0;

	while (*text) {
		if (isspace(*text)) {
			text++;
			continue;
		}
		if (count == most)
			misread("too many bytes:", text);
		to[count++] = hex_byte(text);
		text += 2;
	}
	return count;
}

static unsigned int number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end)
		misread("no number:", text);
	return (unsigned int)value;
}

struct recipe {
	struct frame_spec spec;
	char src[48], dst[48];
	uint16_t tags[8], tci;
	unsigned int tag_count, cut, change_count;
	bool has_tci;
	struct {
		unsigned int offset;
		uint8_t bytes[16];
		size_t count;
	} change[4];
};

static void numbers_of_headers(struct recipe *r, char *list)
{
	char *rest = NULL, *word;
	unsigned int i = 0;

	for (word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		if (i >= FRAMES_EXTENSIONS) {
			misread("too many headers:", word);
			return;
		}
		r->spec.ext[i++] = (uint8_t)number(word);
	}
}

static void types_of_tags(struct recipe *r, char *list)
{
	char *rest = NULL, *word;

	for (word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		if (r->tag_count == sizeof(r->tags) / sizeof(r->tags[0]))
			misread("too many tags:", word);
		r->tags[r->tag_count++] = (uint16_t)(hex_byte(word) << 8 | hex_byte(word + 2));
	}
	r->spec.vlans = r->tag_count;
}

static void change(struct recipe *r, char *word, const char *value)
{
	if (r->change_count == sizeof(r->change) / sizeof(r->change[0]))
		misread("too many changes:", word);
	r->change[r->change_count].offset = number(word + 1);
	r->change[r->change_count].count = hex_bytes(value, r->change[r->change_count].bytes, 16);
	r->change_count++;
}

static void set_flags(struct recipe *r, const char *value)
{
	char *end;

	r->spec.flags = (uint8_t)strtoul(value, &end, 16);
	r->spec.null_flags = !r->spec.flags;
	if (*end)
		misread("no flags:", value);
}

static void frame_word(struct recipe *r, char *word)
{
	struct frame_spec *spec = &r->spec;
	const struct {
		const char *name;
		unsigned int *at;
	} numbers[] = {{"vlans", &spec->vlans}, {"ipopt", &spec->ip_options}, {"tcpopt", &spec->tcp_options},
		       {"data", &spec->data},   {"pad", &spec->padding},      {"frag", &spec->fragment},
		       {"cut", &r->cut},        {"seq", &spec->seq}};
	const struct {
		const char *name;
		bool *at;
	} switches[] = {{"v6", &spec->v6},
			{"reply", &spec->reply},
			{"hbh", &spec->hop_by_hop},
			{"more", &spec->more},
			{"partial", &spec->partial}};
	char *value = strchr(word, '=');
	size_t i;

	if (value)
		*value++ = '\0';
	for (i = 0; !value && i < sizeof(switches) / sizeof(switches[0]); i++) {
		if (!strcmp(word, switches[i].name)) {
			*switches[i].at = true;
			return;
		}
	}
	for (i = 0; value && i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (!strcmp(word, numbers[i].name)) {
			*numbers[i].at = number(value);
			return;
		}
	}
	if (!value)
		misread("what is", word);
	else if (word[0] == '@')
		change(r, word, value);
	else if (!strcmp(word, "flags"))
		set_flags(r, value);
	else if (!strcmp(word, "ext"))
		numbers_of_headers(r, value);
	else if (!strcmp(word, "tags"))
		types_of_tags(r, value);
	else if (!strcmp(word, "sport"))
		spec->sport = (uint16_t)number(value);
	else if (!strcmp(word, "dport"))
		spec->dport = (uint16_t)number(value);
	else if (!strcmp(word, "src"))
		spec->src = strcpy(r->src, value);
	else if (!strcmp(word, "dst"))
		spec->dst = strcpy(r->dst, value);
	else if (!strcmp(word, "tci") && (r->has_tci = true))
		r->tci = (uint16_t)(hex_byte(value) << 8 | hex_byte(value + 2));
	else
		misread("what is", word);
}

static void compose(struct frame *frame, char *words)
{
	struct recipe r = {.has_tci = false};
	char *rest = NULL, *word;
	unsigned int i;

	if (!strncmp(words, "hex:", 4)) {
		memset(frame, 0, sizeof(*frame));
		frame->len = hex_bytes(words + 4, frame->bytes, sizeof(frame->bytes));
		return;
	}
	for (word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		if (strcmp(word, "-"))
			frame_word(&r, word);
	frames_build(frame, &r.spec);
	for (i = 0; i < r.spec.vlans; i++) {
		uint8_t *tag = frame->bytes + 12 + 4 * i;

		if (r.tag_count) {
			tag[0] = (uint8_t)(r.tags[i] >> 8);
			tag[1] = (uint8_t)r.tags[i];
		}
		if (r.has_tci) {
			tag[2] = (uint8_t)(r.tci >> 8);
			tag[3] = (uint8_t)r.tci;
		}
	}
	for (i = 0; i < r.change_count; i++) {
		assert_true(frame->l3 + r.change[i].offset + r.change[i].count <= frame->len);
		memcpy(frame->bytes + frame->l3 + r.change[i].offset, r.change[i].bytes, r.change[i].count);
	}
	if (r.cut) {
		assert_true(r.cut < frame->len);
		frame->len = r.cut;
	}
}

/* A column without the blanks around it. */
static char *column(char **rest)
{
	char *text = strsep(rest, "|"), *end;

	if (!text)
		fail_msg("line %u: four columns are needed", line_number);
	while (isspace(*text))
		text++;
	for (end = text + strlen(text); end > text && isspace(end[-1]);)
		*--end = '\0';
	return text;
}

int golden_next(FILE *file, struct golden_row *row)
{
	char line[512], *rest = line;

	do {
		if (!fgets(line, sizeof(line), file))
			return 0;
		line_number++;
		if (!strchr(line, '\n'))
			fail_msg("line %u is too long", line_number);
	} while (line[0] == '#' || line[0] == '\n');
	memset(row, 0, sizeof(*row));
	snprintf(row->name, sizeof(row->name), "%s", column(&rest));
	compose(&row->frame, column(&rest));
	snprintf(row->setup, sizeof(row->setup), "%s", column(&rest));
	snprintf(row->outcome, sizeof(row->outcome), "%s", column(&rest));
	return 1;
}
