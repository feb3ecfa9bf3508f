// SPDX-License-Identifier: GPL-2.0-or-later
/* How commands speak: one line on stderr when something is wrong, JSON on stdout when asked for. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* What users and the kernel say may hold line ends and control characters; the contract is one line. */
static void print_line(FILE *out, const char *text)
{
	for (; *text; text++)
		putc((unsigned char)*text < ' ' || *text == 127 ? ' ' : *text, out);
}

int cli_failed(const struct cli *cli, const struct error *err)
{
	cli_fail(cli, err);
	return 1;
}

int cli_fail(const struct cli *cli, const struct error *err)
{
	const char *name = strerrorname_np(-err->code);

	fputs("synhold: ", stderr);
	print_line(stderr, err->message[0] ? err->message : strerror(-err->code));
	if (err->hint[0]) {
		fputs("; ", stderr);
		print_line(stderr, err->hint);
	}
	putc('\n', stderr);
	if (cli->json) {
		json_t *root = json_pack("{s:{s:s,s:s+,s:s+}}", "error", "code", name ? name : "EIO", "message",
					 err->message, "", "hint", err->hint, "");

		if (!root) /* the user's words were not UTF-8 */
			root = json_pack("{s:{s:s,s:s,s:s}}", "error", "code", name ? name : "EIO", "message",
					 "see standard error", "hint", "");
		if (root) {
			json_dumpf(root, stdout, JSON_COMPACT);
			putchar('\n');
			fflush(stdout);
			json_decref(root);
		}
	}
	return error_exit_status(err);
}

int cli_misuse(const struct cli *cli, struct error *err, const char *message, ...)
{
	char text[256];
	va_list args;

	va_start(args, message);
	vsnprintf(text, sizeof(text), message, args);
	va_end(args);
	error_set(err, -EINVAL, "%s", text);
	if (!cli->command)
		return error_hint(err, -EINVAL, "synhold help shows what is accepted");
	return error_hint(err, -EINVAL, "usage: synhold %s %s", cli->command->name, cli->command->args);
}

int cli_finish(const struct cli *cli)
{
	struct error err = {0};

	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	error_set(&err, -EIO, "standard output cannot be written: %s", strerror(errno));
	return cli_fail(cli, &err);
}

int cli_print_json(const struct cli *cli, json_t *value)
{
	struct error err = {0};
	int ret;

	if (!value) {
		error_set(&err, -ENOMEM, "out of memory");
		return cli_fail(cli, &err);
	}
	ret = json_dumpf(value, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
	json_decref(value);
	putchar('\n');
	return ret || cli_finish(cli);
}

int cli_not_attached(const char *instance, struct error *err)
{
	error_set(err, -ENOENT, "instance '%s' is not attached", instance);
	return error_hint(err, -ENOENT, "synhold run IFACE --port PORT or synhold attach IFACE --port PORT does that");
}

int cli_open_reader(const struct cli *cli, struct instance *inst, struct error *err)
{
	int ret = instance_init(inst, cli->instance, err);

	if (!ret)
		ret = instance_open(inst, err);
	return ret == -ENOENT ? cli_not_attached(inst->name, err) : ret;
}

int cli_open_writer(const struct cli *cli, struct instance *inst, struct error *err)
{
	int ret = instance_init(inst, cli->instance, err);

	if (!ret)
		ret = instance_require_system(err);
	if (!ret)
		ret = instance_open(
			inst, err); /* without the lock, so that a name that never was leaves no run files behind */
	if (ret)
		return ret == -ENOENT ? cli_not_attached(inst->name, err) : ret;
	instance_close(inst); /* a detach may have come between: what counts is opened under the lock */
	ret = instance_lock(inst, err);
	if (!ret)
		ret = instance_open(inst, err);
	if (ret)
		instance_close(inst);
	return ret;
}
