// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading the config file: inih splits the lines, everything around it is to refuse what it would let pass or misread.
 */
#include "lib/config.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lib/config_lists.h"
#include "lib/keys.h"
#include "lib/spec.h"

#define CONFIG_KEYS_MAX 64

struct reading {
	FILE *file;
	const char *path;
	struct model *model;
	struct config_lists *lists;
	struct error *err;
	int failed;
	unsigned int line;
	char raw[512]; /* the line as it is: inih cuts values at " ;" */
	int service;   /* id of the section's service; -1: [synhold]; -2: no section yet */
	unsigned int section_line;
	int seen_global;
	uint64_t seen; /* keys of this section, by their place in keys_table; the last bit is `closed` */
	unsigned char fresh[SYNHOLD_SERVICES];
};

#define CONFIG_BIT_CLOSED (CONFIG_KEYS_MAX - 1)

static int refuse(struct reading *r, const char *message, const char *hint)
{
	if (r->failed)
		return 0;
	r->failed = 1;
	error_set(r->err, -EINVAL, "%s:%u: %s", r->path, r->line, message);
	error_hint(r->err, -EINVAL, "%s", hint);
	return 0;
}

static int refuse_as(struct reading *r, const struct error *why)
{
	refuse(r, why->message, why->hint);
	r->err->code = why->code;
	return 0;
}

/* The section before must be whole. */
static int end_section(struct reading *r)
{
	char text[128];

	if (r->service < 0 || r->model->specs[r->service].count)
		return 1;
	snprintf(text, sizeof(text), "service '%s' (line %u) has no port", r->model->service[r->service].name,
		 r->section_line);
	return refuse(r, text, "add a line such as: port = 443");
}

static int begin_service(struct reading *r, const char *name)
{
	int id = 0;

	if (!spec_name_valid(name))
		return refuse(r, "the service's name is not valid", "accepted: " SPEC_NAME_FORM);
	if (model_find(r->model, name) >= 0)
		return refuse(r, "this service has a section already", "put all of a service's lines into one section");
	while (id < SYNHOLD_SERVICES && r->model->service[id].name[0])
		id++;
	if (id == SYNHOLD_SERVICES)
		return refuse(r, "too many services", "an instance takes 256; put several ports into one service");
	keys_defaults(&r->model->service[id]);
	snprintf(r->model->service[id].name, sizeof(r->model->service[id].name), "%s", name);
	r->service = id;
	return 1;
}

/* `[synhold]` or `[service NAME]`; text begins behind the bracket. Here, as inih says nothing of a section without
 * keys. */
static int begin_section(struct reading *r, char *text)
{
	char *end = strchr(text, ']'), *rest = end ? end + 1 + strspn(end + 1, " \t") : NULL;

	if (!end_section(r))
		return 0;
	r->seen = 0;
	r->section_line = r->line;
	if (!end || (*rest && !strchr("#;", *rest)))
		return refuse(r, "not a section", "accepted: [synhold] or [service NAME]");
	*end = '\0';
	if (!strcmp(text, "synhold")) {
		r->service = -1;
		if (r->seen_global++)
			return refuse(r, "[synhold] is there already", "put all of its lines into one section");
		return 1;
	}
	if (strncmp(text, "service", 7) || !isblank((unsigned char)text[7]))
		return refuse(r, "unknown section", "accepted: [synhold] or [service NAME]");
	text += 7 + strspn(text + 7, " \t");
	for (end = text + strlen(text); end > text && isblank((unsigned char)end[-1]); end--)
		end[-1] = '\0';
	return begin_service(r, text);
}

/* Reads on to the end of a line that did not fit. */
static void skip_rest(const struct reading *r)
{
	int c = strchr(r->raw, '\n') ? '\n' : 0;

	while (c != '\n' && c != EOF)
		c = getc(r->file);
}

/*
 * fgets() for inih. Leading blanks go, as inih takes an indented line for more of the value above it. Lines too long
 * for inih's buffer would be read as two, and a NUL would hide the rest: both are refused.
 */
static char *read_line(char *buf, int size, void *stream)
{
	struct reading *r = stream;
	char section[512], *text;
	size_t length;

	if (r->failed)
		return NULL;
	if (!fgets(r->raw, sizeof(r->raw), r->file))
		return NULL;
	r->line++;
	length = strlen(r->raw);
	if (length + 1 < sizeof(r->raw) && r->raw[length ? length - 1 : 0] != '\n' && !feof(r->file)) {
		refuse(r, "a NUL character", "a config file is text");
		return NULL;
	}
	if (strchr("#;", r->raw[strspn(r->raw, " \t")])) /* a comment may be longer than the buffer */
		skip_rest(r);
	while (length && isspace((unsigned char)r->raw[length - 1]))
		r->raw[--length] = '\0';
	text = r->raw + (r->line == 1 && !strncmp(r->raw, "\xef\xbb\xbf", 3) ? 3 : 0);
	text += strspn(text, " \t");
	length = strlen(text);
	if (strchr("#;", *text)) { /* a comment, of any length, or empty */
		snprintf(buf, (size_t)size, "\n");
		return buf;
	}
	if (length + 2 > (size_t)size || length + 2 > sizeof(r->raw)) {
		refuse(r, "the line is too long", "at most 190 characters; give several lines of the same key");
		return NULL;
	}
	if (*text == '[') {
		snprintf(section, sizeof(section), "%s", text + 1);
		if (!begin_section(r, section))
			return NULL;
	}
	snprintf(buf, (size_t)size, "%s\n", text);
	return buf;
}

