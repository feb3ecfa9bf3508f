// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/tell.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"

#define TELL_MAX 600 /* bytes; more is cut, and says so */

static void send_text(struct instance *inst, const char *text)
{
	json_t *request;
	char *line, *answer = NULL;

	if (!instance_daemon_alive(inst))
		return;
	instance_unlock(inst);
	request = json_pack("{s:s,s:s%}", "ask", "log", "text", text, strnlen(text, TELL_MAX));
	line = json_dumps(request, JSON_COMPACT);
	if (line)
		daemon_ask(inst, line, &answer);
	free(answer);
	free(line);
	json_decref(request);
}

void tell(struct instance *inst, const char *format, ...)
{
	char text[TELL_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	send_text(inst, text);
}

void tell_changes(struct instance *inst, const char *what, const json_t *changes, const char *tail)
{
	char text[TELL_MAX];
	size_t i, used = (size_t)snprintf(text, sizeof(text), "%s:", what);
	json_t *change;
	int any = 0;

	json_array_foreach (changes, i, change) {
		const char *old = json_string_value(json_object_get(change, "old"));
		const char *now = json_string_value(json_object_get(change, "new"));

		if (json_is_true(json_object_get(change, "kept")))
			continue;
		if (used + 160 > sizeof(text)) {
			snprintf(text + used, sizeof(text) - used, ", and more (%zu in all)", json_array_size(changes));
			send_text(inst, text);
			return;
		}
		snprintf(text + used, 120, "%s %s %s %.24s -> %.24s", any++ ? "," : "",
			 json_string_value(json_object_get(change, "service")),
			 json_string_value(json_object_get(change, "key")), old ? old : "absent", now ? now : "absent");
		used += strlen(text + used);
	}
	snprintf(text + used, sizeof(text) - used, "%s%s", any ? "" : " no change", tail);
	send_text(inst, text);
}