static int list_line(struct reading *r, enum list_kind kind)
{
	struct error why = {0};
	const char *value = r->raw + strcspn(r->raw, "=:");

	value += *value != '\0';
	value += strspn(value, " \t");
	return config_lists_line(r->lists, kind, value, &why) ? refuse_as(r, &why) : 1;
}

static int include_line(struct reading *r, enum list_kind kind, const char *value)
{
	const char *slash = strrchr(r->path, '/');
	struct error why = {0};
	char path[PATH_MAX];

	if (*value == '/' || !slash) /* otherwise beside the config file */
		snprintf(path, sizeof(path), "%s", value);
	else
		snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - r->path), r->path, value);
	return config_lists_include(r->lists, kind, path, &why) ? refuse_as(r, &why) : 1;
}

static int port_line(struct reading *r, const char *value)
{
	struct error why = {0};
	char spec[512];

	if (strchr(value, '='))
		return refuse(r, "a port line has no name of its own",
			      "the section names the service; accepted: port = 443,8443");
	snprintf(spec, sizeof(spec), "%s=%s", r->model->service[r->service].name, value);
	return model_add_port(r->model, spec, r->fresh, &why) < 0 ? refuse_as(r, &why) : 1;
}

static int key_line(struct reading *r, const char *name, const char *value)
{
	const struct key *key = keys_find(name);
	struct synhold_policy *service = r->service >= 0 ? &r->model->service[r->service] : NULL;
	struct error why = {0};
	unsigned int bit = CONFIG_BIT_CLOSED;

	if (key) {
		bit = (unsigned int)(key - keys_table);
	} else if (strcmp(name, "closed") || !service) {
		char what[96];

		snprintf(what, sizeof(what), "unknown key '%.64s'", name);
		if (!strcmp(name, "ports"))
			return refuse(
				r, what,
				"accepted: port = SPEC, such as port = 80,443; a line for each, or several in one");
		return refuse(
			r, what,
			service ? "synhold help keys lists them; and port, closed" :
				  "synhold help keys lists them; and allow, deny, prefer, include-allow, include-deny");
	}
	if (key && key->global != !service)
		return refuse(r, "the key does not belong in this section",
			      key->global ? "put it under [synhold]" : "put it under [service NAME]");
	if (r->seen >> bit & 1)
		return refuse(r, "the key is there already", "give each key once in a section");
	r->seen |= 1ULL << bit;
	if (!key) {
		if (strcmp(value, "yes") && strcmp(value, "no"))
			return refuse(r, "closed is yes or no", "accepted: closed = yes, closed = no");
		service->closed = !strcmp(value, "yes");
		return 1;
	}
	return keys_set(service, service ? NULL : &r->model->global, name, value, &why) ? refuse_as(r, &why) : 1;
}

static int take_line(void *user, const char *section, const char *name, const char *value)
{
	struct reading *r = user;

	(void)section; /* begin_section() has it, and knows where it began */
	if (r->failed)
		return 0;
	if (r->service == -2)
		return refuse(r, "a key before the first section", "begin with [synhold] or [service NAME]");
	if (r->service >= 0 && !strcmp(name, "port"))
		return port_line(r, value);
	if (r->service == -1 && !strcmp(name, "allow"))
		return list_line(r, LIST_ALLOW);
	if (r->service == -1 && !strcmp(name, "deny"))
		return list_line(r, LIST_DENY);
	if (r->service == -1 && !strcmp(name, "prefer"))
		return list_line(r, LIST_PREFER);
	if (r->service == -1 && !strcmp(name, "include-allow"))
		return include_line(r, LIST_ALLOW, value);
	if (r->service == -1 && !strcmp(name, "include-deny"))
		return include_line(r, LIST_DENY, value);
	return key_line(r, name, value);
}

static int read_whole(struct reading *r)
{
	struct error why = {0};
	int ret = ini_parse_stream(read_line, r, take_line, r);

	if (!r->failed && ret > 0) {
		r->line = (unsigned int)ret;
		refuse(r, "not a line of a config file", "accepted: KEY = VALUE, [SECTION], # comment");
	} else if (!r->failed && ret < 0) {
		r->failed = 1;
		error_set(r->err, -ENOMEM, "%s: out of memory", r->path);
	}
	if (!r->failed && ferror(r->file)) {
		r->failed = 1;
		error_set(r->err, -EIO, "%s: cannot be read", r->path);
	}
	if (!r->failed)
		end_section(r);
	if (!r->failed && model_compile(r->model, &why)) {
		r->failed = 1;
		error_set(r->err, why.code, "%s: %s", r->path, why.message);
		error_hint(r->err, why.code, "%s", why.hint);
	}
	return r->failed ? r->err->code : 0;
}

int config_read(const char *path, struct model *model, struct config_lists *lists, struct error *err)
{
	__attribute__((cleanup(model_cleanup))) struct model *fresh = model_new();
	struct config_lists entries = {0};
	struct error ignored = {0};
	struct reading r = {
		.path = path, .model = fresh, .lists = &entries, .err = err ? err : &ignored, .service = -2};
	int ret;

	if (!fresh)
		return error_set(err, -ENOMEM, "out of memory");
	r.file = fopen(path, "re");
	if (!r.file) {
		ret = errno == EINVAL ? -EIO : -errno;
		error_set(err, ret, "%s: %s", path, strerror(-ret));
		return error_hint(err, ret, "give a file that exists and that you may read");
	}
	ret = read_whole(&r);
	fclose(r.file);
	if (ret) {
		config_lists_free(&entries);
		return ret;
	}
	*model = *fresh;
	*lists = entries;
	return 0;
}
